//! Hamming's problem on one thread, as Dijkstra solved it: three places in the list of results.

/// Finds the first `count` numbers, which the caller knows to fit.
pub(super) fn first(count: usize) -> Vec<u128> {
    let mut numbers: Vec<u128> = Vec::with_capacity(count);
    // For each factor: how many of the numbers found have been multiplied with it.
    let mut taken = [(2, 0), (3, 0), (5, 0)];
    let mut next = 1;
    while numbers.len() < count {
        numbers.push(next);
        // What does not fit becomes 2^128 - 1, which 17 divides: it is none of the numbers, and
        // before it would be taken, the count is reached.
        let multiple = |(factor, index): (u128, usize)| numbers[index].saturating_mul(factor);
        for place in &mut taken {
            place.1 += usize::from(multiple(*place) == next);
        }
        next = taken.map(multiple).into_iter().min().unwrap_or(u128::MAX);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::first;

    /// The definition, read out.
    fn is_hamming(mut number: u128) -> bool {
        for factor in [2, 3, 5] {
            while number.is_multiple_of(factor) {
                number /= factor;
            }
        }
        number == 1
    }

    #[test]
    fn the_first_numbers_are_those_of_the_definition() {
        let by_definition: Vec<u128> = (1..2000).filter(|&number| is_hamming(number)).collect();
        assert_eq!(first(by_definition.len()), by_definition);
        assert!(first(0).is_empty());
    }

    #[test]
    fn the_1691st_is_the_known_one() {
        assert_eq!(first(1691).last(), Some(&2_125_764_000));
    }
}
