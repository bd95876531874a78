//! The run queue of one worker under [`batch`](crate::batch): the batch that it runs, and those that
//! wait.
//!
//! ```text
//!   active queue                    run queue
//!   ● ● ● ◄──── load ──── older …  │ window (others may steal) │ pending
//!   │ woken, made, yielded: behind   ◄────── put back, when its turn is over ────┘
//! ```
//!
//! | rule | Ritson, Sampson and Barnes |
//! |---|---|
//! | A batch that is loaded gets eight dispatches for each of its processes, at most [`MOST_DISPATCHES`]; so each of them is dispatched in its turn, for no batch is larger ([`MOST_PROCESSES`]) | 2.1, 2.1.2 |
//! | Making a process takes one of them, too. Where that was the last one, the turn ends as soon as the maker gives way, and a maker that yields then stands at the head: so the split parts it from what it made | 2.1.2 |
//! | If the turn ends and no process was ever the only active one, the batch holds more than one group: its head is split off | 2.1.2 |
//! | Otherwise it goes back as it is; or runs on, if nothing else waits here | 2.1.2 |
//! | The youngest batch is *pending*: others see it when the next one comes. So the last work of a worker is not stolen, and one batch does not go back and forth | the authors' program |
//! | The batches before it stand in the [window](kahn_engine::queue::window); those that it has no room for are the owner's alone, and fill it again when it is empty | 2.2, figure 4; filling again is ours |
//! | While its worker runs one process for long, all that waits can be stolen ([`RunQueue::open`]) | ours |

use kahn_engine::queue::window::{Range, SLOTS, Window};
use std::collections::VecDeque;
use std::mem;

/// Dispatches that a batch gets for each of its processes.
const DISPATCHES: usize = 8;
/// Dispatches that a batch gets at most.
pub(crate) const MOST_DISPATCHES: usize = 127;
/// A longer queue becomes several batches.
const MOST_PROCESSES: usize = MOST_DISPATCHES;

/// Processes that are run in turn.
pub(crate) type Batch<T> = VecDeque<T>;

/// What a worker has to run. The window stands beside it, for others look there.
#[derive(Debug)]
pub(crate) struct RunQueue<T> {
    active: Batch<T>,
    /// Dispatches that are left to the active queue.
    left: usize,
    /// Whether, in this turn, a process was the only active one.
    was_alone: bool,
    /// Whether the running process has made the last process of this turn.
    has_made_last: bool,
    /// Batches that stand before those in the window.
    older: VecDeque<Box<Batch<T>>>,
    window: Range,
    pending: Option<Box<Batch<T>>>,
}

impl<T> Default for RunQueue<T> {
    fn default() -> Self {
        Self {
            active: Batch::new(),
            left: 0,
            was_alone: false,
            has_made_last: false,
            older: VecDeque::new(),
            window: Range::default(),
            pending: None,
        }
    }
}

fn dispatches<T>(batch: &Batch<T>) -> usize {
    (DISPATCHES * batch.len()).min(MOST_DISPATCHES)
}

impl<T: Send> RunQueue<T> {
    /// Puts a process that was woken behind the active ones.
    pub(crate) fn wake(&mut self, process: T) {
        self.active.push_back(process);
    }

    /// Puts a process that the running one has made behind the active ones.
    pub(crate) fn make(&mut self, process: T) {
        self.active.push_back(process);
        self.left = self.left.saturating_sub(1);
        self.has_made_last |= self.left == 0;
    }

    /// Puts the running process, which yields, behind the active ones.
    pub(crate) fn give_way(&mut self, process: T) {
        if mem::take(&mut self.has_made_last) {
            self.active.push_front(process);
        } else {
            self.active.push_back(process);
        }
    }

    /// Puts the running process, which gives way to a more urgent one, before the active ones.
    pub(crate) fn give_way_to_urgent(&mut self, process: T) {
        self.active.push_front(process);
    }

    /// Puts processes at the end of the run queue.
    pub(crate) fn put_back(&mut self, window: &Window<Batch<T>>, mut processes: Batch<T>) {
        // Each part gets memory of its own: split off, it would keep that of all.
        while processes.len() > MOST_PROCESSES {
            self.put_behind(window, processes.drain(..MOST_PROCESSES).collect());
        }
        if !processes.is_empty() {
            processes.shrink_to(2 * MOST_PROCESSES);
            self.put_behind(window, processes);
        }
    }

