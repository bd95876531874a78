//! Values as bytes, which another rank of the same program reads.
//!
//! Numbers have their own size, the least byte first; a text and a list are their length and what is in them; what
//! may be missing is 0, or 1 and the value; a choice is its number and what it holds. What is read comes
//! from another process: it is refused if it is not whole, and takes no more memory than there are bytes.

use crate::ranks::Carried;
use crate::{
    Activity, AtMessage, Ending, Explanation, Failure, Held, Identity, Misuse, MisuseKind, Name,
    ProcessCounter, ProcessCounts, RingMember, Waiting, WorkerReport,
};
use std::collections::{BTreeMap, BTreeSet};
#[expect(clippy::disallowed_types, reason = "no thread but one that reads comes here")]
use std::sync::Mutex;
use std::sync::PoisonError;

/// A value that goes from rank to rank.
///
/// # Examples
///
/// ```
/// use kahn_report::Portable;
///
/// let mut bytes = Vec::new();
/// vec![Some(7_u32), None].write(&mut bytes);
/// assert_eq!(Portable::read(&mut &bytes[..]), Some(vec![Some(7_u32), None]));
/// assert_eq!(<Vec<Option<u32>>>::read(&mut &bytes[1..]), None);
/// ```
pub trait Portable: Sized {
    /// Writes the value behind `to`.
    fn write(&self, to: &mut Vec<u8>);

    /// Reads a value from the beginning of `from`, which is left behind it; `None` if there is none.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

/// Makes structs [`Portable`], field by field; a field that is left out does not compile.
///
/// # Examples
///
/// ```
/// use kahn_report::Portable;
///
/// #[derive(Debug, PartialEq)]
/// struct Point {
///     x: u32,
///     y: Option<u32>,
/// }
///
/// kahn_report::portable_structs! { Point { x, y } }
///
/// let mut bytes = Vec::new();
/// Point { x: 1, y: None }.write(&mut bytes);
/// assert_eq!(Portable::read(&mut &bytes[..]), Some(Point { x: 1, y: None }));
/// ```
#[macro_export]
macro_rules! portable_structs {
    ($($of:ty { $($field:ident),* $(,)? })*) => {$(
        impl $crate::Portable for $of {
            fn write(&self, to: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($crate::Portable::write($field, to);)*
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::Portable::read(from)?),* })
            }
        }
    )*};
}

/// Makes enums [`Portable`], whose variants have named fields or none; each has a number.
///
/// # Examples
///
/// ```
/// use kahn_report::Portable;
///
/// #[derive(Debug, PartialEq)]
/// enum Shape {
///     Point,
///     Circle { radius: u32 },
/// }
///
/// kahn_report::portable_enums! { Shape { 0: Point {}, 1: Circle { radius } } }
///
/// let mut bytes = Vec::new();
/// Shape::Circle { radius: 3 }.write(&mut bytes);
/// assert_eq!(Portable::read(&mut &bytes[..]), Some(Shape::Circle { radius: 3 }));
/// ```
#[macro_export]
macro_rules! portable_enums {
    (@write $to:ident, $field:tt $name:ident) => { $crate::Portable::write($name, $to) };
    (@write $to:ident, $field:tt) => { $crate::Portable::write($field, $to) };
    ($($of:ty { $($number:literal: $variant:ident { $($field:tt $(= $name:ident)?),* }),* $(,)? })*) => {$(
        impl $crate::Portable for $of {
            fn write(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field $(: $name)?),* } => {
                        to.push($number);
                        $($crate::portable_enums!(@write to, $field $($name)?);)*
                    })*
                }
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                Some(match <u8 as $crate::Portable>::read(from)? {
                    $($number => Self::$variant { $($field: $crate::Portable::read(from)?),* },)*
                    _ => return None,
                })
            }
        }
    )*};
}

macro_rules! numbers {
    ($($of:ty),*) => {$(
        impl Portable for $of {
            fn write(&self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                let (first, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*first))
            }
        }
    )*};
}

numbers!(u8, u32, u64, f64);

