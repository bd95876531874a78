//! Calls of boxes that have emitted something, and the threads that go on in their place.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use loom::thread;

use super::check;
use crate::runtime::front::emission::Origin;
use crate::runtime::front::frame::{Frame, Owner};
use crate::runtime::front::handoff::{Left, Since};
use crate::runtime::front::order::Regions;
use crate::runtime::front::role::{Handed, Role};
use crate::runtime::front::sleep::Idle;
use crate::runtime::front::threads::{News, Threads, Until, Wanted};
use crate::runtime::steps::graph::{OpId, ScopeId};
use crate::runtime::steps::shape::{Rec, ShapeId};
use crate::runtime::steps::tickets::Tickets;

/// The number of the record that is given to the call.
const NUMBER: u32 = 1;

fn role(index: usize) -> Box<Role> {
    Box::new(Role::new(Some(index), 0))
}

fn origin() -> Origin {
    let frame = Arc::new(Frame::new(ScopeId(0), 0, Owner::Program));
    Origin { frame, op: OpId(0), at: None }
}

/// What a call leaves in its slot that has emitted one record.
fn left(role: Box<Role>) -> Left {
    let (tickets, tags, fields) = (Tickets::default(), Default::default(), Default::default());
    let emitted = Rec { shape: ShapeId::MARK, number: NUMBER, tickets, tags, fields };
    Left { role, outputs: vec![emitted], origin: origin(), within: Some(Tickets::default()) }
}

/// A call fills its slot and goes on for ever, while the thread that looks at the slots finds them empty and
/// is about to stop: that thread looks again.
#[test]
fn a_slot_that_is_filled_is_looked_at() {
    check(3, || {
        let threads = Arc::new(Threads::new(1));
        // It looks from here on.
        let times = threads.leave(0, left(role(0)));
        assert!(matches!(threads.news(), News::Look));
        let Left { role, .. } = threads.take_back(Since { handoff: 0, times }).expect("just left");
        let other = Arc::clone(&threads);
        let call = thread::spawn(move || {
            other.leave(0, left(role));
        });
        threads.stop_looking();
        call.join().expect("it ends");
        // If no thread looks and nothing is told, this waits for ever.
        assert!(matches!(threads.news(), News::Look));
    });
}

/// The same with a call that waits: its role is with a thread that will look for such calls, but one more
/// look is what finds that this thread is none of the workers that sleep.
#[test]
fn a_call_that_waits_is_looked_at() {
    check(3, || {
        let threads = Arc::new(Threads::new(1));
        let times = threads.leave(0, left(role(0)));
        assert!(matches!(threads.news(), News::Look));
        let Left { role, .. } = threads.take_back(Since { handoff: 0, times }).expect("just left");
        let other = Arc::clone(&threads);
        let call = thread::spawn(move || {
            let until = Until::Room(origin(), Tickets::default());
            other.wait(role, NUMBER, until).map(|role| role.index)
        });
        threads.stop_looking();
        // The call waits until it has a role, so it does not come back before this thread gives it one.
        let News::Wanted(seat) = next_that_is_wanted(&threads) else { unreachable!() };
        let role = seat.take().expect("the run is not over");
        assert!(matches!(threads.news(), News::Look));
        let seat = threads.next(&Regions::default(), Wanted::Any).expect("nothing holds it up");
        seat.hand(Handed::Role(role));
        assert_eq!(call.join().expect("it ends"), Some(Some(0)));
    });
}

/// What is told first of a thread that is wanted.
fn next_that_is_wanted(threads: &Threads) -> News {
    loop {
        match threads.news() {
            News::Look => thread::yield_now(),
            news => return news,
        }
    }
}

