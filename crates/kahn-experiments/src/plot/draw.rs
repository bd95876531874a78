//! Panels beside and below each other, as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::scale::Scale;
use super::{Marks, Panel, Series};
use crate::point::float;
use crate::rows::Spot;

/// The family of all text; the PNG is drawn with it, an SVG takes what the reader has.
pub(super) const FONT: &str = "DejaVu Sans";

/// The size of one panel.
const PANEL: (u32, u32) = (480, 360);

/// Colours that people with any sight can tell apart (Okabe and Ito 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(150, 140, 20),
];

const GREY: RGBColor = RGBColor(90, 90, 90);

/// Entries of a legend in one line.
const BESIDE: usize = 3;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Draws all panels into one picture, and returns its SVG.
///
/// # Errors
///
/// Returns what the plotting library said.
pub(crate) fn svg(
    title: &str,
    panels: &[Panel],
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let columns = match panels.len() {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    let rows = panels.len().div_ceil(columns).max(1);
    let head = 36;
    let size = (PANEL.0 * u32::try_from(columns)?, head + PANEL.1 * u32::try_from(rows)?);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE)?;
        let middle = i32::try_from(size.0 / 2)?;
        // A letter is about half as wide as it is high.
        let letters = u32::try_from(title.chars().count().max(1))?;
        let style = font((2 * size.0 / letters).clamp(9, 16))
            .color(&BLACK)
            .pos(Pos::new(HPos::Center, VPos::Center));
        root.draw_text(title, &style, (middle, 20))?;
        let (_, body) = root.split_vertically(head);
        let palette = Palette::over(panels);
        for (panel, area) in panels.iter().zip(body.split_evenly((rows, columns))) {
            draw_panel(panel, &area, &palette)?;
        }
        root.present()?;
    }
    Ok(text)
}

fn font(size: u32) -> TextStyle<'static> {
    (FONT, size).into_text_style(&(0, 0))
}

/// The colour of each series: what has one name in several panels has one colour, and so has what a
/// paper says of it.
struct Palette<'panels>(Vec<&'panels str>);

impl<'panels> Palette<'panels> {
    fn over(panels: &'panels [Panel]) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for series in panels.iter().flat_map(|panel| &panel.series) {
            let name = Self::name(&series.label);
            if series.marks != Marks::Bound && !names.contains(&name) {
                names.push(name);
            }
        }
        Self(names)
    }

    fn name(label: &str) -> &str {
        label.split_once(", paper").map_or(label, |(name, _)| name)
    }

    fn of(&self, series: &Series) -> RGBColor {
        let name = Self::name(&series.label);
        let place = self.0.iter().position(|known| *known == name);
        place.map_or(GREY, |place| COLOURS[place % COLOURS.len()])
    }
}

fn draw_panel(panel: &Panel, area: &Area<'_>, palette: &Palette<'_>) -> Drawn {
    let lines = u32::try_from(panel.series.len().div_ceil(BESIDE))?;
    let (plot, legend) = area.split_vertically(PANEL.1 - 8 - 18 * lines);
    let spots = || panel.series.iter().flat_map(|series| &series.spots);
    let x = Scale::over(&panel.x, spots().map(|spot| spot.x));
    let y = Scale::over(
        &panel.y,
        spots().flat_map(|spot| spot.all.iter().copied().chain([spot.low, spot.y, spot.high])),
    );
    let mut chart = ChartBuilder::on(&plot)
        .caption(&panel.title, font(13))
        .margin(8)
        .margin_right(18)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(&panel.x.label)
        .y_desc(&panel.y.label)
        .x_labels(9)
        .y_labels(7)
        .bold_line_style(RGBColor(225, 225, 225))
        .light_line_style(TRANSPARENT)
        .axis_style(GREY)
        .label_style(font(11))
        .axis_desc_style(font(12))
        .draw()?;
    let plane = chart.plotting_area().strip_coord_spec();
    let corner = plane.get_base_pixel();
    let place = |x: f64, y: f64| {
        let (across, down) = chart.backend_coord(&(x, y));
        (across - corner.0, down - corner.1)
    };
    let ground = place(0.0, 0.0).1;
    let columns = panel.series.iter().filter(|series| series.marks == Marks::Columns).count();
    let mut column = 0;
    for series in &panel.series {
        let colour = palette.of(series);
        match series.marks {
            Marks::Line | Marks::Broken | Marks::Bound => {
                draw_line(series, colour, &plane, &place)?;
            }
            Marks::Boxes => draw_boxes(series, colour, &plane, &place)?,
            Marks::Columns => {
                let step = f64::from(place(1.0, 0.0).0 - place(0.0, 0.0).0);
                let width = step * 0.8 / float(columns);
                let from = step * -0.4 + width * float(column);
                draw_columns(series, colour, &plane, &place, (from, width, ground))?;
                column += 1;
            }
        }
    }
    draw_legend(panel, &legend, palette)
}

