//! Who a process or a channel is, in every run the same.
//!
//! What is created before the run is numbered in the order of creation. What is created during the
//! run is identified by its creator and the creator's running count: never by a global counter,
//! which would depend on the schedule. The chain of creators is folded into a hash, so an identity
//! has a fixed size however deep the chain is.

/// The identity of a process or channel; orders as reports list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity {
    ancestor: u32,
    /// How many creators lie between.
    depth: u32,
    /// The chain of creators, folded.
    creators: u64,
    /// The creator's running count.
    order: u64,
}

impl Identity {
    /// The `order`-th thing created before the run.
    pub(crate) fn fixed(order: u32) -> Self {
        Self { ancestor: order, depth: 0, creators: 0, order: u64::from(order) }
    }

    /// The `order`-th thing that `self` creates while the network runs.
    pub(crate) fn child(self, order: u64) -> Self {
        Self {
            ancestor: self.ancestor,
            depth: self.depth + 1,
            creators: mix(self.creators ^ mix(self.order.wrapping_add(1))),
            order,
        }
    }

    /// A number to draw from, in every run with this seed the same.
    pub(crate) fn draw_from(self, seed: u64) -> u64 {
        mix(seed ^ mix(self.creators ^ mix(self.order ^ u64::from(self.depth))))
    }
}

/// The finaliser of the SplitMix64 generator (Steele, Lea, Flood 2014): every bit moves every bit.
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
}
