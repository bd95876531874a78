//! Models of what runs concurrently, checked by loom: every interleaving within a bound.
//!
//! | model | is about | threads |
//! |---|---|---|
//! | `entity` | who makes what a component keeps: [`super::place`] | 2 |
//! | `licence` | one worker at a time at a landing, and no record forgotten: [`super::licence`] | 2 to 3 |
//! | `closing` | a replica that is collected while records come to it | 2 |
//! | `collector` | calls at once, their outputs in order, the licence passed on | 2 |
//! | `sleep` | no worker sleeps beside work, and the run ends: [`super::idle`] | 2 |
//!
//! The models run the code of the runtime, not copies: `sync` gives it loom's locks and atomics.
//! The deque of a library is not modelled; a word with its orderings stands for it.

use std::collections::VecDeque;
use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*, fence};
use loom::thread;

use super::collector::Collector;
use super::idle::{Calls, Idle, Slept};
use super::licence::{Put, Waiting};
use super::place::Place;
use super::sync::Mutex;

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let allowed = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(preemptions.min(allowed));
    builder.check(model);
}

#[test]
fn entity_is_made_once_and_seen_whole() {
    check(3, || {
        let place: Arc<Place<loom::cell::Cell<usize>>> = Arc::new(Place::new());
        let ask = |place: &Place<loom::cell::Cell<usize>>, made: usize| {
            let there = place.get_or_init(|| loom::cell::Cell::new(made));
            // loom sees the access: it must come after whoever wrote it.
            (std::ptr::from_ref(there).addr(), there.get())
        };
        let other = Arc::clone(&place);
        let thread = thread::spawn(move || ask(&other, 1));
        let mine = ask(&place, 2);
        let theirs = thread.join().expect("it ends");
        assert_eq!(mine, theirs, "one entity for all");
    });
}

/// Drains a landing as a worker that has its licence; nobody else may be there.
fn drain(landing: &Waiting<u32, ()>, busy: &AtomicBool, done: &AtomicUsize) {
    loop {
        assert!(!busy.swap(true, Relaxed), "two workers at one landing");
        let taken = landing.take(1, VecDeque::new()).0;
        done.fetch_add(taken.len(), Relaxed);
        busy.store(false, Relaxed);
        if !landing.keeps_licence() {
            return;
        }
    }
}

#[test]
fn licence_is_held_by_one_and_forgets_no_record() {
    check(3, || {
        let landing: Arc<Waiting<u32, ()>> = Arc::new(Waiting::new());
        let busy = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicUsize::new(0));
        let work = move |landing: &Waiting<u32, ()>, busy: &AtomicBool, done: &AtomicUsize| {
            for record in 0..2 {
                if landing.put(&mut VecDeque::from([record]), usize::MAX) == Some(Put::WithLicence)
                {
                    drain(landing, busy, done);
                }
            }
        };
        let (other, others_busy, others_done) =
            (Arc::clone(&landing), Arc::clone(&busy), Arc::clone(&done));
        let thread = thread::spawn(move || work(&other, &others_busy, &others_done));
        work(&landing, &busy, &done);
        thread.join().expect("it ends");
        assert_eq!(done.load(Relaxed), 4, "a record was forgotten");
        assert!(landing.is_idle());
    });
}