    fn put_behind(&mut self, window: &Window<Batch<T>>, batch: Batch<T>) {
        if let Some(before) = self.pending.replace(Box::new(batch)) {
            self.show(window, before);
        }
    }

    /// Puts a batch into the window.
    fn show(&mut self, window: &Window<Batch<T>>, batch: Box<Batch<T>>) {
        self.fill(window);
        self.older.extend(window.enqueue(&mut self.window, batch));
    }

    /// Fills the window from the batches before it, if thieves have left nothing there.
    fn fill(&mut self, window: &Window<Batch<T>>) {
        if self.older.is_empty() || window.has_some() {
            return;
        }
        // What thieves have left without telling so.
        self.older.extend(window.dequeue(&mut self.window));
        let fits = self.older.len().min(SLOTS);
        for batch in self.older.split_off(self.older.len() - fits) {
            let knocked_out = window.enqueue(&mut self.window, batch);
            debug_assert!(knocked_out.is_none(), "the window was empty");
        }
    }

    /// Takes the batch at the front of the run queue.
    fn next_batch(&mut self, window: &Window<Batch<T>>) -> Option<Box<Batch<T>>> {
        self.fill(window);
        let older = self.older.pop_front();
        older.or_else(|| window.dequeue(&mut self.window)).or_else(|| self.pending.take())
    }

    /// Makes a batch the active one.
    pub(crate) fn load(&mut self, batch: Batch<T>) {
        debug_assert!(self.active.is_empty(), "one batch at a time");
        self.active = batch;
        self.begin_turn();
    }

    fn begin_turn(&mut self) {
        self.left = dispatches(&self.active);
        self.was_alone = false;
    }

    /// The turn of the active batch is over: it goes on, or back into the run queue.
    fn end_turn(&mut self, window: &Window<Batch<T>>, something_came: bool) {
        let others = !self.older.is_empty() || !self.window.is_empty() || self.pending.is_some();
        let fits = self.active.len() <= MOST_PROCESSES;
        if self.was_alone && fits && !others && !something_came {
            return self.begin_turn();
        }
        let mut batch = mem::take(&mut self.active);
        if !self.was_alone && batch.len() > 1 {
            self.put_back(window, batch.drain(..1).collect());
        }
        self.put_back(window, batch);
    }

    /// Takes the process to be run next.
    pub(crate) fn dispatch(
        &mut self,
        window: &Window<Batch<T>>,
        something_came: bool,
    ) -> Option<T> {
        self.has_made_last = false;
        if self.left == 0 && !self.active.is_empty() {
            self.end_turn(window, something_came);
        }
        if self.active.is_empty() {
            let batch = self.next_batch(window)?;
            self.load(*batch);
        }
        let process = self.active.pop_front();
        self.left = self.left.saturating_sub(1);
        self.was_alone |= self.active.is_empty();
        process
    }

    /// Lets others have all that waits, as far as the window has room.
    pub(crate) fn open(&mut self, window: &Window<Batch<T>>) {
        let active = mem::take(&mut self.active);
        self.put_back(window, active);
        if self.window.len() < SLOTS
            && let Some(batch) = self.pending.take()
        {
            self.show(window, batch);
        }
    }

