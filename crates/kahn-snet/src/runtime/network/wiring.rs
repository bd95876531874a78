//! Which process reads from which; backwards, from where records go to where they come from.
//!
//! Wiring an operation gives the [`Outlet`] by which one reaches it. So what keeps nothing and
//! changes nothing needs no process: it is the outlet of what follows. The same code wires the
//! program before it runs, and replicas while it runs, through a [`Spawner`].

use std::pin::Pin;
use std::sync::Arc;

use kahn::{Channel, Network, Port, Ports, Receiver, Sender, Spawner};

use super::branching::{self, Turn};
use super::component;
use super::meeting::{Entry, Level, meeting};
use super::{Initialising, World};
use crate::runtime::steps::failure::Failure;
use crate::runtime::steps::graph::{Graph, Kind, OpId, ScopeId};
use crate::runtime::steps::shape::Rec;
use crate::runtime::steps::tickets::Tickets;
use crate::runtime::steps::within::Within;

/// The capacity of a stream. Replicas may be many, so it is small.
const CAPACITY: u32 = 16;

/// What travels on a stream.
#[derive(Debug)]
pub(super) enum Message {
    Record(Carried),
    /// All that one record caused is out.
    Mark,
}

/// A record, and the feedback it is in.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) rec: Rec,
    pub(super) loops: Option<Arc<InBody>>,
}

impl Carried {
    /// The mark of a record that failed.
    pub(super) fn mark(
        world: &World<'_>,
        number: u32,
        loops: Option<Arc<InBody>>,
        failure: Failure,
    ) -> Self {
        Self { rec: world.failures.mark(number, Tickets::default(), failure), loops }
    }

    pub(super) fn copy(&self) -> Self {
        Self { rec: self.rec.clone(), loops: self.loops.clone() }
    }
}

/// Held by all records inside a feedback: the feedback ends when no record holds it any more, for
/// then its meeting has no entry.
#[derive(Debug)]
pub(super) struct InBody {
    pub(super) entry: Entry<Message>,
    pub(super) outer: Option<Arc<InBody>>,
}

#[derive(Debug)]
enum To {
    Stream(Sender<Message>),
    Meeting(Entry<Message>),
}

/// Where a process puts its records.
#[derive(Debug)]
pub(super) struct Outlet {
    to: To,
    /// The observers of what passes.
    observers: Vec<OpId>,
    /// The first meetings that records come to from here, before any other box.
    levels: Vec<Level<Message>>,
}

impl Ports for Outlet {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        if let To::Stream(sender) = &self.to {
            sender.visit(see);
        }
    }
}

impl Outlet {
    pub(super) fn stream(sender: Sender<Message>) -> Self {
        Self { to: To::Stream(sender), observers: Vec::new(), levels: Vec::new() }
    }

    pub(super) fn meeting(entry: Entry<Message>) -> Self {
        let levels = vec![entry.level()];
        Self { to: To::Meeting(entry), observers: Vec::new(), levels }
    }

    /// The same, to a process that has more put into these meetings.
    fn before(self, levels: Vec<Level<Message>>) -> Self {
        Self { levels, ..self }
    }

    /// Another outlet to the same meeting; none to a stream, which has one sender.
    pub(super) fn again(&self) -> Option<Self> {
        let To::Meeting(entry) = &self.to else { return None };
        let (to, levels) = (To::Meeting(entry.clone()), self.levels.clone());
        Some(Self { to, observers: self.observers.clone(), levels })
    }

    /// Puts a record in.
    pub(super) async fn send(&mut self, world: &World<'_>, carried: Carried) {
        let carried = self.seen(world, carried);
        self.put(Message::Record(carried)).await;
    }

    /// Shows a record to the observers; if one cannot write, the record has failed.
    fn seen(&self, world: &World<'_>, carried: Carried) -> Carried {
        if carried.rec.is_mark() {
            return carried;
        }
        for op in &self.observers {
            if let Err(failure) = world.observers.see(world.facts, *op, &carried.rec) {
                return Carried::mark(world, carried.rec.number, carried.loops, failure);
            }
        }
        carried
    }

    /// Passes on what others have seen already.
    pub(super) async fn pass(&mut self, item: Message) {
        self.put(item).await;
    }

    /// Puts a mark in.
    pub(super) async fn mark(&mut self) {
        self.put(Message::Mark).await;
    }

