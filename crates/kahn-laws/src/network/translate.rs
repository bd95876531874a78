//! A program as a network of the runtime, and what came of one run of it.

use super::machine::{Action, Held, Machine, PLACES};
use super::party::party;
use super::program::{Channel, End, How, Place, Port, Process, Program};
use kahn::observe::Script;
use kahn::{BoxError, Network, Options, OutsidePorts, Ports, Report, RunError, Spawner, testing};
use kahn::{Receiver, Sender};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Waker};
use std::time::Duration;

/// A message that owns memory.
pub(super) type Parcel = (u64, Vec<u8>);

pub(super) fn parcel(value: u64, bytes: usize) -> Parcel {
    (value, vec![7; bytes])
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as channels call it")]
fn write_number(number: &u64, into: &mut Vec<u8>) {
    into.extend(number.to_le_bytes());
}

fn read_number(bytes: &[u8]) -> Result<u64, BoxError> {
    Ok(u64::from_le_bytes(bytes.try_into()?))
}

fn write_parcel((number, bytes): &Parcel, into: &mut Vec<u8>) {
    write_number(number, into);
    into.extend_from_slice(bytes);
}

fn read_parcel(bytes: &[u8]) -> Result<Parcel, BoxError> {
    let (number, bytes) = bytes.split_first_chunk().ok_or("it is too short")?;
    Ok((u64::from_le_bytes(*number), bytes.to_vec()))
}

/// What was received and done in one run.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// By channel, in order of receiving.
    pub(crate) received: BTreeMap<String, Vec<u64>>,
    /// By process.
    pub(crate) effects: BTreeMap<String, Vec<u64>>,
}

/// A run: what it recorded, and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) record: Record,
    /// What the run returned, or the text of its panic.
    pub(crate) report: Result<Result<Report, RunError>, String>,
}

/// What a run is cut short by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Nothing,
    /// A stop once so many messages have passed.
    Stop(u64),
}

pub(super) type Log = Mutex<Record>;

pub(super) enum Out {
    Number(Sender<u64>),
    Parcel(Sender<Parcel>, usize),
}

pub(super) enum In {
    Number(Receiver<u64>),
    Parcel(Receiver<Parcel>),
}

/// A receiver that writes down what it gets.
pub(super) struct Tapped<'e> {
    pub(super) receiver: In,
    pub(super) name: String,
    log: &'e Log,
}

impl Tapped<'_> {
    fn write(&self, messages: &[u64]) {
        write_down(self.log, &self.name, messages);
    }
}

pub(super) fn write_down(log: &Log, name: &str, messages: &[u64]) {
    let mut log = log.lock();
    match log.received.get_mut(name) {
        Some(all) => all.extend(messages),
        None => drop(log.received.insert(name.to_owned(), messages.to_vec())),
    }
}

#[derive(Default)]
pub(super) enum Kept<'e> {
    #[default]
    Nothing,
    Sender(Out),
    Receiver(Tapped<'e>),
}

impl Kept<'_> {
    fn held(&self) -> Held {
        match self {
            Self::Nothing => Held::Nothing,
            Self::Sender(_) => Held::Sender,
            Self::Receiver(_) => Held::Receiver,
        }
    }
}

/// The ends of a process, and what it creates with.
struct Bundle<'e> {
    places: Vec<Kept<'e>>,
    spawner: Option<Spawner<'e>>,
    guard: Option<Place>,
    blocks: bool,
}

impl Ports for Kept<'_> {
    fn visit(&self, see: &mut dyn FnMut(kahn::Port)) {
        match self {
            Self::Nothing => {}
            Self::Sender(Out::Number(sender)) => sender.visit(see),
            Self::Sender(Out::Parcel(sender, _)) => sender.visit(see),
            Self::Receiver(Tapped { receiver: In::Number(receiver), .. }) => receiver.visit(see),
            Self::Receiver(Tapped { receiver: In::Parcel(receiver), .. }) => receiver.visit(see),
        }
    }
}

