//! What processes wait for on all ranks while the run goes on, as rank 0 asks for it.
//!
//! | | the thread that asks, on rank 0 | the threads that move frames |
//! |---|---|---|
//! | asked | says [`AskWaits`](Frame::AskWaits) with a new number to all others, and waits | another rank answers at once, with this number |
//! | answered | goes on when all have told, or after [`PATIENCE`]: then it has what was told till then | keep what is told under this number on rank 0, and drop what is told under another |
//! | closed | does not wait | the run is over, and nothing comes any more |
//!
//! One asks at a time; the others wait for their turn. A rank that does not look at what comes, for its network has not
//! begun or its machine is stopped, holds up nothing but the question.

use crate::frame::Frame;
use crate::links::{RankLinks, Stage};
use kahn::ranks::Links as _;
use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// How long answers are waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// What waits on other ranks, as far as rank 0 has asked.
#[derive(Debug, Default)]
pub(crate) struct AskedWaits {
    turn: Mutex<()>,
    question: Mutex<Question>,
    has_changed: Condvar,
}

#[derive(Debug, Default)]
struct Question {
    number: u64,
    /// What the others have told, the second rank first.
    told: Vec<Option<Vec<u8>>>,
    is_closed: bool,
}

impl AskedWaits {
    /// Nothing is told any more.
    pub(crate) fn close(&self) {
        self.question.lock().is_closed = true;
        self.has_changed.notify_all();
    }

    fn take(&self, rank: usize, number: u64, told: &[u8]) {
        let mut question = self.question.lock();
        if question.number == number
            && let Some(place) = question.told.get_mut(rank - 1)
        {
            *place = Some(told.to_owned());
            self.has_changed.notify_all();
        }
    }

    /// Waits for what `say` has asked for under a number.
    fn ask(&self, others: usize, say: impl FnOnce(u64)) -> Vec<Option<Vec<u8>>> {
        let _turn = self.turn.lock();
        let mut question = self.question.lock();
        question.number += 1;
        question.told = vec![None; others];
        let number = question.number;
        drop(question);
        say(number);
        let mut question = self.question.lock();
        let is_asked = |question: &mut Question| {
            !question.is_closed && question.told.iter().any(Option::is_none)
        };
        self.has_changed.wait_while_for(&mut question, is_asked, PATIENCE);
        std::mem::take(&mut question.told)
    }
}

impl RankLinks {
    /// Asks all others what waits there.
    pub(crate) fn ask_waits(&self) -> Vec<Option<Vec<u8>>> {
        if self.rank() != 0 {
            return Vec::new();
        }
        self.waits.ask(self.ranks() - 1, |number| {
            (1..self.ranks()).for_each(|rank| self.say(rank, &Frame::AskWaits { number }));
            (self.ring)();
        })
    }

    /// Takes what is asked and told of waits; whether it is that.
    pub(crate) fn takes_of_waits(&self, from: usize, frame: &Frame<'_>) -> bool {
        match *frame {
            Frame::AskWaits { number } if from == 0 && self.rank() != 0 => {
                let told = match self.stage() {
                    Stage::Begun(local) => local.waits(),
                    Stage::Before | Stage::Never => Vec::new(),
                };
                self.say(0, &Frame::Waits { number, told: &told });
            }
            Frame::Waits { number, told } if from != 0 && self.rank() == 0 => {
                self.waits.take(from, number, told);
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_under_another_number_is_of_an_earlier_question() {
        let waits = AskedWaits::default();
        let told = waits.ask(2, |number| {
            waits.take(1, number - 1, b"late");
            waits.take(2, number, b"two");
            waits.take(1, number, b"one");
            waits.take(2, number - 1, b"later");
            // Of a rank that there is not.
            waits.take(3, number, b"three");
        });
        assert_eq!(told, [Some(b"one".to_vec()), Some(b"two".to_vec())]);
    }

    #[test]
    fn nothing_is_waited_for_when_the_run_is_over() {
        let waits = AskedWaits::default();
        let told = waits.ask(2, |number| {
            waits.take(2, number, b"two");
            waits.close();
        });
        assert_eq!(told, [None, Some(b"two".to_vec())]);
    }
}
