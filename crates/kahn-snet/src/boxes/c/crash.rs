//! Crashes inside C boxes: the process ends, but not without a word.
//!
//! Before each call a worker notes in its thread what it calls and with what; after it, that it
//! does so no longer. The handler of the signals below writes the note, if there is one, and ends
//! the process with code 1. Without a note the crash is not a box's: the handler puts the one
//! from before back and returns, and the instruction that crashed meets that one.
//!
//! The handler runs on the thread that crashed, and does only what a handler may: it reads that
//! thread's note, writes the output that is complete and then the note, and ends the process.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::fmt::Write as _;
use std::ptr;
use std::sync::{Once, OnceLock};

use crate::boxes::Argument;
use crate::record::Value;

/// The signals of a crash.
const SIGNALS: [c_int; 5] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

thread_local! {
    /// The note, and its length; null if no box runs here.
    static NOTE: Cell<(*const u8, usize)> = const { Cell::new((ptr::null(), 0)) };
    /// The text that the note points into.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Says, until it goes, that a box runs on this thread.
pub(super) struct Watched(());

impl Watched {
    /// Notes what is called, and with what.
    pub(super) fn call(path: &str, labels: &[String], inputs: &[Argument]) -> Self {
        TEXT.with_borrow_mut(|text| {
            text.clear();
            let _ = write!(text, "error: box `{path}` crashed\n   given:");
            for (label, input) in labels.iter().zip(inputs) {
                let _ = match input {
                    Argument::Tag(value) | Argument::Field(Value::Integer(value)) => {
                        write!(text, " {label}={value}")
                    }
                    Argument::Field(Value::Real(value)) => write!(text, " {label}={value}"),
                    Argument::Field(Value::Text(value)) if value.len() < 80 => {
                        write!(text, " {label}={value:?}")
                    }
                    Argument::Field(value) => write!(text, " {label} ({})", value.kind()),
                };
            }
            text.push('\n');
            NOTE.set((text.as_ptr(), text.len()));
        });
        Self(())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        NOTE.set((ptr::null(), 0));
    }
}

/// Takes the signals of crashes over, once in a process.
pub(super) fn watch() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = SIGNALS.map(install);
        let _ = BEFORE.set(before);
    });
}

fn install(signal: c_int) -> libc::sigaction {
    // SAFETY: all bytes zero is a valid `sigaction`: no flags, an empty mask, the default.
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    let mut before = ours;
    ours.sa_sigaction = on_crash as *const () as libc::sighandler_t;
    // On the stack that every Rust thread has for this, for the crash may be that there is none.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both point to a `sigaction`; the handler has the signature that the flag asks for.
    unsafe { libc::sigaction(signal, &raw const ours, &raw mut before) };
    before
}

extern "C" fn on_crash(signal: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    let (note, length) = NOTE.get();
    if !note.is_null() {
        super::rescue::rescue();
        // SAFETY: the note points into this thread's text, which does not change while a box runs.
        unsafe { libc::write(2, note.cast(), length) };
        // SAFETY: ends the process, without any code of it running once more.
        unsafe { libc::_exit(1) };
    }
    let index = SIGNALS.iter().position(|known| *known == signal);
    match (BEFORE.get(), index) {
        (Some(before), Some(index)) => {
            // SAFETY: puts back what was there before; it points to a whole `sigaction`.
            unsafe { libc::sigaction(signal, &raw const before[index], ptr::null_mut()) };
        }
        // SAFETY: as above.
        _ => unsafe { libc::_exit(134) },
    }
}

/// Ends the process from any thread: writes the output that is complete, then why, and exits with
/// code 1, whatever the other threads do.
pub(crate) fn leave_process(why: &str) -> ! {
    super::rescue::rescue();
    // SAFETY: the text is that long.
    unsafe { libc::write(2, why.as_ptr().cast(), why.len()) };
    // SAFETY: ends the process, without any code of it running once more.
    unsafe { libc::_exit(1) }
}
