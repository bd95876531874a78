//! Models of what runs concurrently, checked by loom: every interleaving within a bound.
//!
//! | model | is about | threads |
//! |---|---|---|
//! | `entity` | what a component keeps is made once: [`super::once`] | 2 |
//! | `ownership` | one worker at a time at a mailbox, and no record forgotten: [`super::ownership`] | 2 to 3 |
//! | `closing` | a replica that is collected while records come to it | 2 |
//! | `collector` | calls at once, their outputs in order, the ownership passed on | 2 |
//! | `sleep` | no role sleeps beside a call, the run ends, waiting for the input holds up no call: [`super::sleep`] | 2 to 3 |
//! | `calls` | calls that wait, are away and ask for a role: [`super::threads`], [`super::handoff`] | 2 to 3 |
//!
//! The models run the code of the runtime, not copies: the engine's `sync` gives it loom's locks and atomics.
//! What the engine's deques promise is modelled there; where the models of this crate have work
//! on a stack, a word stands for it.

mod calls;

use std::collections::VecDeque;
use std::sync::Arc;

use kahn_engine::sync::{AtomicBool, AtomicUsize, Mutex, Ordering::*, Parker, end_naps, thread};

use crate::runtime::front::collector::Collector;
use crate::runtime::front::once::Once;
use crate::runtime::front::ownership::{Put, Waiting};
use crate::runtime::front::sleep::Idle;

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let allowed = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(preemptions.min(allowed));
    builder.check(move || {
        // There is no time in a model: what waits for a while has waited as long.
        end_naps(usize::MAX);
        model();
    });
}

#[test]
fn entity_is_made_once_and_seen_whole() {
    check(3, || {
        let once: Arc<Once<loom::cell::Cell<usize>>> = Arc::new(Once::new());
        let ask = |once: &Once<loom::cell::Cell<usize>>, made: usize| {
            let there = once.get_or_init(|| loom::cell::Cell::new(made));
            // loom sees the access: it must come after the write.
            (std::ptr::from_ref(there).addr(), there.get())
        };
        let other = Arc::clone(&once);
        let thread = thread::spawn(move || ask(&other, 1));
        let mine = ask(&once, 2);
        let theirs = thread.join().expect("it ends");
        assert_eq!(mine, theirs, "one entity for all");
    });
}

/// Drains a mailbox as the worker that owns it; no other may be there.
fn drain(mailbox: &Waiting<u32, ()>, busy: &AtomicBool, done: &AtomicUsize) {
    loop {
        assert!(!busy.swap(true, Relaxed), "two workers at one mailbox");
        let taken = mailbox.take(1, VecDeque::new()).0;
        done.fetch_add(taken.len(), Relaxed);
        busy.store(false, Relaxed);
        if !mailbox.keeps_ownership() {
            return;
        }
    }
}

#[test]
fn ownership_is_held_by_one_and_forgets_no_record() {
    check(3, || {
        let mailbox: Arc<Waiting<u32, ()>> = Arc::new(Waiting::new());
        let busy = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicUsize::new(0));
        let work = move |mailbox: &Waiting<u32, ()>, busy: &AtomicBool, done: &AtomicUsize| {
            for record in 0..2 {
                if mailbox.put(&mut VecDeque::from([record]), usize::MAX) == Some(Put::Owned) {
                    drain(mailbox, busy, done);
                }
            }
        };
        let (other, others_busy, others_done) =
            (Arc::clone(&mailbox), Arc::clone(&busy), Arc::clone(&done));
        let thread = thread::spawn(move || work(&other, &others_busy, &others_done));
        work(&mailbox, &busy, &done);
        thread.join().expect("it ends");
        assert_eq!(done.load(Relaxed), 4, "a record was forgotten");
        assert!(mailbox.is_idle());
    });
}

#[test]
fn closing_a_mailbox_loses_no_record_and_keeps_their_order() {
    check(3, || {
        let mailbox: Arc<Waiting<u32, u32>> = Arc::new(Waiting::new());
        let seen = Arc::new(Mutex::new(Vec::new()));
        // This thread owns it, drains, and then collects the replica.
        assert_eq!(mailbox.put_one(1), Put::Owned);
        let (other, others_seen) = (Arc::clone(&mailbox), Arc::clone(&seen));
        let work = |mailbox: &Waiting<u32, u32>, seen: &Mutex<Vec<u32>>| {
            loop {
                let taken = mailbox.take(8, VecDeque::new()).0;
                seen.lock().extend(taken);
                mailbox.close(|| 7);
                if !mailbox.keeps_ownership() {
                    return;
                }
            }
        };
        let thread = thread::spawn(move || {
            for record in [2, 3] {
                let mut records = VecDeque::from([record]);
                match other.put(&mut records, usize::MAX) {
                    Some(Put::Owned) => work(&other, &others_seen),
                    Some(Put::Behind | Put::InBacklog) => {}
                    None => {
                        assert_eq!(other.forward(), Some(&7));
                        others_seen.lock().extend(records);
                    }
                }
            }
        });
        work(&mailbox, &seen);
        thread.join().expect("it ends");
        assert_eq!(*seen.lock(), [1, 2, 3], "a record was lost, or overtaken");
    });
}