#[test]
fn closing_a_landing_loses_no_record_and_keeps_their_order() {
    check(3, || {
        let landing: Arc<Waiting<u32, u32>> = Arc::new(Waiting::new());
        let seen = Arc::new(Mutex::new(Vec::new()));
        // This thread has the licence, drains, and then collects the replica.
        assert_eq!(landing.put_one(1), Put::WithLicence);
        let (other, others_seen) = (Arc::clone(&landing), Arc::clone(&seen));
        let work = |landing: &Waiting<u32, u32>, seen: &Mutex<Vec<u32>>| {
            loop {
                let taken = landing.take(8, VecDeque::new()).0;
                seen.lock().extend(taken);
                landing.close(|| 7);
                if !landing.keeps_licence() {
                    return;
                }
            }
        };
        let thread = thread::spawn(move || {
            for record in [2, 3] {
                let mut records = VecDeque::from([record]);
                match other.put(&mut records, usize::MAX) {
                    Some(Put::WithLicence) => work(&other, &others_seen),
                    Some(Put::Behind | Put::InBacklog) => {}
                    None => {
                        assert_eq!(other.forward(), Some(&7));
                        others_seen.lock().extend(records);
                    }
                }
            }
        });
        work(&landing, &seen);
        thread.join().expect("it ends");
        assert_eq!(*seen.lock(), [1, 2, 3], "a record was lost, or overtaken");
    });
}

#[test]
fn collector_lets_calls_out_in_order() {
    check(3, || {
        const LIMIT: usize = 2;
        let landing: Arc<Waiting<u32, ()>> = Arc::new(Waiting::new());
        let collector = Arc::new(Collector::new());
        let out: Arc<Waiting<u32, ()>> = Arc::new(Waiting::new());
        let mut records = VecDeque::from([0, 1, 2]);
        assert_eq!(landing.put(&mut records, LIMIT), Some(Put::WithLicence));
        // Stands for the deques: how often the landing lies there.
        let licences = Arc::new(AtomicUsize::new(1));
        let work = |landing: &Waiting<u32, ()>,
                    collector: &Collector<u32>,
                    out: &Waiting<u32, ()>,
                    licences: &AtomicUsize| {
            let taken = |count: usize| count.checked_sub(1);
            while licences.fetch_update(AcqRel, Acquire, taken).is_ok() {
                let Some(call) = landing.begin(LIMIT) else { continue };
                if call.others_may {
                    licences.fetch_add(1, AcqRel);
                }
                let put =
                    |record| assert!(out.put_one(record) == Put::WithLicence || !out.is_idle());
                collector.hand_in(call.number, vec![call.record], false, put);
                collector.hand_in(call.number, Vec::new(), true, put);
                if landing.end(LIMIT) {
                    licences.fetch_add(1, AcqRel);
                }
            }
        };
        let (a, b, c, d) =
            (Arc::clone(&landing), Arc::clone(&collector), Arc::clone(&out), Arc::clone(&licences));
        let thread = thread::spawn(move || work(&a, &b, &c, &d));
        work(&landing, &collector, &out, &licences);
        thread.join().expect("it ends");
        work(&landing, &collector, &out, &licences);
        assert!(landing.is_idle(), "records were forgotten");
        assert_eq!(out.take(8, VecDeque::new()).0, [0, 1, 2]);
    });
}

#[test]
fn sleep_is_beside_no_work_and_the_run_ends() {
    check(3, || {
        let idle = Arc::new(Idle::new(2));
        idle.open_input();
        let work = Arc::new(AtomicUsize::new(0));
        let done = Arc::new(AtomicUsize::new(0));
        let worker = |idle: &Idle, work: &AtomicUsize, done: &AtomicUsize| loop {
            if work.swap(0, Acquire) == 1 {
                done.fetch_add(1, Relaxed);
                continue;
            }
            let look = |_| {
                fence(SeqCst); // as the deque does
                work.load(Acquire) == 1
            };
            if idle.sleep(look, |_| Calls::None) == Slept::Over {
                return;
            }
        };
        let (other, others_work, others_done) =
            (Arc::clone(&idle), Arc::clone(&work), Arc::clone(&done));
        let thread = thread::spawn(move || worker(&other, &others_work, &others_done));
        // An exchange, for loom orders a store and the exchanges of others too loosely.
        work.swap(1, Release);
        idle.wake();
        worker(&idle, &work, &done);
        thread.join().expect("it ends");
        assert_eq!(done.load(Relaxed), 1, "work was left");
    });
}
