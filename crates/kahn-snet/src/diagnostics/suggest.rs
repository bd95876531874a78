//! "Did you mean": the known word that is closest to the one written.

/// Returns the known word with the least edit distance, if it is at most a third of the length.
pub(crate) fn closest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (written.chars().count() / 3).max(1);
    known
        .into_iter()
        .filter(|word| *word != written)
        .map(|word| (distance(written, word), word))
        .filter(|(distance, word)| *distance <= limit && *distance < word.chars().count())
        .min()
        .map(|(_, word)| word)
}

/// The edit distance in which a swap of two neighbours counts one; case alone counts one in all.
fn distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return 1;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[test]
fn a_slip_of_the_pen_is_found_and_another_word_is_not() {
    let known = ["invert", "scale", "p"];
    assert_eq!(closest("invret", known), Some("invert"));
    assert_eq!(closest("Scale", known), Some("scale"));
    assert_eq!(closest("blur", known), None);
    assert_eq!(closest("q", known), None);
}