type Place<'a> = &'a dyn Fn(f64, f64) -> (i32, i32);

fn draw_line(series: &Series, colour: RGBColor, area: &Area<'_>, place: Place<'_>) -> Drawn {
    let places: Vec<_> = series.spots.iter().map(|spot| place(spot.x, spot.y)).collect();
    if series.marks == Marks::Line {
        area.draw(&PathElement::new(places.clone(), colour.stroke_width(2)))?;
    } else {
        for pair in places.windows(2) {
            for dash in dashes(pair[0], pair[1]) {
                area.draw(&PathElement::new(dash, colour))?;
            }
        }
    }
    if series.marks == Marks::Bound {
        return Ok(());
    }
    for (spot, centre) in series.spots.iter().zip(&places) {
        whisker(spot, centre.0, colour, area, place)?;
        measurements(spot, centre.0, colour, area, place)?;
        area.draw(&Circle::new(*centre, 3, colour.filled()))?;
    }
    Ok(())
}

/// Cuts a line into dashes of about six pixels.
#[expect(clippy::cast_possible_truncation, reason = "pixels")]
fn dashes(from: (i32, i32), to: (i32, i32)) -> Vec<[(i32, i32); 2]> {
    let (width, height) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
    let count = (width.hypot(height) / 12.0).ceil().max(1.0);
    let at = |share: f64| {
        let x = f64::from(from.0) + width * share;
        let y = f64::from(from.1) + height * share;
        (x.round() as i32, y.round() as i32)
    };
    let starts = (0..1000).map(f64::from).take_while(|n| *n < count);
    starts.map(|n| [at(n / count), at((n + 0.5) / count)]).collect()
}

/// Draws how far a spot reaches.
fn whisker(spot: &Spot, x: i32, colour: RGBColor, area: &Area<'_>, place: Place<'_>) -> Drawn {
    let (low, high) = (place(spot.x, spot.low).1, place(spot.x, spot.high).1);
    if low - high < 3 {
        return Ok(());
    }
    area.draw(&PathElement::new([(x, low), (x, high)], colour))?;
    for end in [low, high] {
        area.draw(&PathElement::new([(x - 3, end), (x + 3, end)], colour))?;
    }
    Ok(())
}

/// Draws a mark for each measurement, beside the others if they would be one.
fn measurements(spot: &Spot, x: i32, colour: RGBColor, area: &Area<'_>, place: Place<'_>) -> Drawn {
    for (index, figure) in spot.all.iter().enumerate() {
        let aside = [0, 4, -4][index % 3];
        let centre = (x + aside, place(spot.x, *figure).1);
        area.draw(&Circle::new(centre, 2, colour.mix(0.4).filled()))?;
    }
    Ok(())
}

