//! Where streams meet: a queue that any number of processes put into and one takes from.
//!
//! Putting never waits. So a process that waits for a meeting waits for records that are still to be
//! made, and for no room anywhere: a ring of waits through it could not be resolved by growing a
//! channel, and there is none that would need to be.
//!
//! A process on a thread of its own may wait for something else: until its [`Level`] has gone down.
//! Boxes wait so for the first meeting on each way that their records take, for none that lies
//! behind another box, and for none that they take from themselves, by however many processes.
//!
//! A meeting ends when all its entries are gone. An exit that goes before takes what is left with
//! it: records may hold entries of the very meeting they lie in.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use parking_lot::{Condvar, Mutex};

/// How many things may wait where a box puts more.
const MOST: usize = 512;

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    entries: usize,
    left: bool,
    waker: Option<Waker>,
    /// Whether a thread waits until there are less.
    is_awaited: bool,
}

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    lowered: Condvar,
}

/// How much waits in a meeting, for processes that would put more into it, or have more put.
#[derive(Debug)]
pub(super) struct Level<T>(Arc<Shared<T>>);

impl<T> Clone for Level<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Level<T> {
    /// Waits, and blocks the thread, until not much waits there, or it is not taken any more.
    pub(super) fn wait(&self) {
        let mut state = self.0.state.lock();
        while state.waiting.len() > MOST && !state.left {
            state.is_awaited = true;
            self.0.lowered.wait(&mut state);
        }
    }
}

/// The side where things are put in.
#[derive(Debug)]
pub(super) struct Entry<T>(Arc<Shared<T>>);

/// The side where they are taken.
#[derive(Debug)]
pub(super) struct Exit<T> {
    shared: Arc<Shared<T>>,
    /// What was taken from the queue at once.
    taken: VecDeque<T>,
}

/// Makes a meeting.
pub(super) fn meeting<T>() -> (Entry<T>, Exit<T>) {
    let (waiting, waker) = (VecDeque::new(), None);
    let state = State { waiting, entries: 1, left: false, waker, is_awaited: false };
    let shared = Arc::new(Shared { state: Mutex::new(state), lowered: Condvar::new() });
    (Entry(Arc::clone(&shared)), Exit { shared, taken: VecDeque::new() })
}

impl<T> Entry<T> {
    pub(super) fn level(&self) -> Level<T> {
        Level(Arc::clone(&self.0))
    }

    /// Puts something in.
    pub(super) fn put(&self, thing: T) {
        let mut state = self.0.state.lock();
        if state.left {
            drop(state);
            return;
        }
        state.waiting.push_back(thing);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        self.0.state.lock().entries += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Entry<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.entries -= 1;
        let waker = if state.entries == 0 { state.waker.take() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Exit<T> {
    /// Takes what came first, waiting for it; nothing when no entry is left.
    pub(super) async fn next(&mut self) -> Option<T> {
        poll_fn(|context| {
            if let Some(thing) = self.taken.pop_front() {
                return Poll::Ready(Some(thing));
            }
            let mut state = self.shared.state.lock();
            std::mem::swap(&mut state.waiting, &mut self.taken);
            if std::mem::take(&mut state.is_awaited) {
                self.shared.lowered.notify_all();
            }
            match self.taken.pop_front() {
                Some(thing) => Poll::Ready(Some(thing)),
                None if state.entries == 0 => Poll::Ready(None),
                None => {
                    state.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Whether nothing is there at the moment.
    pub(super) fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.shared.state.lock().waiting.is_empty()
    }
}

impl<T> Drop for Exit<T> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.left = true;
        self.shared.lowered.notify_all();
        state.waker = None;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        // Outside of the lock, for what lies there may be an entry.
        drop(waiting);
    }
}
