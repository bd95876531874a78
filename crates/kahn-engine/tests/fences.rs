//! A run does not wait for the fences that its queues use: they are asked for while the program has one thread, and
//! beside what runs if it has more. Without the test harness, which has threads of its own.

use kahn_engine::ThreadSet;
use kahn_engine::sync::Arc;
use kahn_engine::sync::system::{ThreadDoor, fences};
use std::process::Command;
use std::{env, thread};

/// Tells the program to have another thread from the beginning.
const BESIDE_ANOTHER: &str = "beside-another";

fn main() {
    if env::args().nth(1).as_deref() == Some(BESIDE_ANOTHER) {
        return beside_another_thread();
    }
    before_the_first_thread();
    let program = env::current_exe().expect("it has a path");
    let ended = Command::new(program).arg(BESIDE_ANOTHER).status().expect("it runs");
    assert!(ended.success(), "{ended}");
}

/// Where the system has such fences, they are there when the threads of the workers are.
fn before_the_first_thread() {
    let _threads = ThreadSet::start(2, Arc::new(ThreadDoor::default()));
    assert_eq!(fences::are_there(), has_fences(), "they were asked for too late");
}

/// The thread that asks first goes on without them, and they come.
fn beside_another_thread() {
    thread::scope(|scope| {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || ended.recv());
        assert!(!fences::are_there(), "the caller has waited for them");
        while has_fences() && !fences::are_there() {
            thread::yield_now();
        }
        if has_fences() {
            fences::heavy();
        }
        drop(end);
    });
}

/// Whether the system has such fences.
fn has_fences() -> bool {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use rustix::thread::{MembarrierCommand, membarrier_query};
        membarrier_query().contains_command(MembarrierCommand::PrivateExpedited)
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    false
}