    async fn put(&mut self, item: Message) {
        match &mut self.to {
            To::Stream(sender) => sender.send(item).await,
            To::Meeting(entry) => entry.put(item),
        }
    }

    /// Puts a record in, from a process that may block; waits until there is room for it.
    pub(super) fn send_blocking(&mut self, world: &World<'_>, carried: Carried) {
        let carried = self.seen(world, carried);
        self.levels.iter().for_each(Level::wait);
        self.put_blocking(Message::Record(carried));
    }

    /// Puts a mark in, from a process that may block.
    pub(super) fn mark_blocking(&mut self) {
        self.put_blocking(Message::Mark);
    }

    fn put_blocking(&mut self, item: Message) {
        match &mut self.to {
            To::Stream(sender) => sender.send_blocking(item),
            To::Meeting(entry) => entry.put(item),
        }
    }
}

/// What makes processes: the network before it runs, or a process of it.
pub(super) enum Maker<'m, 'a> {
    Network(&'m mut Network<'a>),
    Spawner(&'m mut Spawner<'a>),
}

/// What a process does until it ends; boxed, for processes make their like.
pub(super) type Doing<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl<'a> Maker<'_, 'a> {
    pub(super) fn stream<T: Send + 'a>(&mut self, name: &str) -> (Sender<T>, Receiver<T>) {
        let channel = Channel::named(name.to_owned()).capacity(CAPACITY);
        match self {
            Self::Network(network) => network.channel_with(channel),
            Self::Spawner(creator) => creator.channel_with(channel),
        }
    }

    pub(super) fn spawner(&self) -> Spawner<'a> {
        match self {
            Self::Network(network) => network.spawner(),
            Self::Spawner(creator) => (**creator).clone(),
        }
    }

    pub(super) fn blocking<P: Ports + 'a>(
        &mut self,
        name: &str,
        ports: P,
        code: impl FnOnce(P) + Send + 'a,
    ) {
        match self {
            Self::Network(network) => network.blocking(name.to_owned(), ports, code),
            Self::Spawner(creator) => creator.blocking(name.to_owned(), ports, code),
        }
    }

    pub(super) fn process<P: Ports + 'a>(
        &mut self,
        name: &str,
        ports: P,
        code: impl FnOnce(P) -> Doing<'a> + Send + 'a,
    ) {
        let body = async move |ports: P| code(ports).await;
        match self {
            Self::Network(network) => network.process(name.to_owned(), ports, body),
            Self::Spawner(creator) => creator.process(name.to_owned(), ports, body),
        }
    }
}

/// What is known where something is wired.
#[derive(Clone)]
pub(super) struct Wiring<'a> {
    pub(super) world: &'a World<'a>,
    /// Whether there is a doubled combinator around, so that marks come.
    pub(super) ordered: bool,
    /// The feedback around, for records that begin here.
    pub(super) loops: Option<Arc<InBody>>,
    /// The replicas of splits and stars around.
    pub(super) within: Option<Arc<Within>>,
    /// The number of the record that it is wired for.
    pub(super) number: u32,
    /// How many replicas of its star come before a process that is one of a star.
    pub(super) stage: i64,
}

impl<'a> Wiring<'a> {
    /// The same for a process that stays, which must not keep a feedback from ending.
    fn of_a_process(&self) -> Self {
        Self { loops: None, ..self.clone() }
    }

    /// The same for what is made because of a record.
    pub(super) fn for_record(&self, carried: &Carried) -> Self {
        Self { loops: carried.loops.clone(), number: carried.rec.number, ..self.clone() }
    }

    /// The same in a replica of a split that a record is for.
    pub(super) fn in_replica(&self, scope: ScopeId, value: i64, carried: &Carried) -> Self {
        let within = Within { scope, value, outer: self.within.clone() };
        Self { within: Some(Arc::new(within)), ..self.for_record(carried) }
    }

    /// The name of the process for an operation, and of the stream that it reads: unlike that of any other
    /// operation.
    fn name(&self, op: OpId) -> String {
        let name = self.world.names.of(op);
        if !self.world.is_seen {
            return name.to_owned();
        }
        format!("{name}{}", self.world.facts.place(self.within.as_ref(), self.stage))
    }

