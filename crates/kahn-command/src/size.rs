//! Sizes as people write them: `1024`, `512K`, `2G`.

/// Reads a number of bytes, or one with K, M or G behind it: powers of 1024.
///
/// # Examples
///
/// ```
/// assert_eq!(kahn_command::size::parse("3K"), Ok(3072));
/// ```
///
/// # Errors
///
/// Returns what was expected.
pub fn parse(text: &str) -> Result<u64, String> {
    let shift = match text.as_bytes().last() {
        Some(b'K' | b'k') => 10,
        Some(b'M' | b'm') => 20,
        Some(b'G' | b'g') => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected bytes, or a number with K, M or G: `1048576`, `1024K`, `1M`".into());
    }
    let size = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    size.ok_or_else(|| format!("is too large: the most is {}G", u64::MAX >> 30))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn letters_are_powers_of_1024() {
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("17"), Ok(17));
        assert_eq!(parse("3K"), Ok(3072));
        assert_eq!(parse("2m"), Ok(2 << 20));
        assert_eq!(parse("1G"), Ok(1 << 30));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "K", "1T", "1KB", "-1", "+1", "1.5G", "1 K", "é"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(parse("99999999999G").unwrap_err().contains("too large"));
    }
}
