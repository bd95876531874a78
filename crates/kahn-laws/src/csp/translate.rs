//! A small program as communicating processes, and what they saw.

use super::program::{End, Event, Guard, How, Program};
use super::traces::{Gone, Seen, Trace, is_left_out, number};
use kahn_csp::{self as csp, Guard as _, OneOf5, Options, RunError};
use parking_lot::Mutex;
use std::collections::BTreeMap;

#[derive(Default)]
struct Ends {
    senders: BTreeMap<usize, csp::Sender<u64>>,
    receivers: BTreeMap<usize, csp::Receiver<u64>>,
    shares: BTreeMap<usize, csp::Shared<csp::Sender<u64>>>,
    barriers: BTreeMap<usize, csp::Barrier>,
}

impl Ends {
    fn drop_end(&mut self, end: End) {
        match end {
            End::Sender(channel) => drop(self.senders.remove(&channel)),
            End::Receiver(channel) => drop(self.receivers.remove(&channel)),
            End::Share(channel) => drop(self.shares.remove(&channel)),
            End::Barrier(barrier) => drop(self.barriers.remove(&barrier)),
        }
    }
}

fn gone(why: csp::Gone) -> Seen {
    Seen::Gone(match why {
        csp::Gone::Closed => Gone::Closed,
        csp::Gone::Poisoned => Gone::Poisoned,
    })
}

fn sent(result: Result<(), csp::Unsent<u64>>) -> Seen {
    result.map_or_else(|unsent| gone(unsent.why), |()| Seen::Sent)
}

fn got(result: Result<u64, csp::Gone>) -> Seen {
    result.map_or_else(gone, Seen::Got)
}

/// Runs a program, and returns what its processes saw.
pub(super) fn run(program: &Program, options: Options) -> (Result<(), RunError>, Trace) {
    let log = Mutex::new(vec![Vec::new(); program.processes.len()]);
    let log_of = &log;
    let result = csp::run(options, async |scope| {
        let processes = start(program, log_of);
        if program.par {
            // A process that panics is in the report.
            let _ = scope.par(processes).await;
        } else {
            for (at, process) in processes.into_iter().enumerate() {
                scope.spawn(format!("process {at}"), process);
            }
        }
    });
    (result.map(drop), log.into_inner())
}

/// Makes the channels and barriers, and of each process its future.
fn start<'p>(
    program: &'p Program,
    log: &'p Mutex<Trace>,
) -> Vec<impl Future<Output = ()> + Send + use<'p>> {
    let mut all: Vec<Ends> = program.processes.iter().map(|_| Ends::default()).collect();
    for (at, channel) in program.channels.iter().enumerate() {
        let (sender, receiver) = csp::channel(format!("channel {at}"));
        all[channel.receiver].receivers.insert(at, receiver);
        if let [one] = channel.senders[..] {
            all[one].senders.insert(at, sender);
        } else {
            let shared = csp::Shared::new(format!("share {at}"), sender);
            for &process in &channel.senders {
                all[process].shares.insert(at, shared.clone());
            }
        }
    }
    for (at, members) in program.barriers.iter().enumerate() {
        let barrier = csp::Barrier::new(format!("barrier {at}"));
        for &process in members {
            all[process].barriers.insert(at, barrier.clone());
        }
    }
    let process = |(process, ends)| body(program, process, ends, log);
    all.into_iter().enumerate().map(process).collect()
}

