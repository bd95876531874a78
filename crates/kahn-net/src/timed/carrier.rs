//! One rank's end of what goes from rank to rank under a virtual clock.

use super::turns::Turns;
use crate::frame::{Frame, Frames};
use crate::links::RankLinks;
use crate::transport::{Event, Transport};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a loop waits at most that nothing wakes: as long as ranks rest at most between two looks for chains.
const LONGEST: Duration = Duration::from_millis(64);

pub(super) struct TimedTransport {
    pub(super) rank: usize,
    pub(super) turns: Arc<Turns>,
    pub(super) links: Arc<RankLinks>,
    /// What it has sent in this turn.
    out: BTreeMap<usize, Vec<u8>>,
    /// What was delivered of each rank, and has not gone to the loop.
    delivered: BTreeMap<usize, Vec<u8>>,
}

impl TimedTransport {
    pub(super) fn new(rank: usize, turns: &Arc<Turns>, links: &Arc<RankLinks>) -> Self {
        let (turns, links) = (Arc::clone(turns), Arc::clone(links));
        let (out, delivered) = Default::default();
        Self { rank, turns, links, out, delivered }
    }

    fn is_at_rest(&self) -> bool {
        self.links.is_at_rest(|| self.turns.computes(self.rank))
    }

    /// Sleeps until the network rests.
    fn settle(&self) {
        loop {
            self.turns.has_rung(self.rank);
            if self.is_at_rest() {
                return;
            }
            self.turns.listen(self.rank);
        }
    }

    /// The next frame of what was delivered, and the rank that has sent it.
    fn frame(&mut self) -> Option<(usize, Vec<u8>)> {
        while let Some((from, bytes)) = self.turns.take(self.rank) {
            self.delivered.entry(from).or_default().extend(bytes);
        }
        for (&from, bytes) in &mut self.delivered {
            let mut frames = Frames::of(bytes);
            let length = match frames.next() {
                Ok(None) => continue,
                Ok(Some(frame)) => {
                    let messages =
                        if let Frame::Messages { count, .. } = frame { count } else { 0 };
                    self.turns.reads(self.rank, messages, frame.is_counted());
                    bytes.len() - frames.left()
                }
                // The loop tells what is wrong.
                Err(_) => bytes.len(),
            };
            return Some((from, bytes.drain(..length).collect()));
        }
        None
    }
}

impl Transport for TimedTransport {
    fn send(&mut self, to: usize, bytes: &mut Vec<u8>) {
        self.out.entry(to).or_default().extend_from_slice(bytes);
    }

    fn receive(&mut self, into: &mut [Vec<u8>]) -> Event {
        self.turns.wait(self.rank);
        self.settle();
        if let Some(lost) = self.turns.take_lost(self.rank) {
            return Event::Lost(lost);
        }
        match self.frame() {
            Some((from, bytes)) => {
                into[from].extend(bytes);
                Event::Bytes(from)
            }
            None => Event::Nothing,
        }
    }

    fn wait(&mut self, most: Duration) {
        self.turns.wait(self.rank);
        // In this order: what comes to rest rings then.
        if !self.is_at_rest() || self.turns.has_rung(self.rank) {
            self.settle();
            return;
        }
        self.turns.end(self.rank, std::mem::take(&mut self.out), most);
    }

    fn longest_wait(&self) -> Duration {
        LONGEST
    }

    fn now(&self) -> Instant {
        self.turns.now()
    }
}

/// The last turn ends when the loop does.
impl Drop for TimedTransport {
    fn drop(&mut self) {
        self.turns.end_last(self.rank, std::mem::take(&mut self.out), thread::panicking());
    }
}