impl Portable for usize {
    fn write(&self, to: &mut Vec<u8>) {
        (*self as u64).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Self::try_from(u64::read(from)?).ok()
    }
}

impl Portable for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        match u8::read(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

fn write_text(text: &str, to: &mut Vec<u8>) {
    text.len().write(to);
    to.extend(text.as_bytes());
}

fn read_text<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::read(from)?;
    let (text, rest) = from.split_at_checked(length)?;
    *from = rest;
    str::from_utf8(text).ok()
}

impl Portable for String {
    fn write(&self, to: &mut Vec<u8>) {
        write_text(self, to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(read_text(from)?.to_owned())
    }
}

impl Portable for Name {
    fn write(&self, to: &mut Vec<u8>) {
        write_text(self.as_str(), to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(Self::from(read_text(from)?))
    }
}

/// Texts of other ranks that live for ever there, and so here: they are names of types and of kinds, each once.
#[expect(clippy::disallowed_types, reason = "as above")]
static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl Portable for &'static str {
    fn write(&self, to: &mut Vec<u8>) {
        write_text(self, to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let text = read_text(from)?;
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = texts.get(text) {
            return Some(known);
        }
        let new: &'static str = text.to_owned().leak();
        texts.insert(new);
        Some(new)
    }
}

impl<T: Portable> Portable for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

impl<T: Portable> Portable for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        for value in self {
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        // No place is kept for more than comes.
        let count = usize::read(from)?;
        let mut all = Self::new();
        for _ in 0..count {
            all.push(T::read(from)?);
        }
        Some(all)
    }
}

impl<K: Portable + Ord, V: Portable> Portable for BTreeMap<K, V> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        for (key, value) in self {
            key.write(to);
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(<Vec<(K, V)>>::read(from)?.into_iter().collect())
    }
}

impl<A: Portable, B: Portable> Portable for (A, B) {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some((A::read(from)?, B::read(from)?))
    }
}

