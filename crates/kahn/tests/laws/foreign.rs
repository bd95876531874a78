//! Futures and wakers of others; networks beside and inside networks.

use super::schedules::{Heard, count, everywhere, listen, run, watch};
use kahn::{Network, Options, RunError, Summary};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A future that another thread completes.
#[derive(Clone, Default)]
struct Signal(Arc<Mutex<(bool, Option<Waker>)>>);

impl Signal {
    fn give(&self) {
        let waker = {
            let mut state = self.0.lock();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn waker(&self) -> Option<Waker> {
        self.0.lock().1.clone()
    }
}

#[test]
fn a_future_that_another_thread_wakes_is_awaited() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let signal = Signal::default();
        let (out, numbers) = network.channel::<u64>("numbers");
        let wait = signal.clone();
        network.process("wait", out, async move |mut out| {
            out.send(1).await;
            wait.wait().await;
            out.send(2).await;
        });
        let heard = listen(&mut network, "listen", numbers);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while signal.waker().is_none() {
                    std::thread::yield_now();
                }
                signal.give();
            });
            schedule.finish(network);
        });
        assert_eq!(heard.all(), [1, 2]);
    });
}

/// The last that the worker does before it rests is to end a process without running it.
#[test]
fn what_waits_for_something_foreign_is_pruned_when_its_reader_is_found_dead_by_a_worker_at_rest() {
    let mut network = Network::new();
    let signal = Signal::default();
    let (to_left, from_right) = network.channel::<u64>("to left");
    let (to_right, from_left) = network.channel::<u64>("to right");
    let (out, unread) = network.channel::<u64>("unread");
    network.process("left", (from_right, unread, to_right), async |(mut from, _, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n).await;
        }
    });
    network.process("right", (from_left, to_left), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n).await;
        }
    });
    let wait = signal.clone();
    network.process("wait", out, async move |out| {
        wait.wait().await;
        drop(out);
    });
    let (out, left) = network.channel::<u64>("left at once");
    network.process("leave", left, async |_| {});
    network.process("pruned", out, async |mut out| out.send(1).await);
    let ran = network.run_with(Options::new().workers(1));
    let Err(RunError::Ended(report)) = ran else { panic!("the ring waits for good: {ran:?}") };
    assert_eq!(report.outcome, Summary::Deadlock);
    let ended = |name: &str| {
        let mut all = report.processes.iter();
        all.find(|process| process.name.as_str() == name).map(|process| process.ending.to_string())
    };
    assert_eq!(ended("wait").as_deref(), Some("pruned"));
    assert_eq!(ended("pruned").as_deref(), Some("pruned"));
    drop(signal);
}

#[test]
fn a_sender_dropped_before_a_foreign_wait_ends_its_channel_there() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let signal = Signal::default();
        let (out, numbers) = network.channel::<u64>("numbers");
        let wait = signal.clone();
        network.process("wait", out, async move |mut out| {
            out.send(1).await;
            drop(out);
            // Given by the one that has seen the end.
            wait.wait().await;
        });
        network.process("give", numbers, async move |mut numbers| {
            while numbers.recv().await.is_some() {}
            signal.give();
        });
        schedule.finish(network);
    });
}

#[test]
fn a_sender_dropped_while_its_process_begins_to_wait_ends_its_channel() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, questions) = network.channel::<u64>("questions");
        let (answer, answers) = network.channel::<u64>("answers");
        let heard = Heard::default();
        let hears = heard.clone();
        network.process("ask", (out, answers), async move |(mut out, mut answers)| {
            out.send(1).await;
            let mut waits = pin!(answers.recv());
            let mut out = Some(out);
            let answer = poll_fn(|context| {
                let answer = waits.as_mut().poll(context);
                // Without it the other process would wait for one more question.
                out = None;
                answer
            });
            hears.push(answer.await.expect("an answer"));
        });
        network.process("sum", (questions, answer), async |(mut questions, mut answer)| {
            let mut sum = 0;
            questions.for_each(|question| sum += question).await;
            answer.send(sum).await;
        });
        schedule.finish(network);
        assert_eq!(heard.all(), [1]);
    });
}

#[test]
fn wakers_outlive_the_run() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let signal = Signal::default();
        let wait = signal.clone();
        let stop = network.stop_handle();
        network.process("wait", (), async move |()| wait.wait().await);
        let woken = signal.clone();
        network.process("stop", (), async move |()| {
            while woken.waker().is_none() {
                kahn::yield_now().await;
            }
            stop.stop();
        });
        assert_eq!(schedule.run(network).outcome, Summary::Stopped);
        let waker = signal.waker().expect("left behind");
        waker.wake_by_ref();
        let other = waker.clone();
        other.wake();
        drop(waker);
        signal.give();
    });
}

