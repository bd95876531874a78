//! Filters on images: portable pixmaps (PPM, form `P6`).

use std::sync::Arc;

use kahn_snet::boxes::{BoxError, Emitter, Field, Tag};
use kahn_snet::record::{Record, Value};

use super::{Case, SnetProgram};

/// One colour of an image, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plane {
    width: usize,
    values: Vec<u8>,
}

/// An image of three colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    planes: [Arc<Plane>; 3],
}

impl Image {
    /// Reads a portable pixmap of form `P6` with 8 bits a colour.
    ///
    /// # Errors
    /// Says what was expected.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_apps::snet::image::Image;
    ///
    /// let pixmap = b"P6 # two pixels\n2 1\n255\nabcdef";
    /// let image = Image::read(pixmap)?;
    /// assert_eq!(image.write(), b"P6\n2 1\n255\nabcdef");
    /// # Ok::<(), String>(())
    /// ```
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut rest = bytes.strip_prefix(b"P6").ok_or("a pixmap begins with `P6`")?;
        let mut numbers = [0_usize; 3];
        for number in &mut numbers {
            loop {
                match rest {
                    [b'#', ..] => {
                        let end = rest.iter().position(|byte| *byte == b'\n');
                        rest = &rest[end.unwrap_or(rest.len())..];
                    }
                    [space, after @ ..] if space.is_ascii_whitespace() => rest = after,
                    _ => break,
                }
            }
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let text = std::str::from_utf8(&rest[..digits]).unwrap_or_default();
            *number = text.parse().map_err(|_| "expected width, height and 255")?;
            rest = &rest[digits..];
        }
        let [width, height, most] = numbers;
        let pixels = rest.get(1..).unwrap_or_default();
        let size = width.checked_mul(height).and_then(|pixels| pixels.checked_mul(3));
        if most != 255 || width == 0 || size != Some(pixels.len()) {
            let found = pixels.len();
            return Err(format!("expected {width} × {height} × 3 bytes of pixels, found {found}"));
        }
        let plane = |colour: usize| {
            let values = pixels.iter().skip(colour).step_by(3).copied().collect();
            Arc::new(Plane { width, values })
        };
        Ok(Self { planes: [plane(0), plane(1), plane(2)] })
    }

    /// Writes the image as a portable pixmap.
    pub fn write(&self) -> Vec<u8> {
        let [red, green, blue] = &self.planes;
        let height = red.values.len() / red.width;
        let mut bytes = format!("P6\n{} {height}\n255\n", red.width).into_bytes();
        for ((red, green), blue) in red.values.iter().zip(&green.values).zip(&blue.values) {
            bytes.extend([*red, *green, *blue]);
        }
        bytes
    }

    /// Does in a loop what the program does.
    #[must_use]
    pub fn filtered(&self) -> Self {
        let [mut red, mut green, mut blue] = self.planes.clone().map(Arc::unwrap_or_clone);
        loop {
            red = red.smoothed();
            green = green.smoothed().stretched();
            blue = blue.median().smoothed();
            if is_calm([&red, &green, &blue]) {
                return Self { planes: [red, green, blue].map(Arc::new) };
            }
        }
    }
}

impl Plane {
    /// Makes each value from the nine around it.
    fn map(&self, f: impl Fn(&mut [u8; 9]) -> u8) -> Self {
        let height = self.values.len() / self.width;
        let mut values = Vec::with_capacity(self.values.len());
        for y in 0..height {
            let rows = [y.saturating_sub(1), y, (y + 1).min(height - 1)];
            for x in 0..self.width {
                let columns = [x.saturating_sub(1), x, (x + 1).min(self.width - 1)];
                let mut around = [0; 9];
                for (index, value) in around.iter_mut().enumerate() {
                    *value = self.values[rows[index / 3] * self.width + columns[index % 3]];
                }
                values.push(f(&mut around));
            }
        }
        Self { width: self.width, values }
    }

    fn smoothed(&self) -> Self {
        self.map(|around| {
            let sum: u16 = around.iter().map(|value| u16::from(*value)).sum();
            u8::try_from(sum / 9).unwrap_or(u8::MAX)
        })
    }

    fn median(&self) -> Self {
        self.map(|around| *around.select_nth_unstable(4).1)
    }

    /// Uses a little more of the range than before, downwards.
    fn stretched(&self) -> Self {
        let least = self.values.iter().copied().min().unwrap_or(0).min(8);
        let values = self.values.iter().map(|value| value - least).collect();
        Self { width: self.width, values }
    }

