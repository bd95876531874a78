//! A process that is parked and to be pruned, between the resolver and its peer.
//!
//! Either may wake it: the peer by its next message, the resolver because it can no longer be observed.
//! Bounds: two workers and one message, or one worker and one thread outside.

use super::{Driven, check, plan, work_for_others};
use crate::channel::closing::mark_dead_end;
use crate::channel::language::{Kahn, Worker};
use crate::channel::raw::ChannelRef;
use crate::{Accounting, Detection, Network, Options, Receiver, Sender};
use kahn_engine::sync::{Arc, AtomicBool, Ordering::*, Parker, thread};
use kahn_engine::task::TaskRef;
use kahn_engine::{Language, Probe};
use kahn_report::Ending;

/// What a worker does that has nothing to run: it looks for those to be pruned, and runs those that are
/// ready.
fn rest(model: &Driven, index: usize) {
    let scheduler = &model.core.scheduler;
    Kahn::probe(&Worker::new(scheduler, index), Probe::AllSleep { again: true });
    work_for_others(scheduler, index);
}

/// A process that waits for `sends`, and whose last reader may leave by `read`.
struct ToBePruned {
    model: Arc<Driven>,
    pruned: TaskRef,
    sends: TaskRef,
    reads: TaskRef,
    read: ChannelRef,
}

impl ToBePruned {
    /// The process waits already, at worker 0.
    fn new() -> Self {
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
        Driven::work(&model.core, 0, [pruned]);
        Self { model, pruned, sends, reads, read }
    }

    /// The reader ends as well: all have ended, and one of them was pruned or has got all.
    fn assert_ended(&self) {
        assert!(self.pruned.has_ended(), "it was not woken");
        let core = &self.model.core;
        Driven::work(core, 0, [self.reads]);
        for record in core.scheduler.take_records() {
            let (name, ending) = (record.name, record.ending);
            let ended_well = matches!(ending, Some(Ending::Pruned | Ending::Finished));
            assert!(ended_well, "process `{name}` ended so: {ending:?}");
        }
        assert_eq!(core.scheduler.live.load(Relaxed), 0);
    }
}

/// The last reader of a process that waits leaves, and its peer sends to it: it is woken once, and pruned.
/// The peer may be in the middle of its message. One preemption shows the mutation; three take ten minutes.
#[test]
fn one_of_resolver_and_peer_wakes_a_process_that_is_to_be_pruned() {
    check(1, || {
        let all = Arc::new(ToBePruned::new());
        let other = {
            let all = Arc::clone(&all);
            thread::spawn(move || {
                Driven::work(&all.model.core, 1, [all.sends]);
                rest(&all.model, 1);
            })
        };
        mark_dead_end(all.read, &all.model.core.scheduler);
        rest(&all.model, 0);
        other.join().expect("the other worker does not panic");
        rest(&all.model, 0);
        all.assert_ended();
    });
}

/// The same where the grace period has begun, and the peer passes it before its message: it swaps, for the
/// resolver may take away PARKED that it has seen.
#[test]
fn a_peer_that_begins_after_it_was_told_wakes_nothing_that_the_resolver_has_woken() {
    check(1, || {
        let all = Arc::new(ToBePruned::new());
        let core = &all.model.core;
        mark_dead_end(all.read, &core.scheduler);
        core.resolver.get().expect("made").wake_to_prune(&core.scheduler);
        let resolver = {
            let all = Arc::clone(&all);
            thread::spawn(move || rest(&all.model, 0))
        };
        Kahn::probe(&Worker::new(&core.scheduler, 1), Probe::AllSleep { again: true });
        Driven::work(core, 1, [all.sends]);
        resolver.join().expect("the resolver does not panic");
        rest(&all.model, 1);
        rest(&all.model, 0);
        all.assert_ended();
    });
}

/// Two roots end on two workers, of which one was watched, and nothing is left to see the loop, a process that sends to
/// itself: it is pruned, whichever root is the last.
#[test]
fn a_loop_is_pruned_when_the_last_of_two_roots_ends() {
    check(2, || {
        let model = Arc::new(Driven::new());
        let (own, own_again, _) = model.channel::<u32>("own", 1, Vec::new());
        let (out, read, _) = model.channel::<u32>("read", 1, Vec::new());
        let ports = (own_again, own, out);
        let code = async |(mut own, _own, _out): (Receiver<u32>, Sender<u32>, Sender<u32>)| {
            own.recv().await;
        };
        let process = model.process_as(plan("loop", false), ports, code);
        let first = model.process("first", read, async |_read: Receiver<u32>| {});
        let second = model.process("second", (), async |()| {});
        model.ready();
        model.core.watch_root();
        let other = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                Driven::work(&model.core, 1, [first]);
                rest(&model, 1);
            })
        };
        Driven::work(&model.core, 0, [second]);
        rest(&model, 0);
        other.join().expect("the other worker does not panic");
        rest(&model, 0);
        Driven::work(&model.core, 0, [process]);
        assert!(process.has_ended(), "it goes on");
    });
}

/// No root is left, and one of a loop is pruned while another is not marked yet, perhaps: that sees its end, and does no
/// other operation after it, though a third reads it yet.
#[test]
fn what_sees_the_end_of_one_that_is_pruned_with_it_does_nothing_more() {
    check(1, || {
        let model = Arc::new(Driven::new());
        let (to_right, from_left, _) = model.channel::<u32>("to right", 1, Vec::new());
        let (to_left, from_right, _) = model.channel::<u32>("to left", 1, Vec::new());
        let (to_third, of_right, _) = model.channel::<u32>("to third", 1, Vec::new());
        let (back, from_third, _) = model.channel::<u32>("back", 1, Vec::new());
        let has_gone_on = Arc::new(AtomicBool::new(false));
        let code = async |(mut from, mut to): (Receiver<u32>, Sender<u32>)| {
            to.send(1).await;
            from.recv().await;
        };
        let left = model.process_as(plan("left", false), (from_right, to_right), code);
        let is_seen = Arc::clone(&has_gone_on);
        let ports = (from_left, to_left, to_third, from_third);
        let code = async move |ports: (Receiver<u32>, Sender<u32>, Sender<u32>, Receiver<u32>)| {
            let (mut from, _to_left, mut to_third, _from_third) = ports;
            while from.recv().await.is_some() {}
            to_third.send(1).await;
            is_seen.store(true, Relaxed);
        };
        let right = model.process_as(plan("right", false), ports, code);
        let code = async |(_of_right, _back): (Receiver<u32>, Sender<u32>)| {};
        model.process_as(plan("third", false), (of_right, back), code);
        let root = model.process("root", (), async |()| {});
        model.ready();
        model.core.watch_root();
        let other = {
            let model = Arc::clone(&model);
            thread::spawn(move || Driven::work(&model.core, 1, [left, right]))
        };
        Driven::work(&model.core, 0, [root]);
        rest(&model, 0);
        other.join().expect("the other worker does not panic");
        rest(&model, 0);
        assert!(!has_gone_on.load(Relaxed), "it goes on behind an end that is none");
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
