//! Random programs, held against interpreters that know the model alone: see `kahn-laws`.
//!
//! `kahn-bench soak` runs more of the same, and names the seed of a case that fails.

use kahn::{Network, Options};
use kahn_laws::network::program::{Channel, End, How, Port, Process, Program, Statement};
use kahn_laws::{Campaign, Communicating, Extent, Networks, Summary, soak};
use kahn_laws::{csp, network};
use std::time::Duration;

fn campaign<C: Campaign>(campaign: &C, cases: u64, shrinking: u64) -> Summary {
    let shrinking = Duration::from_secs(shrinking);
    soak(campaign, Extent { seed: 1, cases, time: None, shrinking })
}

#[test]
fn random_networks_do_what_the_model_says_under_every_schedule() {
    let summary = campaign(&Networks::default(), 600, 20);
    assert!(summary.is_good(), "{summary}");
    assert!(summary.cases > 300, "{summary}");
}

#[test]
fn random_communicating_processes_run_one_of_their_traces() {
    let summary = campaign(&Communicating::default(), 500, 20);
    assert!(summary.is_good(), "{summary}");
    assert!(summary.cases > 300, "{summary}");
}

fn process(ports: Vec<Port>, body: Vec<Statement>) -> Process {
    Process { how: How::Async, creates: false, effects: false, ports, guard: None, body }
}

fn program(processes: Vec<Process>) -> Program {
    let channel =
        Channel { capacity: Some(1), initial: 1, weight: None, digest: true, wire: false };
    let ends = processes.iter().map(|process| process.ports.len()).sum::<usize>();
    Program { channels: vec![channel; ends / 2], processes }
}

/// The second is pruned if the third was before it began, and the first if the second was.
#[test]
fn the_model_finds_what_only_one_order_of_pruning_prunes() {
    let reads = |body| Statement::While { from: 0, body };
    let relay = |from: usize| vec![Port::Receiver(from), Port::Sender(from + 1)];
    let meaning = network::interpret(
        &program(vec![
            process(vec![Port::Sender(0)], Vec::new()),
            process(relay(0), vec![reads(Vec::new())]),
            process(relay(1), vec![Statement::Drop(1), reads(Vec::new())]),
            process(relay(2), Vec::new()),
            process(vec![Port::Receiver(3)], Vec::new()),
        ]),
        None,
    );
    let meaning = meaning.expect("it ends");
    assert!(meaning.processes["p1"].may_be_pruned, "{meaning:?}");
    assert!(!meaning.channels["c0"].exact, "{meaning:?}");
}

/// An operation that ends a stream is not over then: the second, which sees that end, may leave before the first
/// has received.
#[test]
fn the_model_finds_what_is_pruned_within_an_operation() {
    let reads = |from, body| Statement::While { from, body };
    let meaning = network::interpret(
        &program(vec![
            process(
                vec![Port::Sender(0), Port::Receiver(1), Port::Sender(2)],
                vec![Statement::Drop(0), reads(1, vec![Statement::Drop(2)])],
            ),
            process(vec![Port::Receiver(0), Port::Receiver(2)], vec![reads(0, Vec::new())]),
            process(vec![Port::Sender(1)], Vec::new()),
        ]),
        None,
    );
    let meaning = meaning.expect("it ends");
    assert!(meaning.processes["p0"].may_be_pruned, "{meaning:?}");
    assert!(!meaning.channels["c1"].exact, "{meaning:?}");
}

/// The second feeds the third for ever and never reads what the first sends, which waits there and
/// would end all if it ended. No ring is to be resolved.
#[test]
fn the_model_leaves_open_what_ends_only_with_room_for_what_is_never_read() {
    let send = || Statement::Send { to: 0, add: 1 };
    let feed = Statement::Forever { body: vec![Statement::Send { to: 1, add: 1 }] };
    let read = Statement::While { from: 0, body: Vec::new() };
    let first = process(vec![Port::Sender(0), Port::Receiver(2)], vec![send(), send()]);
    let meaning = network::interpret(
        &program(vec![
            Process { effects: true, ..first },
            process(vec![Port::Receiver(0), Port::Sender(1)], vec![feed]),
            process(vec![Port::Receiver(1), Port::Sender(2)], vec![read]),
        ]),
        None,
    );
    assert_eq!(meaning.err(), Some(network::Unending::Narrow));
}

/// The second is pruned at its start if the first has ended by then; else it drops its only sender, and
/// reads what the third sends for ever.
#[test]
fn the_model_leaves_open_what_ends_only_if_a_process_is_pruned_in_time() {
    let feed = Statement::Forever { body: vec![Statement::Send { to: 0, add: 1 }] };
    let read = Statement::While { from: 1, body: Vec::new() };
    let meaning = network::interpret(
        &program(vec![
            process(vec![Port::Receiver(0)], Vec::new()),
            process(vec![Port::Sender(0), Port::Receiver(1)], vec![Statement::Drop(0), read]),
            process(vec![Port::Sender(1)], vec![feed]),
        ]),
        None,
    );
    assert_eq!(meaning.err(), Some(network::Unending::Scheduled));
}