fn draw_boxes(series: &Series, colour: RGBColor, area: &Area<'_>, place: Place<'_>) -> Drawn {
    for spot in &series.spots {
        let (x, middle) = place(spot.x, spot.y);
        whisker(spot, x, colour, area, place)?;
        measurements(spot, x + 14, colour, area, place)?;
        let [first, third] =
            [spot.quartiles.0, spot.quartiles.1].map(|quartile| place(spot.x, quartile).1);
        let corners = [(x - 8, third), (x + 8, first)];
        area.draw(&Rectangle::new(corners, WHITE.filled()))?;
        area.draw(&Rectangle::new(corners, colour.stroke_width(1)))?;
        area.draw(&PathElement::new([(x - 8, middle), (x + 8, middle)], colour.stroke_width(2)))?;
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "pixels")]
fn draw_columns(
    series: &Series,
    colour: RGBColor,
    area: &Area<'_>,
    place: Place<'_>,
    (from, width, ground): (f64, f64, i32),
) -> Drawn {
    for spot in &series.spots {
        let (x, top) = place(spot.x, spot.y);
        let left = x + from.round() as i32;
        let right = (left + width.round() as i32 - 1).max(left + 1);
        area.draw(&Rectangle::new([(left, top), (right, ground)], colour.filled()))?;
        whisker(spot, i32::midpoint(left, right), BLACK, area, place)?;
        measurements(spot, i32::midpoint(left, right), BLACK, area, place)?;
    }
    Ok(())
}

fn draw_legend(panel: &Panel, area: &Area<'_>, palette: &Palette<'_>) -> Drawn {
    let width = i32::try_from(PANEL.0)? / i32::try_from(BESIDE)?;
    for (index, series) in panel.series.iter().enumerate() {
        let x = 14 + width * i32::try_from(index % BESIDE)?;
        let y = 8 + 18 * i32::try_from(index / BESIDE)?;
        let colour = palette.of(series);
        match series.marks {
            Marks::Line => {
                area.draw(&PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)))?;
                area.draw(&Circle::new((x + 8, y), 3, colour.filled()))?;
            }
            Marks::Broken => {
                for dash in dashes((x, y), (x + 16, y)) {
                    area.draw(&PathElement::new(dash, colour))?;
                }
                area.draw(&Circle::new((x + 8, y), 3, colour.filled()))?;
            }
            Marks::Bound => {
                for dash in dashes((x, y), (x + 16, y)) {
                    area.draw(&PathElement::new(dash, colour))?;
                }
            }
            Marks::Columns => {
                area.draw(&Rectangle::new([(x, y - 5), (x + 16, y + 5)], colour.filled()))?;
            }
            Marks::Boxes => {
                area.draw(&Rectangle::new([(x, y - 5), (x + 16, y + 5)], colour.stroke_width(1)))?;
            }
        }
        let style = font(11).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw_text(&series.label, &style, (x + 21, y))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Axis;
    use crate::rows::Curve;

    fn panel(labels: &[&str]) -> Panel {
        let panel = Panel::new("", Axis::linear("x"), Axis::linear("y"));
        labels.iter().fold(panel, |panel, label| {
            panel.and(Series::line(*label, &Curve(vec![Spot::exact(1.0, 1.0)])))
        })
    }

    #[test]
    fn a_series_has_one_colour_in_all_panels_and_so_has_what_the_paper_says_of_it() {
        let panels = [panel(&["a", "b"]), panel(&["b", "c", "a, paper (8 CPUs)"])];
        let palette = Palette::over(&panels);
        let colour = |panel: usize, series: usize| {
            let RGBColor(red, green, blue) = palette.of(&panels[panel].series[series]);
            (red, green, blue)
        };
        assert_eq!(colour(0, 1), colour(1, 0));
        assert_eq!(colour(0, 0), colour(1, 2));
        assert_ne!(colour(0, 0), colour(1, 1));
    }

    #[test]
    fn each_measurement_has_a_mark_and_a_bound_has_none() {
        let mut spot = Spot::exact(1.0, 2.0);
        spot.all = vec![1.0, 2.0, 3.0, 4.0];
        let marks = |panel: Panel| svg("", &[panel]).unwrap().matches("<circle").count();
        let plain = panel(&[]).and(Series::line("a", &Curve(vec![Spot::exact(1.0, 2.0)])));
        let measured = panel(&[]).and(Series::line("a", &Curve(vec![spot])));
        assert_eq!(marks(measured), marks(plain.clone()) + 4);
        assert_eq!(marks(plain.clone().with_linear(2)), marks(plain));
    }
}
