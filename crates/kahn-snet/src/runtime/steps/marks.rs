//! Failures in the order of a sequential run.
//!
//! A sequential run would take the records of the input one by one, write what comes of each, and
//! end at the first that fails. Here many are on their way when one fails. So records have numbers,
//! and what is made of a record has its number:
//!
//! | records            | once number *n* has failed                                          |
//! |--------------------|---------------------------------------------------------------------|
//! | before *n*         | go on, and what comes of them is written                            |
//! | *n* itself         | a *mark* goes on in the place of what failed, through all orders    |
//! | behind *n*         | are dropped wherever they are met; none is read any more            |
//!
//! What came of number *n* before the failure stands before the mark in every stream that keeps
//! order, so it is written; once the mark is out, the rest of number *n* is dropped. Where records
//! may overtake each other nothing tells which is which, and all of number *n* is written.
//!
//! Until its mark is out, the rest of number *n* goes on as well: what it leaves in synchro-cells and
//! begins in replicas is there for what feedbacks send back, which may come before the mark. That rest was
//! at the same components before what is sent back, whether or not it was known then that something had
//! failed. So what a run writes that fails is the beginning of what it writes if nothing fails.
//!
//! Several records may fail. That with the least number counts, whichever failed first in time.
//!
//! Why not the failure marks of the core, which `network` has at hand? Such a mark is the end of its
//! channel, and of each process that reads it. Here records behind the mark are still to come, of
//! numbers before it: where branches meet, in feedbacks, and in replicas that others lead to as well. And
//! which failure counts is a matter of these numbers, which the core does not know.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;

use super::failure::Failure;
use super::shape::{Rec, ShapeId};
use super::tickets::Tickets;
use crate::record::Value;

/// The number of what initialisers of the program make.
pub(crate) const BEFORE_ALL: u32 = 0;
/// The greatest number; all records from there on have it.
const LAST: u32 = u32::MAX - 2;

/// The number of the record behind that many others.
pub(crate) fn number_behind(others: u64) -> u32 {
    u32::try_from(others).map_or(LAST, |others| others.saturating_add(1).min(LAST))
}

impl Rec {
    fn mark(number: u32, tickets: Tickets, failure: Failure) -> Self {
        let failure = Value::opaque(Mutex::new(Some(failure)));
        let (tags, fields) = (smallvec::SmallVec::new(), smallvec::smallvec![failure]);
        Self { shape: ShapeId::MARK, number, tickets, tags, fields }
    }

    /// Whether it stands for a record that failed.
    pub(crate) fn is_mark(&self) -> bool {
        self.shape == ShapeId::MARK
    }

    fn failure(&self) -> Option<Failure> {
        let failure = self.fields.first()?.downcast::<Mutex<Option<Failure>>>()?;
        failure.lock().take()
    }
}

/// The failures of a run.
#[derive(Debug)]
pub(crate) struct Failures {
    /// Records from this number on are not wanted any more.
    end: AtomicU32,
    first: Mutex<Option<(u32, Failure)>>,
    /// Whether records may overtake each other.
    chooses: bool,
}

impl Failures {
    pub(crate) fn new(chooses: bool) -> Self {
        Self { end: AtomicU32::new(u32::MAX), first: Mutex::default(), chooses }
    }

    /// Whether a record with this number is still to be worked at.
    pub(crate) fn wants(&self, number: u32) -> bool {
        number < self.end.load(Relaxed)
    }

    /// Whether something failed.
    pub(crate) fn any(&self) -> bool {
        self.end.load(Relaxed) != u32::MAX
    }

    /// Makes the mark of a record that failed.
    pub(crate) fn mark(&self, number: u32, tickets: Tickets, failure: Failure) -> Rec {
        self.end.fetch_min(number + 1, Relaxed);
        Rec::mark(number, tickets, failure)
    }

    /// Takes a mark that has come out.
    pub(crate) fn came_out(&self, mark: &Rec) {
        if let Some(failure) = mark.failure() {
            self.ends_at(mark.number, failure);
        }
    }

    /// Ends the run at a record of this number.
    pub(crate) fn ends_at(&self, number: u32, failure: Failure) {
        self.end.fetch_min(number + u32::from(self.chooses), Relaxed);
        let mut first = self.first.lock();
        if first.as_ref().is_none_or(|(known, _)| number < *known) {
            *first = Some((number, failure));
        }
    }

    /// Ends the run as soon as it can be.
    pub(crate) fn end_at_once(&self, failure: Failure) {
        self.ends_at(BEFORE_ALL, failure);
        self.end.store(BEFORE_ALL, Relaxed);
    }

    /// The failure that counts.
    pub(crate) fn take(&self) -> Option<Failure> {
        self.first.lock().take().map(|(_, failure)| failure)
    }
}
