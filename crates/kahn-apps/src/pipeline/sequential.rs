//! The pipeline on one thread: one message after the other through all stages.

use super::{Message, Pipeline};
use crate::checksum::mix;
use crate::work::Work;

impl Pipeline {
    /// Takes each message through all stages, and returns the checksum of what comes out.
    pub fn sequential<M: Message>(self) -> u64 {
        let mut checksum = 0;
        for number in 0..self.messages {
            let mut message = M::new(number, self.words);
            for stage in 1..=self.stages {
                pass(&mut message, stage, self.work);
            }
            checksum = sum(checksum, &mut message);
        }
        checksum
    }
}

/// Does what a stage does with a message. For the same pipeline on something else than a network.
#[inline]
pub fn pass(message: &mut impl Message, stage: u32, work: Work) {
    let first = &mut message.words()[0];
    *first = work.spend(mix(u64::from(stage), *first));
}

/// Takes all words of a message into a checksum, as the sink does.
#[inline]
pub fn sum(checksum: u64, message: &mut impl Message) -> u64 {
    // A plain sum of the words is a few vector instructions, however large the message is.
    mix(checksum, message.words().iter().fold(0, |sum, word| sum.wrapping_add(*word)))
}
