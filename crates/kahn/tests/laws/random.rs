//! Random networks: cycles, parallel channels, initial messages, early exits, failures, processes
//! that create others. The runtime must do what the `interpreter` says they mean.

use super::interpreter::interpret;
use super::meaning::Class;
use super::program::{CHILD, END, Program, Step, mix};
use super::schedules::{Schedule, schedules};
use kahn::{Channel, Network, Port, Ports, Receiver, Report, Sender, Spawner, Summary};
use parking_lot::Mutex;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

/// The ends of a process, by the number of their channel.
struct Ends {
    senders: BTreeMap<usize, Sender<u64>>,
    receivers: BTreeMap<usize, Receiver<u64>>,
    spawner: Option<Spawner<'static>>,
}

impl Ports for Ends {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        self.senders.values().for_each(|end| end.visit(see));
        self.receivers.values().for_each(|end| end.visit(see));
        self.spawner.visit(see);
    }
}

impl Ends {
    /// Takes the ends that a program wants, if they are all there.
    fn take(&mut self, program: &Program, spawner: Option<Spawner<'static>>) -> Option<Self> {
        let has_all = program.senders.iter().all(|channel| self.senders.contains_key(channel))
            && program.receivers.iter().all(|channel| self.receivers.contains_key(channel));
        has_all.then(|| Self {
            senders: program
                .senders
                .iter()
                .filter_map(|channel| self.senders.remove_entry(channel))
                .collect(),
            receivers: program
                .receivers
                .iter()
                .filter_map(|channel| self.receivers.remove_entry(channel))
                .collect(),
            spawner,
        })
    }
}

type Histories = Arc<Vec<Mutex<Vec<u64>>>>;
type Running = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Does what a program says, as a process.
fn execute(name: String, program: Program, state: u64, ends: Ends, heard: Histories) -> Running {
    Box::pin(async move {
        let (mut state, mut ends, mut children) = (state, ends, 0);
        for _ in 0..program.rounds {
            for step in &program.steps {
                match step {
                    Step::Send(channel, number) => {
                        if let Some(out) = ends.senders.get_mut(channel) {
                            state = mix(state, *number);
                            out.send(state).await;
                        }
                    }
                    Step::Recv(channel) => {
                        if let Some(from) = ends.receivers.get_mut(channel) {
                            let message = from.recv().await;
                            heard[*channel].lock().extend(message);
                            state = mix(state, message.unwrap_or(END));
                        }
                    }
                    Step::DropSender(channel) => drop(ends.senders.remove(channel)),
                    Step::DropReceiver(channel) => drop(ends.receivers.remove(channel)),
                    Step::Create(child) => {
                        let spawner = ends.spawner.clone();
                        let own = spawner.filter(|_| child.creates());
                        if let Some(given) = ends.take(child, own) {
                            children += 1;
                            let name = format!("{name}.{children}");
                            let (program, state) = (Program::clone(child), mix(state, CHILD));
                            let (heard, called) = (Arc::clone(&heard), name.clone());
                            let spawner = ends.spawner.as_mut().expect("it creates");
                            spawner.process(name, given, move |ends| {
                                execute(called, program, state, ends, heard)
                            });
                        }
                    }
                    Step::Fail => return Err("on purpose".to_owned()),
                    Step::Panic => std::panic::resume_unwind(Box::new("on purpose")),
                }
            }
        }
        Ok(())
    })
}

/// A network as data.
#[derive(Clone, Debug)]
struct Plan {
    initial: Vec<Vec<u64>>,
    programs: Vec<Program>,
    /// Processes that get threads of their own.
    threads: Vec<bool>,
}