async fn body(program: &Program, process: usize, mut ends: Ends, log: &Mutex<Trace>) {
    let mut has = program.ends(process);
    let mut fair = csp::Fair::new();
    for (at, event) in program.processes[process].iter().enumerate() {
        if is_left_out(event, &has) {
            continue;
        }
        let value = number(process, at);
        let see = |seen: Seen| log.lock()[process].push(seen);
        match event {
            Event::Send(channel) => {
                if let Some(sender) = ends.senders.get_mut(channel) {
                    see(sent(sender.send(value).await));
                }
            }
            Event::Recv(channel) => {
                if let Some(receiver) = ends.receivers.get_mut(channel) {
                    see(got(receiver.recv().await));
                }
            }
            Event::Claim(channel) => {
                if let Some(share) = ends.shares.get(channel) {
                    let mut sender = share.claim().await;
                    let seen = sent(sender.send(value).await);
                    drop(sender);
                    see(seen);
                }
            }
            Event::Sync(barrier) => {
                if let Some(barrier) = ends.barriers.get_mut(barrier) {
                    barrier.sync().await;
                    see(Seen::Met);
                }
            }
            Event::Alt(how, guards) => {
                let (guard, seen) = choose(&mut ends, &mut fair, *how, guards, value).await;
                let mut log = log.lock();
                log[process].extend([Seen::Chose(guard), seen]);
            }
            Event::Drop(end) => {
                has.retain(|other| other != end);
                ends.drop_end(*end);
            }
            Event::Poison(end) => {
                has.retain(|other| other != end);
                match end {
                    End::Sender(channel) => {
                        ends.senders.remove(channel).into_iter().for_each(csp::Sender::poison);
                    }
                    End::Receiver(channel) => {
                        ends.receivers.remove(channel).into_iter().for_each(csp::Receiver::poison);
                    }
                    End::Share(_) | End::Barrier(_) => {}
                }
            }
        }
    }
    log.lock()[process].push(Seen::Ended);
    for end in has {
        ends.drop_end(end);
    }
}

/// Chooses among the guards whose ends are there. Those that are not stand for themselves with
/// ends of their own and a condition that is false.
async fn choose(
    ends: &mut Ends,
    fair: &mut csp::Fair,
    how: How,
    guards: &[Guard],
    value: u64,
) -> (Guard, Seen) {
    let (mut recvs, mut send_at, mut sync_at) = (Vec::new(), None, None);
    for guard in guards {
        match *guard {
            Guard::Recv(channel) => {
                recvs.extend(ends.receivers.remove(&channel).map(|end| (channel, end)));
            }
            Guard::Send(channel) => send_at = ends.senders.remove(&channel).map(|e| (channel, e)),
            Guard::Sync(barrier) => sync_at = ends.barriers.remove(&barrier).map(|e| (barrier, e)),
            Guard::Skip => {}
        }
    }
    let skips = guards.contains(&Guard::Skip);
    let (mut no_sender, mut no_receiver) = csp::channel("none");
    let (_none, mut none_either) = csp::channel("none either");
    let mut no_barrier = csp::Barrier::new("no barrier");
    let mut recvs = recvs.into_iter();
    let (mut one, mut two) = (recvs.next(), recvs.next());
    let choice = {
        let has = (one.is_some(), two.is_some(), send_at.is_some(), sync_at.is_some());
        let first = one.as_mut().map_or(&mut no_receiver, |(_, end)| end);
        let second = two.as_mut().map_or(&mut none_either, |(_, end)| end);
        let sender = send_at.as_mut().map_or(&mut no_sender, |(_, end)| end);
        let barrier = sync_at.as_mut().map_or(&mut no_barrier, |(_, end)| end);
        let all = (
            first.recv().when(has.0),
            second.recv().when(has.1),
            sender.send(value).when(has.2),
            barrier.sync().when(has.3),
            csp::skip().when(skips),
        );
        match how {
            How::Alt => csp::alt(all).await,
            How::Pri => csp::pri(all).await,
            How::Fair => fair.alt(all).await,
        }
    };
    let at = |end: &Option<(usize, csp::Receiver<u64>)>| end.as_ref().map_or(0, |(at, _)| *at);
    let chosen = match choice {
        OneOf5::First(result) => (Guard::Recv(at(&one)), got(result)),
        OneOf5::Second(result) => (Guard::Recv(at(&two)), got(result)),
        OneOf5::Third(result) => {
            (Guard::Send(send_at.as_ref().map_or(0, |(at, _)| *at)), sent(result))
        }
        OneOf5::Fourth(()) => (Guard::Sync(sync_at.as_ref().map_or(0, |(at, _)| *at)), Seen::Met),
        OneOf5::Fifth(()) => (Guard::Skip, Seen::Skipped),
    };
    ends.receivers.extend(one);
    ends.receivers.extend(two);
    ends.senders.extend(send_at);
    ends.barriers.extend(sync_at);
    chosen
}
