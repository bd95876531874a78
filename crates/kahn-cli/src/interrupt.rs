//! Ctrl-C: the first one stops the network, the second one gives up waiting for it.
//!
//! | pressed while            | what happens                                                  |
//! |--------------------------|---------------------------------------------------------------|
//! | no network runs          | the command ends                                              |
//! | a network runs           | it is stopped: its processes end where they wait              |
//! | it has been stopped      | the command says who has not stopped, and ends                |

use std::process;
use std::sync::Arc;

use kahn_apps::Stopper;
use parking_lot::Mutex;

use crate::messages;

enum Stage {
    Idle,
    Running(Stopper),
    Stopping(Stopper),
}

/// What Ctrl-C does from now on.
#[derive(Clone)]
pub(crate) struct Interrupt(Arc<Mutex<Stage>>);

impl Interrupt {
    /// Takes over Ctrl-C. There is one of these in a command.
    pub(crate) fn new() -> Self {
        let interrupt = Self(Arc::new(Mutex::new(Stage::Idle)));
        let pressed = interrupt.clone();
        // Should the system refuse, Ctrl-C ends the command at once, as it does by itself.
        let _ = ctrlc::set_handler(move || pressed.pressed());
        interrupt
    }

    /// From now on Ctrl-C stops this network.
    pub(crate) fn running(&self, stop: Stopper) {
        *self.0.lock() = Stage::Running(stop);
    }

    /// From now on there is nothing to stop.
    pub(crate) fn ended(&self) {
        *self.0.lock() = Stage::Idle;
    }

    fn pressed(&self) {
        let mut stage = self.0.lock();
        match &*stage {
            Stage::Idle => exit(),
            Stage::Running(stop) => {
                messages::note("stopping; press Ctrl-C again to end without waiting");
                let stop = stop.clone();
                stop.stop();
                *stage = Stage::Stopping(stop);
            }
            Stage::Stopping(stop) => {
                messages::note(format_args!("not everything has stopped:\n{}", stop.explain()));
                exit();
            }
        }
    }
}

#[expect(clippy::exit, reason = "the person who pressed Ctrl-C wants no further step")]
fn exit() {
    process::exit(messages::INTERRUPTED.into());
}