impl Plan {
    fn run(&self, schedule: &Schedule) -> (Report, Vec<Vec<u64>>) {
        let mut network = Network::new();
        let channels = self.initial.len();
        let heard: Histories = Arc::new((0..channels).map(|_| Mutex::default()).collect());
        let mut all = Ends { senders: BTreeMap::new(), receivers: BTreeMap::new(), spawner: None };
        for (number, initial) in self.initial.iter().enumerate() {
            let channel = Channel::named(format!("c{number}")).initial(initial.iter().copied());
            let (out, from) = network.channel_with(channel);
            all.senders.insert(number, out);
            all.receivers.insert(number, from);
        }
        for (number, program) in self.programs.iter().enumerate() {
            let spawner = program.creates().then(|| network.spawner());
            let ends = all.take(program, spawner).expect("each end belongs to one process");
            let (name, heard, program) =
                (format!("p{number}"), Arc::clone(&heard), program.clone());
            let called = name.clone();
            if self.threads[number] && !program.creates() {
                network.blocking(name, ends, move |ends| {
                    execute_blocking(&program, number, ends, &heard)
                });
            } else {
                network.process(name, ends, move |ends| {
                    execute(called, program, number as u64, ends, heard)
                });
            }
        }
        let report = schedule.run(network);
        let heard = heard.iter().map(|history| history.lock().clone()).collect();
        (report, heard)
    }
}

/// Does what a program says, as a blocking process that creates no others.
fn execute_blocking(
    program: &Program,
    number: usize,
    mut ends: Ends,
    heard: &Histories,
) -> Result<(), String> {
    let mut state = number as u64;
    for _ in 0..program.rounds {
        for step in &program.steps {
            match step {
                Step::Send(channel, number) => {
                    if let Some(out) = ends.senders.get_mut(channel) {
                        state = mix(state, *number);
                        out.send_blocking(state);
                    }
                }
                Step::Recv(channel) => {
                    if let Some(from) = ends.receivers.get_mut(channel) {
                        let message = from.recv_blocking();
                        heard[*channel].lock().extend(message);
                        state = mix(state, message.unwrap_or(END));
                    }
                }
                Step::DropSender(channel) => drop(ends.senders.remove(channel)),
                Step::DropReceiver(channel) => drop(ends.receivers.remove(channel)),
                Step::Create(_) => {}
                Step::Fail => return Err("on purpose".to_owned()),
                Step::Panic => std::panic::resume_unwind(Box::new("on purpose")),
            }
        }
    }
    Ok(())
}

// --- networks drawn from a sequence of choices, which proptest shrinks ----------------------------

/// `1`: one step in so many creates, one fails, one panics and one drops an end.
struct Choices<'a>(std::slice::Iter<'a, u8>, usize);

impl Choices<'_> {
    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % bound.max(1)
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == bound - 1
    }

    fn number(&mut self) -> u64 {
        self.below(256) as u64
    }

    fn program(&mut self, senders: Vec<usize>, receivers: Vec<usize>, depth: usize) -> Program {
        let count = 1 + self.below(8);
        let steps = (0..count).map(|_| self.step(&senders, &receivers, depth)).collect();
        Program { senders, receivers, steps, rounds: 1 + self.below(12) }
    }

    fn step(&mut self, senders: &[usize], receivers: &[usize], depth: usize) -> Step {
        let pick =
            |choices: &mut Self, from: &[usize]| from.get(choices.below(from.len())).copied();
        let rare = self.below(self.1);
        let kind = self.below(2);
        match rare {
            0 if depth < 2 => {
                let mut some = |from: &[usize]| -> Vec<usize> {
                    from.iter().copied().filter(|_| self.one_in(2)).collect()
                };
                let (senders, receivers) = (some(senders), some(receivers));
                let child = self.program(senders, receivers, depth + 1);
                Step::Create(Box::new(child))
            }
            1 => Step::Fail,
            2 => Step::Panic,
            3 => match (kind, pick(self, senders), pick(self, receivers)) {
                (0, Some(channel), _) | (_, Some(channel), None) => Step::DropSender(channel),
                (_, _, Some(channel)) => Step::DropReceiver(channel),
                _ => Step::Fail,
            },
            _ => match (kind, pick(self, senders), pick(self, receivers)) {
                (0, Some(channel), _) | (_, Some(channel), None) => {
                    Step::Send(channel, self.number())
                }
                (_, _, Some(channel)) => Step::Recv(channel),
                // It has no ends: does nothing.
                _ => Step::Recv(usize::MAX),
            },
        }
    }

    fn plan(&mut self) -> Plan {
        let (processes, channels) = (1 + self.below(6), 1 + self.below(9));
        let mut ends = vec![(Vec::new(), Vec::new()); processes];
        let mut initial = Vec::new();
        for channel in 0..channels {
            ends[self.below(processes)].0.push(channel);
            ends[self.below(processes)].1.push(channel);
            let count = if self.one_in(3) { self.below(5) } else { 0 };
            initial.push((0..count).map(|_| self.number()).collect());
        }
        let programs = ends.into_iter().map(|(out, from)| self.program(out, from, 0)).collect();
        let threads = (0..processes).map(|_| self.one_in(8)).collect();
        Plan { initial, programs, threads }
    }
}

