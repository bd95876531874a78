//! Panics of processes: where they began, and their payloads, whose destructors may panic too; and of the runtime itself.

use super::StaticMutex;
use kahn_report::Failure;
use std::any::Any;
use std::cell::Cell;
use std::io::Write as _;
use std::mem;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};

/// What the hook has seen of a thread's last panic.
struct Noted {
    message: String,
    at: String,
}

thread_local! {
    static LAST: Cell<Option<Noted>> = const { Cell::new(None) };
}

/// Whether the hook stands.
static IS_NOTED: StaticMutex<bool> = StaticMutex::new(false);

/// Has the places of panics noted from now on; then the hook is called that was there, so that a
/// panic is printed as ever, once.
pub fn note_places() {
    let mut is_noted = IS_NOTED.lock();
    // A thread that panics must not touch the hook.
    if *is_noted || super::thread::panicking() {
        return;
    }
    *is_noted = true;
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        note(panic);
        before(panic);
    }));
}

fn note(panic: &PanicHookInfo<'_>) {
    let noted = panic.location().map(|at| {
        let at = format!("{}:{}:{}", at.file(), at.line(), at.column());
        Noted { message: text_of(panic.payload()), at }
    });
    // A thread that ends has no such place any more, and needs none.
    let _ = LAST.try_with(|last| last.set(noted));
}

/// Notes where a panic began that is resumed on this thread.
pub fn note_resumed(payload: &(dyn Any + Send), at: String) {
    LAST.set(Some(Noted { message: text_of(payload), at }));
}

/// Returns where the last panic of this thread began, if it was the one with this payload.
pub fn place_of(payload: &(dyn Any + Send)) -> Option<String> {
    let message = text_of(payload);
    LAST.take().filter(|noted| noted.message == message).map(|noted| noted.at)
}

fn text_of(payload: &dyn Any) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}

/// What a panic says, and where it began if the hook was told: it is not of what is resumed only.
pub fn failure(payload: Box<dyn Any + Send>) -> Failure {
    let message = text_of(payload.as_ref());
    // An earlier panic that was caught may be the last that was noted.
    let at = place_of(payload.as_ref());
    discard(payload);
    Failure::panic(message, at)
}

/// Drops the payload of a panic. What its destructor panics with is dropped if it is a text, as
/// nearly always, and forgotten otherwise: dropping that may panic for ever.
pub fn discard(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
        && !again.is::<&str>()
        && !again.is::<String>()
    {
        mem::forget(again);
    }
}

/// Ends the program if the runtime itself panics. Processes catch their own panics; after one of
/// ours nothing could tell which thread runs what, and the others would wait for ever on borrowed stacks.
pub(crate) struct Defect;

impl Drop for Defect {
    fn drop(&mut self) {
        // The panic's own message has been printed, unless it is captured.
        let _ =
            std::io::stderr().write_all(b"kahn: a panic in the runtime itself, please report\n");
        std::process::abort();
    }
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use super::*;
    use std::env;
    use std::process::Command;

    /// In a program of its own, which is this one once more.
    #[test]
    fn a_panic_of_the_runtime_ends_the_program_and_says_so() {
        const HAS_A_DEFECT: &str = "KAHN_TEST_HAS_A_DEFECT";
        if env::var_os(HAS_A_DEFECT).is_some() {
            let _caught = catch_unwind(|| {
                let _defect = Defect;
                panic!("an error of the runtime");
            });
            return;
        }
        let this = env::current_exe().expect("the system tells");
        let name = "sync::panics::tests::a_panic_of_the_runtime_ends_the_program_and_says_so";
        let program = Command::new(this)
            .args(["--exact", name, "--nocapture"])
            .env(HAS_A_DEFECT, "")
            .output()
            .expect("it starts");
        assert!(!program.status.success(), "what is caught does not go on");
        let said = String::from_utf8_lossy(&program.stderr);
        assert!(said.contains("an error of the runtime"), "{said}");
        assert!(said.contains("kahn: a panic in the runtime itself, please report\n"), "{said}");
    }
}
