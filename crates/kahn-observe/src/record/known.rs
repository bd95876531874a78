//! What a recording says already of a run that is done again: it is not written twice.
//!
//! Acts of one process on one channel are told in the same order and number in both runs; messages that were received
//! may be told in other portions. So of each kind of act it is counted how many are known, and how many were
//! told again.

use super::{Act, Entry};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

/// How much is known, and told again.
#[derive(Debug, Default)]
pub(super) struct Known {
    of: BTreeMap<u64, OfProcess>,
    again: Mutex<BTreeMap<u64, OfProcess>>,
    /// Of each channel how many digests of messages are known one by one.
    passed: BTreeMap<u64, u64>,
    /// … and after how many they are known together.
    carried: BTreeMap<u64, u64>,
}

/// What a process did, or did again.
#[derive(Debug, Default)]
struct OfProcess {
    /// By channel.
    sends: BTreeMap<u64, u64>,
    receives: BTreeMap<u64, u64>,
    /// Acts of which there is one.
    others: BTreeSet<(Other, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Other {
    SeesEnd,
    Closes,
    Departs,
    Waits,
    Ends,
}

impl Other {
    fn of(act: &Act<'_>) -> Option<(Self, u64)> {
        Some(match *act {
            Act::SeesEnd { channel } => (Self::SeesEnd, channel),
            Act::Closes { channel } => (Self::Closes, channel),
            Act::Departs { channel } => (Self::Departs, channel),
            Act::Waits { channel, .. } => (Self::Waits, channel),
            Act::Ends { .. } => (Self::Ends, 0),
            Act::Sends { .. } | Act::Sent { .. } | Act::Receives { .. } => return None,
        })
    }
}

/// Counts, and returns the number before and after.
fn count(counts: &mut BTreeMap<u64, u64>, channel: u64, more: u64) -> (u64, u64) {
    let count = counts.entry(channel).or_default();
    let before = *count;
    *count = before.saturating_add(more);
    (before, *count)
}

fn number(counts: &BTreeMap<u64, u64>, channel: u64) -> u64 {
    counts.get(&channel).copied().unwrap_or(0)
}

impl Known {
    /// The recording says this.
    pub(super) fn add(&mut self, entry: &Entry<'_>) {
        match entry {
            Entry::Acts { process, act } => {
                let of = self.of.entry(*process).or_default();
                match act {
                    Act::Sends { channel, .. } => {
                        count(&mut of.sends, *channel, 1);
                    }
                    Act::Receives { channel, messages } => {
                        count(&mut of.receives, *channel, *messages);
                    }
                    other => of.others.extend(Other::of(other)),
                }
            }
            Entry::Passed { channel, first, digests } => {
                let known = self.passed.entry(*channel).or_default();
                if *known == *first {
                    *known += digests.len() as u64 / 8;
                }
            }
            Entry::Carried { channel, messages, .. } => {
                let known = self.carried.entry(*channel).or_default();
                *known = (*known).max(*messages);
            }
            Entry::Ended | Entry::Stopped | Entry::Saved { .. } | Entry::Begun { .. } => {}
        }
    }

    /// Whether it says that the process has ended.
    pub(super) fn has_ended(&self, process: u64) -> bool {
        self.of.get(&process).is_some_and(|of| of.others.contains(&(Other::Ends, 0)))
    }

    /// All processes of which it says that they have ended.
    pub(super) fn all_ended(&self) -> impl Iterator<Item = u64> {
        self.of.keys().copied().filter(|process| self.has_ended(*process))
    }

    /// What of an act that is told it does not say yet.
    pub(super) fn news<'a>(&self, process: u64, act: Act<'a>) -> Option<Act<'a>> {
        let Some(known) = self.of.get(&process) else { return Some(act) };
        let mut again = self.again.lock();
        let again = again.entry(process).or_default();
        match act {
            Act::Sends { channel, .. } => {
                let (before, _) = count(&mut again.sends, channel, 1);
                (before >= number(&known.sends, channel)).then_some(act)
            }
            Act::Receives { channel, messages } => {
                let (before, now) = count(&mut again.receives, channel, messages);
                let messages = now.saturating_sub(before.max(number(&known.receives, channel)));
                (messages > 0).then_some(Act::Receives { channel, messages })
            }
            other => {
                let is_known = Other::of(&other).is_some_and(|other| known.others.contains(&other));
                (!is_known).then_some(other)
            }
        }
    }

    /// How many messages of a channel it has digests of, from the first on.
    pub(super) fn passed(&self, channel: u64) -> u64 {
        number(&self.passed, channel)
    }

    /// Whether it says what so many messages of a channel are together, or more of them.
    pub(super) fn has_carried(&self, channel: u64, messages: u64) -> bool {
        messages <= number(&self.carried, channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_no_news_whatever_its_portions() {
        let mut known = Known::default();
        let acts = |act| Entry::Acts { process: 1, act };
        known.add(&acts(Act::Receives { channel: 2, messages: 70 }));
        known.add(&acts(Act::Receives { channel: 2, messages: 30 }));
        known.add(&acts(Act::Sends { channel: 3, message: b"a" }));
        known.add(&acts(Act::SeesEnd { channel: 2 }));
        let receives = |messages| Act::Receives { channel: 2, messages };
        assert_eq!(known.news(1, receives(64)), None);
        assert_eq!(known.news(1, receives(64)), Some(receives(28)));
        assert_eq!(known.news(1, receives(1)), Some(receives(1)));
        let sends = Act::Sends { channel: 3, message: b"a" };
        assert_eq!((known.news(1, sends), known.news(1, sends)), (None, Some(sends)));
        assert_eq!(known.news(1, Act::SeesEnd { channel: 2 }), None);
        let ends = Act::Ends { failure: None };
        assert_eq!(known.news(1, ends), Some(ends));
        assert_eq!(known.news(9, receives(5)), Some(receives(5)), "of another process");
        assert!(!known.has_ended(1));
        known.add(&acts(ends));
        assert!(known.has_ended(1));
    }
}