#[test]
fn collector_lets_calls_out_in_order() {
    check(3, || {
        const LIMIT: usize = 2;
        let mailbox: Arc<Waiting<u32, ()>> = Arc::new(Waiting::new());
        let collector = Arc::new(Collector::new());
        let out: Arc<Waiting<u32, ()>> = Arc::new(Waiting::new());
        let mut records = VecDeque::from([0, 1, 2]);
        assert_eq!(mailbox.put(&mut records, LIMIT), Some(Put::Owned));
        // Stands for the stacks: how often the mailbox lies there.
        let ownerships = Arc::new(AtomicUsize::new(1));
        let work = |mailbox: &Waiting<u32, ()>,
                    collector: &Collector<u32>,
                    out: &Waiting<u32, ()>,
                    ownerships: &AtomicUsize| {
            let taken = |count: usize| count.checked_sub(1);
            while ownerships.fetch_update(AcqRel, Acquire, taken).is_ok() {
                let Some(call) = mailbox.begin(LIMIT) else { continue };
                if call.others_may {
                    ownerships.fetch_add(1, AcqRel);
                }
                let put = |record| assert!(out.put_one(record) == Put::Owned || !out.is_idle());
                collector.hand_in(call.number, vec![call.record], false, put);
                collector.hand_in(call.number, Vec::new(), true, put);
                if mailbox.end(LIMIT) {
                    ownerships.fetch_add(1, AcqRel);
                }
            }
        };
        let (a, b, c, d) = (
            Arc::clone(&mailbox),
            Arc::clone(&collector),
            Arc::clone(&out),
            Arc::clone(&ownerships),
        );
        let thread = thread::spawn(move || work(&a, &b, &c, &d));
        work(&mailbox, &collector, &out, &ownerships);
        thread.join().expect("it ends");
        work(&mailbox, &collector, &out, &ownerships);
        assert!(mailbox.is_idle(), "records were forgotten");
        assert_eq!(out.take(8, VecDeque::new()).0, [0, 1, 2]);
    });
}

/// A call that is away asks for one of two roles, of which each may be about to sleep.
#[test]
fn no_role_sleeps_beside_a_call_that_asks_and_the_run_ends() {
    check(3, || {
        let idle = Arc::new(Idle::new(2));
        let asks = Arc::new(AtomicUsize::new(0));
        let goes_on = Arc::new(Parker::new());
        idle.expect();
        let work = |role: usize, idle: &Idle, asks: &AtomicUsize, goes_on: &Parker| {
            let mut given = 0;
            while !idle.is_over() {
                if asks.swap(0, Acquire) == 1 {
                    given += 1;
                    // The call has the role until it ends.
                    goes_on.park();
                }
                let look = || asks.load(Acquire) == 1;
                assert!(!idle.sleep(role, look, || false), "no call is held up");
            }
            given
        };
        let other = {
            let (idle, asks, goes_on) =
                (Arc::clone(&idle), Arc::clone(&asks), Arc::clone(&goes_on));
            thread::spawn(move || work(1, &idle, &asks, &goes_on))
        };
        let call = {
            let (idle, asks, goes_on) =
                (Arc::clone(&idle), Arc::clone(&asks), Arc::clone(&goes_on));
            thread::spawn(move || {
                // An exchange, for loom orders a store and the exchanges of others too loosely.
                asks.swap(1, Release);
                idle.settle();
                goes_on.unpark();
            })
        };
        let given = work(0, &idle, &asks, &goes_on);
        call.join().expect("it ends");
        assert_eq!(given + other.join().expect("it ends"), 1, "the call waits for ever");
    });
}

/// One of two roles waits for the input while a call waits for a role: the other has it go on.
#[test]
fn a_role_that_waits_outside_holds_up_no_call() {
    check(3, || {
        let idle = Arc::new(Idle::new(2));
        let call_waits = Arc::new(AtomicBool::new(true));
        let input = Arc::new(Parker::new());
        let (other, others_call, others_input) =
            (Arc::clone(&idle), Arc::clone(&call_waits), Arc::clone(&input));
        let thread = thread::spawn(move || {
            while !other.is_over() {
                if other.sleep(1, || false, || others_call.load(Acquire)) {
                    others_call.store(false, Release);
                    // Nothing is to be read before what the call emits is out.
                    others_input.unpark();
                    assert!(!other.is_over(), "it ended beside a role that works");
                }
            }
        });
        idle.wait_outside(|| call_waits.load(Acquire), || input.park());
        assert!(!call_waits.load(Acquire) && !idle.is_over());
        while !idle.is_over() {
            assert!(!idle.sleep(0, || false, || false), "no call waits");
        }
        thread.join().expect("it ends");
    });
}
