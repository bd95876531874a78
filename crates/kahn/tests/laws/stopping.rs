//! A stop never looks like an end of stream, wherever it comes from and whatever waits.

use super::schedules::{Heard, everywhere, run, watch};
use kahn::{Network, Options, ProcessEnd, Sender, Summary};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A network in which everybody waits or runs for ever: async, blocking, foreign.
fn endless(ended: &Arc<AtomicUsize>) -> Network<'static> {
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u64>("numbers");
    network.process("endless", out, async |mut out| out.send_all(0..).await);
    let (out, on) = network.channel::<u64>("on");
    let sees = Arc::clone(ended);
    network.process("pass", (numbers, out), async move |(mut numbers, mut out)| {
        while let Some(n) = numbers.recv().await {
            out.send(n).await;
        }
        sees.fetch_add(1, Ordering::Relaxed);
    });
    let sees = Arc::clone(ended);
    let (out, last) = network.channel::<u64>("last");
    network.blocking("pass on", (on, out), move |(mut on, mut out)| {
        while let Some(n) = on.recv_blocking() {
            out.send_blocking(n);
        }
        sees.fetch_add(1, Ordering::Relaxed);
    });
    let sees = Arc::clone(ended);
    network.process("listen", last, async move |mut last| {
        while last.recv().await.is_some() {}
        sees.fetch_add(1, Ordering::Relaxed);
    });
    let sees = Arc::clone(ended);
    let (silent, silence) = network.channel::<u64>("silence");
    network.process("silent", silent, async |_silent| std::future::pending::<()>().await);
    network.blocking("wait", silence, move |mut silence| {
        assert_eq!(silence.recv_blocking(), None);
        sees.fetch_add(1, Ordering::Relaxed);
    });
    network
}

#[test]
fn stopped_from_another_thread_nobody_sees_an_end() {
    everywhere(|schedule| {
        let ended = Arc::new(AtomicUsize::new(0));
        let network = endless(&ended);
        let stop = network.stop_handle();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while stop.messages() < 100 && !stop.is_ending() {
                    std::thread::yield_now();
                }
                stop.stop_within(Duration::from_mins(1)).expect("everybody stops");
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Stopped);
            let is_stopped =
                |end: &ProcessEnd| matches!(end, ProcessEnd::Stopped | ProcessEnd::Never);
            assert!(report.processes.iter().all(|process| is_stopped(&process.ending)));
        });
        assert_eq!(ended.load(Ordering::Relaxed), 0, "a stop looked like the end of a stream");
    });
}

#[test]
fn stopped_from_inside_nobody_sees_an_end() {
    everywhere(|schedule| {
        let ended = Arc::new(AtomicUsize::new(0));
        let mut network = endless(&ended);
        let stop = network.stop_handle();
        let (out, ticks) = network.channel::<u64>("ticks");
        network.process("ticks", out, async |mut out| out.send_all(0..).await);
        network.process("stop", ticks, async move |mut ticks| {
            while let Some(n) = ticks.recv().await {
                if n == 500 {
                    stop.stop();
                }
            }
        });
        assert_eq!(schedule.run(network).outcome, Summary::Stopped);
        assert_eq!(ended.load(Ordering::Relaxed), 0, "a stop looked like the end of a stream");
    });
}

#[test]
fn stopped_before_the_run_nothing_runs() {
    everywhere(|schedule| {
        let ended = Arc::new(AtomicUsize::new(0));
        let network = endless(&ended);
        let stop = network.stop_handle();
        stop.stop();
        assert!(stop.is_ending());
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Stopped);
        assert_eq!(report.messages(), 0);
        assert_eq!(ended.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_verdict_never_looks_like_an_end_to_blocking_processes() {
    everywhere(|schedule| {
        let ended = Arc::new(AtomicUsize::new(0));
        let mut network = Network::new();
        let (mut outs, mut ins): (Vec<_>, Vec<_>) =
            (0..4).map(|n| network.channel::<u64>(format!("channel {n}"))).unzip();
        outs.rotate_left(1);
        for n in 0..4 {
            let sees = Arc::clone(&ended);
            let (from, to) = (ins.remove(0), outs.remove(0));
            network.blocking(format!("wait {n}"), (from, to), move |(mut from, _to)| {
                assert_eq!(from.recv_blocking(), None);
                sees.fetch_add(1, Ordering::Relaxed);
            });
        }
        assert_eq!(schedule.run(network).outcome, Summary::Deadlock);
        assert_eq!(ended.load(Ordering::Relaxed), 0, "a verdict looked like the end of a stream");
    });
}

#[test]
fn what_destructors_do_while_a_run_is_stopped_does_nothing() {
    struct Last(Sender<u64>, Heard<u64>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.1.push(1);
            // Neither waits nor sends: the process is being ended.
            let mut sending = std::pin::pin!(self.0.send(99));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                sending.as_mut().poll(&mut context).is_ready()
            }));
        }
    }
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let stop = network.stop_handle();
        let dropped = Heard::default();
        let tell = dropped.clone();
        network.process("last", out, async move |out| {
            let _last = Last(out, tell);
            std::future::pending::<()>().await;
        });
        network.process("stop", numbers, async move |mut numbers| {
            stop.stop();
            assert_eq!(numbers.recv().await, None, "never returns");
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Stopped);
        assert_eq!(report.messages(), 0);
        // If it never ran it had nothing to drop.
        assert!(dropped.all().len() <= 1);
    });
}

#[test]
fn who_does_not_stop_is_named() {
    let mut network = Network::new();
    let [runs, may_end] = [const { AtomicBool::new(false) }; 2].map(Arc::new);
    let (tell, told) = (Arc::clone(&runs), Arc::clone(&may_end));
    network.blocking("stubborn", (), move |()| {
        tell.store(true, Ordering::Release);
        // Waits for something that is no channel: it cannot be stopped.
        while !told.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    });
    let stop = network.stop_handle();
    let _watched = watch(stop.clone());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !runs.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let stopped = stop.stop_within(Duration::from_millis(1));
            may_end.store(true, Ordering::Release);
            let error = stopped.expect_err("it does not stop");
            insta::assert_snapshot!(error, @r"
            1 of the processes did not stop in time:
            `stubborn` computes, without channel operations
            ");
        });
        let report = run(network, Options::new());
        assert_eq!(report.outcome, Summary::Stopped);
    });
}

#[test]
fn a_network_that_is_never_run_drops_what_it_holds() {
    let held = Arc::new(());
    let mut network = Network::new();
    let (out, numbers) = network.channel_with(
        kahn::Channel::named("numbers").initial([Arc::clone(&held), Arc::clone(&held)]),
    );
    let kept = Arc::clone(&held);
    network.process("send", out, async move |mut out| out.send(kept).await);
    network.process("hear", numbers, async |mut numbers| while numbers.recv().await.is_some() {});
    drop(network);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_process_that_never_returns_needs_no_result() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel("numbers");
        network.process("count", out, async |mut out| {
            let mut next = 0_u64;
            loop {
                out.send(next).await;
                next += 1;
            }
        });
        let (on_out, on) = network.channel("on");
        network.blocking("pass", (numbers, on_out), |(mut numbers, mut on)| {
            loop {
                on.send_blocking(numbers.recv_blocking().unwrap_or(0));
            }
        });
        network.process("listen", on, async |mut on| {
            assert_eq!((on.recv().await, on.recv().await), (Some(0), Some(1)));
        });
        let report = schedule.finish(network);
        assert_eq!(report.processes[0].ending, ProcessEnd::Pruned);
    });
}
