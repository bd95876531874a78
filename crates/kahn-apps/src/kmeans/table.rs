//! Rows of numbers, comma separated; what is wrong with a row is told by file and line.

use std::path::Path;

use super::number::Number;
use super::points::Points;
use crate::Failure;

/// Reads a file of points, all of as many dimensions as the first, or as `dimensions` says.
pub(super) fn read<T: Number>(
    path: &Path,
    input: &[u8],
    dimensions: Option<(usize, &str)>,
) -> Result<Points<T>, Failure> {
    let mut points: Option<Points<T>> = None;
    let mut row = Vec::new();
    for (index, line) in lines(input).enumerate() {
        row.clear();
        let found = memchr::memchr_iter(b',', line).count() + 1;
        let (expected, like) = match (&points, dimensions) {
            (_, Some(known)) => known,
            (Some(points), None) => (points.dimensions(), "line 1"),
            (None, None) => (found, "line 1"),
        };
        if line.trim_ascii().is_empty() {
            return Err(Failure::line(path, index + 1, "expected numbers, found an empty line"));
        }
        if found != expected {
            let what = format!("expected {} as in {like}, found {found}", numbers(expected));
            return Err(Failure::line(path, index + 1, what));
        }
        for (column, field) in line.split(|byte| *byte == b',').enumerate() {
            let field = field.trim_ascii();
            let number = str::from_utf8(field).ok().and_then(|text| T::parse(text, expected));
            row.push(number.ok_or_else(|| {
                let (wanted, found) = (T::expected(expected), quote(field));
                let what = format!("column {}: expected {wanted}, found {found}", column + 1);
                Failure::line(path, index + 1, what)
            })?);
        }
        points.get_or_insert_with(|| Points::new(expected)).push(&row);
    }
    points.ok_or_else(|| Failure::file(path, "is empty, expected a row of numbers for each point"))
}

/// Reads the starting means: one for each group, of the dimensions of the points.
pub(super) fn read_means<T: Number>(
    path: &Path,
    input: &[u8],
    groups: usize,
    points: &Points<T>,
    points_path: &Path,
) -> Result<Vec<T>, Failure> {
    let like = points_path.display().to_string();
    let means = read::<T>(path, input, Some((points.dimensions(), &like)))?;
    if means.len() != groups {
        let what = format!("expected {groups} rows, one for each group, found {}", means.len());
        return Err(Failure::file(path, what));
    }
    Ok((0..groups).flat_map(|index| means.row(index).collect::<Vec<_>>()).collect())
}

/// Gives the lines of a text, without what ends them; behind the last end there is no line.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut left = text;
    std::iter::from_fn(move || {
        if left.is_empty() {
            return None;
        }
        let (line, rest) = match memchr::memchr(b'\n', left) {
            Some(end) => (&left[..end], &left[end + 1..]),
            None => (left, &left[left.len()..]),
        };
        left = rest;
        Some(line)
    })
}

fn numbers(count: usize) -> String {
    if count == 1 { "1 number".to_owned() } else { format!("{count} numbers") }
}

/// Shows what was found, in a length that fits into a message.
fn quote(field: &[u8]) -> String {
    const MOST: usize = 40;
    if field.is_empty() {
        return "nothing".to_owned();
    }
    let shown = String::from_utf8_lossy(&field[..field.len().min(MOST)]);
    let more = if field.len() > MOST { "..." } else { "" };
    format!("`{}{more}`", shown.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text<T: Number>(text: &str) -> Result<Vec<Vec<T>>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.csv");
        let points = read::<T>(&path, text.as_bytes(), None).map_err(|failure| {
            let text = failure.to_string();
            text.split_once("points.csv: ").expect("the file is named").1.to_owned()
        })?;
        Ok((0..points.len()).map(|index| points.row(index).collect()).collect())
    }

    #[test]
    fn rows_are_read_with_blanks_and_any_line_end() {
        let expected = vec![vec![1.5, -2.0], vec![3000.0, 4.0]];
        assert_eq!(read_text::<f64>("1.5,-2\n3e3,4\n").unwrap(), expected);
        assert_eq!(read_text::<f64>(" 1.5 , -2 \r\n3e3,\t4").unwrap(), expected);
    }

    #[test]
    fn a_bad_row_is_told_by_line_and_what_was_expected() {
        let limit = i64::limit(2);
        let cases = [
            ("1,2\n3\n", "line 2: expected 2 numbers as in line 1, found 1".to_owned()),
            ("1\n3,4\n", "line 2: expected 1 number as in line 1, found 2".to_owned()),
            ("1,2\n\n3,4\n", "line 2: expected numbers, found an empty line".to_owned()),
            (
                "1,2\n3,x\n",
                format!(
                    "line 2: column 2: expected an integer from -{limit} to {limit}, found `x`"
                ),
            ),
            (
                "1,2.5\n",
                format!(
                    "line 1: column 2: expected an integer from -{limit} to {limit}, found `2.5`"
                ),
            ),
            (
                "1,\n",
                format!(
                    "line 1: column 2: expected an integer from -{limit} to {limit}, found nothing"
                ),
            ),
            ("", "is empty, expected a row of numbers for each point".to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(read_text::<i64>(text).unwrap_err(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_finite_is_no_number() {
        for text in ["nan", "inf", "1e999", "-infinity", "1e151"] {
            assert!(read_text::<f64>(text).is_err(), "{text}");
        }
    }
}