impl Portable for Identity {
    fn write(&self, to: &mut Vec<u8>) {
        for word in self.words() {
            word.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let mut word = || u32::read(from);
        Some(Self::of_words([word()?, word()?, word()?, word()?]))
    }
}

impl Portable for ProcessCounts {
    fn write(&self, to: &mut Vec<u8>) {
        for counter in ProcessCounter::ALL {
            self.counted(*counter).write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let mut all = BTreeMap::new();
        for counter in ProcessCounter::ALL {
            all.insert(*counter as usize, <Option<u64>>::read(from)?);
        }
        Some(Self::of(|counter| all.get(&(counter as usize)).copied().flatten()))
    }
}

/// Without the error itself, which stays on its rank: what is told of it goes.
impl Portable for Failure {
    fn write(&self, to: &mut Vec<u8>) {
        self.message.write(to);
        self.panicked.write(to);
        self.at.write(to);
        self.input.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let (message, panicked) = (String::read(from)?, bool::read(from)?);
        let mut failure = Self::panic(message, Portable::read(from)?);
        (failure.panicked, failure.input) = (panicked, Portable::read(from)?);
        Some(failure)
    }
}

portable_structs! {
    AtMessage { channel, number }
    Carried { messages, bytes }
    Explanation { waiting, rings, remedies, silent }
    Waiting { process, activity, kind, is_stuck, created_at }
    RingMember { process, channel, full, operation }
    Held { channel, is_sender, messages }
    Misuse { process, kind }
    WorkerReport {
        worker, busy_seconds, idle_seconds, spins, sleeps, steals_tried, steals_won
    }
}

portable_enums! {
    Ending {
        0: Finished {},
        1: Failed { 0 = failure },
        2: FailedBy { channel, process },
        3: Pruned {},
        4: Stopped {},
    }
    Activity {
        0: Receives { channel, message, from },
        1: Sends { channel, message, capacity, to },
        2: HeldBack { channel, message },
        3: Meets { operation, channel, message, partner },
        4: Alternates { guards },
        5: Synchronises { barrier, phase, missing },
        6: Claims { what, claims, holder },
        7: FallenIn { bucket },
        8: Joins { process },
        9: JoinsForks { forks, left },
        10: Sleeps {},
        11: WaitsForeign {},
        12: Orphaned {},
        13: Outside { holds, idle_seconds },
        14: Stopped {},
        15: Computes {},
        16: Ready {},
    }
    MisuseKind {
        0: Abandoned { channel },
        1: Overlap { waiting, begun },
        2: ForeignWaker { channel, waiting },
        3: NotYours { channel },
        4: LeftBehind { channel },
        5: DroppedElsewhere { channel },
        6: WrongForm { channel },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again<T: Portable>(value: &T) -> T {
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        for cut in 0..bytes.len() {
            assert!(T::read(&mut &bytes[..cut]).is_none(), "{cut} of {} bytes", bytes.len());
        }
        let mut rest = &bytes[..];
        let value = T::read(&mut rest).expect("it was written so");
        assert!(rest.is_empty());
        value
    }

    #[test]
    fn what_is_read_is_what_was_written_and_parts_of_it_are_refused() {
        let waits = |activity| Waiting {
            process: "a process with a long name".into(),
            activity,
            kind: "process",
            is_stuck: true,
            created_at: Some("main.rs:7:5".to_owned()),
        };
        let channel = || Name::from("numbers");
        let held = Held { channel: channel(), is_sender: true, messages: 3 };
        let explanation = Explanation {
            waiting: vec![
                waits(Activity::Receives { channel: channel(), message: 1, from: None }),
                waits(Activity::Sends {
                    channel: channel(),
                    message: u64::MAX,
                    capacity: 1,
                    to: Some("b".into()),
                }),
                waits(Activity::Outside { holds: vec![held], idle_seconds: Some(0.5) }),
                waits(Activity::Alternates { guards: vec!["ö".to_owned(), String::new()] }),
                waits(Activity::Computes),
            ],
            rings: vec![vec![RingMember {
                process: "a".into(),
                channel: channel(),
                full: true,
                operation: Some("send"),
            }]],
            remedies: vec!["give it room".to_owned()],
            silent: vec![2],
        };
        assert_eq!(format!("{:?}", again(&explanation)), format!("{explanation:?}"));
        let kind = MisuseKind::Overlap { waiting: "a".into(), begun: "b".into() };
        let misuse = Misuse { process: "p".into(), kind };
        assert_eq!(again(&misuse), misuse);
    }

    #[test]
    fn what_is_told_of_a_failure_goes_and_the_error_itself_does_not() {
        let mut failure = Failure::of("no luck".into());
        failure.input = Some(AtMessage { channel: "numbers".into(), number: 7 });
        let read = again(&Ending::Failed(failure.clone()));
        assert!(matches!(read, Ending::Failed(read) if read == failure));
        let panic = Failure::panic("no luck".to_owned(), Some("main.rs:7:5".to_owned()));
        assert_eq!(again(&panic), panic);
    }

    #[test]
    fn counts_and_identities_go_whole() {
        let mut next = 0;
        let counts = ProcessCounts::of(|_| {
            next += 1_000_000_007;
            Some(next)
        });
        assert_eq!(format!("{:?}", again(&counts)), format!("{counts:?}"));
        let none = ProcessCounts::of(|_| None);
        assert_eq!(format!("{:?}", again(&none)), format!("{none:?}"));
        let identity = Identity::fixed(3).child(1 << 40).child(7);
        assert_eq!(again(&identity), identity);
    }

    #[test]
    fn a_text_that_lives_for_ever_is_kept_once() {
        let one: &'static str = again(&"a text of a test");
        let other: &'static str = again(&"a text of a test");
        assert!(std::ptr::eq(one, other));
    }

    #[test]
    fn a_count_that_is_too_large_takes_no_memory() {
        let mut bytes = Vec::new();
        u64::MAX.write(&mut bytes);
        bytes.extend([0; 16]);
        assert!(<Vec<u64>>::read(&mut &bytes[..]).is_none());
        assert!(String::read(&mut &bytes[..]).is_none());
        // A choice that there is not.
        assert!(Activity::read(&mut &[99][..]).is_none());
        assert!(bool::read(&mut &[2][..]).is_none());
    }
}