/// What most random networks are drawn with.
const CALM: usize = 40;
/// What networks are drawn with that fail and leave early.
const WILD: usize = 14;

fn check(plan: &Plan, schedule: &Schedule) {
    let meaning = interpret(&plan.programs, &plan.initial);
    let (report, heard) = plan.run(schedule);
    let expected = match meaning.class {
        Class::Finished => Summary::Finished,
        Class::Failed => Summary::Failed,
        Class::Deadlock => Summary::Deadlock,
    };
    let told = || format!("{schedule:?}\n{plan:#?}\n{meaning:#?}\n{heard:?}\n{report}");
    assert_eq!(report.outcome, expected, "{}", told());
    let mut failures: Vec<_> =
        report.failures.iter().map(|failure| failure.process.to_string()).collect();
    failures.sort();
    assert_eq!(failures, meaning.failures, "{}", told());
    for (channel, (history, is_cut)) in meaning.histories.iter().enumerate() {
        let heard = &heard[channel];
        let is_same =
            if *is_cut { heard.iter().zip(history).all(|(a, b)| a == b) } else { heard == history };
        assert!(is_same, "channel c{channel} of {}", told());
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_networks_do_what_they_mean(
        choices in prop::collection::vec(any::<u8>(), 0..400),
        first in 0_usize..6,
    ) {
        let plan = Choices(choices.iter(), CALM).plan();
        // Every sixth schedule, beginning anywhere: all of them come about in the end.
        for schedule in schedules().iter().skip(first).step_by(6) {
            check(&plan, schedule);
        }
    }
}

/// What a report tells of failures.
fn told_of_failures(report: &Report) -> String {
    let ends = report.processes.iter().map(|end| format!("{}: {}", end.name, end.ending));
    let ends: Vec<_> = ends.collect();
    let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
    format!("{:?}\n{failures:#?}\n{ends:#?}", report.outcome)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_told_of_failures_is_the_same_in_every_run(
        choices in prop::collection::vec(any::<u8>(), 0..300),
        first in 0_usize..4,
    ) {
        let plan = Choices(choices.iter(), WILD).plan();
        let (report, _) = plan.run(&Schedule::sequential(64));
        let expected = told_of_failures(&report);
        for schedule in schedules().iter().skip(first).step_by(4) {
            check(&plan, schedule);
            let (report, _) = plan.run(schedule);
            assert_eq!(told_of_failures(&report), expected, "{schedule:?}\n{plan:#?}\n{report}");
        }
    }
}

/// What is drawn must be worth drawing: every class, failures, growth, uncut histories.
#[test]
fn random_networks_are_of_all_kinds() {
    let mut state = 1_u64;
    let mut classes = BTreeMap::new();
    let (mut messages, mut whole, mut grown, mut created) = (0, 0, 0, 0);
    for _ in 0..500 {
        let choices: Vec<u8> = (0..400)
            .map(|_| {
                state = mix(state, 1);
                state.to_le_bytes()[0]
            })
            .collect();
        let plan = Choices(choices.iter(), CALM).plan();
        let meaning = interpret(&plan.programs, &plan.initial);
        *classes.entry(format!("{:?}", meaning.class)).or_insert(0) += 1;
        messages += meaning.histories.iter().map(|(history, _)| history.len()).sum::<usize>();
        let is_whole = |(history, is_cut): &&(Vec<u64>, bool)| !is_cut && !history.is_empty();
        whole += meaning.histories.iter().filter(is_whole).count();
        let (report, _) = plan.run(&Schedule::sequential(1));
        grown += usize::from(report.channels.iter().any(|channel| channel.growths > 0));
        created += usize::from(report.created.0 > plan.programs.len() as u64);
    }
    assert!(classes.len() == 3 && classes.values().all(|&count| count > 50), "{classes:?}");
    assert!(messages > 2000 && whole > 200 && grown > 20 && created > 50);
}

/// One that was created, and whose reader waits for itself for ever, waits for that: it may be pruned before, where it
/// has its sender yet, so nothing is left that counts.
#[test]
fn what_was_created_and_may_be_pruned_does_not_wait_for_ever_in_a_network_with_a_loop() {
    let created = Program {
        senders: vec![2],
        receivers: vec![1],
        steps: vec![Step::DropSender(2), Step::Recv(1)],
        rounds: 2,
    };
    let plan = Plan {
        initial: vec![vec![0; 4], vec![], vec![0; 4]],
        programs: vec![
            Program {
                senders: vec![0, 1],
                receivers: vec![0, 2],
                steps: vec![Step::Recv(0), Step::Send(1, 0), Step::Recv(0)],
                rounds: 3,
            },
            Program {
                senders: vec![2],
                receivers: vec![1],
                steps: vec![Step::Recv(1), Step::Create(Box::new(created))],
                rounds: 1,
            },
        ],
        threads: vec![false, false],
    };
    for schedule in schedules() {
        (0..20).for_each(|_| check(&plan, &schedule));
    }
}

/// The reader of one that was created waits for that, and reads itself as well; then a process between reads it, which
/// makes no difference. It was there at the start, so it may be pruned, and so may the other.
#[test]
fn what_was_created_and_its_reader_that_reads_itself_do_not_wait_for_ever() {
    let program = |senders: &[usize], receivers: &[usize], steps: &[Step], rounds| Program {
        senders: senders.to_vec(),
        receivers: receivers.to_vec(),
        steps: steps.to_vec(),
        rounds,
    };
    let created = program(&[0], &[1], &[Step::Recv(1), Step::Fail], 1);
    let create = [Step::Recv(3), Step::Create(Box::new(created))];
    for is_between in [false, true] {
        let back = if is_between { 6 } else { 4 };
        let mut programs = vec![
            program(&[0], &[1, 3], &create, 1),
            // Waits for itself.
            program(&[1, 2, 3], &[2, 5], &[Step::Recv(2)], 1),
            program(&[4, 5], &[0, back], &[Step::Recv(0)], 4),
        ];
        if is_between {
            programs.push(program(&[6], &[4], &[Step::Recv(4), Step::Send(6, 0)], 4));
        }
        let mut initial = vec![vec![]; if is_between { 7 } else { 6 }];
        (initial[0], initial[3]) = (vec![0; 3], vec![0]);
        let threads = vec![false; programs.len()];
        let plan = Plan { initial, programs, threads };
        let meaning = interpret(&plan.programs, &plan.initial);
        assert_eq!(meaning.class, Class::Finished, "{is_between}");
        for schedule in schedules() {
            (0..20).for_each(|_| check(&plan, &schedule));
        }
    }
}
