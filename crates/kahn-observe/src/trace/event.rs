//! What a thread writes down: five words an event.
//!
//! | word | of a slice | of a wake | of messages | of a mark |
//! |---|---|---|---|---|
//! | 0 | kind, process, channel | kind, process that waited, channel | kind, process, channel | kind, process, label |
//! | 1 | when it began | when | when | when |
//! | 2 | when it ended | the process that ended the wait | how many | – |
//! | 3 | ticks in which the thread ran | – | – | – |
//! | 4 | the message that the process waits for | the same | the first of them | the user's number |

/// Words of an event.
pub(super) const WORDS: usize = 5;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum What {
    /// A slice, after which the process waits for a message or for room, gives way, waits outside, or has
    /// returned.
    UntilMessage = 1,
    UntilRoom,
    UntilGivesWay,
    UntilOtherwise,
    UntilGood,
    /// A wait for a message, or for room, is over: the process is the one that waited.
    WokenForMessage,
    WokenForRoom,
    /// The process is dropped.
    Dropped,
    /// The process sent messages, received them.
    Sent,
    Received,
    /// The user's mark; the label stands in place of the channel.
    Mark,
}

const ALL: [What; 11] = [
    What::UntilMessage,
    What::UntilRoom,
    What::UntilGivesWay,
    What::UntilOtherwise,
    What::UntilGood,
    What::WokenForMessage,
    What::WokenForRoom,
    What::Dropped,
    What::Sent,
    What::Received,
    What::Mark,
];

/// What happened, with places in the list of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) what: What,
    pub(super) process: u32,
    pub(super) channel: u32,
    pub(super) at: u64,
    /// See word 2 above.
    pub(super) second: u64,
    pub(super) ran: u64,
    pub(super) number: u64,
}

/// Bits of a place in the list of names.
pub(super) const PLACE_BITS: u32 = 28;

impl Event {
    #[inline]
    pub(super) fn words(self) -> [u64; WORDS] {
        let first = u64::from(self.what as u8) << (2 * PLACE_BITS)
            | u64::from(self.process) << PLACE_BITS
            | u64::from(self.channel);
        [first, self.at, self.second, self.ran, self.number]
    }

    /// What [`words`](Self::words) were made of; none of a place that was never written.
    pub(super) fn of([first, at, second, ran, number]: [u64; WORDS]) -> Option<Self> {
        const PLACE: u64 = (1 << PLACE_BITS) - 1;
        let kind = usize::try_from(first >> (2 * PLACE_BITS)).ok()?;
        let what = *ALL.get(kind.checked_sub(1)?)?;
        let place = |bits: u64| (bits & PLACE) as u32;
        let (process, channel) = (place(first >> PLACE_BITS), place(first));
        Some(Self { what, process, channel, at, second, ran, number })
    }

    /// Whether it is a slice.
    pub(super) fn is_slice(self) -> bool {
        use What::*;
        matches!(self.what, UntilMessage | UntilRoom | UntilGivesWay | UntilOtherwise | UntilGood)
    }

    /// When it was written down.
    pub(super) fn known_at(self) -> u64 {
        if self.is_slice() { self.second } else { self.at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_back_from_its_words() {
        for what in ALL {
            let most = (1 << PLACE_BITS) - 1;
            for (process, channel) in [(0, 0), (most, 0), (0, most), (7, 9)] {
                let event =
                    Event { what, process, channel, at: 3, second: u64::MAX, ran: 5, number: 8 };
                assert_eq!(Event::of(event.words()), Some(event));
            }
        }
        assert_eq!(Event::of([0; WORDS]), None);
        assert_eq!(Event::of([u64::MAX; WORDS]), None);
    }
}
