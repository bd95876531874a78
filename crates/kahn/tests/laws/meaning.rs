//! What a network comes to, once the interpreter has run it to its end.

use super::interpreter::{Network, Queue};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Finished,
    Failed,
    Deadlock,
}

/// What a network comes to.
#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) class: Class,
    /// What was received on each channel, and whether its reader may be cut short: ended because
    /// nobody observes it, sooner or later as the schedule has it.
    pub(crate) histories: Vec<(Vec<u64>, bool)>,
    /// The processes whose own failures count, sorted.
    pub(crate) failures: Vec<String>,
}

impl Network {
    /// Which processes may be ended because nobody observes them, at some time of their life: all
    /// readers of the senders they have then are dead, or leave before they see the end.
    fn cut(&self) -> Vec<bool> {
        let mut cut = vec![false; self.processes.len()];
        loop {
            let is_unseen = |channel: &usize| {
                let queue = &self.queues[*channel];
                let is_lost = |&reader: &usize| cut[reader] || !self.processes[reader].ended;
                !queue.end_was_seen || queue.readers.iter().any(is_lost)
            };
            let now: Vec<bool> = self
                .processes
                .iter()
                .map(|process| {
                    let is_cut = |had: &Vec<usize>| !had.is_empty() && had.iter().all(is_unseen);
                    !process.creates && process.had.iter().any(is_cut)
                })
                .collect();
            if now == cut {
                return cut;
            }
            cut = now;
        }
    }

    fn counts(&self, who: usize) -> bool {
        let mut reached = vec![who];
        let mut next = 0;
        while next < reached.len() {
            let process = &self.processes[reached[next]];
            if process.had[0].is_empty() || next > 0 && process.creates {
                return true;
            }
            reached.extend(&process.reached_by);
            next += 1;
        }
        false
    }

    pub(super) fn meaning(self) -> Meaning {
        let cut = self.cut();
        let all = self.processes.iter().enumerate();
        let counting = all.filter(|(who, process)| process.failed && self.counts(*who));
        let mut failures: Vec<String> = counting.map(|(_, process)| process.name.clone()).collect();
        failures.sort();
        let class = if self.processes.iter().any(|process| !process.ended) {
            Class::Deadlock
        } else if failures.is_empty() {
            Class::Finished
        } else {
            Class::Failed
        };
        let is_cut = |queue: &Queue| queue.readers.iter().any(|&reader| cut[reader]);
        let histories =
            self.queues.iter().map(|queue| (queue.history.clone(), is_cut(queue))).collect();
        Meaning { class, histories, failures }
    }
}
