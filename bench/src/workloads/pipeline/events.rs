//! Messages of several kinds, as programs have them: four words, the first of which tells the kind.

use anyhow::Result;
use kahn::{BoxError, Digest};
use kahn_apps::pipeline::Message;

/// What goes through: readings. Of the other kind none is sent, but a receiver has to look.
#[derive(Clone, Copy, Debug, Digest)]
pub(super) enum Event {
    Reading([u64; 3]),
    #[expect(dead_code, reason = "there might be one")]
    Stop,
}

impl Message for Event {
    fn new(number: u64, _words: usize) -> Self {
        Self::Reading([number, number.wrapping_add(1), number.wrapping_add(2)])
    }

    fn words(&mut self) -> &mut [u64] {
        match self {
            Self::Reading(words) => words,
            Self::Stop => &mut [],
        }
    }

    fn write(&self, into: &mut Vec<u8>) {
        if let Self::Reading(words) = self {
            words.write(into);
        }
    }

    fn read(bytes: &[u8]) -> Result<Self, BoxError> {
        Message::read(bytes).map(Self::Reading)
    }
}
