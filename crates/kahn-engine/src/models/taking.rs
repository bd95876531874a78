//! What models of queues share: processes that are numbers, each of which is to be taken once.

use crate::TaskRef;
use crate::sync::Arc;
use loom::cell::UnsafeCell;
use loom::thread;
use std::ptr::{self, NonNull};

/// A pointer that is never followed: the models count processes, they do not run them.
fn process(number: usize) -> TaskRef {
    let address = ptr::without_provenance_mut(number * 64);
    // SAFETY: not followed.
    unsafe { TaskRef::new(NonNull::new(address).expect("numbers start at one")) }
}

/// What the processes of a model keep to themselves.
#[derive(Default)]
pub(super) struct Processes([UnsafeCell<u32>; 6]);

impl Processes {
    /// Touches a process, as running it would: loom sees two that do so at once, and one that does so
    /// before the process was handed over.
    fn touch(&self, number: usize) {
        // SAFETY: loom checks.
        self.0[number].with_mut(|state| unsafe { *state += 1 });
    }

    /// Makes a process and puts it into a queue; runs it if that is full.
    pub(super) fn push(
        &self,
        number: usize,
        taken: &mut Vec<usize>,
        push: impl FnOnce(TaskRef) -> Result<(), TaskRef>,
    ) {
        self.touch(number);
        if push(process(number)).is_err() {
            taken.push(number);
        }
    }

    /// The same for many, of which the first so many find room.
    pub(super) fn push_many<const N: usize>(
        &self,
        numbers: [usize; N],
        taken: &mut Vec<usize>,
        push: impl FnOnce(&[TaskRef]) -> usize,
    ) {
        numbers.into_iter().for_each(|number| self.touch(number));
        let pushed = push(&numbers.map(process));
        taken.extend(&numbers[pushed..]);
    }

    /// Runs what was taken from a queue; `false` if that is nothing.
    pub(super) fn run(&self, task: Option<TaskRef>, taken: &mut Vec<usize>) -> bool {
        let number = task.map(|task| task.as_ptr().addr() / 64);
        number.into_iter().for_each(|number| self.touch(number));
        taken.extend(number);
        number.is_some()
    }
}

/// What a thief took, in its order.
pub(super) type Thief = thread::JoinHandle<Vec<usize>>;

/// A thread that takes something.
pub(super) fn thief<M: 'static>(
    model: &Arc<M>,
    steal: impl FnOnce(&M, &mut Vec<usize>) + 'static,
) -> Thief {
    let model = Arc::clone(model);
    thread::spawn(move || {
        let mut taken = Vec::new();
        steal(&model, &mut taken);
        taken
    })
}

/// Demands that what the owner and the thieves took is every process, once; gives what each thief
/// took. `rest` takes what is left in the end.
pub(super) fn assert_all_taken_once(
    mut taken: Vec<usize>,
    thieves: impl IntoIterator<Item = Thief>,
    rest: impl FnOnce(&mut Vec<usize>),
    expected: usize,
) -> Vec<Vec<usize>> {
    let stolen = thieves.into_iter().map(|thief| thief.join().expect("a thief does not panic"));
    let stolen: Vec<_> = stolen.collect();
    rest(&mut taken);
    taken.extend(stolen.iter().flatten());
    taken.sort_unstable();
    assert_eq!(taken, (1..=expected).collect::<Vec<_>>());
    stolen
}
