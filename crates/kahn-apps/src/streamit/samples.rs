//! Samples: 32-bit floats, in files one after the other with the low byte first, as GNU Radio has them.

use std::io::{self, Write};

use super::filters::single;
use crate::Failure;
use crate::checksum::mix;
use crate::random::Random;

/// Reads samples from the bytes of a file, which come `group` samples at a time.
pub(super) fn parse(name: &str, bytes: &[u8], group: usize) -> Result<Vec<f32>, Failure> {
    let (samples, rest) = bytes.as_chunks();
    if !rest.is_empty() || !samples.len().is_multiple_of(group) {
        let (count, size) = (bytes.len(), 4 * group);
        let wrong = format!("{name}: has {count} bytes, expected a multiple of {size}");
        return Err(Failure::input(wrong)
            .with_help("samples are 32-bit floats, low byte first, without a header"));
    }
    Ok(samples.iter().map(|sample| f32::from_le_bytes(*sample)).collect())
}

/// The bits of a sample. What is no number has many: which of them come out of a computation the language does
/// not say.
fn bits(sample: f32) -> u32 {
    if sample.is_nan() { f32::NAN } else { sample }.to_bits()
}

/// Writes samples as [`parse`] reads them.
pub(super) fn write(out: &mut dyn Write, samples: &[f32]) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(1 << 16);
    for samples in samples.chunks(1 << 14) {
        buffer.clear();
        buffer.extend(samples.iter().flat_map(|sample| bits(*sample).to_le_bytes()));
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// Makes a number that depends on every bit of all samples.
pub(super) fn checksum(samples: &[f32]) -> u64 {
    samples.iter().fold(0, |sum, sample| mix(sum, u64::from(bits(*sample))))
}

/// Makes samples at random, from -1 to 1, of 24 bits each.
pub(super) fn noise(seed: u64, count: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let scaled = |number: u64| f64::from(u32::try_from(number >> 40).unwrap_or(0)) / 8_388_608.0;
    (0..count).map(|_| single(scaled(random.next()) - 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_were_written_are_read_again() {
        let samples = noise(3, 20_000);
        assert!(samples.iter().all(|sample| (-1.0..1.0).contains(sample)));
        assert!(samples.iter().any(|sample| *sample > 0.99));
        assert!(samples.iter().any(|sample| *sample < -0.99));
        let mut bytes = Vec::new();
        write(&mut bytes, &samples).unwrap();
        assert_eq!(checksum(&parse("memory", &bytes, 2).unwrap()), checksum(&samples));
        let refused = parse("memory", &bytes[..bytes.len() - 4], 2).unwrap_err();
        assert_eq!(refused.to_string(), "memory: has 79996 bytes, expected a multiple of 8");
    }
}
