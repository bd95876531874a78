//! Where a process waits, as it is left behind for explanations.

use crate::language::header::Communicates;
use kahn_engine::TaskRef;
use kahn_engine::sync::Ordering::{Acquire, Relaxed};
use kahn_report::Name;
use kahn_report::log::{Log, Wait, What};
use kahn_report::observe::Subject;
use std::fmt;

/// Where a process waits, as it leaves it behind for explanations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Send(*const ()),
    Receive(*const ()),
    Alternation(*const ()),
    Claim(*const ()),
    Barrier(*const ()),
    Join(*const ()),
    Bucket(*const ()),
    Sleep,
}

/// What a place points to is aligned, so that its kind fits in beside it.
const KIND: usize = 7;
/// The kinds of the two sides of a channel: what a worker finds there is the flag of the side in the channel's word,
/// so many bits lower.
pub(crate) const RECEIVE: usize = 1;
pub(crate) const SEND: usize = 2;
pub(crate) const SIDE_BELOW_FLAG: u32 = 2;
const ALTERNATION: usize = 3;
const BARRIER: usize = 4;
/// Those of places that the one that ends the wait notes as [left](Place::leave): the highest, so that one
/// comparison tells them.
const CLAIM: usize = 5;
const JOIN: usize = 6;
const BUCKET: usize = 7;
/// How far a kind of place that was left stands above the bits of kinds, which are none then.
const WOKEN: u32 = KIND.count_ones();

/// What an alternation waits for, in its own memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub(crate) what: *const (),
    pub(crate) describe: unsafe fn(*const (), &mut dyn FnMut(Awaited)),
}

// SAFETY: it is followed only while the process stands still whose memory it points to.
unsafe impl Send for About {}
// SAFETY: as above.
unsafe impl Sync for About {}

impl Place {
    #[inline]
    pub(super) fn pack(self) -> *mut () {
        let (pointer, kind) = match self {
            Self::Receive(pointer) => (pointer, RECEIVE),
            Self::Send(pointer) => (pointer, SEND),
            Self::Alternation(pointer) => (pointer, ALTERNATION),
            Self::Claim(pointer) => (pointer, CLAIM),
            Self::Barrier(pointer) => (pointer, BARRIER),
            Self::Join(pointer) => (pointer, JOIN),
            Self::Bucket(pointer) => (pointer, BUCKET),
            // No place is at the address of nothing.
            Self::Sleep => (std::ptr::null(), BUCKET),
        };
        pointer.map_addr(|address| address | kind).cast_mut()
    }

    /// The channel where a process waits that has left its poll to wait at one, and the flag of its side there.
    #[inline(always)]
    pub(crate) fn channel_of(task: TaskRef) -> (*const (), u32) {
        // Relaxed: the poll was this thread's.
        let packed = task.waits_at().load(Relaxed).cast_const();
        debug_assert!(matches!(packed.addr() & KIND, RECEIVE | SEND), "it waits at a channel");
        #[expect(clippy::cast_possible_truncation, reason = "two bits")]
        let side = (packed.addr() & (RECEIVE | SEND)) as u32;
        (packed.map_addr(|address| address & !KIND), side << SIDE_BELOW_FLAG)
    }

    /// Where a process waits or waited last, as a log has it: at a channel, or at one of these that all are
    /// one to it.
    pub(crate) fn logged(task: TaskRef, met: impl FnOnce(*const ()) -> u64) -> Wait {
        if let Some(kind) = Self::woken(task) {
            return Wait { until: What::UntilPartner, channel: kind, number: 0 };
        }
        let (channel, number) = match Self::of(task) {
            Some(Self::Send(channel) | Self::Receive(channel)) => (channel.addr(), met(channel)),
            None | Some(Self::Sleep) => return Wait::nowhere(What::UntilOtherwise),
            Some(other) => (other.pack().addr() & KIND, 0),
        };
        Wait { until: What::UntilPartner, channel, number }
    }

    /// Notes that a process waits no more for a claim, a join or in a bucket, for the one that is to make it ready;
    /// does nothing for one that waited at a channel, or offered several things.
    pub(crate) fn leave(task: TaskRef) {
        // Relaxed: the caller owns the process, which said where it waits before that.
        let kind = task.waits_at().load(Relaxed).addr() & KIND;
        if kind >= CLAIM {
            let woken = std::ptr::without_provenance_mut(kind << WOKEN);
            task.waits_at().store(woken, Relaxed);
        }
    }

    /// The kind of place that a process has [left](Self::leave).
    fn woken(task: TaskRef) -> Option<usize> {
        // Relaxed: the caller owns it.
        let packed = task.waits_at().load(Relaxed).addr();
        (packed != 0 && packed & KIND == 0).then_some(packed >> WOKEN)
    }

    /// What a log is told of the kinds of places that are no channel, each where it stands for it.
    pub(crate) fn log_kinds(log: &dyn Log) {
        let kinds = [
            (ALTERNATION, "a choice"),
            (BARRIER, "a barrier"),
            (CLAIM, "a claim"),
            (JOIN, "a join"),
            (BUCKET, "a bucket"),
        ];
        for (address, name) in kinds {
            let subject = Subject { name: &Name::from(name), id: address as u64 * 2 + 1, part: 0 };
            log.channel(address, 0, subject);
        }
    }

    /// Where a process waits or waited last.
    pub(crate) fn of(task: TaskRef) -> Option<Self> {
        let packed = task.waits_at().load(Acquire).cast_const();
        let pointer = packed.map_addr(|address| address & !KIND);
        Some(match packed.addr() & KIND {
            RECEIVE => Self::Receive(pointer),
            SEND => Self::Send(pointer),
            ALTERNATION => Self::Alternation(pointer),
            CLAIM => Self::Claim(pointer),
            BARRIER => Self::Barrier(pointer),
            JOIN => Self::Join(pointer),
            BUCKET if pointer.is_null() => Self::Sleep,
            BUCKET => Self::Bucket(pointer),
            _ => return None,
        })
    }
}

/// What a guard waits for.
#[derive(Clone, Debug)]
pub struct Awaited {
    pub(crate) operation: &'static str,
    pub(crate) name: Option<Name>,
    pub(crate) at: At,
}

/// Where it waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// Where an operation waits that stands by itself.
    Place(Place),
    /// Some process may do it; which one is not known.
    Somebody,
    /// It comes by itself.
    Time,
    /// It does not come.
    Never,
}

impl Awaited {
    pub(crate) fn of(operation: &'static str, name: &Name, at: At) -> Self {
        Self { operation, name: Some(name.clone()), at }
    }

    pub(crate) fn unnamed(operation: &'static str, at: At) -> Self {
        Self { operation, name: None, at }
    }
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} `{name}`", self.operation),
            None => f.write_str(self.operation),
        }
    }
}
