//! The two ends of a [deque](crate::queue::deque): what only its owner may do, and what others may.

use crate::queue::deque::{Deque, Steal};
use crate::queue::slots::Item;
use crate::sync::{Access, Arc};
use std::cell::Cell;
use std::marker::PhantomData;

/// The owner's end of a deque, which one thread has at a time.
///
/// # Examples
///
/// What came last goes first; what came first is stolen first.
///
/// ```
/// use kahn_engine::queue::ends::HotEnd;
///
/// let own = HotEnd::new();
/// let of_thieves = own.cold_end();
/// for item in ["first", "second", "third"] {
///     own.push(Box::new(item)).expect("there is room");
/// }
/// assert_eq!(own.pop().as_deref(), Some(&"third"));
/// let thief = std::thread::spawn(move || of_thieves.steal());
/// assert_eq!(thief.join().unwrap().as_deref(), Some(&"first"));
/// assert_eq!(own.len(), 1);
/// ```
#[derive(Debug)]
pub struct HotEnd<T: Item> {
    deque: Arc<Deque<T>>,
    /// One thread at a time.
    not_shared: PhantomData<Cell<()>>,
}

/// The thieves' end of a deque.
#[derive(Debug)]
pub struct ColdEnd<T: Item>(Arc<Deque<T>>);

impl<T: Item> Default for HotEnd<T> {
    fn default() -> Self {
        Self { deque: Arc::new(Deque::new()), not_shared: PhantomData }
    }
}

impl<T: Item> HotEnd<T> {
    /// Makes an empty deque.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the other end.
    pub fn cold_end(&self) -> ColdEnd<T> {
        ColdEnd(Arc::clone(&self.deque))
    }

    /// Puts an item at this end.
    ///
    /// # Errors
    /// Gives it back if the deque is full: it has 2048 slots.
    pub fn push(&self, item: T) -> Result<(), T> {
        self.deque.push(item)
    }

    /// Takes the item that was put there last.
    pub fn pop(&self) -> Option<T> {
        self.deque.pop(Access::SHARED)
    }

    /// Takes the item that has been there longest.
    pub fn pop_oldest(&self) -> Option<T> {
        steal(&self.deque)
    }

    /// Returns how many there are, or were a moment ago.
    pub fn len(&self) -> usize {
        self.deque.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Item> ColdEnd<T> {
    /// Takes the item that has been there longest.
    pub fn steal(&self) -> Option<T> {
        steal(&self.0)
    }

    /// Tells whether there seems to be none.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }
}

fn steal<T: Item>(deque: &Deque<T>) -> Option<T> {
    loop {
        match deque.steal() {
            Steal::Taken(item) => return Some(item),
            Steal::Nothing => return None,
            // Another thread has taken one.
            Steal::Retry => {}
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_deque_gives_back_and_what_is_left_is_dropped() {
        let all = Arc::new(());
        let own = HotEnd::new();
        let mut pushed = 0;
        while own.push(Box::new(Arc::clone(&all))).is_ok() {
            pushed += 1;
        }
        assert_eq!(own.len(), pushed);
        assert_eq!(Arc::strong_count(&all), pushed + 1);
        drop(own.pop_oldest());
        assert!(own.push(Box::new(Arc::clone(&all))).is_ok(), "there is room again");
        let of_thieves = own.cold_end();
        drop(own);
        drop(of_thieves.steal());
        assert_eq!(Arc::strong_count(&all), pushed);
        drop(of_thieves);
        assert_eq!(Arc::strong_count(&all), 1, "what nobody takes is dropped once");
    }
}
