//! The sieve on one thread: a table of the odd numbers.

/// Finds the primes up to `limit`.
pub(super) fn primes(limit: u32) -> Vec<u32> {
    if limit < 2 {
        return Vec::new();
    }
    // Entry `i` stands for the number 2i + 1.
    let mut composite = vec![false; (limit as usize).div_ceil(2)];
    let mut primes = vec![2];
    for index in 1..composite.len() {
        if composite[index] {
            continue;
        }
        let prime = 2 * index + 1;
        primes.push(u32::try_from(prime).expect("a prime is not above the limit"));
        // The first multiple that no smaller prime has crossed out is the square.
        let multiples = composite.iter_mut().skip(prime * prime / 2).step_by(prime);
        multiples.for_each(|multiple| *multiple = true);
    }
    primes
}

#[cfg(test)]
mod tests {
    use super::primes;

    #[test]
    fn the_limit_itself_counts() {
        assert!(primes(0).is_empty());
        assert!(primes(1).is_empty());
        assert_eq!(primes(2), [2]);
        assert_eq!(primes(3), [2, 3]);
        assert_eq!(primes(4), [2, 3]);
        assert_eq!(primes(25), [2, 3, 5, 7, 11, 13, 17, 19, 23]);
        assert_eq!(primes(29).last(), Some(&29));
    }

    #[test]
    fn there_are_as_many_as_the_tables_of_primes_say() {
        assert_eq!(primes(1000).len(), 168);
        assert_eq!(primes(1_000_000).len(), 78_498);
    }
}
