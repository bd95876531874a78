//! How many parcels are under way between two ranks.
//!
//! What carries bytes keeps what has come and was not asked for, often without bound (MPI does). So bytes go in
//! *parcels*, and between two ranks at most [`Window::MOST`] are under way of which the receiver has not told. Each
//! parcel tells how many have come the other way; where none goes, a *receipt* does. Counted in parcels, on one rank,
//! for each other one:
//!
//! | | what |
//! |---|---|
//! | `sent` | given to what carries them |
//! | `known` | of these the other has told that it has received; `sent` − `known` ≤ `MOST` |
//! | `received` | come from the other |
//! | `told` | of these the other was told |
//!
//! *The window opens again.* If it is closed, the other has not told of `MOST` parcels. Either they have not all been
//! received: they come, and a rank takes what comes whatever its channels hold. Or all have, and then it has
//! told of all but less than half of them, for it sends a receipt for each half.

/// Counts the parcels between this rank and another one, and says when the next may go.
///
/// # Examples
///
/// ```
/// use kahn_net::Window;
///
/// let (mut here, mut there) = (Window::default(), Window::default());
/// for _ in 0..Window::MOST {
///     assert!(here.is_open());
///     here.send();
///     there.receive();
/// }
/// assert!(!here.is_open());
/// // It tells of them as soon as they are half a window.
/// here.hear(there.receipt(Window::MOST / 2).expect("a whole one has come"));
/// assert!(here.is_open() && here.is_all_known());
/// assert_eq!(here.most_under_way(), Window::MOST);
/// ```
#[derive(Clone, Debug)]
pub struct Window {
    most: u64,
    sent: u64,
    known: u64,
    received: u64,
    told: u64,
    most_under_way: u64,
}

impl Window {
    /// The most parcels that are under way to a rank of which it has not told, if nothing else is said.
    pub const MOST: u64 = 16;

    /// Makes one for so many parcels.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut window = kahn_net::Window::of(1);
    /// window.send();
    /// assert!(!window.is_open());
    /// ```
    pub fn of(most: u64) -> Self {
        Self { most, sent: 0, known: 0, received: 0, told: 0, most_under_way: 0 }
    }

    /// Tells whether one more parcel may go.
    ///
    /// # Examples
    ///
    /// See [`Window`].
    pub fn is_open(&self) -> bool {
        self.sent - self.known < self.most
    }

    /// Counts a parcel that goes; returns how many have come, which it is to tell.
    ///
    /// # Examples
    ///
    /// See [`Window`].
    pub fn send(&mut self) -> u64 {
        self.sent += 1;
        self.most_under_way = self.most_under_way.max(self.sent - self.known);
        self.told = self.received;
        self.received
    }

    /// Counts a parcel that has come.
    ///
    /// # Examples
    ///
    /// See [`Window`].
    pub fn receive(&mut self) {
        self.received += 1;
    }

    /// Hears how many the other rank has received; what cannot be is not heeded.
    ///
    /// # Examples
    ///
    /// See [`Window`].
    pub fn hear(&mut self, received: u64) {
        if received <= self.sent {
            self.known = self.known.max(received);
        }
    }

    /// Returns how many have come, if the other rank has not been told of so many.
    ///
    /// # Examples
    ///
    /// See [`Window`].
    pub fn receipt(&mut self, not_told: u64) -> Option<u64> {
        let is_due = self.received - self.told >= not_told;
        is_due.then(|| {
            self.told = self.received;
            self.received
        })
    }

    /// Tells whether the other rank has told of all parcels.
    ///
    /// # Examples
    ///
    /// See [`Window`].
    pub fn is_all_known(&self) -> bool {
        self.known == self.sent
    }

    /// Returns the most parcels that were under way at once.
    ///
    /// # Examples
    ///
    /// See [`Window`].
    pub fn most_under_way(&self) -> u64 {
        self.most_under_way
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::of(Self::MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Whichever rank is awake, no more than a window is under way, and all comes when both are, though few parcels go
        /// the other way.
        #[test]
        fn no_more_than_a_window_is_under_way_and_it_opens_again(
            awake in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..400),
            back in 0..200_u32,
        ) {
            let mut windows = [Window::default(), Window::default()];
            // To each: parcels, and receipts, by what they tell.
            let mut under_way = [VecDeque::new(), VecDeque::new()];
            let mut parcels_left = [200_u32, back];
            let rest = std::iter::repeat_n((true, true), 1_000);
            for (first, second) in awake.into_iter().chain(rest) {
                for (rank, is_awake) in [(0, first), (1, second)] {
                    if !is_awake {
                        continue;
                    }
                    if let Some((is_parcel, told)) = under_way[rank].pop_front() {
                        windows[rank].hear(told);
                        if is_parcel {
                            windows[rank].receive();
                        }
                    }
                    while parcels_left[rank] > 0 && windows[rank].is_open() {
                        parcels_left[rank] -= 1;
                        let told = windows[rank].send();
                        under_way[1 - rank].push_back((true, told));
                    }
                    if let Some(told) = windows[rank].receipt(Window::MOST / 2) {
                        under_way[1 - rank].push_back((false, told));
                    }
                    let parcels = under_way[1 - rank].iter().filter(|(is_parcel, _)| *is_parcel);
                    prop_assert!(parcels.count() as u64 <= Window::MOST);
                }
            }
            prop_assert_eq!(parcels_left, [0, 0]);
            prop_assert!(under_way.iter().all(VecDeque::is_empty));
        }
    }

    #[test]
    fn what_was_not_sent_is_not_heard_of() {
        let mut window = Window::default();
        window.send();
        window.hear(2);
        assert!(!window.is_all_known());
        window.hear(1);
        assert!(window.is_all_known());
    }
}
