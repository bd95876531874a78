//! `seeded`: one worker, and the next process drawn from a seed. A schedule can be repeated by its
//! seed, and with every operation waiting once, each operation is a point where others may come in.

use super::{Notify, Origin, Policy, Ready, Reason, Turn};
use crate::sync::Mutex;

#[derive(Debug)]
pub(super) struct Seeded(Mutex<Draw>);

#[derive(Debug)]
struct Draw {
    ready: Vec<Ready>,
    state: u64,
}

impl Seeded {
    pub(super) fn new(seed: u64) -> Self {
        Self(Mutex::new(Draw { ready: Vec::new(), state: seed }))
    }
}

impl Draw {
    /// The SplitMix64 generator (Steele, Lea, Flood 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Policy for Seeded {
    fn name(&self) -> &'static str {
        "seeded"
    }

    fn push(&self, _origin: Origin, ready: Ready, _reason: Reason) -> Notify {
        self.0.lock().ready.push(ready);
        Notify::Anyone
    }

    fn pop(&self, _worker: usize, _turn: Turn) -> Option<Ready> {
        let mut draw = self.0.lock();
        if draw.ready.is_empty() {
            return None;
        }
        let count = draw.ready.len() as u64;
        let index = usize::try_from(draw.next() % count).unwrap_or(0);
        Some(draw.ready.swap_remove(index))
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.0.lock().ready.is_empty()
    }
}