    fn graph(&self) -> &'a Graph {
        self.world.facts.graph
    }

    /// Wires the whole program.
    pub(super) fn program(&self, maker: &mut Maker<'_, 'a>, outlet: Outlet) -> Outlet {
        self.scope(maker, ScopeId(0), outlet)
    }

    /// Wires an instance of a scope.
    pub(super) fn scope(&self, maker: &mut Maker<'_, 'a>, scope: ScopeId, to: Outlet) -> Outlet {
        match self.graph().scopes[scope.0].entry {
            Some(entry) => self.chain(maker, entry, None, to),
            None => to,
        }
    }

    /// Wires operations that follow each other, up to `end` or the end of the scope.
    fn chain(
        &self,
        maker: &mut Maker<'_, 'a>,
        from: OpId,
        end: Option<OpId>,
        mut outlet: Outlet,
    ) -> Outlet {
        let all: Vec<OpId> = chain(self.graph(), from, end).collect();
        for (index, op) in all.iter().enumerate().rev() {
            let before = index.checked_sub(1).map(|before| &self.graph().ops[all[before].0].kind);
            let doubled = matches!(before, Some(Kind::Enter));
            let here = Self { ordered: self.ordered || doubled, ..self.clone() };
            outlet = here.operation(maker, *op, outlet);
        }
        outlet
    }

    fn operation(&self, maker: &mut Maker<'_, 'a>, op: OpId, mut outlet: Outlet) -> Outlet {
        let world = self.world;
        let here = &self.graph().ops[op.0];
        match &here.kind {
            Kind::End | Kind::Enter | Kind::Leave(_) => outlet,
            Kind::Observe { .. } | Kind::Entrance(_) => {
                outlet.observers.insert(0, op);
                outlet
            }
            Kind::Filter { .. } => self.one(maker, op, outlet, move |input, output| {
                Box::pin(component::filter(world, op, input, output))
            }),
            Kind::Cell(tests) => {
                let (patterns, within) = (tests.len(), self.within.clone());
                self.one(maker, op, outlet, move |input, output| {
                    Box::pin(component::cell(world, op, within, patterns, input, output))
                })
            }
            Kind::Star { zipper: Some(tests), body, .. } => {
                let (patterns, body, within) = (tests.len(), *body, self.within.clone());
                let place = move |value| Within { scope: body, value, outer: within.clone() };
                self.one(maker, op, outlet, move |input, output| {
                    Box::pin(component::zipper(world, op, place, patterns, input, output))
                })
            }
            Kind::Box(id) => {
                let id = *id;
                self.threaded(maker, op, outlet, move |input, output| {
                    component::boxed(world, op, id, input, output);
                })
            }
            Kind::Initialiser(id) => {
                let (id, number, loops) = (*id, self.number, self.loops.clone());
                let at_start = matches!(maker, Maker::Network(_));
                let waiting = at_start.then(|| Initialising::new(world));
                self.threaded(maker, op, outlet, move |input, output| {
                    let begin = component::Begin { id, number, loops, waiting };
                    component::initialiser(world, op, begin, input, output);
                })
            }
            Kind::Choice(branches) => {
                let wire = |maker: &mut Maker<'_, 'a>, index: usize, to| {
                    self.chain(maker, branches[index].entry, here.next, to)
                };
                let (sender, input) = maker.stream(&self.name(op));
                let mut outlets: Vec<Outlet> = Vec::new();
                let levels;
                if self.ordered {
                    let (turns, collector) = self.collector(maker, op, outlet);
                    let mut lanes = Vec::new();
                    for index in 0..branches.len() {
                        let (entry, exit) = meeting();
                        outlets.push(wire(maker, index, Outlet::meeting(entry)));
                        lanes.push(exit);
                    }
                    let starts = branches.iter();
                    let starts = starts.map(|branch| self.starts(branch.entry, here.next));
                    let starts: Vec<bool> = starts.collect();
                    collector.make(maker, world, lanes);
                    levels = met_behind(&outlets);
                    let ports = (input, turns, outlets);
                    maker.process(&self.name(op), ports, move |(input, turns, outlets)| {
                        let choice = branching::ordered_choice;
                        Box::pin(choice(world, op, input, turns, outlets, starts))
                    });
                } else {
                    let shared = self.met(maker, op, outlet);
                    for index in 0..branches.len() {
                        let to = shared.again().expect("made to be a meeting");
                        outlets.push(wire(maker, index, to));
                    }
                    levels = met_behind(&outlets);
                    maker.process(&self.name(op), (input, outlets), move |(input, outlets)| {
                        Box::pin(branching::choice(world, op, input, outlets))
                    });
                }
                Outlet::stream(sender).before(levels)
            }
            Kind::Star { .. } => self.star(maker, op, outlet),
            Kind::Split { body, .. } => {
                let (body, wiring) = (*body, self.of_a_process());
                let (sender, input) = maker.stream(&self.name(op));
                let mut levels = Vec::new();
                let creator = maker.spawner();
                if self.ordered {
                    let (turns, collector) = self.collector(maker, op, outlet);
                    collector.make(maker, world, Vec::new());
                    let ports = (input, turns, creator);
                    maker.process(&self.name(op), ports, move |(input, turns, creator)| {
                        let split = branching::ordered_split;
                        Box::pin(split(wiring, op, body, input, turns, creator))
                    });
                } else {
                    let shared = self.met(maker, op, outlet);
                    levels.clone_from(&shared.levels);
                    let ports = (input, shared, creator);
                    maker.process(&self.name(op), ports, move |(input, shared, creator)| {
                        Box::pin(branching::split(wiring, op, body, input, shared, creator))
                    });
                }
                Outlet::stream(sender).before(levels)
            }
            Kind::Feedback { body, .. } => self.feedback(maker, op, *body, outlet),
        }
    }

    /// Makes a process with one stream in and one out.
    fn one(
        &self,
        maker: &mut Maker<'_, 'a>,
        op: OpId,
        outlet: Outlet,
        code: impl FnOnce(Receiver<Message>, Outlet) -> Doing<'a> + Send + 'a,
    ) -> Outlet {
        let (name, levels) = (self.name(op), outlet.levels.clone());
        let (sender, input) = maker.stream(&name);
        maker.process(&name, (input, outlet), move |(input, output)| code(input, output));
        Outlet::stream(sender).before(levels)
    }

    /// Makes a process with one stream in and one out, on a thread of its own.
    fn threaded(
        &self,
        maker: &mut Maker<'_, 'a>,
        op: OpId,
        outlet: Outlet,
        code: impl FnOnce(Receiver<Message>, Outlet) + Send + 'a,
    ) -> Outlet {
        let name = self.name(op);
        let (sender, input) = maker.stream(&name);
        maker.blocking(&name, (input, outlet), move |(input, output)| code(input, output));
        Outlet::stream(sender)
    }

    /// Makes an outlet that any number may share.
    fn met(&self, maker: &mut Maker<'_, 'a>, op: OpId, outlet: Outlet) -> Outlet {
        if matches!(outlet.to, To::Meeting(_)) {
            return outlet;
        }
        let (entry, exit) = meeting();
        let name = format!("merge of {}", self.name(op));
        maker.process(&name, outlet, move |outlet| Box::pin(branching::merge(exit, outlet)));
        Outlet::meeting(entry)
    }

    /// Prepares the collector behind an ordered combinator.
    fn collector(
        &self,
        maker: &mut Maker<'_, 'a>,
        op: OpId,
        outlet: Outlet,
    ) -> (Sender<Turn>, Collector) {
        let name = format!("collector of {}", self.name(op));
        let (sender, turns) = maker.stream(&name);
        (sender, Collector { name, turns, outlet })
    }

    /// Makes the process that stands before a replica of a star.
    pub(super) fn star(&self, maker: &mut Maker<'_, 'a>, op: OpId, outlet: Outlet) -> Outlet {
        let (world, name) = (self.world, &self.name(op));
        let (sender, input) = maker.stream(name);
        let creator = maker.spawner();
        let wiring = self.of_a_process();
        let mut levels = Vec::new();
        if self.ordered {
            let (turns, collector) = self.collector(maker, op, outlet);
            collector.make(maker, world, Vec::new());
            let ports = (input, turns, creator);
            maker.process(name, ports, move |(input, turns, creator)| {
                Box::pin(branching::ordered_star(wiring, op, input, turns, creator))
            });
        } else {
            let shared = self.met(maker, op, outlet);
            levels.clone_from(&shared.levels);
            let ports = (input, shared, creator);
            maker.process(name, ports, move |(input, shared, creator)| {
                Box::pin(branching::star(wiring, op, input, shared, creator))
            });
        }
        Outlet::stream(sender).before(levels)
    }

    /// Makes the next replica of a star, with the process before the one after it.
    pub(super) fn replica(
        &self,
        maker: &mut Maker<'_, 'a>,
        star: OpId,
        body: ScopeId,
        outlet: Outlet,
    ) -> Outlet {
        let stage = self.stage + 1;
        let further = Self { stage, ..self.clone() }.star(maker, star, outlet);
        let within = Within { scope: body, value: stage, outer: self.within.clone() };
        let inside = Self { stage: 0, within: Some(Arc::new(within)), ..self.clone() };
        inside.scope(maker, body, further)
    }

    fn feedback(
        &self,
        maker: &mut Maker<'_, 'a>,
        op: OpId,
        body: ScopeId,
        outlet: Outlet,
    ) -> Outlet {
        let (world, name) = (self.world, &self.name(op));
        let (sender, input) = maker.stream(name);
        let (out, from_body) = maker.stream(&format!("body of {name}"));
        if self.ordered {
            let levels = outlet.levels.clone();
            let to_body = self.scope(maker, body, Outlet::stream(out).before(levels.clone()));
            let starts = !self.graph().scopes[body.0].initialisers.is_empty();
            let ports = (input, outlet, to_body, from_body);
            maker.process(name, ports, move |(input, outlet, to_body, from_body)| {
                let feedback = branching::ordered_feedback;
                Box::pin(feedback(world, op, input, outlet, to_body, from_body, starts))
            });
            return Outlet::stream(sender).before(levels);
        }
        let (entry, exit) = meeting();
        // Those that stay hold nothing of the feedback around, which ends first.
        let beginning = InBody { entry: entry.clone(), outer: self.loops.clone() };
        let within = Self { loops: Some(Arc::new(beginning)), ..self.clone() };
        let levels = vec![entry.level()];
        let inside = Arc::new(InBody { entry, outer: None });
        let to_body = Outlet::stream(out).before(outlet.levels.clone());
        let to_body = within.scope(maker, body, to_body);
        drop(within);
        maker.process(&format!("entrance of {name}"), to_body, move |to_body| {
            Box::pin(branching::merge(exit, to_body))
        });
        maker.process(name, (from_body, outlet), move |(from_body, outlet)| {
            Box::pin(branching::test_of_feedback(world, op, from_body, outlet))
        });
        maker.process(&format!("input of {name}"), input, move |input| {
            Box::pin(branching::into_feedback(input, inside))
        });
        Outlet::stream(sender).before(levels)
    }

    /// Whether records begin by themselves between two operations.
    fn starts(&self, from: OpId, end: Option<OpId>) -> bool {
        let graph = self.graph();
        let mut all = chain(graph, from, end);
        all.any(|op| match &graph.ops[op.0].kind {
            Kind::Initialiser(_) => true,
            Kind::Choice(branches) => {
                branches.iter().any(|branch| self.starts(branch.entry, graph.ops[op.0].next))
            }
            Kind::Feedback { body, .. } => !graph.scopes[body.0].initialisers.is_empty(),
            _ => false,
        })
    }
}

/// The first meetings behind any of these.
fn met_behind(outlets: &[Outlet]) -> Vec<Level<Message>> {
    outlets.iter().flat_map(|outlet| outlet.levels.iter().cloned()).collect()
}

/// A collector to be made.
struct Collector {
    name: String,
    turns: Receiver<Turn>,
    outlet: Outlet,
}

impl Collector {
    fn make<'a>(
        self,
        maker: &mut Maker<'_, 'a>,
        world: &'a World<'a>,
        lanes: Vec<super::meeting::Exit<Message>>,
    ) {
        let ports = (self.turns, self.outlet);
        maker.process(&self.name, ports, move |(turns, outlet)| {
            Box::pin(branching::collector(world, turns, lanes, outlet))
        });
    }
}

/// The operations that follow each other, up to `end` or the end of the scope.
fn chain(graph: &Graph, from: OpId, end: Option<OpId>) -> impl Iterator<Item = OpId> {
    let goes_on = move |op: &OpId| Some(*op) != end && !matches!(graph.ops[op.0].kind, Kind::End);
    let next = move |op: &OpId| graph.ops[op.0].next.filter(goes_on);
    std::iter::successors(Some(from).filter(goes_on), next)
}
