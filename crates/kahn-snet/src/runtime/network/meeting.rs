//! Where streams meet: a queue that any number of processes put into and one takes from.
//!
//! Putting never waits. So whoever waits for a meeting waits for records that are still to be
//! made, and for no room anywhere: a ring of waits through it could not be resolved by growing a
//! channel, and there is none that would need to be.
//!
//! A meeting ends when all its entries are gone. An exit that goes before takes what is left with
//! it: records may hold entries of the very meeting they lie in.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use parking_lot::Mutex;

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    entries: usize,
    left: bool,
    waker: Option<Waker>,
}

/// The side where things are put in.
#[derive(Debug)]
pub(super) struct Entry<T>(Arc<Mutex<State<T>>>);

/// The side where they are taken.
#[derive(Debug)]
pub(super) struct Exit<T> {
    shared: Arc<Mutex<State<T>>>,
    /// What was taken from the queue at once.
    taken: VecDeque<T>,
}

/// Makes a meeting.
pub(super) fn meeting<T>() -> (Entry<T>, Exit<T>) {
    let state = State { waiting: VecDeque::new(), entries: 1, left: false, waker: None };
    let shared = Arc::new(Mutex::new(state));
    (Entry(Arc::clone(&shared)), Exit { shared, taken: VecDeque::new() })
}

impl<T> Entry<T> {
    /// Puts something in.
    pub(super) fn put(&self, thing: T) {
        let mut state = self.0.lock();
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
        self.0.lock().entries += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Entry<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.entries -= 1;
        let waker = if state.entries == 0 { state.waker.take() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Exit<T> {
    /// Takes what came first, waiting for it; nothing when there is nobody left to put it in.
    pub(super) async fn next(&mut self) -> Option<T> {
        poll_fn(|context| {
            if let Some(thing) = self.taken.pop_front() {
                return Poll::Ready(Some(thing));
            }
            let mut state = self.shared.lock();
            std::mem::swap(&mut state.waiting, &mut self.taken);
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
        self.taken.is_empty() && self.shared.lock().waiting.is_empty()
    }
}

impl<T> Drop for Exit<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.left = true;
        state.waker = None;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        // Outside of the lock, for what lies there may be an entry.
        drop(waiting);
    }
}
