//! A number that depends on every message, so that an output tells whether all were right.

/// Takes a value into a checksum; the order counts.
///
/// One multiplication, so that it costs nothing beside a message. It tells outputs apart; it is no
/// protection against forgery.
///
/// ```
/// use kahn_apps::checksum::mix;
///
/// let sum = |values: [u64; 3]| values.into_iter().fold(0, mix);
/// assert_ne!(sum([1, 2, 3]), sum([1, 3, 2]));
/// ```
#[must_use]
pub fn mix(sum: u64, value: u64) -> u64 {
    // With an odd factor it is a permutation of `sum` for each value, and the other way round.
    (sum.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
