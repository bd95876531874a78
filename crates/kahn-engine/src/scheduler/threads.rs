//! How the threads of a run are started: those of its workers, and those of processes.

use crate::scheduler::Scheduler;
use crate::sync::system::{ThreadDoor, unpinned};
use crate::sync::{Arc, Parker, thread};
use crate::task::TaskRef;
use crate::task::extension::Unparker;

impl Scheduler {
    pub(crate) fn start_thread(&self, task: TaskRef) {
        let parker = Arc::new(Parker::new());
        task.set_unparker(Unparker::Thread(Arc::clone(&parker)));
        self.activity.wake();
        let count = self.threads.count_one();
        let scheduler = self.strong();
        let index = if self.settings().threads { count } else { self.slots().len() + count };
        let builder = thread::Builder::new().name(task.info().name.to_string());
        let spawned = self.config().door.enter().and_then(|place| {
            // A process that makes another while it runs starts that one's thread, and may run on a pinned worker.
            let handle = builder.spawn(unpinned(move || {
                (scheduler.tag.live)(&scheduler, index, parker, task);
                scheduler.rest();
            }))?;
            Ok((handle, place))
        });
        match spawned {
            Ok((thread, place)) => self.threads.add(count, thread, place),
            Err(error) => {
                self.threads.uncount_one();
                self.refuse_thread(task, &error);
            }
        }
    }

    /// The system gives no more threads: that ends the run, for the process can never run.
    fn refuse_thread(&self, task: TaskRef, error: &std::io::Error) {
        let (name, why) = (&task.info().name, ThreadDoor::explain(error));
        self.out_of_threads(format!("process `{name}` has no thread to run on: {why}"));
        (self.tag.refuse)(self, task);
        self.activity.withdraw(1);
    }

    /// The system refuses a thread that the run needs: that ends it, unless something else has.
    pub fn out_of_threads(&self, text: String) {
        if !self.is_ending() {
            // The first that was refused is told.
            let _ = self.refused.set(text);
            self.end_run();
        }
    }

    /// Which thread the system refused that the run needed, and why; it has ended the run.
    pub fn refused_thread(&self) -> Option<String> {
        self.refused.get().cloned()
    }

    /// Counts the workers before anything starts: those with a core as busy, the others as asleep.
    pub(crate) fn count_workers(&self) {
        let all = self.slots().len();
        let awake = all.min(self.config().most_awake);
        self.activity.start(awake);
        // The first is the monitor; of the rest the last is woken first, so the indices stay dense.
        self.sleepers.begin((awake..all).take(1).chain((awake + 1..all).rev()));
        self.config().thread_set.lock().go_to_work(|| {
            let scheduler = self.strong();
            Box::new(move |worker| {
                if worker >= scheduler.config().most_awake {
                    scheduler.slots()[worker].parker.unpark();
                }
                (scheduler.tag.work)(&scheduler, worker);
            })
        });
        if self.is_ending() {
            self.slots().iter().for_each(|slot| slot.parker.unpark());
        }
    }

    /// Unparks the workers that have a core, and the monitor.
    pub(crate) fn start_workers(&self) {
        let awake = self.slots().len().min(self.config().most_awake);
        self.slots()[1..awake.max(1)].iter().for_each(|slot| slot.parker.unpark());
        self.pass_on_monitoring();
    }

    /// Has the first of the sleepers be the monitor; it stays among them. Under the lock, so that it is
    /// told before another thread takes it out and wakes it.
    pub(crate) fn pass_on_monitoring(&self) {
        let sleepers = self.sleepers.lock();
        if let Some(&first) = sleepers.first() {
            self.slots()[first].parker.unpark();
        }
    }
}
