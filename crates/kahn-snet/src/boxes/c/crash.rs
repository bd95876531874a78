//! C boxes that crash or end the process: it ends, but not without a word, and not with code 0.
//!
//! Before each call a worker notes in its thread what it calls and with what; after it, that it
//! does so no longer. The handler of the signals below writes the note, if there is one, and ends
//! the process with code 1. Without a note the crash is not a box's: the handler puts the one
//! from before back and returns, and the instruction that crashed meets that one.
//!
//! The handler runs on the thread that crashed, and does only what a handler may: it reads that
//! thread's note, waits a moment for what other threads complete meanwhile (see `rescue`), writes the
//! output that is complete and then the note, and ends the process.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::fmt::Write as _;
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Once, OnceLock};

use crate::boxes::Argument;
use crate::record::Value;

/// The signals of a crash.
const SIGNALS: [c_int; 5] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

thread_local! {
    /// The note, the length of its first part, which names the box, and that of the second, which
    /// says what it was given; null if no box runs here.
    static NOTE: Cell<(*const u8, [usize; 2])> = const { Cell::new((ptr::null(), [0, 0])) };
    /// Room for the text that the note points into, between calls.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Says, until it goes, that a box runs on this thread; has the text of the note, for what belongs to
/// the thread is gone when the process exits.
pub(super) struct Noted(String);

impl Noted {
    /// Notes what is called, and with what.
    pub(super) fn call(path: &str, labels: &[String], inputs: &[Argument]) -> Self {
        let mut text = TEXT.take();
        text.clear();
        let _ = write!(text, "error: box `{path}`");
        let name = text.len();
        text.push_str("\n   given:");
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
        NOTE.set((text.as_ptr(), [name, text.len() - name]));
        Self(text)
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        NOTE.set((ptr::null(), [0, 0]));
        TEXT.set(std::mem::take(&mut self.0));
    }
}

/// Takes the signals of crashes over, once in a process.
pub(super) fn watch() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = SIGNALS.map(install);
        let _ = BEFORE.set(before);
        // SAFETY: asks whether the descriptor is open, and nothing else.
        let is_open = unsafe { libc::fcntl(1, libc::F_GETFD) } >= 0;
        HAS_OUTPUT.store(is_open, Relaxed);
        // SAFETY: the handler may be called at any exit; one that is not a box's it lets be.
        unsafe { libc::atexit(on_exit) };
    });
}

/// Whether the standard output was open when the first box was loaded.
static HAS_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Whether a box has closed the standard output since then.
pub(super) fn closed_the_output() -> bool {
    // SAFETY: asks whether the descriptor is open, and nothing else.
    HAS_OUTPUT.load(Relaxed) && unsafe { libc::fcntl(1, libc::F_GETFD) } < 0
}

extern "C" fn on_exit() {
    leave_with_note(" ended the process");
}

/// Ends the process with a word about the box that runs on this thread, if there is one.
fn leave_with_note(what: &str) {
    let (note, [name, given]) = NOTE.get();
    if note.is_null() {
        return;
    }
    super::rescue::settle();
    super::rescue::rescue();
    // SAFETY: the note points into this thread's text, which does not change while a box runs.
    unsafe { libc::write(2, note.cast(), name) };
    // SAFETY: the text is that long.
    unsafe { libc::write(2, what.as_ptr().cast(), what.len()) };
    // SAFETY: the second part lies behind the first.
    let rest = unsafe { note.add(name) };
    // SAFETY: as above.
    unsafe { libc::write(2, rest.cast(), given) };
    // SAFETY: ends the process, without any code of it running once more.
    unsafe { libc::_exit(1) };
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
    leave_with_note(" crashed");
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
