//! The process that a worker keeps for itself, against a worker that has nothing to do and takes it.
//!
//! Bounds: two workers, two processes, two messages.

use super::{Driven, Own, check};
use crate::channel::language::Worker;
use crate::{Receiver, Sender};
use kahn_engine::model;
use kahn_engine::sync::{Arc, thread};

/// One of the two runs it, and sees what it did before.
#[test]
fn a_process_that_is_kept_is_run_once() {
    check(2, || {
        let driven = Driven::new();
        let (sender, receiver, _) = driven.channel("numbers", 1, vec![0]);
        let from = driven.process("from", sender, async |mut sender: Sender<u32>| {
            sender.send(1).await;
        });
        let to = driven.process("to", receiver, async |mut receiver: Receiver<u32>| {
            // It has something to show before it waits for the first time.
            assert_eq!(receiver.recv().await, Some(0));
            assert_eq!(receiver.recv().await, Some(1));
            assert_eq!(receiver.recv().await, None);
        });
        driven.ready_under(Own::using_lifo_slot());
        let reliever = {
            let core = Arc::clone(&driven.core);
            thread::spawn(move || {
                // As one that has watched the other for a while, and has not seen it get on.
                model::take_over_from_others(&Worker::new(&core.scheduler, 1), &[0, 0]);
            })
        };
        model::run_kept(&Worker::new(&driven.core.scheduler, 0), [to, from]);
        reliever.join().expect("it does not panic");
        driven.assert_finished();
    });
}