    /// How many processes and batches wait here, as far as the owner knows: some may be stolen.
    pub(crate) fn len(&self) -> usize {
        let batches = self.older.len() + self.window.len() + usize::from(self.pending.is_some());
        self.active.len() + batches
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A worker with a program: what a process does when it is dispatched.
    struct Machine {
        queue: RunQueue<u32>,
        window: Window<Batch<u32>>,
    }

    impl Machine {
        /// Begins with these batches.
        fn new<const N: usize>(batches: [&[u32]; N]) -> Self {
            let mut machine = Self { queue: RunQueue::default(), window: Window::new() };
            for batch in batches {
                machine.queue.put_back(&machine.window, batch.iter().copied().collect());
            }
            machine
        }

        fn dispatch(&mut self) -> Option<u32> {
            self.queue.dispatch(&self.window, false)
        }

        /// Dispatches so many processes, each of which yields.
        fn run(&mut self, count: usize) -> Vec<u32> {
            let mut ran = Vec::new();
            for _ in 0..count {
                let Some(process) = self.dispatch() else { break };
                ran.push(process);
                self.queue.give_way(process);
            }
            ran
        }

        fn steal(&self) -> Option<Vec<u32>> {
            self.window.steal().map(|batch| batch.into_iter().collect())
        }
    }

    #[test]
    fn a_batch_runs_for_eight_dispatches_a_process_and_at_most_127() {
        for (size, turn) in [(1, 8), (2, 16), (15, 120), (16, 127), (100, 127)] {
            let first: Vec<u32> = (1..=size).collect();
            let mut machine = Machine::new([&first, &[1000]]);
            let ran = machine.run(200);
            assert_eq!(ran.iter().position(|&process| process == 1000), Some(turn), "{size}");
        }
    }

    #[test]
    fn a_batch_in_which_no_process_was_ever_alone_is_split_behind_its_head() {
        let mut machine = Machine::new([&[1, 2, 3], &[9]]);
        machine.run(24 + 8);
        // Each of the parts runs for its own turn: the head alone, the others together.
        let ran = machine.run(8 + 16);
        assert_eq!(ran[..8], [1; 8]);
        assert_eq!(ran[8..], [2, 3].repeat(8));
    }

    #[test]
    fn a_batch_in_which_a_process_was_alone_stays_whole() {
        // 1 and 2 wake each other; both ready for a moment, only one at most times.
        let mut machine = Machine::new([&[1, 2], &[9]]);
        let mut turns = Vec::new();
        for _ in 0..200 {
            let process = machine.dispatch().expect("there is always one");
            turns.push(process);
            match process {
                9 => machine.queue.give_way(9),
                1 => machine.queue.wake(2),
                _ => machine.queue.wake(1),
            }
            if turns.len() == 1 {
                // The second one waits now for the first.
                machine.queue.active.pop_front();
            }
        }
        let longest = turns.split(|&process| process == 9).map(<[u32]>::len).max();
        assert!(turns.iter().filter(|&&process| process == 9).count() > 8);
        assert!(machine.steal().is_none_or(|batch| batch != [1] && batch != [2]));
        assert!(longest >= Some(15), "they run together: {turns:?}");
    }

    #[test]
    fn a_lone_group_runs_on_without_a_look_at_the_run_queue() {
        let mut machine = Machine::new([&[1]]);
        machine.run(1000);
        assert!(machine.queue.pending.is_none(), "it was never put back");
        assert_eq!(machine.steal(), None);
    }

    /// A maker that makes so many processes and yields; what was made ends at once. Returns how many
    /// of them ended within so many dispatches, and the most that waited.
    fn make(machine: &mut Machine, a_time: u32, dispatches: usize) -> (u32, u32) {
        let (mut waiting, mut ended, mut most) = (0, 0, 0);
        for _ in 0..dispatches {
            if machine.dispatch().expect("the maker is always ready") == 0 {
                (0..a_time).for_each(|_| machine.queue.make(1));
                machine.queue.give_way(0);
                waiting += a_time;
            } else {
                ended += 1;
                waiting -= 1;
            }
            most = most.max(waiting);
        }
        (ended, most)
    }

    #[test]
    fn a_maker_that_yields_does_not_keep_the_worker() {
        for a_time in [1, 2, 7, 8, 60, 100, 200] {
            let (ended, most) = make(&mut Machine::new([&[0]]), a_time, 100_000);
            assert!(ended > 40_000, "{a_time} at a time: {ended} of 100 000 dispatches");
            assert!(most <= 256 + 64 * a_time, "{a_time} at a time: {most} wait");
        }
    }

    #[test]
    fn making_takes_dispatches_and_the_split_parts_a_maker_from_what_it_made() {
        // Not alone in its batch, so the rule for splitting holds.
        let mut machine = Machine::new([&[0, 5], &[9]]);
        assert_eq!(machine.dispatch(), Some(0));
        (100..115).for_each(|made| machine.queue.make(made));
        assert_eq!(machine.queue.left, 0, "one dispatch and fifteen made are its sixteen");
        machine.queue.give_way(0);
        assert_eq!(machine.dispatch(), Some(9), "its turn is over");
        machine.queue.give_way(9);
        // Nothing was cut off before the turn ended, and the maker alone then.
        assert_eq!(machine.steal(), Some(vec![0]));
        let made: Vec<u32> = [5].into_iter().chain(100..115).collect();
        assert_eq!(machine.queue.pending.as_deref(), Some(&made.into()));
    }

    #[test]
    fn making_does_not_cut_a_batch_in_which_a_process_was_alone() {
        let mut machine = Machine::new([&[0], &[9]]);
        assert_eq!(machine.dispatch(), Some(0));
        (1..=7).for_each(|made| machine.queue.make(made));
        machine.queue.give_way(0);
        assert_eq!(machine.dispatch(), Some(9));
        assert_eq!(machine.queue.pending.as_deref(), Some(&(0..=7).collect()));
    }

    #[test]
    fn the_window_holds_fifteen_and_thieves_never_get_the_youngest() {
        let batches: [[u32; 1]; 20] = std::array::from_fn(|n| [u32::try_from(n).expect("small")]);
        let machine = Machine::new(batches.each_ref().map(|batch| &batch[..]));
        let stolen: Vec<_> = std::iter::from_fn(|| machine.steal()).flatten().collect();
        assert_eq!(stolen, (4..19).collect::<Vec<_>>(), "19 is pending, 0 to 3 were knocked out");
    }

    #[test]
    fn a_window_that_thieves_have_emptied_fills_from_older_batches() {
        let batches: [[u32; 1]; 40] = std::array::from_fn(|n| [u32::try_from(n).expect("small")]);
        let mut machine = Machine::new(batches.each_ref().map(|batch| &batch[..]));
        let mut stolen = 0;
        let mut ran = std::collections::BTreeSet::new();
        // A thief that is faster than the owner gets half at least.
        while let Some(process) = machine.dispatch() {
            ran.insert(process);
            stolen += std::iter::from_fn(|| machine.steal()).count();
        }
        assert!(stolen >= 20, "the thief got {stolen}, the owner {}", ran.len());
        assert_eq!(stolen + ran.len(), 40, "each once");
    }

    #[test]
    fn a_ready_process_waits_127_dispatches_at_most_for_each_batch_before_it() {
        for size in [1_u32, 5, 40, 127, 400] {
            let first: Vec<u32> = (0..size).collect();
            let mut machine = Machine::new([&first]);
            // The queue as it stands is cut into batches; all yield for ever.
            let mut since = vec![0_usize; size as usize];
            for now in 1..50_000 {
                let process = machine.dispatch().expect("all yield");
                let batches = machine.queue.len().max(1);
                let waited = now - mem::replace(&mut since[process as usize], now);
                assert!(
                    waited <= MOST_DISPATCHES * (batches + 1),
                    "{waited} dispatches with {batches} batches of {size} processes"
                );
                machine.queue.give_way(process);
            }
            assert!(since.iter().all(|&last| last > 0));
        }
    }

    #[test]
    fn batches_take_memory_for_what_they_hold() {
        for size in [500_u32, 100_000] {
            let all: Vec<u32> = (0..size).collect();
            let mut machine = Machine::new([&all]);
            // Some turns end, and the heads of batches are split off.
            machine.run(10 * MOST_DISPATCHES);
            let mut room = machine.queue.active.capacity();
            while let Some(batch) = machine.queue.next_batch(&machine.window) {
                assert!(batch.capacity() <= 2 * MOST_PROCESSES, "a batch of {}", batch.len());
                room += batch.capacity();
            }
            assert!(room <= 2 * size as usize, "{room} places for {size} processes");
        }
    }

    #[test]
    fn all_that_waits_behind_a_process_that_runs_long_can_be_stolen() {
        let all: Vec<u32> = (0..400).collect();
        let mut machine = Machine::new([&all]);
        assert_eq!(machine.dispatch(), Some(0));
        let mut stolen = Vec::new();
        while machine.queue.len() > 0 {
            machine.queue.open(&machine.window);
            let before = stolen.len();
            stolen.extend(std::iter::from_fn(|| machine.steal()).flatten());
            if stolen.len() == before {
                break;
            }
        }
        stolen.sort_unstable();
        assert_eq!(stolen, (1..400).collect::<Vec<_>>());
    }
}