/// A call that waits, or is about to, while the run ends goes on without a role.
#[test]
fn a_call_that_waits_is_told_that_the_run_is_over() {
    check(3, || {
        let threads = Arc::new(Threads::new(1));
        let other = Arc::clone(&threads);
        let call = thread::spawn(move || {
            let until = Until::Room(origin(), Tickets::default());
            other.wait(role(0), NUMBER, until).is_none()
        });
        threads.close();
        assert!(call.join().expect("it ends"), "it has a role that no thread gave it");
    });
}

/// A worker with a role: hands on what was emitted, gives the role to a call that may go on, and sleeps. Returns
/// the role that it has when the run is over.
fn work(
    threads: &Threads,
    idle: &Idle,
    handed_on: &AtomicUsize,
    is_over: &AtomicBool,
    compute: fn(),
) -> Option<usize> {
    let regions = Regions::default();
    let mut role = threads.rest()?;
    loop {
        if let Some(emitted) = role.emitted.take() {
            handed_on.fetch_add(emitted.outputs.len(), Relaxed);
            threads.is_handed_on(emitted.since);
            // It calls a box, too, which emits and leaves nothing that another would have to do.
            let left = Left { outputs: Vec::new(), ..left(role) };
            let times = threads.leave(0, left);
            compute();
            let left = threads.take_back(Since { handoff: 0, times });
            role = left.expect("no other takes what it left").role;
        }
        if threads.has_waiting()
            && let Some(seat) = threads.next(&regions, Wanted::Any)
        {
            seat.hand(Handed::Role(role));
            role = threads.rest()?;
            continue;
        }
        let index = role.index.expect("it has a role");
        let has_next = |wanted| threads.has_next(&regions, wanted);
        if idle.sleep(index, || has_next(Wanted::Any), || has_next(Wanted::Last))
            && let Some(seat) = threads.next(&regions, Wanted::Last)
        {
            seat.hand(Handed::Role(role));
            role = threads.rest()?;
            continue;
        }
        if idle.is_over() {
            assert!(is_over.load(Relaxed), "it ended beside a call that goes on");
            return role.index;
        }
    }
}

/// A call goes on while its slot is looked at. If its role is taken, it gets one back, but not before what it
/// had left is handed on; no role is lost, and none is with two threads.
#[test]
fn a_call_whose_role_is_taken_gets_one_back() {
    check(2, || role_taken(|| {}));
}

/// The same with boxes that compute for so long that all others do what they can meanwhile.
#[test]
fn a_call_that_takes_long_gets_a_role_back() {
    check(2, || role_taken(thread::yield_now));
}

fn role_taken(compute: fn()) {
    let threads = Arc::new(Threads::new(1));
    let idle = Arc::new(Idle::new(1));
    let handed_on = Arc::new(AtomicUsize::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let worker = {
        let (threads, idle) = (Arc::clone(&threads), Arc::clone(&idle));
        let (handed_on, is_over) = (Arc::clone(&handed_on), Arc::clone(&is_over));
        thread::spawn(move || work(&threads, &idle, &handed_on, &is_over, compute))
    };
    let call = {
        let (threads, idle) = (Arc::clone(&threads), Arc::clone(&idle));
        let (handed_on, is_over) = (Arc::clone(&handed_on), Arc::clone(&is_over));
        thread::spawn(move || {
            let times = threads.leave(0, left(role(0)));
            let since = Since { handoff: 0, times };
            compute();
            let role = match threads.take_back(since) {
                Some(left) => Some(left.role),
                None => {
                    let (role, origin) = threads.ask(since, NUMBER, &idle);
                    assert!(origin.is_some(), "where it comes from is lost");
                    assert_eq!(handed_on.load(Relaxed), 1, "it overtakes what it has left");
                    role
                }
            };
            is_over.store(true, Relaxed);
            role.and_then(|role| role.index)
        })
    };
    let mut seen = [None];
    for _ in 0..2 {
        threads.look(&mut seen, &idle);
    }
    assert_eq!(call.join().expect("it ends"), Some(0), "it has no role");
    threads.close();
    assert_eq!(worker.join().expect("it ends"), None, "two threads have the role");
}
