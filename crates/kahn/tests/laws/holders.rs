//! Processes with messages and slots in their hands: every message is dropped once, whatever becomes
//! of what holds it.

use super::schedules::everywhere;
use kahn::{Channel, Network, Process, Received, Summary};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts those that are alive.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Relaxed);
        Self(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(self.0.fetch_sub(1, Relaxed) > 0, "dropped twice");
    }
}

/// How a process that holds a message and a slot comes to its end.
#[derive(Clone, Copy, Debug)]
enum End {
    Returns,
    Forgets,
    Panics,
    IsPruned,
    IsStopped,
    WaitsForEver,
    Misuses,
}

const ENDS: [(End, Summary); 7] = [
    (End::Returns, Summary::Finished),
    (End::Forgets, Summary::Finished),
    (End::Panics, Summary::Failed),
    (End::IsPruned, Summary::Finished),
    (End::IsStopped, Summary::Stopped),
    (End::WaitsForEver, Summary::Deadlock),
    (End::Misuses, Summary::Misuse),
];

#[test]
fn every_message_is_dropped_once_however_its_holder_ends() {
    everywhere(|schedule| {
        for (end, summary) in ENDS {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut network = Network::new();
            let stop = network.stop_handle();
            let initial: Vec<_> = (0..3).map(|_| Counted::new(&alive)).collect();
            let (out, messages) = network.channel_with(Channel::named("messages").initial(initial));
            let (on_out, on) = network.channel::<Counted>("on");
            let (back_out, back) = network.channel::<Counted>("back");
            let make = Arc::clone(&alive);
            let send = Process::named("send").effects();
            network.process_with(send, (out, back), async move |(mut out, mut back)| {
                for _ in 0..20 {
                    out.reserve().await.send(Counted::new(&make));
                    out.reserve().await.send_with(|place| place.write(Counted::new(&make)));
                }
                if !matches!(end, End::IsPruned) {
                    while back.recv_in_place().await.is_some() {}
                }
            });
            let make = Arc::clone(&alive);
            let ports = (messages, on_out, back_out);
            network.process("hold", ports, async move |(mut messages, mut on, mut back)| {
                for _ in 0..5 {
                    let message = messages.recv_in_place().await.expect("there are more");
                    message.forward(on.reserve().await);
                }
                let message = messages.recv_in_place().await.expect("there are more");
                let _slot = on.reserve().await;
                match end {
                    End::Returns => {}
                    End::Forgets => std::mem::forget(message),
                    End::Panics => resume_unwind(Box::new("on purpose")),
                    // Till there is nobody to send to.
                    End::IsPruned => loop {
                        back.send(Counted::new(&make)).await;
                    },
                    End::IsStopped => {
                        stop.stop();
                        std::future::pending::<()>().await;
                    }
                    End::WaitsForEver => std::future::pending::<()>().await,
                    End::Misuses => {
                        let mut reserving = Box::pin(back.reserve());
                        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                        let _ = reserving.as_mut().poll(&mut context);
                    }
                }
            });
            network.process("hear", on, async move |mut on| {
                for _ in 0..5 {
                    on.recv_in_place().await;
                }
                if !matches!(end, End::IsPruned) {
                    while on.recv_in_place().await.is_some() {}
                }
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, summary, "{end:?}: {}", report.explanation());
            assert_eq!(alive.load(Relaxed), 0, "{end:?}");
        }
    });
}

/// Its slot is free and its message gone, once.
#[test]
fn a_message_whose_destructor_panics_is_received() {
    struct Fragile(u64, Arc<AtomicUsize>);

    impl Drop for Fragile {
        fn drop(&mut self) {
            self.1.fetch_add(1, Relaxed);
            if self.0 == 3 {
                resume_unwind(Box::new("on purpose"));
            }
        }
    }

    everywhere(|schedule| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut network = Network::new();
        let (out, messages) = network.channel("messages");
        let count = Arc::clone(&dropped);
        network.process("send", out, async move |mut out| {
            for number in 0..100 {
                out.send(Fragile(number, Arc::clone(&count))).await;
            }
        });
        network.process("hear", messages, async |mut messages| {
            let mut next = 0;
            while let Some(message) = messages.recv_in_place().await {
                let message: Received<'_, Fragile> = message;
                assert_eq!(message.0, next);
                next += 1;
                let outcome = catch_unwind(AssertUnwindSafe(|| drop(message)));
                assert_eq!(outcome.is_err(), next == 4);
            }
            assert_eq!(next, 100);
        });
        schedule.finish(network);
        assert_eq!(dropped.load(Relaxed), 100);
    });
}

/// Runs `f` on another thread, which it joins: the end of a scope alone is not seen by sanitizers.
fn elsewhere(f: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(f).join().expect("it ends"));
}

/// Others may look at a message, but it is its process that lets it go.
#[test]
fn a_message_is_used_on_other_threads_and_dropped_on_its_own() {
    fn network_of(use_it: fn(Received<'_, [u64; 32]>)) -> Network<'static> {
        let mut network = Network::new();
        let (out, messages) = network.channel("messages");
        network.process("send", out, async |mut out| {
            for number in 0..10 {
                out.send([number; 32]).await;
            }
        });
        network.process("share", messages, async move |mut messages| {
            while let Some(message) = messages.recv_in_place().await {
                use_it(message);
            }
        });
        network
    }
    everywhere(|schedule| {
        schedule.finish(network_of(|mut message| {
            elsewhere(|| message[0] += 1);
        }));
        let report = schedule.run(network_of(|message| {
            elsewhere(|| drop(message));
        }));
        assert_eq!(report.outcome, Summary::Misuse);
        let text = report.explanation();
        assert!(text.contains("process `share` used an end of channel `messages`"), "{text}");
    });
}