impl Ports for Bundle<'_> {
    fn visit(&self, see: &mut dyn FnMut(kahn::Port)) {
        self.places.visit(see);
        self.spawner.visit(see);
    }
}

impl Drop for Bundle<'_> {
    /// The destructor that sends, of a process that is being ended.
    fn drop(&mut self) {
        let Some(place) = self.guard else { return };
        let Some(Kept::Sender(out)) = self.places.get_mut(place) else { return };
        if self.blocks {
            match out {
                Out::Number(sender) => sender.send_blocking(666),
                Out::Parcel(sender, _) => sender.send_blocking(parcel(666, 1)),
            }
            return;
        }
        let mut context = Context::from_waker(Waker::noop());
        let _ = match out {
            Out::Number(sender) => pin!(sender.send(666)).poll(&mut context),
            Out::Parcel(sender, _) => pin!(sender.send(parcel(666, 1))).poll(&mut context),
        };
    }
}

/// What a process fails with.
#[derive(Debug)]
struct Fails(String);

impl fmt::Display for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} fails as written", self.0)
    }
}

impl std::error::Error for Fails {}

/// What panics on purpose begin with: they need not be told on standard error.
const ON_PURPOSE: &str = "panics as written: ";

/// Keeps panics that are part of a program from standard error.
pub(super) fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let on_purpose = info
                .payload()
                .downcast_ref::<String>()
                .is_some_and(|text| text.starts_with(ON_PURPOSE));
            if !on_purpose {
                crate::campaign::say_case();
                before(info);
            }
        }));
    });
}

/// A process that runs: what it is, and what it has created so far.
struct Actor<'e> {
    name: String,
    machine: Machine<'e>,
    bundle: Bundle<'e>,
    log: &'e Log,
    channels: usize,
    children: usize,
}

/// A channel, by the network or the process that makes it.
macro_rules! make_channel {
    ($maker:expr, $channel:expr, $name:expr, $log:expr) => {{
        let (channel, name): (&Channel, String) = ($channel, $name);
        let capacity = channel.capacity.map_or(kahn::Network::DEFAULT_CAPACITY, |messages| {
            u32::try_from(messages).unwrap_or(kahn::Network::DEFAULT_CAPACITY)
        });
        let (out, receiver) = match channel.weight {
            None => {
                let mut new = kahn::Channel::named(name.clone()).capacity(capacity);
                new = new.initial(1..=channel.initial);
                let new = if channel.digest { new.digest() } else { new };
                let new = if channel.wire { new.wire_with(write_number, read_number) } else { new };
                let (sender, receiver) = $maker.channel_with(new);
                (Out::Number(sender), In::Number(receiver))
            }
            Some(bytes) => {
                let mut new = kahn::Channel::named(name.clone()).capacity(capacity);
                new = new.initial((1..=channel.initial).map(|value| parcel(value, bytes)));
                let new = if channel.digest { new.digest() } else { new };
                let new = if channel.wire { new.wire_with(write_parcel, read_parcel) } else { new };
                let (sender, receiver) = $maker.channel_with(new);
                (Out::Parcel(sender, bytes), In::Parcel(receiver))
            }
        };
        (out, Tapped { receiver, name, log: $log })
    }};
}

/// How a step of a process went on.
enum Step<'e> {
    Done,
    Operation(Action<'e>),
    End(End),
}

impl<'e> Actor<'e> {
    fn new(
        name: String,
        process: &'e Process,
        state: u64,
        mut bundle: Bundle<'e>,
        log: &'e Log,
    ) -> Self {
        let held: Vec<Held> = bundle.places.iter().map(Kept::held).collect();
        bundle.places.resize_with(PLACES, Kept::default);
        let machine = Machine::new(process, state, &held);
        Self { name, machine, bundle, log, channels: 0, children: 0 }
    }

