//! The word of a channel, by itself: what is left to a partner stays its own.

use super::check;
use crate::channel::word::{FIRST_FLAG, LEFT, Word};
use kahn_engine::sync::{Access, Arc, Cell, thread};

/// A release may come on another thread beside the receiver itself, and find nothing that is held.
#[test]
fn a_lock_that_changes_nothing_takes_nothing_back() {
    check(3, || {
        let word = Arc::new(Word::new(0));
        assert!(word.leave(FIRST_FLAG, Access::SHARED));
        let released = Arc::clone(&word);
        let releases = thread::spawn(move || released.unlock(released.lock(Access::SHARED)));
        assert_eq!(word.look(), LEFT | FIRST_FLAG);
        word.clear(0);
        releases.join().expect("it does not panic");
        assert_eq!(word.peek(), 0);
    });
}

/// Two threads come when the run is over, to a channel where an operation was forgotten that waits at it.
#[test]
fn what_was_forgotten_is_struck_out() {
    const BUFFER: u32 = FIRST_FLAG << 1;
    check(3, || {
        let channel = Arc::new(Behind(Word::new(BUFFER), Cell::new(0), Default::default()));
        assert!(channel.0.leave_if(BUFFER, FIRST_FLAG, Access::SHARED));
        let comes = |channel: &Behind| {
            let flags = channel.0.lock_after_the_run(FIRST_FLAG);
            assert_eq!(flags, BUFFER, "nothing waits there, and the buffer is as it was");
            channel.1.set(channel.1.get() + 1);
            channel.0.unlock(flags);
        };
        let other = Arc::clone(&channel);
        let other = thread::spawn(move || comes(&other));
        comes(&channel);
        other.join().expect("it does not panic");
        assert_eq!((channel.0.peek(), channel.1.get()), (BUFFER, 2));
    });
}

/// A word with something behind it, and what each of two parties brings.
struct Behind(Word, Cell<u32>, [Cell<u32>; 2]);

// SAFETY: the cells are touched behind the word alone; loom sees whether that is so.
unsafe impl Send for Behind {}
// SAFETY: as above.
unsafe impl Sync for Behind {}

impl Behind {
    /// One party comes: leaves the word, or finds that the other has. Whether it has found it.
    fn comes(&self, side: usize) -> bool {
        let Self(word, count, brought) = self;
        brought[side].set(1);
        loop {
            if word.leave(FIRST_FLAG << side, Access::SHARED) {
                return false;
            }
            let flags = word.lock(Access::SHARED);
            if flags & LEFT != 0 {
                assert_eq!(brought[1 - side].get(), 1);
                count.set(count.get() + 1);
                word.unlock(0);
                return true;
            }
            word.unlock(flags);
        }
    }
}

/// Two come at once while a third looks: one of them leaves the word, and the other finds it; what is
/// behind it is one thread's at a time.
#[test]
fn of_two_that_come_at_once_one_leaves_it() {
    check(2, || {
        let behind = || Behind(Word::new(0), Cell::new(0), [Cell::new(0), Cell::new(0)]);
        let channel = Arc::new(behind());
        let other = Arc::clone(&channel);
        let other = thread::spawn(move || other.comes(0));
        let looked = Arc::clone(&channel);
        let looks = thread::spawn(move || {
            if let Some(flags) = looked.0.lock_to_look() {
                looked.1.get();
                looked.0.unlock(flags);
            }
        });
        let found = [channel.comes(1), other.join().expect("it does not panic")];
        looks.join().expect("it does not panic");
        assert_eq!(found.iter().filter(|&&found| found).count(), 1, "one finds the other");
        assert_eq!((channel.0.peek(), channel.1.get()), (0, 1));
    });
}