    /// How much neighbours differ, summed.
    fn unrest(&self) -> u64 {
        let rows = self.values.chunks_exact(self.width);
        let pairs = rows.flat_map(|row| row.windows(2));
        pairs.map(|pair| u64::from(pair[0].abs_diff(pair[1]))).sum()
    }
}

/// Whether no more passes are needed: neighbours differ by less than four on average.
fn is_calm(planes: [&Plane; 3]) -> bool {
    let unrest: u64 = planes.iter().map(|plane| plane.unrest()).sum();
    unrest < 3 * 4 * planes[0].values.len() as u64
}

pub(super) const IMAGE: SnetProgram = SnetProgram {
    name: "image",
    source: include_str!("image.snet"),
    ordered: false,
    small: 4,
    bind: |boxes| {
        boxes.add("pre", |image: Field<Image>, out: &mut Emitter| {
            let [red, green, blue] =
                image.0.planes.each_ref().map(|plane| Value::opaque(Plane::clone(plane)));
            out.emit(1, (red, green, blue))
        })?;
        boxes.add("red", |plane: Field<Plane>, out: &mut Emitter| {
            out.emit(1, (Value::opaque(plane.0.smoothed()),))
        })?;
        boxes.add("green", |plane: Field<Plane>, out: &mut Emitter| {
            out.emit(1, (Value::opaque(plane.0.smoothed().stretched()),))
        })?;
        boxes.add("blue", |plane: Field<Plane>, out: &mut Emitter| {
            out.emit(1, (Value::opaque(plane.0.median().smoothed()),))
        })?;
        boxes.add("test", |red: Value, green: Value, blue: Value, out: &mut Emitter| {
            let planes = [&red, &green, &blue].map(Value::downcast::<Plane>);
            let [Some(a), Some(b), Some(c)] = planes else {
                return Err(BoxError::new("expected three planes"));
            };
            if is_calm([&a, &b, &c]) {
                out.emit(2, (red, green, blue, Tag(0)))
            } else {
                out.emit(1, (red, green, blue))
            }
        })?;
        boxes.add(
            "post",
            |red: Field<Plane>,
             green: Field<Plane>,
             blue: Field<Plane>,
             _: Tag,
             out: &mut Emitter| {
                out.emit(1, (Value::opaque(Image { planes: [red.0, green.0, blue.0] }),))
            },
        )
    },
    make: |size| {
        let images: Vec<Image> = (0..size).map(|index| drawn(48 + index, 32)).collect();
        case_of(images)
    },
};

/// Work on these images, compared with the loop.
pub fn case_of(images: Vec<Image>) -> Case {
    let record = |(index, image): (usize, &Image)| {
        let tag = i64::try_from(index).unwrap_or(i64::MAX);
        Record::new().field("image", Value::opaque(image.clone())).tag("index", tag)
    };
    let input = images.iter().enumerate().map(record).collect();
    Case::new(input, move |output| {
        if output.len() != images.len() {
            return Err(format!("{} images", output.len()));
        }
        for record in output {
            let index = record.tags.get("index").and_then(|index| usize::try_from(*index).ok());
            let before = index.and_then(|index| images.get(index)).ok_or("an unknown image")?;
            let after = result(record)?;
            if *after != before.filtered() {
                return Err("another image than that of the loop".to_owned());
            }
            if *after == *before {
                return Err("the image has not changed".to_owned());
            }
        }
        Ok(())
    })
}

/// The image in a record that came out.
///
/// # Errors
/// Returns an error if there is none.
pub fn result(record: &Record) -> Result<Arc<Image>, String> {
    let image = record.fields.get("image").and_then(Value::downcast::<Image>);
    image.ok_or_else(|| format!("no image: {record}"))
}

/// The Mandelbrot set with grain, as something to filter.
fn drawn(width: usize, height: usize) -> Image {
    let mut bytes = format!("P6\n{width} {height}\n255\n").into_bytes();
    let mut random = crate::random::Random::new(width as u64);
    for y in 0..height {
        for x in 0..width {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let (a, b) =
                (3.0 * x as f64 / width as f64 - 2.0, 2.0 * y as f64 / height as f64 - 1.0);
            let (mut re, mut im, mut steps) = (0.0, 0.0, 0_u8);
            while re * re + im * im < 4.0 && steps < 120 {
                (re, im) = (re * re - im * im + a, 2.0 * re * im + b);
                steps += 1;
            }
            for factor in [1, 2, 3_u8] {
                let grain = u8::try_from(random.below(16)).unwrap_or(0);
                bytes.push(steps.wrapping_mul(factor).saturating_add(grain));
            }
        }
    }
    Image::read(&bytes).unwrap_or_else(|_| Image {
        planes: [(); 3].map(|()| Arc::new(Plane { width: 1, values: vec![0] })),
    })
}
