//! What a network comes to, once the interpreter has run it to its end.

use super::interpreter::{Network, Process, Queue};
use super::program::Step;
use std::iter;

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
    /// Which processes may be ended because nobody observes them: all readers of the senders they
    /// had last leave, or stay for ever, before they have seen the end, or may be ended so themselves.
    /// One that had no sender any more after a send whose message was received, or ended, cannot have
    /// been, nor one that had both ends of a channel.
    fn cut(&self) -> Vec<bool> {
        let mut cut = vec![false; self.processes.len()];
        loop {
            let is_unseen =
                |channel: &usize| self.queues[*channel].seen_by.is_none_or(|reader| cut[reader]);
            let is_received = |channel: usize| {
                let queue = &self.queues[channel];
                queue.messages.is_empty() && queue.received_by.is_some_and(|reader| !cut[reader])
            };
            let is_cut = |process: &Process| {
                !process.creates
                    && !process.last.is_empty()
                    && process.last.iter().all(is_unseen)
                    && !process.sent_at_last.is_some_and(is_received)
                    && !process.kept_at_last
            };
            let now: Vec<bool> = self.processes.iter().map(is_cut).collect();
            let kept = self.led_to(&now);
            let now: Vec<bool> =
                now.into_iter().zip(kept).map(|(cut, kept)| cut || !kept).collect();
            if now == cut {
                return cut;
            }
            cut = now;
        }
    }

    /// Whether a process goes on though nothing is seen of it. In a network with loops those do not that were there at
    /// the start and had senders; what is to be pruned else loses its readers.
    fn goes_on(&self, place: usize) -> bool {
        let process = &self.processes[place];
        !self.prunes_loops || process.creates || !process.sends_from_the_start
    }

    /// Which of those that are not `cut` can be observed: they go on anyway, or such a one saw their end.
    fn led_to(&self, cut: &[bool]) -> Vec<bool> {
        let mut led: Vec<bool> =
            (0..cut.len()).map(|place| !cut[place] && self.goes_on(place)).collect();
        loop {
            let is_seen =
                |channel: &usize| self.queues[*channel].seen_by.is_some_and(|reader| led[reader]);
            let is_led = |place: usize| {
                led[place] || !cut[place] && self.processes[place].last.iter().any(is_seen)
            };
            let now: Vec<bool> = (0..cut.len()).map(is_led).collect();
            if now == led {
                return led;
            }
            led = now;
        }
    }

    /// Which other each process waits for that has not ended: it receives, and nothing comes.
    fn waits_for(&self, place: usize) -> Option<usize> {
        let process = &self.processes[place];
        let Some(Step::Recv(channel)) = process.program.steps.get(process.next) else {
            return None;
        };
        self.processes.iter().position(|other| {
            let senders = [&other.program.senders[..], &other.dropped].concat();
            !other.ended && senders.contains(channel)
        })
    }

    /// Of those that wait for ever and may be `cut`, which would be left by all that read them in some run: a reader that
    /// waits for ever for something else leaves none waiting, and one that is free may be gone. That it reads itself keeps
    /// none: one that goes on anyway and does is not cut.
    fn free(&self, cut: &[bool]) -> Vec<bool> {
        let leads = |from: usize, to: usize| {
            let next = |at: &usize| self.waits_for(*at);
            iter::successors(Some(from), next).take(1 + self.processes.len()).any(|at| at == to)
        };
        let mut free = vec![false; cut.len()];
        loop {
            let is_free = |place: usize| {
                let stays = |channel: &usize| {
                    let holds =
                        |other: &Process| !other.ended && other.program.receivers.contains(channel);
                    let reader = self.processes.iter().position(holds);
                    reader.is_some_and(|reader| {
                        reader != place && leads(reader, place) && !free[reader]
                    })
                };
                let process = &self.processes[place];
                !process.ended && cut[place] && !process.last.iter().any(stays)
            };
            let now: Vec<bool> = (0..cut.len()).map(is_free).collect();
            if now == free {
                return free;
            }
            free = now;
        }
    }

    pub(super) fn meaning(mut self) -> Meaning {
        self.processes.iter_mut().filter(|process| !process.ended).for_each(Process::note_last);
        let cut = self.cut();
        let all = self.processes.iter().enumerate();
        // One that leaves marks counts if one is reached, or may be by the process alone.
        let is_seen =
            |channel: &usize| self.queues[*channel].seen_by.is_some_and(|reader| !cut[reader]);
        let counting = all.filter(|(place, process)| {
            let is_reached = process.kept_at_last || process.last.iter().any(is_seen);
            process.failed
                && !cut[*place]
                && (!process.leaves_marks || process.creates || is_reached)
        });
        let mut failures: Vec<String> = counting.map(|(_, process)| process.name.clone()).collect();
        failures.sort();
        // What waits for ever counts if it goes on anyway and none could leave it before, or could be pruned in no run.
        let free = self.free(&cut);
        let is_left = |place: usize| {
            let counts = self.goes_on(place) && !(self.prunes_loops && free[place]);
            !self.processes[place].ended && (counts || !cut[place])
        };
        let class = if (0..cut.len()).any(is_left) {
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
