//! What messages are summed up as: one, and all up to one.
//!
//! The same on every machine and in every version of the format, so it is CRC-32 of written forms and no
//! hash that a library may change: what is to be found is a difference by mistake.

use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many digests of messages of a channel are summed up at once, and kept until then.
pub(super) const AT_ONCE: usize = 256;

/// After so many messages of a channel the recording says what they are together.
pub(super) const EACH: u64 = 1 << 16;

/// The digest of a message: its length and its checksum.
pub(super) fn digest(message: &[u8]) -> u64 {
    (message.len() as u64) << 32 | u64::from(crc32fast::hash(message))
}

/// The messages of a channel up to now.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    messages: u64,
    /// Of all but the last.
    sum: u32,
    /// The digests of the last of them: many are summed up faster at once.
    last: Vec<u8>,
}

impl Carried {
    /// Adds messages, by their digests.
    pub(super) fn add(&mut self, digests: impl Iterator<Item = u64>) {
        let before = self.last.len();
        digests.for_each(|digest| self.last.extend_from_slice(&digest.to_le_bytes()));
        self.messages += (self.last.len() - before) as u64 / 8;
    }

    /// How many there are.
    pub(super) fn messages(&self) -> u64 {
        self.messages
    }

    /// The digest of all of them.
    pub(super) fn digest(&self) -> u64 {
        self.summed().into()
    }

    fn summed(&self) -> u32 {
        let mut sum = crc32fast::Hasher::new_with_initial(self.sum);
        sum.update(&self.last);
        sum.finalize()
    }

    /// The digests of the last of them, eight bytes each.
    pub(super) fn last(&self) -> &[u8] {
        &self.last
    }

    /// Keeps the digests of the last of them no longer, if they are as many as are summed up at once.
    pub(super) fn forget_last_if_many(&mut self) {
        if self.last.len() >= AT_ONCE * 8 {
            self.forget_last();
        }
    }

    /// Keeps the digests of the last of them no longer.
    pub(super) fn forget_last(&mut self) {
        self.sum = self.summed();
        self.last.clear();
    }
}

/// All channels of a run. Each has its own lock, which its sender takes.
#[derive(Debug, Default)]
pub(super) struct Channels {
    /// Those that are there when it begins.
    known: BTreeMap<u64, Mutex<Carried>>,
    later: RwLock<BTreeMap<u64, Arc<Mutex<Carried>>>>,
}

impl Channels {
    pub(super) fn new(known: impl Iterator<Item = u64>) -> Self {
        let known = known.map(|channel| (channel, Mutex::default())).collect();
        Self { known, later: RwLock::default() }
    }

    /// Calls this with what a channel has carried.
    pub(super) fn with<R>(&self, channel: u64, f: impl FnOnce(&mut Carried) -> R) -> R {
        if let Some(known) = self.known.get(&channel) {
            return f(&mut known.lock());
        }
        let later = self.later.read().get(&channel).cloned();
        let later =
            later.unwrap_or_else(|| Arc::clone(self.later.write().entry(channel).or_default()));
        let mut later = later.lock();
        f(&mut later)
    }

    /// What each channel has carried that has carried anything, in the order of their numbers.
    pub(super) fn all(&self) -> BTreeMap<u64, Carried> {
        let known = self.known.iter().map(|(channel, carried)| (*channel, carried.lock().clone()));
        let mut all: BTreeMap<_, _> = known.collect();
        let later = self.later.read();
        all.extend(later.iter().map(|(channel, carried)| (*channel, carried.lock().clone())));
        all.retain(|_, carried| carried.messages > 0);
        all
    }
}
