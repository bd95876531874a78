//! Which names belong together: those that differ in their numbers alone, as `count 0` to `count 7`.

use std::collections::BTreeMap;

/// Things with names that differ in their numbers alone, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// What they are called together: `count 0…7`, or the name if there is one.
    pub(crate) name: String,
    /// Which they are, in the order given.
    pub(crate) members: Vec<usize>,
}

/// A name in parts: what stands between its numbers, and the numbers.
fn parts(name: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    let mut rest = name;
    loop {
        let Some(start) = rest.find(|c: char| c.is_ascii_digit()) else {
            texts.push(rest);
            return (texts, numbers);
        };
        let behind = &rest[start..];
        let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        texts.push(&rest[..start]);
        numbers.push(&behind[..end]);
        rest = &behind[end..];
    }
}

/// The numbers of a name.
pub(crate) fn numbers(name: &str) -> Vec<&str> {
    parts(name).1
}

/// Sorts names into families, in the order in which their first members come.
pub(crate) fn families<'name>(names: impl IntoIterator<Item = &'name str>) -> Vec<Family> {
    let names: Vec<_> = names.into_iter().collect();
    let mut places: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    let mut families: Vec<Family> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let place = *places.entry(parts(name).0).or_insert(families.len());
        if place == families.len() {
            families.push(Family { name: String::new(), members: Vec::new() });
        }
        families[place].members.push(index);
    }
    for family in &mut families {
        family.name = together(family.members.iter().map(|&member| names[member]));
    }
    families
}

/// What names with equal texts are called together: each number that differs as its range.
fn together<'name>(names: impl Iterator<Item = &'name str>) -> String {
    /// The least and the greatest number in one place.
    type Range<'name> = (&'name str, &'name str);
    let value = |number: &str| {
        let digits = number.trim_start_matches('0');
        (digits.len(), digits.to_owned())
    };
    let (mut texts, mut ranges): (Vec<&str>, Vec<Range<'_>>) = (Vec::new(), Vec::new());
    for name in names {
        let (between, numbers) = parts(name);
        if texts.is_empty() {
            (texts, ranges) = (between, numbers.iter().map(|&number| (number, number)).collect());
            continue;
        }
        for (range, number) in ranges.iter_mut().zip(numbers) {
            if value(number) < value(range.0) {
                range.0 = number;
            }
            if value(number) > value(range.1) {
                range.1 = number;
            }
        }
    }
    let mut name = String::new();
    for (place, text) in texts.iter().enumerate() {
        name.push_str(text);
        let Some((least, greatest)) = ranges.get(place) else { continue };
        name.push_str(least);
        if least != greatest {
            name.push('…');
            name.push_str(greatest);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<(String, usize)> {
        let families = families(names.iter().copied());
        families.into_iter().map(|family| (family.name, family.members.len())).collect()
    }

    #[test]
    fn names_that_differ_in_their_numbers_are_one_family() {
        let names = ["read", "count 9", "count 10", "count 0", "merge", "read"];
        let expected =
            [("read".to_owned(), 2), ("count 0…10".to_owned(), 3), ("merge".to_owned(), 1)];
        assert_eq!(named(&names), expected);
    }

    #[test]
    fn numbers_that_are_equal_stay_and_each_other_has_its_range() {
        assert_eq!(named(&["sha256 1,7", "sha256 2,3"]), [("sha256 1…2,3…7".to_owned(), 2)]);
        assert_eq!(named(&["a1", "1a", "", "é 3"]).len(), 4);
    }
}