#[test]
fn a_future_that_drops_its_waker_is_a_deadlock() {
    everywhere(|schedule| {
        for clones in [false, true] {
            let mut network = Network::new();
            network.process("forget", (), async move |()| {
                poll_fn::<(), _>(|context| {
                    if clones {
                        drop(context.waker().clone());
                    }
                    Poll::Pending
                })
                .await;
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Deadlock);
            let text = report.explanation();
            let told = if clones { "a future that dropped its waker" } else { "has stopped" };
            assert!(text.contains(told), "{text}");
        }
    });
    let mut network = Network::new();
    network.process("forget", (), async |()| {
        poll_fn::<(), _>(|context| {
            drop(context.waker().clone());
            Poll::Pending
        })
        .await;
    });
    insta::assert_snapshot!(run(network, Options::new()).explanation(), @r"
    deadlock: nothing can go on
      `forget` waits for something outside the network that can never wake it
    help: a process waits for a future that dropped its waker: nothing can ever wake it
    ");
}

#[test]
fn while_something_foreign_may_come_there_is_no_verdict() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let signal = Signal::default();
        let (there_out, there) = network.channel::<u64>("there");
        let (back_out, back) = network.channel::<u64>("back");
        let wait = signal.clone();
        network.process("first", (there_out, back), async move |(mut there, mut back)| {
            wait.wait().await;
            there.send(1).await;
            assert_eq!(back.recv().await, Some(2));
        });
        network.process("second", (there, back_out), async |(mut there, mut back)| {
            while let Some(n) = there.recv().await {
                back.send(n + 1).await;
            }
        });
        let stop = network.stop_handle();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // Until everybody waits.
                let waits = |kind: &str| stop.explain().to_string().contains(kind);
                while !waits("something outside") || !waits("waits to receive") {
                    std::thread::yield_now();
                }
                signal.give();
            });
            schedule.finish(network);
        });
    });
}

#[test]
fn yielding_lets_others_run_and_changes_nothing() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("yield", out, async |mut out| {
            for n in 0..50 {
                kahn::yield_now().await;
                out.send(n).await;
                kahn::yield_now().await;
            }
        });
        let heard = listen(&mut network, "listen", numbers);
        schedule.finish(network);
        assert_eq!(heard.all(), (0..50).collect::<Vec<_>>());
    });
}

fn sum_of(network: &mut Network<'static>) -> Heard<u64> {
    let numbers = count(network, "numbers", 20);
    listen(network, "listen", numbers)
}

#[test]
fn a_network_in_an_async_process_is_refused_with_the_remedy() {
    everywhere(|schedule| {
        let mut network = Network::new();
        network.process("run", (), async |()| {
            let mut inner = Network::new();
            sum_of(&mut inner);
            inner.run().map(|_| ())
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Failed);
        let message = &report.failures[0].message;
        assert_eq!(*message, RunError::Nested.to_string());
        assert!(message.contains("use `run_async().await`, or a blocking process"));
    });
}

#[test]
fn a_network_runs_inside_a_blocking_process() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, sums) = network.channel::<u64>("sums");
        let options = schedule.clone();
        network.blocking("run", out, move |mut out| {
            for _ in 0..2 {
                let mut inner = Network::new();
                let heard = sum_of(&mut inner);
                options.finish(inner);
                out.send_blocking(heard.all().iter().sum());
            }
        });
        let heard = listen(&mut network, "listen", sums);
        schedule.finish(network);
        assert_eq!(heard.all(), [190, 190]);
    });
}

#[test]
fn a_network_is_awaited_inside_an_async_process() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, sums) = network.channel::<u64>("sums");
        let options = schedule.clone();
        network.process("run", out, async move |mut out| {
            let mut inner = Network::new();
            let heard = sum_of(&mut inner);
            let _watched = watch(inner.stop_handle());
            inner.run_async(options.options()).await?;
            out.send(heard.all().iter().sum()).await;
            Ok::<(), RunError>(())
        });
        let heard = listen(&mut network, "listen", sums);
        schedule.finish(network);
        assert_eq!(heard.all(), [190]);
    });
}

#[test]
fn a_run_that_nobody_awaits_any_more_is_stopped() {
    struct Last(Signal);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.give();
        }
    }
    let ended = Signal::default();
    // The process may never have run when it is dropped.
    let last = Last(ended.clone());
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u64>("numbers");
    network.process("endless", out, async |mut out| out.send_all(0..).await);
    network.process("hear", numbers, async move |mut numbers| {
        let _last = last;
        while numbers.recv().await.is_some() {}
    });
    let _watched = watch(network.stop_handle());
    drop(network.run_async(Options::new()));
    while !ended.0.lock().0 {
        std::thread::yield_now();
    }
}

#[test]
fn two_networks_run_at_once() {
    everywhere(|schedule| {
        let mut networks: Vec<_> = (0..2)
            .map(|_| {
                let mut network = Network::new();
                let numbers = count(&mut network, "numbers", 100);
                let heard = listen(&mut network, "listen", numbers);
                (network, heard)
            })
            .collect();
        let (second, heard_second) = networks.pop().expect("two");
        let (first, heard_first) = networks.pop().expect("two");
        std::thread::scope(|scope| {
            scope.spawn(|| schedule.finish(second));
            schedule.finish(first);
        });
        assert_eq!(heard_first.all(), heard_second.all());
        assert_eq!(heard_first.all().len(), 100);
    });
}