/// The second hands its receiver on to a process that is pruned at its start. What it had received by
/// then decides whether the failure of the first counts, which has sent one message and had one.
#[test]
fn the_model_knows_what_received_the_last_message_before_the_receiver_was_handed_on() {
    for (count, is_pruned) in [(2, false), (1, true)] {
        let sends = Statement::Send { to: 0, add: 1 };
        let fails = Statement::End(End::Fail);
        let channel =
            Channel { capacity: None, initial: 0, weight: None, digest: true, wire: false };
        let child = Box::new(process(Vec::new(), Vec::new()));
        let hands_on = vec![
            Statement::RecvMany { from: 0, count },
            Statement::Channel { channel, sender: 1, receiver: 2 },
            Statement::Drop(2),
            Statement::Create { child, gives: vec![0, 1] },
        ];
        let meaning = network::interpret(
            &program(vec![
                process(
                    vec![Port::Sender(0), Port::Receiver(1)],
                    vec![sends, Statement::Drop(0), Statement::Recv { from: 1 }, fails],
                ),
                Process { creates: true, ..process(vec![Port::Receiver(0)], hands_on) },
                process(vec![Port::Sender(1)], Vec::new()),
            ]),
            None,
        );
        let meaning = meaning.expect("it ends");
        assert_eq!(meaning.failures.contains("p0"), !is_pruned, "{meaning:?}");
        assert_eq!(meaning.as_pruned.contains("p0"), is_pruned, "{meaning:?}");
        assert!(meaning.open.is_empty(), "{meaning:?}");
    }
}

/// The second reads to the end of the first, if it is let; the first has failed by then, or has seen the
/// end of the second.
#[test]
fn the_model_tells_a_failure_as_pruned_if_only_a_process_that_may_be_pruned_sees_the_end() {
    for sees_end in [false, true] {
        let mut fails = vec![Statement::Drop(0), Statement::Flush];
        if sees_end {
            fails.push(Statement::While { from: 1, body: Vec::new() });
        }
        fails.push(Statement::End(End::Fail));
        let relays = vec![Statement::While { from: 0, body: Vec::new() }];
        let mut ring = program(vec![
            process(vec![Port::Sender(0), Port::Receiver(1)], fails),
            process(vec![Port::Receiver(0), Port::Sender(1)], relays),
        ]);
        ring.channels.iter_mut().for_each(|channel| channel.initial = 0);
        let meaning = network::interpret(&ring, None).expect("it ends");
        assert_eq!(meaning.failures.contains("p0"), sees_end, "{meaning:?}");
        assert_eq!(meaning.as_pruned.contains("p0"), !sees_end, "{meaning:?}");
        assert!(meaning.open.is_empty(), "{meaning:?}");
    }
}

/// The first waits for the dead; what has seen the end of all it sent may be pruned later, or may not.
#[test]
fn the_model_tells_a_wait_as_pruned_if_only_a_process_that_may_be_pruned_sees_the_end() {
    for is_seen in [false, true] {
        let reads = Statement::While { from: 0, body: Vec::new() };
        let send = |add| Statement::Send { to: 1, add };
        // The end, too, or not the last message.
        let takes = if is_seen { 4 } else { 2 };
        let mut chain = program(vec![
            process(
                vec![Port::Sender(0), Port::Receiver(1)],
                vec![Statement::Drop(0), Statement::Recv { from: 1 }],
            ),
            process(
                vec![Port::Sender(1), Port::Receiver(2), Port::Sender(2)],
                vec![Statement::Recv { from: 1 }],
            ),
            process(vec![Port::Receiver(0), Port::Sender(3)], vec![reads, send(1), send(2)]),
            process(vec![Port::Receiver(3)], vec![Statement::RecvMany { from: 0, count: takes }]),
        ]);
        chain.channels.iter_mut().for_each(|channel| channel.initial = 0);
        chain.channels[3].initial = 1;
        let meaning = network::interpret(&chain, None).expect("it ends");
        assert!(!meaning.processes["p0"].may_be_pruned, "{meaning:?}");
        assert_eq!(meaning.processes["p2"].may_be_pruned, !is_seen, "{meaning:?}");
        assert_eq!(meaning.as_pruned.contains("p0"), !is_seen, "{meaning:?}");
    }
}

