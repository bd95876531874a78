//! Which process or channel it is, in every run the same.
//!
//! What is created before the run is numbered in the order of creation. What is created during the
//! run is identified by its creator and the creator's running count: never by a global counter,
//! which would depend on the schedule. The chain of creators is folded into a hash, so an identity
//! has a fixed size however deep the chain is.

/// The identity of a process or channel; orders as reports list them.
///
/// Each process and each channel has one: two words.
///
/// # Examples
///
/// ```
/// use kahn_report::Identity;
///
/// let (first, second) = (Identity::fixed(0), Identity::fixed(1));
/// // What the first creates stands between it and the second.
/// assert!(first < first.child(0) && first.child(0) < second);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct Identity {
    // Two numbers, so that an identity is moved in two registers: as four, it was written in parts and read as a whole,
    // which waits for the parts.
    /// The ancestor, and the upper half of the chain: how many creators lie between in its upper [`DEPTH_BITS`], as far
    /// as they can tell, and the creators, folded.
    before: u64,
    /// The lower half of the chain, and the creator's running count; what is too large for it is folded into the chain.
    after: u64,
}

/// What of a number its lower half is.
const LOWER: u64 = (1 << 32) - 1;
const DEPTH_BITS: u32 = 12;
const FOLDED_BITS: u32 = u64::BITS - DEPTH_BITS;

impl Identity {
    /// Identifies the `order`-th thing created before the run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Identity;
    ///
    /// assert_eq!(Identity::fixed(3), Identity::fixed(3));
    /// assert!(Identity::fixed(3) < Identity::fixed(4));
    /// ```
    #[inline]
    pub fn fixed(order: u32) -> Self {
        Self { before: u64::from(order) << 32, after: u64::from(order) }
    }

    /// Returns whether it was created before the run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Identity;
    ///
    /// let parent = Identity::fixed(3);
    /// assert!(parent.is_fixed() && !parent.child(0).is_fixed());
    /// ```
    #[inline]
    pub fn is_fixed(self) -> bool {
        // The chain of what a process creates tells its depth, which is not 0.
        self.chain() == 0
    }

    /// Returns how many were created before this one, or the one it descends from, before the run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Identity;
    ///
    /// assert_eq!(Identity::fixed(3).child(7).child(0).ancestor(), 3);
    /// ```
    #[inline]
    pub fn ancestor(self) -> usize {
        (self.before >> 32) as usize
    }

    /// Identifies the `order`-th thing that `self` creates while the network runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Identity;
    ///
    /// let parent = Identity::fixed(0);
    /// assert_ne!(parent.child(0), parent.child(1));
    /// assert_ne!(parent.child(0).child(1), parent.child(1).child(0));
    /// ```
    #[inline]
    pub fn child(self, order: u64) -> Self {
        let depth = (self.chain() >> FOLDED_BITS) + 1;
        let depth = depth.min((1 << DEPTH_BITS) - 1);
        let folded = mix(self.chain() ^ mix(self.order() + 1) ^ order >> 32);
        let chain = depth << FOLDED_BITS | folded >> DEPTH_BITS;
        Self { before: self.before & !LOWER | chain >> 32, after: chain << 32 | order & LOWER }
    }

    /// Identifies the child of the same creator that has this order, if the upper halves of their orders
    /// are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Identity;
    ///
    /// let parent = Identity::fixed(0);
    /// assert_eq!(parent.child(0).with_order(5), parent.child(5));
    /// ```
    #[inline]
    pub fn with_order(self, order: u32) -> Self {
        Self { after: self.after & !LOWER | u64::from(order), ..self }
    }

    #[inline]
    fn chain(self) -> u64 {
        self.before << 32 | self.after >> 32
    }

    #[inline]
    fn order(self) -> u64 {
        self.after & LOWER
    }

    /// Returns a number for it, odd, that hardly any other has.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Identity;
    ///
    /// let digest = Identity::fixed(3).digest();
    /// assert_eq!((digest, digest % 2), (Identity::fixed(3).digest(), 1));
    /// ```
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "any of its bits will do")]
    pub fn digest(self) -> usize {
        let place = self.before & !LOWER | self.order();
        // By a large odd number: neighbours differ in all upper bits.
        (self.chain() ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(32) as usize | 1
    }

    /// Returns the identity as numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Identity;
    ///
    /// let child = Identity::fixed(3).child(7);
    /// assert_eq!(Identity::of_words(child.words()), child);
    /// ```
    pub fn words(self) -> [u32; 4] {
        let ([ancestor, upper], [lower, order]) = (halves(self.before), halves(self.after));
        [ancestor, upper, lower, order]
    }

    /// Makes the identity that has these [numbers](Self::words).
    ///
    /// # Examples
    ///
    /// See [`words`](Self::words).
    ///
    /// ```
    /// use kahn_report::Identity;
    ///
    /// assert_eq!(Identity::of_words([3, 0, 0, 3]), Identity::fixed(3));
    /// ```
    pub fn of_words([ancestor, upper, lower, order]: [u32; 4]) -> Self {
        let both = |upper, lower| u64::from(upper) << 32 | u64::from(lower);
        Self { before: both(ancestor, upper), after: both(lower, order) }
    }

    /// Returns a number to draw from, in every run with this seed the same.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Identity;
    ///
    /// let process = Identity::fixed(3);
    /// assert_eq!(process.draw_from(7), process.draw_from(7));
    /// assert_ne!(process.draw_from(7), process.draw_from(8));
    /// ```
    #[inline]
    pub fn draw_from(self, seed: u64) -> u64 {
        mix(seed ^ mix(self.chain() ^ mix(self.order())))
    }
}

/// The upper and the lower half of a number.
#[expect(clippy::cast_possible_truncation, reason = "halves have half the bits")]
#[inline]
fn halves(number: u64) -> [u32; 2] {
    [(number >> 32) as u32, number as u32]
}

/// The finaliser of the SplitMix64 generator (Steele, Lea, Flood 2014): every bit moves every bit.
#[inline]
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_different_creators_differ_and_are_ordered_by_depth_first() {
        let (a, b) = (Identity::fixed(0), Identity::fixed(1));
        assert_ne!(a.child(0), b.child(0));
        assert!(a.child(0) < a.child(1));
        assert!(a.child(7) < a.child(0).child(0));
        assert_ne!(a.child(0).child(0), a.child(1).child(0));
        assert!(a.child(9) < b);
    }

    #[test]
    fn children_of_one_creator_differ_in_their_order_alone() {
        let parent = Identity::fixed(2).child(5);
        for upper in [0, 3 << 32] {
            for order in [1, 2, u32::MAX] {
                let child = parent.child(upper).with_order(order);
                assert_eq!(child, parent.child(upper | u64::from(order)));
            }
        }
    }

    #[test]
    fn counts_that_differ_give_others_however_large_and_however_deep() {
        let mut deep = Identity::fixed(3);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..5000 {
            for order in [0, 1, 1 << 32, 1 << 33, (1 << 33) + 1] {
                assert!(seen.insert(deep.child(order)));
            }
            deep = deep.child(0);
        }
    }
}