    /// Does what is no operation on a channel.
    fn step(&mut self) -> Step<'e> {
        match self.machine.next() {
            Action::Drop(place) => drop(std::mem::take(&mut self.bundle.places[place])),
            Action::Move { from, to } => {
                let end = std::mem::take(&mut self.bundle.places[from]);
                drop(std::mem::replace(&mut self.bundle.places[to], end));
            }
            Action::Effect(value) => {
                let mut log = self.log.lock();
                log.effects.entry(self.name.clone()).or_default().push(value);
            }
            Action::Channel { channel, sender, receiver } => {
                let name = format!("{}.c{}", self.name, self.channels);
                self.channels += 1;
                let Some(spawner) = &mut self.bundle.spawner else { return Step::Done };
                let (out, tapped) = make_channel!(spawner, channel, name, self.log);
                self.bundle.places[sender] = Kept::Sender(out);
                self.bundle.places[receiver] = Kept::Receiver(tapped);
            }
            Action::Create { child, gives, state } => {
                let name = format!("{}.{}", self.name, self.children);
                self.children += 1;
                let mut places = Vec::new();
                for &place in gives {
                    self.machine.give(place);
                    places.push(std::mem::take(&mut self.bundle.places[place]));
                }
                let Some(spawner) = &mut self.bundle.spawner else { return Step::Done };
                let again = child.creates.then(|| spawner.clone());
                let bundle = bundle(child, places, again);
                start(spawner, name, child, state, bundle, self.log);
            }
            Action::End(end) => {
                // A body that returns or panics has no such local any more.
                self.bundle.guard = None;
                return Step::End(end);
            }
            operation => return Step::Operation(operation),
        }
        Step::Done
    }

    fn end(&self, end: End) -> Result<(), Fails> {
        match end {
            End::Leave => Ok(()),
            End::Fail => Err(Fails(self.name.clone())),
            End::Panic => std::panic::panic_any(format!("{ON_PURPOSE}{}", self.name)),
        }
    }

    fn many(&mut self, from: Place, asked: u64, messages: &[u64]) {
        if let Kept::Receiver(tapped) = &self.bundle.places[from] {
            tapped.write(messages);
        }
        self.machine.received_many(messages, asked);
    }

    fn one(&mut self, from: Place, message: Option<u64>) {
        if let (Kept::Receiver(tapped), Some(value)) = (&self.bundle.places[from], message) {
            tapped.write(&[value]);
        }
        self.machine.received(message);
    }

    /// The body of an async process.
    async fn run(mut self) -> Result<(), Fails> {
        loop {
            let operation = match self.step() {
                Step::Done => continue,
                Step::End(end) => return self.end(end),
                Step::Operation(operation) => operation,
            };
            let places = &mut self.bundle.places;
            match operation {
                Action::Send { to, value } => match &mut places[to] {
                    Kept::Sender(Out::Number(sender)) => sender.send(value).await,
                    Kept::Sender(Out::Parcel(sender, bytes)) => {
                        sender.send(parcel(value, *bytes)).await;
                    }
                    _ => {}
                },
                Action::SendAll { to, first, count } => {
                    let values = (0..count).map(|more| first.wrapping_add(more));
                    match &mut places[to] {
                        Kept::Sender(Out::Number(sender)) => {
                            sender.send_all(values).await;
                        }
                        Kept::Sender(Out::Parcel(sender, bytes)) => {
                            let bytes = *bytes;
                            let mut all: Vec<_> =
                                values.map(|value| parcel(value, bytes)).collect();
                            sender.send_batch(&mut all).await;
                        }
                        _ => {}
                    }
                }
                Action::Recv { from } => {
                    let message = match &mut places[from] {
                        Kept::Receiver(Tapped { receiver: In::Number(receiver), .. }) => {
                            receiver.recv().await
                        }
                        Kept::Receiver(Tapped { receiver: In::Parcel(receiver), .. }) => {
                            receiver.recv().await.map(|(value, _)| value)
                        }
                        _ => None,
                    };
                    self.one(from, message);
                }
                Action::RecvMany { from, count } => {
                    let asked = usize::try_from(count).unwrap_or(0);
                    let values = match &mut places[from] {
                        Kept::Receiver(Tapped { receiver: In::Number(receiver), .. }) => {
                            let mut all = Vec::new();
                            receiver.recv_batch(&mut all, asked).await;
                            all
                        }
                        Kept::Receiver(Tapped { receiver: In::Parcel(receiver), .. }) => {
                            let mut all = Vec::new();
                            receiver.recv_batch(&mut all, asked).await;
                            all.into_iter().map(|(value, _)| value).collect()
                        }
                        _ => Vec::new(),
                    };
                    self.many(from, count, &values);
                }
                Action::Flush => {
                    let mut ends = places.iter_mut();
                    match ends.find(|place| place.held() != Held::Nothing) {
                        Some(Kept::Sender(Out::Number(sender))) => sender.flush().await,
                        Some(Kept::Sender(Out::Parcel(sender, _))) => sender.flush().await,
                        Some(Kept::Receiver(tapped)) => match &mut tapped.receiver {
                            In::Number(receiver) => receiver.flush().await,
                            In::Parcel(receiver) => receiver.flush().await,
                        },
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// The body of a blocking process.
    fn run_blocking(mut self) -> Result<(), Fails> {
        loop {
            let operation = match self.step() {
                Step::Done => continue,
                Step::End(end) => return self.end(end),
                Step::Operation(operation) => operation,
            };
            let places = &mut self.bundle.places;
            match operation {
                Action::Send { to, value } => send_blocking(&mut places[to], value),
                Action::SendAll { to, first, count } => {
                    for more in 0..count {
                        send_blocking(&mut places[to], first.wrapping_add(more));
                    }
                }
                Action::Recv { from } => {
                    let message = recv_blocking(&mut places[from]);
                    self.one(from, message);
                }
                Action::RecvMany { from, count } => {
                    let receive = || recv_blocking(&mut places[from]);
                    let values: Vec<u64> = std::iter::from_fn(receive)
                        .take(usize::try_from(count).unwrap_or(0))
                        .collect();
                    self.many(from, count, &values);
                }
                _ => {}
            }
        }
    }
}

fn send_blocking(place: &mut Kept<'_>, value: u64) {
    match place {
        Kept::Sender(Out::Number(sender)) => sender.send_blocking(value),
        Kept::Sender(Out::Parcel(sender, bytes)) => sender.send_blocking(parcel(value, *bytes)),
        _ => {}
    }
}

fn recv_blocking(place: &mut Kept<'_>) -> Option<u64> {
    match place {
        Kept::Receiver(Tapped { receiver: In::Number(receiver), .. }) => receiver.recv_blocking(),
        Kept::Receiver(Tapped { receiver: In::Parcel(receiver), .. }) => {
            receiver.recv_blocking().map(|(value, _)| value)
        }
        _ => None,
    }
}

fn bundle<'e>(
    process: &Process,
    places: Vec<Kept<'e>>,
    spawner: Option<Spawner<'e>>,
) -> Bundle<'e> {
    let blocks = process.how == How::Blocking;
    Bundle { places, spawner, guard: process.guard, blocks }
}

type Body<'e> = Pin<Box<dyn Future<Output = Result<(), Fails>> + Send + 'e>>;

/// Starts a child. (Boxed, for a process that creates its like is a recursive type otherwise.)
fn start<'e>(
    spawner: &mut Spawner<'e>,
    name: String,
    process: &'e Process,
    state: u64,
    bundle: Bundle<'e>,
    log: &'e Log,
) {
    let mut plan = kahn::Process::named(name.clone());
    if process.effects {
        plan = plan.effects();
    }
    if process.how() == How::Blocking {
        spawner.blocking_with(plan, bundle, move |bundle| {
            Actor::new(name, process, state, bundle, log).run_blocking()
        });
    } else {
        spawner.process_with(plan, bundle, move |bundle| -> Body<'e> {
            Box::pin(Actor::new(name, process, state, bundle, log).run())
        });
    }
}