/// The first three wait for each other at last; the fourth may come to its next operation after that. To find what
/// may be pruned, processes are held back: one that has a message does not wait for its sender, so it is in no ring.
#[test]
fn the_model_takes_none_for_dead_that_has_a_message() {
    let send = |to, add| Statement::Send { to, add };
    let recv = |from| Statement::Recv { from };
    let mut rings = program(vec![
        process(
            vec![Port::Receiver(2), Port::Sender(4)],
            vec![Statement::While { from: 0, body: vec![send(1, 79)] }],
        ),
        process(vec![Port::Receiver(1), Port::Sender(2)], vec![recv(0)]),
        process(
            vec![Port::Sender(0), Port::Sender(1), Port::Receiver(3), Port::Receiver(4)],
            vec![Statement::Loop { times: 2, body: vec![recv(2), recv(3), send(0, 78)] }],
        ),
        process(
            vec![Port::Receiver(0), Port::Sender(3)],
            vec![Statement::Forever { body: vec![recv(0), send(1, 64)] }],
        ),
    ]);
    for (number, channel) in rings.channels.iter_mut().enumerate() {
        channel.initial = u64::from([0, 2].contains(&number));
    }
    let meaning = network::interpret(&rings, None).expect("it ends");
    let may_be_pruned: Vec<_> =
        meaning.processes.values().map(|process| process.may_be_pruned).collect();
    assert_eq!(may_be_pruned, [false, false, false, true], "{meaning:?}");
}

/// Each may be pruned if those before it in the ring were, and the first if it began last.
#[test]
fn the_model_finds_what_is_pruned_round_a_ring() {
    let send = |add| Statement::Send { to: 1, add };
    let mut ring = program(vec![
        process(
            vec![Port::Sender(0), Port::Receiver(4), Port::Sender(5)],
            vec![Statement::Recv { from: 1 }],
        ),
        process(
            vec![Port::Receiver(0), Port::Sender(1), Port::Receiver(5)],
            vec![Statement::Drop(1), Statement::Recv { from: 2 }],
        ),
        process(vec![Port::Receiver(1), Port::Sender(2)], Vec::new()),
        process(vec![Port::Receiver(2), Port::Sender(3)], Vec::new()),
        process(vec![Port::Receiver(3), Port::Sender(4)], vec![send(44), send(54)]),
    ]);
    ring.channels.iter_mut().for_each(|channel| channel.initial = 0);
    let meaning = network::interpret(&ring, None);
    let meaning = meaning.expect("it ends");
    assert!(!meaning.channels["c4"].exact, "{meaning:?}");
}

/// In how many of these cases a promise is broken.
fn broken<C: Campaign>(campaign: &C, cases: u64) -> u64 {
    let extent = Extent { seed: 1, cases, time: None, shrinking: Duration::ZERO };
    soak(campaign, extent).failures.iter().map(|failure| failure.cases).sum()
}

#[test]
fn each_rule_of_the_model_is_noticed_if_it_is_broken() {
    assert_eq!(broken(&Networks { schedules: 2, mistake: None }, 800), 0);
    for mistake in network::Mistake::ALL {
        // What sends to the dead goes on in either case, and is seldom pruned for that alone.
        let cases = if mistake == network::Mistake::DeadStayLive { 5000 } else { 800 };
        let wrong = broken(&Networks { schedules: 2, mistake: Some(mistake) }, cases);
        assert!(wrong > 0, "{cases} networks agree with an interpreter that is wrong: {mistake:?}");
    }
}

#[test]
fn each_rule_of_communicating_processes_is_noticed_if_it_is_broken() {
    for mistake in csp::Mistake::ALL {
        let wrong = broken(&Communicating { schedules: 2, mistake: Some(mistake) }, 800);
        assert!(wrong > 0, "800 programs agree with an enumeration that is wrong: {mistake:?}");
    }
}

#[test]
fn a_party_that_waits_in_a_deadlock_is_told_to_wait_in_every_report() {
    let mut endings = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u32>("numbers");
        let (back, answers) = network.channel::<u32>("answers");
        network.process("process", (numbers, back), async |(mut numbers, mut back)| {
            while let Some(n) = numbers.recv().await {
                back.send(n).await;
            }
        });
        let (out, mut answers) = network.outside("party", (out, answers));
        let party = std::thread::scope(|scope| {
            scope.spawn(move || {
                let _ = answers.recv_blocking();
                drop((answers, out));
            });
            network.run_with(Options::new().workers(1))
        });
        let error = party.expect_err("a deadlock");
        let report = error.report().expect("it ran");
        assert_eq!(report.outcome, kahn::Summary::Deadlock);
        endings.extend(report.processes.iter().map(|process| format!("{:?}", process.ending)));
    }
    assert_eq!(endings.len(), 1, "{endings:?}");
}

#[test]
fn a_party_that_is_over_before_the_start_leaves_no_hole_in_graph_and_report() {
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u32>("numbers");
    network.process("source", out, async |mut out| out.send(1).await);
    let party = network.outside("party", numbers);
    drop(party);
    let report = network.run_with(Options::new().workers(1)).expect("nothing is wrong with it");
    let names: Vec<_> = report.processes.iter().map(|process| process.name.to_string()).collect();
    assert_eq!(names, ["source", "party"]);
}
