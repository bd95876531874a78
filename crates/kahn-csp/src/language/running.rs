//! The process that runs on this thread, and its network.

use crate::language::common::Common;
use crate::language::csp::Worker;
use kahn_engine::TaskRef;
use kahn_engine::sync::Arc;
use kahn_report::Name;
use kahn_report::observe::Subject;

/// The worker and the communicating process that run on this thread.
///
/// # Panics
/// Panics outside of such a process.
#[inline]
pub(crate) fn process<'a>(what: &str) -> (&'a Worker, TaskRef) {
    Worker::running().unwrap_or_else(|| no_process(what))
}

/// The worker and the process that run an operation, if both are where the operation belongs.
///
/// # Panics
/// Panics otherwise, with what to do instead.
#[inline]
pub(crate) fn in_network<'a>(network: u32, what: &str) -> (&'a Worker, TaskRef) {
    Worker::running_in(network).unwrap_or_else(|| elsewhere(what))
}

/// The worker and the process that run an operation: of its network, if it belongs to one.
///
/// # Panics
/// Panics elsewhere.
#[inline]
pub(crate) fn of<'a>(network: Option<u32>, what: &str) -> (&'a Worker, TaskRef) {
    match network {
        Some(network) => in_network(network, what),
        None => process(what),
    }
}

/// Makes sure that something belongs to the network of this worker.
///
/// # Panics
/// Panics if it does not.
#[inline]
pub(crate) fn check_network(worker: &Worker, network: u32, what: &str) {
    if worker.network != network {
        elsewhere(what);
    }
}

/// The worker that makes something now, and so the network that this belongs to.
///
/// # Panics
/// Panics outside of a communicating process.
pub(crate) fn maker<'a>(what: &str) -> (&'a Worker, TaskRef) {
    match Worker::running() {
        Some(running) => running,
        None => panic!("{what} of `kahn_csp` is made in a process of `csp::run`"),
    }
}

/// What the parts of the network have in common that makes something now.
///
/// # Panics
/// As [`maker`].
pub(crate) fn common<'a>(what: &str) -> &'a Arc<Common> {
    maker(what).0.language().common()
}

/// The same for a channel, or what is like one; it is counted.
///
/// # Panics
/// As [`maker`].
pub(crate) fn common_of_new<'a>(what: &str) -> &'a Arc<Common> {
    let language = maker(what).0.language();
    language.count_channel();
    language.common()
}

/// Tells what writes down what happens, if anything does, which channel was made.
pub(crate) fn tell_of_new(address: usize, name: &Name) {
    let (worker, maker) = maker("a channel");
    // Channels have no identity. This is the same in every run on one worker, and odd as all identities.
    let id = maker.subject().id.wrapping_add(worker.language().channels() << 1) | 1;
    worker.log_channel(address, Subject { name, id, part: 0 });
}

#[cold]
fn no_process(what: &str) -> ! {
    panic!("{what} of `kahn_csp` works in a process of `csp::run`")
}

#[cold]
fn elsewhere(what: &str) -> ! {
    panic!(
        "{what} was used outside of its network: channels and barriers of `kahn_csp` work in the \
         processes of the `csp::run` that they were made in"
    )
}