/// After this a run hangs: the longest take some milliseconds, and the machine may be busy.
const LIMIT: Duration = Duration::from_mins(1);

/// Runs a program, by a script if there is one; a hang is stopped and told, or aborts with the program's text.
pub(crate) fn run(
    program: &Program,
    options: Options,
    cut: Cut,
    script: Option<Arc<dyn Script>>,
) -> Ran {
    quiet();
    let log = Log::default();
    let running = AssertUnwindSafe(|| {
        testing::within(LIMIT, |watchdog| {
            let mut network = Network::new();
            let has_parties = script.is_none();
            if let Some(script) = script {
                network.replay(script);
            }
            run_logged(program, network, (options, cut, has_parties), &log, watchdog)
        })
    });
    // A run that hung has been stopped; what it says is why.
    let report = catch_unwind(running).map_err(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(_) => "a panic that is no text".to_owned(),
    });
    Ran { record: log.into_inner(), report }
}

/// Writes a program down, and returns its parties outside, with their ends.
pub(super) fn build<'env>(
    program: &'env Program,
    network: &mut Network<'env>,
    log: &'env Log,
) -> Vec<(&'env Process, String, <Vec<Kept<'env>> as OutsidePorts>::Outside)> {
    let mut outs = Vec::new();
    let mut ins = Vec::new();
    for (number, channel) in program.channels.iter().enumerate() {
        let (out, tapped) = make_channel!(&mut *network, channel, format!("c{number}"), log);
        outs.push(Some(out));
        ins.push(Some(tapped));
    }
    let mut parties = Vec::new();
    for (number, process) in program.processes.iter().enumerate() {
        let name = format!("p{number}");
        let mut places = Vec::new();
        for port in &process.ports {
            let taken = match *port {
                Port::Sender(channel) => outs[channel].take().map(Kept::Sender),
                Port::Receiver(channel) => ins[channel].take().map(Kept::Receiver),
            };
            places.push(taken.unwrap_or_default());
        }
        if process.how() == How::Party {
            let ends = network.outside(name.clone(), places);
            parties.push((process, name, ends));
            continue;
        }
        let spawner = process.creates.then(|| network.spawner());
        let bundle = bundle(process, places, spawner);
        let mut plan = kahn::Process::named(name.clone());
        if process.effects {
            plan = plan.effects();
        }
        if process.how() == How::Blocking {
            network.blocking_with(plan, bundle, move |bundle| {
                Actor::new(name, process, 0, bundle, log).run_blocking()
            });
        } else {
            network.process_with(plan, bundle, move |bundle| -> Body<'_> {
                Box::pin(Actor::new(name, process, 0, bundle, log).run())
            });
        }
    }
    parties
}

fn run_logged<'env>(
    program: &'env Program,
    mut network: Network<'env>,
    (options, cut, has_parties): (Options, Cut, bool),
    log: &'env Log,
    watchdog: &testing::Watchdog,
) -> Result<Report, RunError> {
    let parties = build(program, &mut network, log);
    watchdog.watch(&network);
    let handle = network.stop_handle();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if let Cut::Stop(messages) = cut {
            let over = &over;
            scope.spawn(move || {
                while !over.load(SeqCst) && handle.messages() < messages {
                    std::thread::yield_now();
                }
                handle.stop();
            });
        }
        for (process, name, ends) in parties.into_iter().filter(|_| has_parties) {
            scope.spawn(move || {
                // How the run ended is in the report.
                let _ = party(process, &name, ends, log);
            });
        }
        let report = network.run_with(options);
        over.store(true, SeqCst);
        report
    })
}
