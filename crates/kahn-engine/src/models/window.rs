//! The owner of a migration window against thieves. A window has two slots under loom, so the third
//! batch knocks one out.

use super::check;
use crate::queue::window::{Range, Window};
use crate::sync::Arc;
use loom::cell::UnsafeCell;
use loom::thread;

/// A batch, and what its processes keep to themselves.
struct Marked {
    number: usize,
    content: UnsafeCell<u32>,
}

impl Marked {
    fn new(number: usize) -> Box<Self> {
        let marked = Box::new(Self { number, content: UnsafeCell::new(0) });
        marked.touch();
        marked
    }

    /// Touches what is inside, as running it would: loom sees what does so too early.
    fn touch(&self) {
        // SAFETY: loom checks.
        self.content.with_mut(|content| unsafe { *content += 1 });
    }
}

// SAFETY: loom checks.
unsafe impl Send for Marked {}

type Shared = Arc<Window<Marked>>;

fn note(batch: Option<Box<Marked>>, taken: &mut Vec<usize>) {
    if let Some(batch) = batch {
        batch.touch();
        taken.push(batch.number);
    }
}

fn thief(window: &Shared, attempts: usize) -> thread::JoinHandle<Vec<usize>> {
    let window = Arc::clone(window);
    thread::spawn(move || {
        let mut taken = Vec::new();
        (0..attempts).for_each(|_| note(window.steal(), &mut taken));
        taken
    })
}

/// Takes all that is left, and demands that nothing is hidden, lost or doubled.
fn assert_all_taken_once(
    window: &Shared,
    mut range: Range,
    mut taken: Vec<usize>,
    thieves: impl IntoIterator<Item = thread::JoinHandle<Vec<usize>>>,
    expected: usize,
) {
    for thief in thieves {
        taken.extend(thief.join().expect("a thief does not panic"));
    }
    assert!(!window.hides_one(), "a batch that no thread can see");
    while range.len() > 0 {
        note(window.dequeue(&mut range), &mut taken);
    }
    taken.sort_unstable();
    assert_eq!(taken, (1..=expected).collect::<Vec<_>>());
}

#[test]
fn every_batch_is_taken_once() {
    check(3, || {
        let (window, mut range, mut taken) =
            (Arc::new(Window::new()), Range::default(), Vec::new());
        let thief = thief(&window, 2);
        for number in 1..=3 {
            note(window.enqueue(&mut range, Marked::new(number)), &mut taken);
        }
        note(window.dequeue(&mut range), &mut taken);
        assert_all_taken_once(&window, range, taken, [thief], 3);
    });
}

#[test]
fn no_batch_is_hidden_by_a_thief_that_looked_before_it_came() {
    check(3, || {
        let (window, mut range, mut taken) =
            (Arc::new(Window::new()), Range::default(), Vec::new());
        let thief = thief(&window, 1);
        for number in 1..=3 {
            note(window.enqueue(&mut range, Marked::new(number)), &mut taken);
            if number < 3 {
                note(window.dequeue(&mut range), &mut taken);
            }
        }
        assert_all_taken_once(&window, range, taken, [thief], 3);
    });
}

#[test]
fn two_thieves_and_the_owner_share_without_loss() {
    check(2, || {
        let (window, mut range, mut taken) =
            (Arc::new(Window::new()), Range::default(), Vec::new());
        note(window.enqueue(&mut range, Marked::new(1)), &mut taken);
        let thieves = [thief(&window, 1), thief(&window, 1)];
        note(window.enqueue(&mut range, Marked::new(2)), &mut taken);
        note(window.dequeue(&mut range), &mut taken);
        assert_all_taken_once(&window, range, taken, thieves, 2);
    });
}
