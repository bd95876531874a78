//! The outputs of calls that run at once, let out in the order of the calls.

use std::collections::BTreeMap;

use super::sync::Mutex;

#[derive(Debug)]
struct Calls<R> {
    /// The call whose turn it is.
    first: u64,
    /// What later ones made, and whether they have ended.
    waiting: BTreeMap<u64, (Vec<R>, bool)>,
}

/// What keeps the order of a box that runs for several records at once.
#[derive(Debug)]
pub(super) struct Collector<R>(Mutex<Calls<R>>);

impl<R> Collector<R> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Calls { first: 0, waiting: BTreeMap::new() }))
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
        let mut calls = self.0.lock();
        if calls.first != call {
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
            ready.into_iter().for_each(&mut out);
            done = ended;
        }
    }

    /// Whether all calls before this one have ended.
    pub(super) fn is_turn_of(&self, call: u64) -> bool {
        self.0.lock().first == call
    }
}
