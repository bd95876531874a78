//! The process that a worker keeps for itself, against a worker that has nothing to do and takes it.
//!
//! Bounds: two workers, two processes, two messages.

use super::{Driven, Own, check};
use crate::channel::language::Worker;
use crate::sync::{Arc, thread};
use crate::{Receiver, Sender};

/// One of the two runs it, and sees what it did before.
#[test]
fn a_process_that_is_kept_is_run_once() {
    check(2, || {
        let model = Driven::new();
        let (sender, receiver, _) = model.channel("numbers", 1, vec![0]);
        let from = model.process("from", sender, async |mut sender: Sender<u32>| {
            sender.send(1).await;
        });
        let to = model.process("to", receiver, async |mut receiver: Receiver<u32>| {
            // It has something to show before it waits for the first time.
            assert_eq!(receiver.recv().await, Some(0));
            assert_eq!(receiver.recv().await, Some(1));
            assert_eq!(receiver.recv().await, None);
        });
        model.ready_under(Own { keeps_hot: true, ..Own::default() });
        let reliever = {
            let core = Arc::clone(&model.core);
            thread::spawn(move || {
                let worker = Worker::new(&core.scheduler, 1);
                let _installed = worker.install();
                // As one that has watched the other for a while, and has not seen it get on.
                if let Some(ready) = worker.relieve(&[0, 0]) {
                    worker.run(ready.into_task());
                }
            })
        };
        let worker = Worker::new(&model.core.scheduler, 0);
        let _installed = worker.install();
        worker.run(to);
        worker.run(from);
        while let Some(task) = worker.take_hot() {
            worker.run(task);
        }
        reliever.join().expect("it does not panic");
        model.assert_finished();
    });
}
