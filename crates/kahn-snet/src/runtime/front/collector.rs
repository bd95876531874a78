//! The outputs of calls that run at once, let out in the order of the calls.

use std::collections::BTreeMap;

use kahn_engine::sync::Ordering::Relaxed;
use kahn_engine::sync::{AtomicUsize, Mutex};

#[derive(Debug)]
struct Calls<R> {
    /// The call whose turn it is.
    first: u64,
    /// What later ones made, and whether they have ended.
    waiting: BTreeMap<u64, (Vec<R>, bool)>,
}

/// What keeps the order of a box that runs for several records at once.
#[derive(Debug)]
pub(super) struct Collector<R> {
    calls: Mutex<Calls<R>>,
    /// How many outputs wait; written under the lock.
    early: AtomicUsize,
}

impl<R> Collector<R> {
    pub(super) fn new() -> Self {
        let calls = Mutex::new(Calls { first: 0, waiting: BTreeMap::new() });
        Self { calls, early: AtomicUsize::new(0) }
    }

    /// Takes outputs of a call, the last ones if `done`; `out` gets, in order, what need not wait.
    ///
    /// `out` is called under the lock, so that it sees the order.
    pub(super) fn hand_in(
        &self,
        call: u64,
        mut outputs: Vec<R>,
        done: bool,
        mut out: impl FnMut(R),
    ) {
        let mut calls = self.calls.lock();
        if calls.first != call {
            self.early.fetch_add(outputs.len(), Relaxed);
            let entry = calls.waiting.entry(call).or_default();
            entry.0.append(&mut outputs);
            entry.1 |= done;
            return;
        }
        outputs.into_iter().for_each(&mut out);
        let mut done = done;
        while done {
            calls.first += 1;
            let first = calls.first;
            let Some((ready, ended)) = calls.waiting.remove(&first) else { return };
            self.early.fetch_sub(ready.len(), Relaxed);
            ready.into_iter().for_each(&mut out);
            done = ended;
        }
    }

    /// How many outputs wait for calls before theirs.
    pub(super) fn early(&self) -> usize {
        self.early.load(Relaxed)
    }

    /// Whether all calls before this one have ended.
    pub(super) fn is_turn_of(&self, call: u64) -> bool {
        self.calls.lock().first == call
    }
}
