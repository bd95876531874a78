//! Threads and coroutines whose code blocks, and channels for them.

use super::parked;
use crate::measure::Figure;
use anyhow::{Result, anyhow};
use may::coroutine::{self, Coroutine};
use std::thread::{self, Thread};

/// A workload for code that blocks.
pub(crate) trait BlockingProgram {
    /// Runs and measures it.
    fn on_threads<B: Blocking>(self, workers: usize) -> Result<Vec<Figure>>;
}

/// What runs code that blocks, and its channels.
pub(crate) trait Blocking: 'static {
    type Join<T: Send + 'static>;
    type Sender<T: Send + 'static>: Send + 'static;
    type Receiver<T: Send + 'static>: Send + 'static;

    /// Sets up so many workers, if that can be set up.
    fn start(workers: usize);

    /// Starts a thread or coroutine.
    fn spawn<T: Send + 'static>(code: impl FnOnce() -> T + Send + 'static)
    -> Result<Self::Join<T>>;

    /// Waits for its end.
    fn join<T: Send + 'static>(join: Self::Join<T>) -> thread::Result<T>;

    /// Makes a channel.
    fn bounded<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>);

    /// Sends; says whether there is still a receiver.
    fn send<T: Send + 'static>(to: &mut Self::Sender<T>, message: T) -> bool;

    /// Receives, until the end.
    fn recv<T: Send + 'static>(from: &mut Self::Receiver<T>) -> Option<T>;
}

/// Waits for the end of one; that it panicked is an error.
pub(crate) fn join<B: Blocking, T: Send + 'static>(thread: B::Join<T>) -> Result<T> {
    B::join(thread).map_err(|_| anyhow!("a thread panicked"))
}

/// Little of a thread's stack is used here.
const STACK: usize = 128 * 1024;

fn spawn_thread<T: Send + 'static>(
    code: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>> {
    Ok(thread::Builder::new().stack_size(STACK).spawn(code)?)
}

/// OS threads with crossbeam-channel.
pub(crate) struct Crossbeam;

impl Blocking for Crossbeam {
    type Join<T: Send + 'static> = thread::JoinHandle<T>;
    type Sender<T: Send + 'static> = crossbeam_channel::Sender<T>;
    type Receiver<T: Send + 'static> = crossbeam_channel::Receiver<T>;

    fn start(_workers: usize) {}

    fn spawn<T: Send + 'static>(
        code: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self::Join<T>> {
        spawn_thread(code)
    }

    fn join<T: Send + 'static>(join: Self::Join<T>) -> thread::Result<T> {
        join.join()
    }

    fn bounded<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        crossbeam_channel::bounded(capacity)
    }

    fn send<T: Send + 'static>(to: &mut Self::Sender<T>, message: T) -> bool {
        to.send(message).is_ok()
    }

    fn recv<T: Send + 'static>(from: &mut Self::Receiver<T>) -> Option<T> {
        from.recv().ok()
    }
}

/// OS threads with rtrb.
pub(crate) struct Rtrb;

impl Blocking for Rtrb {
    type Join<T: Send + 'static> = thread::JoinHandle<T>;
    type Sender<T: Send + 'static> = parked::Sender<T, Thread>;
    type Receiver<T: Send + 'static> = parked::Receiver<T, Thread>;

    fn start(_workers: usize) {}

    fn spawn<T: Send + 'static>(
        code: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self::Join<T>> {
        spawn_thread(code)
    }

    fn join<T: Send + 'static>(join: Self::Join<T>) -> thread::Result<T> {
        join.join()
    }

    fn bounded<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        parked::bounded(capacity)
    }

    fn send<T: Send + 'static>(to: &mut Self::Sender<T>, message: T) -> bool {
        to.send(message)
    }

    fn recv<T: Send + 'static>(from: &mut Self::Receiver<T>) -> Option<T> {
        from.recv()
    }
}

/// Coroutines of may. It has no bounded channel: one over rtrb's ring.
pub(crate) struct May;

impl Blocking for May {
    type Join<T: Send + 'static> = coroutine::JoinHandle<T>;
    type Sender<T: Send + 'static> = parked::Sender<T, Coroutine>;
    type Receiver<T: Send + 'static> = parked::Receiver<T, Coroutine>;

    fn start(workers: usize) {
        may::config().set_workers(workers);
    }

    fn spawn<T: Send + 'static>(
        code: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self::Join<T>> {
        let builder = coroutine::Builder::new();
        // SAFETY: the code uses no thread-local storage across a wait, and little of its stack.
        Ok(unsafe { builder.spawn(code) }?)
    }

    fn join<T: Send + 'static>(join: Self::Join<T>) -> thread::Result<T> {
        join.join()
    }

    fn bounded<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        parked::bounded(capacity)
    }

    fn send<T: Send + 'static>(to: &mut Self::Sender<T>, message: T) -> bool {
        to.send(message)
    }

    fn recv<T: Send + 'static>(from: &mut Self::Receiver<T>) -> Option<T> {
        from.recv()
    }
}
