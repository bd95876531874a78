//! The one door to threads, locks and atomics.
//!
//! Everything concurrent in this crate imports from here, so that loom checks the code that runs:
//! under `cfg(loom)` the same names are loom's. Locks are `parking_lot`'s, which is compiled with
//! our flags: the thread sanitizer sees into it, and not into those of the standard library.
//!
//! [`panics`] notes where processes panic. [`system`] holds the few things that depend on the machine, each with a portable fallback.

mod access;
mod biased_lock;
pub mod panics;
mod parker;
mod short_lock;
pub mod system;

pub use access::Access;
pub use biased_lock::{BiasedGuard, BiasedLock};
pub use parker::Parker;
/// A lock for what belongs to the program and not to a network: no model sees it.
pub use parking_lot::Mutex as StaticMutex;
/// A lock for what is read by many and no protocol rests on: no model sees it.
pub use parking_lot::RwLock as PlainRwLock;
pub use short_lock::{ShortLock8, ShortLock32, pause};
pub use std::sync::Arc;
/// Atomics for what no protocol rests on: no model sees them.
pub use std::sync::atomic::{
    AtomicBool as PlainAtomicBool, AtomicU8 as PlainAtomicU8, AtomicU32 as PlainAtomicU32,
    AtomicU64 as PlainAtomicU64, AtomicUsize as PlainAtomicUsize,
};

#[cfg(loom)]
pub use self::modelled::*;
#[cfg(not(loom))]
pub use self::native::*;

#[cfg(not(loom))]
mod native {
    pub use parking_lot::{Condvar, Mutex, MutexGuard};
    pub use std::cell::Cell;
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    };
    pub use std::sync::{Barrier, mpsc};
    pub use std::thread;
}

#[cfg(loom)]
#[expect(missing_docs, missing_debug_implementations, reason = "they are those of the real ones")]
mod modelled;

/// A value alone on its cache lines: two of them, for the prefetcher fetches lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
