//! Every policy of the table is held to its row, and a policy that keeps nothing is found out.

use kahn_csp::policy::{Notify, Origin, Policy, Ready, Reason, Turn, Waiting};
use kahn_csp::testing;
use kahn_policies::POLICIES;
use parking_lot::Mutex;
use std::collections::VecDeque;

#[test]
fn every_policy_keeps_the_laws_of_its_row() {
    let mut broken = Vec::new();
    for policy in POLICIES {
        match testing::check(policy.clone()).run() {
            Ok(kept) => kept.iter().for_each(|kept| println!("{}: {kept}", policy.name())),
            Err(law) => broken.push(format!("{}: {law}", policy.name())),
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Last come, first served, whatever is asked for.
#[derive(Debug, Default)]
struct Stack(Mutex<VecDeque<Ready>>);

impl Policy for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn push(&self, _origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let mut stack = self.0.lock();
        match reason {
            Reason::Yielded => stack.push_front(ready),
            Reason::New | Reason::Woken | Reason::Preempted => stack.push_back(ready),
        }
        Notify::Anyone
    }

    fn pop(&self, _worker: usize, turn: Turn) -> Option<Ready> {
        let mut stack = self.0.lock();
        match turn {
            Turn::Front | Turn::Stalled(_) => stack.pop_back(),
            Turn::Back => stack.pop_front(),
        }
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.0.lock().is_empty()
    }
}

#[test]
fn a_policy_of_ones_own_is_held_to_what_it_says_it_promises() {
    let check = || testing::check(|_| Stack::default());
    check().run().expect("it promises nothing, and the runtime keeps its part");
    check().forks().run().expect("a stack runs a tree in depth");
    let broken = check().waiting(Waiting::Dispatches(64)).run().expect_err("it yields to itself");
    assert_eq!(broken.0.law, "bounded waiting");
    assert!(broken.0.counted > broken.0.allowed);
    let broken = check().open_loops().run().expect_err("requests come before handlers");
    assert_eq!(broken.0.law, "open loops stay small");
}
