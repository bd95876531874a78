//! A process that is parked and to be pruned, between the resolver and its peer.
//!
//! Either may wake it: the peer by its next message, the resolver because it can no longer be observed.
//! Bounds: two workers and one message, or one worker and one thread outside.

use super::{Driven, check, plan, work_for_others};
use crate::channel::closing::mark_dead_end;
use crate::channel::language::{Kahn, Worker};
use crate::{Accounting, Detection, Network, Options, Receiver, Sender};
use kahn_engine::sync::{Arc, Ordering::*, Parker, thread};
use kahn_engine::{Language, Probe};
use kahn_report::Ending;

/// What a worker does that has nothing to run: it looks for those to be pruned, and runs those that are
/// ready.
fn rest(model: &Driven, index: usize) {
    let scheduler = &model.core.scheduler;
    Kahn::probe(&Worker::new(scheduler, index), Probe::AllSleep { again: true });
    work_for_others(scheduler, index);
}

/// The last reader of a process that waits leaves, and its peer sends to it: it is woken once, and pruned.
/// One preemption shows both mutations; three take ten minutes.
#[test]
fn one_of_resolver_and_peer_wakes_a_process_that_is_to_be_pruned() {
    check(1, || {
        let model = Arc::new(Driven::new());
        let (to_pruned, numbers, _) = model.channel::<u32>("numbers", 1, Vec::new());
        let (out, nobody, read) = model.channel::<u32>("read", 1, Vec::new());
        let reads = model.process("reads", nobody, async |_nobody: Receiver<u32>| {});
        let receive = async |(mut numbers, _out): (Receiver<u32>, Sender<u32>)| {
            while numbers.recv().await.is_some() {}
        };
        let pruned = model.process_as(plan("pruned", false), (numbers, out), receive);
        let sends = model.process("sends", to_pruned, async |mut to_pruned: Sender<u32>| {
            to_pruned.send(1).await;
        });
        model.ready();
        let core = Arc::clone(&model.core);
        Driven::work(&core, 0, [pruned]);
        let other = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                Driven::work(&model.core, 1, [sends]);
                rest(&model, 1);
            })
        };
        mark_dead_end(read, &core.scheduler);
        rest(&model, 0);
        other.join().expect("the other worker does not panic");
        rest(&model, 0);
        assert!(pruned.has_ended(), "it was not woken");
        Driven::work(&core, 0, [reads]);
        for record in core.scheduler.records() {
            let (name, ending) = (record.name, record.ending);
            let ended_well = matches!(ending, Some(Ending::Pruned | Ending::Finished));
            assert!(ended_well, "process `{name}` ended so: {ending:?}");
        }
        assert_eq!(core.scheduler.live.load(Relaxed), 0);
    });
}

/// Rings a bell when it is dropped.
struct Rings(Arc<Parker>);

impl Drop for Rings {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

/// The last reader leaves while the only worker goes to sleep, and nothing else would wake that.
#[test]
fn a_worker_that_goes_to_sleep_learns_of_a_process_that_is_to_be_pruned() {
    check(2, || {
        let mut network = Network::new();
        let (to_pruned, asked) = network.channel::<u32>("asked");
        let (out, read) = network.channel::<u32>("read");
        let is_gone = Arc::new(Parker::new());
        let rings = Rings(Arc::clone(&is_gone));
        network.process("pruned", (asked, out), async move |(mut asked, _out)| {
            let _rings = &rings;
            let _: Option<u32> = Receiver::recv(&mut asked).await;
        });
        let (to_pruned, read) = network.outside("party", (to_pruned, read));
        let other = thread::spawn(move || {
            drop(read);
            is_gone.park();
            drop(to_pruned);
        });
        let options =
            Options::new().workers(1).policy(crate::policy::SHARED).accounting(Accounting::Off);
        let report = network.run_with(options.detection(Detection::Off)).expect("it finishes");
        assert!(report.is_success());
        other.join().expect("it does not panic");
    });
}
