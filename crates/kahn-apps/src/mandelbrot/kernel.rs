//! One row of the set. Doubles as IEEE has them, nothing contracted: the same bytes everywhere.

/// The most iterations for a point.
const MOST: u32 = 240;

/// The square of the distance from which on a point is out.
const FAR: f64 = 32.0;

/// The signs of a terminal for the last four bits of the iteration count.
const SIGNS: &[u8; 16] = b" .,'~\"^:;|&[$%@#";

/// Where the picture is, and how near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zoom {
    factor: f64,
    drift: (f64, f64),
}

impl Default for Zoom {
    fn default() -> Self {
        Self { factor: 16.0, drift: (0.0, 0.0) }
    }
}

impl Zoom {
    /// Goes on to the next frame.
    pub fn nearer(&mut self) {
        let (x, y) = self.drift;
        self.factor += self.factor / 32.0;
        self.drift = (
            x + (1.160_000_148_59 - x) / 16.0, //
            y + (-0.271_402_153_03 - y) / 16.0,
        );
    }
}

/// What has to be known to compute a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// How far below the middle it is, in pixels.
    pub offset: f64,
    /// The place of its frame.
    pub zoom: Zoom,
}

/// What is the same for all points of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// How many pixels are as far as 1.
    scale: f64,
    /// How far the middle is to the left of 0.
    drift: f64,
    /// The imaginary part.
    height: f64,
}

impl Row {
    /// What its points have in common.
    pub(super) fn line(self) -> Line {
        let Zoom { factor, drift } = self.zoom;
        Line { scale: 2.0 * factor, drift: drift.0, height: self.offset / factor - drift.1 }
    }

    /// Computes the bytes of the row, and the sum of its iteration counts.
    pub fn compute(self, width: u32) -> (Vec<u8>, u64) {
        let line = self.line();
        let (mut bytes, mut sum) = (Vec::with_capacity(2 * width as usize), 0);
        for column in 0..width {
            let count = line.pixel(column, width);
            bytes.extend(colour_and_sign(count));
            sum += u64::from(count);
        }
        (bytes, sum)
    }
}

impl Line {
    /// The count of iterations of a pixel, in a row so wide.
    #[inline]
    pub(super) fn pixel(self, column: u32, width: u32) -> u32 {
        let across = f64::from(column) - f64::from(width) / 2.0;
        iterations(across / self.scale - self.drift, self.height)
    }
}

#[inline]
fn iterations(x: f64, y: f64) -> u32 {
    let (mut re, mut im) = (0.0_f64, 0.0_f64);
    let mut count = 0;
    while count < MOST && re * re + im * im < FAR {
        (re, im) = (re * re - im * im + x, im * re + re * im + y);
        count += 1;
    }
    count
}

/// The two bytes of a pixel.
#[inline]
pub(super) fn colour_and_sign(count: u32) -> [u8; 2] {
    let low = (count % 16) as u8;
    [low % 6, SIGNS[usize::from(low)]]
}

/// The last four bits of the iteration count that a sign stands for.
pub(super) fn shade_of(sign: u8) -> u8 {
    let place = SIGNS.iter().position(|&other| other == sign);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_in_the_set_never_leaves_and_one_far_out_does_at_once() {
        assert_eq!(iterations(0.0, 0.0), MOST);
        assert_eq!(iterations(-1.0, 0.0), MOST);
        assert_eq!(iterations(6.0, 0.0), 1);
        // 2, 6, out.
        assert_eq!(iterations(2.0, 0.0), 2);
    }

    #[test]
    fn sixteen_signs_differ() {
        for low in 0..16 {
            let [colour, sign] = colour_and_sign(low + 16);
            assert_eq!(u32::from(shade_of(sign)), low);
            assert_eq!(u32::from(colour), low % 6);
        }
    }
}
