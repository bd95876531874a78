//! What was placed, as SVG: text with the colours of a style sheet, which follow a dark page.

use super::layout::{Direction, Layout, Rect, Route};
use super::{Edge, Picture, Vertex, VertexKind};
use crate::human;
use std::fmt::Write;

/// The room that an arrow from a box to itself takes, above the box or on its right.
pub(super) const LOOP: f64 = 22.0;

/// How far the boxes behind a box of several are seen.
const STACK: f64 = 5.0;
const MARGIN: f64 = 20.0;
/// The length of the head of an arrow; its line ends where the head begins.
const HEAD: f64 = 10.0;
/// The diameter of a join.
const JOIN: f64 = 11.0;
const NAME_LINE: f64 = 17.0;
const SMALL_LINE: f64 = 14.0;
const NAME_SIZE: f64 = 13.0;
const SMALL_SIZE: f64 = 11.0;
/// Characters of a name that are shown; all of it is in its title.
const LONGEST: usize = 36;
/// Names of channels that an arrow shows.
const NAMES: usize = 2;

const STYLE: &str = "\
text{font-family:system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#1f2933;text-anchor:middle}
.name{font-size:13px}
.small{font-size:11px;fill:#52606d}
.second{font-size:11px}
.grew{font-size:11px;fill:#c2255c;font-weight:bold}
.page{fill:#fff}
.box{fill:#f1f5f9;stroke:#52606d;stroke-width:1.2}
.inner{fill:none;stroke:#52606d;stroke-width:1.2}
.outside{stroke-dasharray:5 3}
.join{fill:#52606d}
.stack{fill:#fff;stroke:#9aa5b1;stroke-width:1}
.hot{fill:#f08c00}
.arrow{fill:none;stroke:#52606d;stroke-linecap:butt}
.back{stroke:#1c7ed6;stroke-dasharray:7 4}
.head{fill:#52606d}
.backhead{fill:#1c7ed6}
@media (prefers-color-scheme: dark){
text{fill:#e4e7eb}
.small{fill:#b8c2cc}
.grew{fill:#faa2c1}
.page{fill:#12181f}
.box{fill:#25303b;stroke:#9aa5b1}
.join{fill:#9aa5b1}
.inner{stroke:#9aa5b1}
.stack{fill:#12181f;stroke:#616e7c}
.hot{fill:#d9480f}
.arrow{stroke:#9aa5b1}
.back{stroke:#74c0fc}
.head{fill:#9aa5b1}
.backhead{fill:#74c0fc}
}
";

/// What stands at an arrow.
pub(super) struct Label {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Lines with their classes.
    lines: Vec<(&'static str, String)>,
}

impl Label {
    pub(super) fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }
}

/// What takes how much room: widths and heights.
pub(super) struct Measured {
    pub(super) boxes: Vec<(f64, f64)>,
    /// Of each box the label of its arrow to itself.
    pub(super) loops: Vec<Option<(f64, f64)>>,
    pub(super) labels: Vec<Label>,
}

impl Measured {
    pub(super) fn of(picture: &Picture) -> Self {
        let labels: Vec<_> = picture.edges.iter().map(label).collect();
        let all = all_seconds(picture);
        let boxes = picture.vertices.iter().map(|vertex| size(vertex, all)).collect();
        let mut loops = vec![None; picture.vertices.len()];
        for (edge, label) in picture.edges.iter().zip(&labels) {
            if edge.from == edge.to {
                // Channels from a box to itself are one arrow.
                loops[edge.from] = Some(label.size());
            }
        }
        Self { boxes, loops, labels }
    }
}

/// The size of a box, with what is seen of those behind it.
fn size(vertex: &Vertex, all: Option<f64>) -> (f64, f64) {
    if vertex.kind == VertexKind::Join {
        return (JOIN, JOIN);
    }
    let mut width = text_width(&shortened(&vertex.name), NAME_SIZE);
    let mut height = NAME_LINE + 16.0;
    if let Some(more) = second_line(vertex, all) {
        width = width.max(text_width(&more, SMALL_SIZE));
        height += SMALL_LINE;
    }
    width +=
        if matches!(vertex.kind, VertexKind::Choice | VertexKind::Outside) { 40.0 } else { 24.0 };
    let behind = if vertex.members.len() > 1 { STACK } else { 0.0 };
    (width + behind, height + behind)
}

/// The picture of a network, from what is drawn of it and where that is.
pub(super) fn written(network: &Picture, drawn: &Picture, layout: &Layout) -> String {
    let captions = captions(network, drawn, layout);
    let widest = captions.iter().map(|line| text_width(line, SMALL_SIZE)).fold(0.0, f64::max);
    let width = layout.width.max(widest) + 2.0 * MARGIN;
    let height = layout.height + SMALL_LINE * to_f64(captions.len()) + 8.0 + 2.0 * MARGIN;
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n",
        escaped(&captions[0])
    );
    text.push_str("<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    let _ = writeln!(text, "<g transform=\"translate({MARGIN} {MARGIN})\">");
    let most = drawn.edges.iter().filter_map(|edge| edge.traffic).max().unwrap_or(0);
    for (edge, route) in drawn.edges.iter().zip(&layout.routes) {
        arrow(&mut text, edge, route, layout, most);
    }
    let all = all_seconds(drawn);
    for (vertex, rect) in drawn.vertices.iter().zip(&layout.boxes) {
        a_box(&mut text, vertex, rect, all);
    }
    for (edge, route) in drawn.edges.iter().zip(&layout.routes) {
        let label = label(edge);
        let middle = route.label.x + route.label.width / 2.0;
        for (line, (class, words)) in label.lines.iter().enumerate() {
            let y = route.label.y + SMALL_LINE * to_f64(line) + 11.0;
            words_at(&mut text, class, middle, y, words, 0);
        }
    }
    for (line, words) in captions.iter().enumerate() {
        let y = layout.height + 22.0 + SMALL_LINE * to_f64(line);
        let _ = writeln!(
            text,
            "<text class=\"small\" x=\"0\" y=\"{y:.1}\" style=\"text-anchor:start\">{}</text>",
            escaped(words)
        );
    }
    text.push_str("</g>\n</svg>\n");
    text
}

/// What is told under the picture: what it is of, and what its signs mean.
fn captions(network: &Picture, drawn: &Picture, layout: &Layout) -> Vec<String> {
    let count = |number: usize, one, many| human::count(number as u64, one, many);
    let is = |kind| network.vertices.iter().filter(|vertex| vertex.kind == kind).count();
    let parties = is(VertexKind::Outside);
    let (vertices, edges) = (network.vertices.len(), network.edges.len());
    let components = [VertexKind::Component, VertexKind::Choice, VertexKind::Join];
    let components: usize = components.into_iter().map(is).sum();
    let processes = vertices - parties - components;
    let mut of = Vec::new();
    if processes > 0 || components == 0 {
        of.push(count(processes, "process", "processes"));
    }
    if components > 0 {
        of.push(count(components, "component", "components"));
    }
    if parties > 0 {
        of.push(format!("{} outside the network", count(parties, "party", "parties")));
    }
    of.push(match components {
        0 => count(edges, "channel", "channels"),
        _ => count(edges, "stream", "streams"),
    });
    let mut first = of.join(", ");
    if vertices > drawn.vertices.len() || edges > drawn.edges.len() {
        let (boxes, arrows) = (drawn.vertices.len(), drawn.edges.len());
        let (boxes, arrows) = (count(boxes, "box", "boxes"), count(arrows, "arrow", "arrows"));
        let _ = write!(first, ", drawn as {boxes} and {arrows}");
    }
    let mut signs = Vec::new();
    if drawn.vertices.iter().any(|vertex| vertex.members.len() > 1) {
        signs.push("stacked: several of one kind");
    }
    if layout.routes.iter().any(|route| route.is_back) {
        signs.push("dashed arrow: feedback");
    }
    if drawn.vertices.iter().any(|vertex| vertex.kind == VertexKind::Blocking) {
        signs.push("double border: on a thread of its own");
    }
    if parties > 0 {
        signs.push("round and dashed: outside the network");
    }
    if all_seconds(drawn).is_some() {
        signs.push("colour: share of the processors' time");
    }
    if drawn.edges.iter().any(|edge| edge.traffic.is_some()) {
        signs.push("thickness: traffic");
    }
    let mut lines = vec![first];
    lines.extend(signs.chunks(3).map(|signs| signs.join("; ")));
    lines
}

fn all_seconds(picture: &Picture) -> Option<f64> {
    let seconds = picture.vertices.iter().filter_map(|vertex| vertex.seconds);
    seconds.reduce(|sum, seconds| sum + seconds).filter(|&sum| sum > 0.0)
}

/// What stands under the name of a box.
fn second_line(vertex: &Vertex, all: Option<f64>) -> Option<String> {
    let mut parts = Vec::new();
    if vertex.members.len() > 1 {
        parts.push(format!("× {}", vertex.members.len()));
    }
    if let (Some(seconds), Some(all)) = (vertex.seconds, all) {
        parts.push(human::share(seconds, all));
        parts.push(human::time(Some(seconds)));
    }
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn label(edge: &Edge) -> Label {
    let mut lines: Vec<(&'static str, String)> = Vec::new();
    for name in edge.names.iter().take(NAMES) {
        lines.push(("small", shortened(name)));
    }
    if edge.names.len() > NAMES {
        lines.push(("small", format!("and {} more", edge.names.len() - NAMES)));
    }
    let mut more = Vec::new();
    if edge.members > edge.names.len() {
        more.push(format!("× {}", edge.members));
    }
    if edge.initial > 0 {
        more.push(format!("{} initial", edge.initial));
    }
    if let Some(bytes) = edge.traffic {
        more.push(human::bytes(bytes));
    }
    if !more.is_empty() {
        lines.push(("small", more.join(" · ")));
    }
    if edge.growths > 0 {
        lines.push(("grew", format!("▲ {}", human::count(edge.growths, "growth", "growths"))));
    }
    let width = lines.iter().map(|(_, line)| text_width(line, SMALL_SIZE)).fold(0.0, f64::max);
    Label { width, height: SMALL_LINE * to_f64(lines.len()), lines }
}

fn arrow(text: &mut String, edge: &Edge, route: &Route, layout: &Layout, most: u64) {
    let thick = edge.traffic.map_or(1.4, |bytes| thickness(bytes, most));
    let (path, tip, towards) = line(route, &layout.boxes[edge.from], layout.direction);
    let (class, head) = if route.is_back { ("arrow back", "backhead") } else { ("arrow", "head") };
    let _ = writeln!(
        text,
        "<path class=\"{class}\" stroke-width=\"{thick:.1}\" d=\"{path}\"><title>{}</title></path>",
        escaped(&edge.names.join(", "))
    );
    let half = 3.5 + thick / 2.0;
    let (base_x, base_y) = (tip.0 - HEAD * towards.0, tip.1 - HEAD * towards.1);
    let (aside_x, aside_y) = (half * towards.1, half * towards.0);
    let _ = writeln!(
        text,
        "<path class=\"{head}\" d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}z\"/>",
        tip.0,
        tip.1,
        base_x + aside_x,
        base_y + aside_y,
        base_x - aside_x,
        base_y - aside_y,
    );
}

/// The line of an arrow as far as its head, the tip of the head, and where that points.
fn line(route: &Route, from: &Rect, direction: Direction) -> (String, (f64, f64), (f64, f64)) {
    let [.., before, tip] = route.points[..] else {
        return own_line(from, direction);
    };
    let towards = if route.is_back { -1.0 } else { 1.0 };
    // Not beyond the base of the head, which the last curve may have to meet.
    let as_far = |along: f64, base: f64| (along * towards).min(base * towards) * towards;
    let (towards, before, base) = match direction {
        Direction::Right => {
            let base = tip.0 - HEAD * towards;
            ((towards, 0.0), (as_far(before.0, base), before.1), (base, tip.1))
        }
        Direction::Down => {
            let base = tip.1 - HEAD * towards;
            ((0.0, towards), (before.0, as_far(before.1, base)), (tip.0, base))
        }
    };
    let inner = &route.points[..route.points.len() - 2];
    let mut path = String::new();
    let mut last = (0.0, 0.0);
    for (index, (x, y)) in inner.iter().copied().chain([before, base]).enumerate() {
        let (last_x, last_y) = std::mem::replace(&mut last, (x, y));
        let is_straight = (last_x - x).abs() < 0.05 || (last_y - y).abs() < 0.05;
        let (middle_x, middle_y) = (f64::midpoint(last_x, x), f64::midpoint(last_y, y));
        let _ = match direction {
            _ if index == 0 => write!(path, "M{x:.1} {y:.1}"),
            _ if index % 2 == 1 || is_straight => write!(path, "L{x:.1} {y:.1}"),
            Direction::Right => {
                write!(path, "C{middle_x:.1} {last_y:.1} {middle_x:.1} {y:.1} {x:.1} {y:.1}")
            }
            Direction::Down => {
                write!(path, "C{last_x:.1} {middle_y:.1} {x:.1} {middle_y:.1} {x:.1} {y:.1}")
            }
        };
    }
    (path, tip, towards)
}

/// From a box to itself: out at one end of a side that no other arrow uses, in at the other.
fn own_line(of: &Rect, direction: Direction) -> (String, (f64, f64), (f64, f64)) {
    let reach = LOOP - 3.0;
    match direction {
        Direction::Right => {
            let (middle, y) = (of.x + of.width / 2.0, of.y);
            let (left, right, up, base) = (middle - 13.0, middle + 13.0, y - reach, y - HEAD);
            let path = format!(
                "M{right:.1} {y:.1}C{right:.1} {up:.1} {left:.1} {up:.1} {left:.1} {base:.1}"
            );
            (path, (left, y), (0.0, 1.0))
        }
        Direction::Down => {
            let (x, middle) = (of.x + of.width, of.y + of.height / 2.0);
            let (above, below, out, base) = (middle - 9.0, middle + 9.0, x + reach, x + HEAD);
            let path = format!(
                "M{x:.1} {below:.1}C{out:.1} {below:.1} {out:.1} {above:.1} {base:.1} {above:.1}"
            );
            (path, (x, above), (-1.0, 0.0))
        }
    }
}

/// By orders of magnitude: what has a thousandth of the most traffic is as thin as what has none.
#[expect(clippy::cast_precision_loss, reason = "a thickness")]
fn thickness(bytes: u64, most: u64) -> f64 {
    if bytes == 0 || most == 0 {
        return 1.0;
    }
    let share = bytes as f64 / most as f64;
    1.0 + 4.5 * (1.0 + share.log10() / 3.0).max(0.0)
}

fn a_box(text: &mut String, vertex: &Vertex, rect: &Rect, all: Option<f64>) {
    let behind = if vertex.members.len() > 1 { STACK } else { 0.0 };
    let (x, y, width, height) = (rect.x, rect.y, rect.width - behind, rect.height - behind);
    if vertex.kind == VertexKind::Join {
        let (x, y, radius) = (x + width / 2.0, y + height / 2.0, width / 2.0);
        let _ = writeln!(
            text,
            "<circle class=\"box join\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>"
        );
        return;
    }
    // What is no process does not look like one.
    let round = if vertex.kind == VertexKind::Outside { height / 2.0 } else { 6.0 };
    let mut outline = |class: &str, by: f64, more: &str| {
        let (x, y, width, height) = (x + by, y + by, width - 2.0 * by, height - 2.0 * by);
        let _ = if vertex.kind == VertexKind::Choice {
            let (middle, slope) = (height / 2.0, height / 2.5);
            writeln!(
                text,
                "<path class=\"{class}\" d=\"M{x:.1} {:.1}l{slope:.1} -{middle:.1}h{flat:.1}l{slope:.1} {middle:.1}\
                 l-{slope:.1} {middle:.1}h-{flat:.1}z\"{more}/>",
                y + middle,
                flat = (width - 2.0 * slope).max(0.0),
            )
        } else {
            writeln!(
                text,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round:.0}\"{more}/>"
            )
        };
    };
    if vertex.members.len() > 1 {
        outline("stack", 0.0, " transform=\"translate(5 5)\"");
        outline("stack", 0.0, " transform=\"translate(2.5 2.5)\"");
    }
    let outside = vertex.kind == VertexKind::Outside;
    outline(if outside { "box outside" } else { "box" }, 0.0, "");
    if let (Some(seconds), Some(all)) = (vertex.seconds, all) {
        let share = (seconds / all).clamp(0.0, 1.0);
        outline("hot", 0.6, &format!(" fill-opacity=\"{:.2}\"", 0.85 * share.sqrt()));
    }
    if vertex.kind == VertexKind::Blocking {
        outline("inner", 3.0, "");
    }
    let (middle, longest) = (x + width / 2.0, vertex.name.chars().count());
    let more = second_line(vertex, all);
    words_at(text, "name", middle, y + 8.0 + 13.0, &vertex.name, longest);
    if let Some(more) = more {
        words_at(text, "second", middle, y + 8.0 + NAME_LINE + 11.0, &more, 0);
    }
}

/// Text around a place; a name too long to be shown has all of itself in its title.
fn words_at(text: &mut String, class: &str, x: f64, y: f64, words: &str, characters: usize) {
    let title = if characters > LONGEST {
        format!("<title>{}</title>", escaped(words))
    } else {
        String::new()
    };
    let words = if characters > 0 { shortened(words) } else { words.to_owned() };
    let _ = writeln!(
        text,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}{title}</text>",
        escaped(&words)
    );
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    let begin: String = name.chars().take(LONGEST - 1).collect();
    begin + "…"
}

/// The width of a text in a wide sans-serif face (`DejaVu Sans`); others are narrower.
fn text_width(text: &str, size: f64) -> f64 {
    let ems = text.chars().map(|c| match c {
        'i' | 'j' | 'l' | 'I' | '|' | '\'' | '.' | ',' | ':' | ';' | ' ' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '·' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'A'..='Z' | '×' | '+' | '<' | '>' | '=' | '&' | '#' => 0.84,
        c if c.is_ascii() => 0.64,
        _ => 1.05,
    });
    // Bold text is wider.
    ems.sum::<f64>() * size * 1.04
}

#[expect(clippy::cast_precision_loss, reason = "lines are few")]
fn to_f64(number: usize) -> f64 {
    number as f64
}

/// Text as XML has it; what no XML may contain is shown as a replacement character.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\r' | '\t' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
