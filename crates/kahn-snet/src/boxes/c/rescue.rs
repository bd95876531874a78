//! Output that is complete but not written yet, within reach of the thread that ends the process.
//!
//! A box in C may crash or hang with records in the buffer of the output that came before. The one
//! buffer that goes to a file descriptor of the process is therefore published here.
//!
//! | the thread            | does                                                       |
//! |-----------------------|------------------------------------------------------------|
//! | that owns the buffer  | takes the lock, changes it, publishes where it is, unlocks |
//! | that ends the process | takes the lock for good, writes the buffer, exits          |
//!
//! Other boxes go on meanwhile, and what comes before the record of the box that ends the process may still be
//! on its way. So the party that ends it waits first until the output has not grown for a [`PAUSE`], but not
//! longer than a [`GRACE`].
//!
//! The lock is a flag that is spun on: the second party may be a signal handler. It never runs on a
//! thread that holds the lock, for no box runs there meanwhile. In case that is wrong it gives up
//! after a while.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::ptr;
use std::sync::atomic::Ordering::*;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize};

static LOCKED: AtomicBool = AtomicBool::new(false);
static START: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// How often the buffer was changed.
static CHANGES: AtomicUsize = AtomicUsize::new(0);
static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);

/// How often the thread that ends the process looks whether the lock is free.
const PATIENCE: u32 = 1 << 24;

/// Milliseconds without a change after which nothing more is expected.
const PAUSE: u32 = 50;
/// Milliseconds that are waited at most.
const GRACE: u32 = 2000;

fn lock(patience: Option<u32>) -> bool {
    let mut looks = 0;
    while LOCKED.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
        looks += 1;
        if patience.is_some_and(|most| looks > most) {
            return false;
        }
        std::hint::spin_loop();
    }
    true
}

/// A buffer that is written even if the process ends in a box; there is one at a time.
#[derive(Debug)]
pub(crate) struct Rescued {
    bytes: Vec<u8>,
}

impl Rescued {
    /// Publishes a new buffer for a file descriptor; none if there is one already.
    pub(crate) fn new(descriptor: c_int) -> Option<Self> {
        DESCRIPTOR.compare_exchange(-1, descriptor, AcqRel, Relaxed).ok()?;
        Some(Self { bytes: Vec::new() })
    }

    /// Changes the buffer.
    pub(crate) fn change<T>(&mut self, change: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        lock(None);
        let result = change(&mut self.bytes);
        CHANGES.fetch_add(1, Relaxed);
        START.store(self.bytes.as_mut_ptr(), Relaxed);
        LENGTH.store(self.bytes.len(), Relaxed);
        LOCKED.store(false, Release);
        result
    }
}

/// Sets the descriptor of the output apart: records go to the copy that is returned, and what boxes
/// print goes where messages go.
///
/// # Errors
/// Returns why there is no copy; then nothing has changed.
pub(crate) fn set_apart(descriptor: c_int) -> io::Result<File> {
    // SAFETY: copying a descriptor changes no memory.
    let copy = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the copy is fresh, and nothing else has its number.
    let copy = unsafe { File::from_raw_fd(copy) };
    // SAFETY: records have the copy; what is written to the output of the process is from boxes.
    if unsafe { libc::dup2(2, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(copy)
}

impl Drop for Rescued {
    fn drop(&mut self) {
        self.change(Vec::clear);
        DESCRIPTOR.store(-1, Release);
    }
}

/// Waits until what is on its way has reached the buffer. For a signal handler, or any other thread.
pub(super) fn settle() {
    if DESCRIPTOR.load(Acquire) < 0 {
        return;
    }
    let millisecond = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    let (mut known, mut since) = (CHANGES.load(Relaxed), 0);
    for now in 0..GRACE {
        let changes = CHANGES.load(Relaxed);
        if changes != known {
            (known, since) = (changes, now);
        } else if now - since >= PAUSE {
            return;
        }
        // SAFETY: the time is whole, and what is left of it is not asked for. A handler may call this.
        unsafe { libc::nanosleep(&raw const millisecond, ptr::null_mut()) };
    }
}

/// Writes what is in the buffer, if there is one, for good: no thread gets at it any more. For a signal
/// handler, or another thread that is about to end the process.
pub(super) fn rescue() {
    let descriptor = DESCRIPTOR.load(Acquire);
    if descriptor < 0 || !lock(Some(PATIENCE)) {
        return;
    }
    let (mut start, mut length) = (START.load(Relaxed).cast_const(), LENGTH.load(Relaxed));
    while length > 0 {
        // SAFETY: the owner published the buffer under the lock, which we keep for good, so it can
        // neither change nor free it.
        let written = unsafe { libc::write(descriptor, start.cast(), length) };
        let Some(written) = usize::try_from(written).ok().filter(|written| *written > 0) else {
            return;
        };
        length -= written;
        // SAFETY: that many bytes lie before the end of the buffer.
        start = unsafe { start.add(written) };
    }
}
