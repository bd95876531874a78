//! Figures as people say them: with a unit, and no more digits than are of use.

/// A time: `1.25 s`, `12.3 ms`; `-` if it was not measured.
pub(crate) fn time(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else { return "-".to_owned() };
    if seconds >= 60.0 {
        return format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), (seconds % 60.0).floor());
    }
    let (value, unit) = match seconds {
        s if s >= 0.999_5 => (s, "s"),
        s if s >= 0.000_999_5 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Bytes: `812 B`, `1.25 MiB`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), units[unit])
}

/// A share of something: `63 %`.
pub(crate) fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} %", 100.0 * part / whole) } else { "-".to_owned() }
}

/// `1 process`, `2 processes`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_bytes_have_three_digits_and_a_unit() {
        let times = [0.0, 0.000_001_5, 0.000_999_6, 0.012_34, 0.999_6, 59.96, 3_725.0];
        let shown = times.map(|seconds| time(Some(seconds)));
        let expected =
            ["0.00 us", "1.50 us", "1.00 ms", "12.3 ms", "1.00 s", "60.0 s", "62 min 05 s"];
        assert_eq!(shown, expected);
        assert_eq!(time(None), "-");
        let sizes = [0, 1023, 1024, 1_048_575, 1 << 30, u64::MAX];
        assert_eq!(
            sizes.map(bytes),
            ["0 B", "1023 B", "1.00 KiB", "1.00 MiB", "1.00 GiB", "16.0 EiB"]
        );
    }
}
