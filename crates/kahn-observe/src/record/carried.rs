//! What messages are summed up as: one, and all up to one.
//!
//! The same on every machine and in every version of the format, so it is CRC-32 of written forms and no
//! hash that a library may change: what is to be found is a difference by mistake.

use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// After so many messages of a channel the recording says what they are together.
pub(super) const EACH: u64 = 1 << 16;

/// The digest of a message: its length and its checksum.
pub(super) fn digest(message: &[u8]) -> u64 {
    (message.len() as u64) << 32 | u64::from(crc32fast::hash(message))
}

/// The messages of a channel up to now.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    pub(super) messages: u64,
    sum: u32,
    /// The digests of the last of them, where each is kept.
    pub(super) last: Vec<u8>,
}

impl Carried {
    pub(super) fn add(&mut self, digest: u64) {
        let mut sum = crc32fast::Hasher::new_with_initial(self.sum);
        sum.update(&digest.to_le_bytes());
        self.sum = sum.finalize();
        self.messages += 1;
    }

    pub(super) fn digest(&self) -> u64 {
        self.sum.into()
    }
}

/// All channels of a run. Each has its own lock, which its sender takes.
#[derive(Debug, Default)]
pub(super) struct Channels(RwLock<BTreeMap<u64, Arc<Mutex<Carried>>>>);

impl Channels {
    pub(super) fn of(&self, channel: u64) -> Arc<Mutex<Carried>> {
        if let Some(known) = self.0.read().get(&channel) {
            return Arc::clone(known);
        }
        Arc::clone(self.0.write().entry(channel).or_default())
    }

    pub(super) fn all(&self) -> Vec<(u64, Arc<Mutex<Carried>>)> {
        self.0.read().iter().map(|(channel, carried)| (*channel, Arc::clone(carried))).collect()
    }
}
