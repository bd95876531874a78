//! What a network's processes, channels and handles share, and how the parts are joined.

use super::body::{self, Async, Blocking, Body, BoxedStart};
use super::cut::CutNetwork;
use super::gone::Gone;
use super::hooks::Joined;
use super::left::Left;
use super::load::Measured;
use super::replay::Again;
use crate::channel::closing::{hand_over, own_both};
use crate::channel::digest::{DigestFn, DigestOf, History};
use crate::channel::events;
use crate::channel::language::Kahn;
use crate::channel::language::{Worker, mark, own};
use crate::channel::observer::tell_of_leave;
use crate::channel::process::{InNetwork, attribute};
use crate::channel::raw::{ChannelRef, End, Label, flag, told};
use crate::channel::ring::TypeOf;
use crate::channel::table::{ChannelTable, Plan};
use crate::channel::untyped::drop_types;
use crate::channel::weight::Weighing;
use crate::channel::wire::Wire;
use crate::channel::{Party, Port, PortKind, Ports, Receiver, Sender};
use crate::deadlock::{Resolver, explain};
use kahn_engine::sync::{Access, Arc, AtomicBool, AtomicU64, Mutex, Ordering::*};
use kahn_engine::task::{BodyType, Info, Plan as TaskPlan, ProcessResult};
use kahn_engine::{Kind, Scheduler, TaskRef};
use kahn_report::observe::Subject;
use kahn_report::{Ending, Explanation, Identity, Misuse, Name};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Why a run ended before all processes did.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    Deadlock(Explanation),
    Quiescent,
    OverBudget {
        channel: Name,
        explanation: Explanation,
    },
    Misuse(Misuse),
    Stopped,
    /// The system refused a thread that the run needs.
    OutOfThreads(String),
}

impl Verdict {
    /// Whether it ends a run in which processes could have gone on.
    pub(crate) fn cuts_short(&self) -> bool {
        !matches!(self, Self::Deadlock(_) | Self::Quiescent)
    }

    /// What it is, and the channel that it names.
    fn told(&self) -> (&'static str, Option<Name>) {
        match self {
            Self::Deadlock(_) => ("deadlock", None),
            Self::Quiescent => ("quiescent", None),
            Self::OverBudget { channel, .. } => ("over budget", Some(channel.clone())),
            Self::Misuse(_) => ("misuse", None),
            Self::Stopped => ("stopped", None),
            Self::OutOfThreads(_) => ("out of threads", None),
        }
    }
}

/// Everything of one network that outlives the `Network` value's moves.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) channels: Arc<ChannelTable>,
    pub(crate) resolver: OnceLock<Resolver>,
    pub(crate) verdict: Mutex<Option<Verdict>>,
    /// The processes that were left when nothing could go on any more.
    pub(super) left: OnceLock<Left>,
    pub(crate) parties: Mutex<Vec<Arc<Party>>>,
    pub(crate) quiescence: AtomicBool,
    /// Processes that bring messages in an order from outside.
    pub(crate) from_outside: Mutex<Vec<Name>>,
    /// For policies that decide where processes belong.
    pub(crate) measured: Mutex<Measured>,
    /// Opens when every process of the run has ended.
    pub(crate) gone: Gone,
    /// Processes created before the run.
    fixed: AtomicU64,
    /// What processes do that are joined to the outside, if they do it again.
    pub(super) script: OnceLock<Again>,
    /// What this rank has of the network, if it runs on several.
    pub(super) cut: OnceLock<Arc<CutNetwork>>,
    /// The ranks that processes are said to be for.
    pub(super) placed: Mutex<BTreeMap<Identity, usize>>,
}

/// What a channel is to be.
pub(crate) struct ChannelPlan<T> {
    pub(crate) name: Name,
    pub(crate) capacity: u32,
    pub(crate) initial: Vec<T>,
    pub(crate) digest: Option<DigestFn>,
    /// How its messages are weighed, if that is said.
    pub(crate) weighing: Option<Weighing>,
    /// The written form of its messages.
    pub(crate) wire: Option<Wire>,
    /// It joins the parts of one process.
    pub(crate) is_inner: bool,
}

/// What a process is to be.
pub(crate) struct ProcessPlan {
    pub(crate) name: Name,
    pub(crate) effects: bool,
    /// Whether its effects are outside of the program: see [`attribute::JOINED`].
    pub(crate) is_joined: bool,
    pub(crate) pinned: Option<u32>,
    pub(crate) rank: Option<usize>,
    pub(crate) role: Role,
    /// Further [attributes](attribute).
    pub(crate) attributes: u8,
}

/// What a task is to the processes that users see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// One of them.
    Process,
    /// The first part of one, which has its identity.
    First(Identity),
    /// A further part of the process of this identity.
    Part(Identity),
    /// It works for the process of this identity, and has no ends.
    Helper(Identity),
}

impl Role {
    fn attributes(self) -> u8 {
        match self {
            Self::Process | Self::First(_) => 0,
            Self::Part(_) => attribute::PART,
            Self::Helper(_) => attribute::HELPER,
        }
    }

    /// The identity of the part of a process.
    pub(super) fn of_part(whole: Identity) -> Identity {
        whole.child(0)
    }
}

/// The process that creates something while the network runs.
pub(crate) type By<'a> = Option<(TaskRef, &'a Worker)>;

impl Core {
    pub(crate) fn new() -> Arc<Self> {
        let core = Arc::new(Self {
            scheduler: Scheduler::new::<Kahn>(),
            channels: Arc::new(ChannelTable::new()),
            resolver: OnceLock::new(),
            verdict: Mutex::new(None),
            left: OnceLock::new(),
            parties: Mutex::new(Vec::new()),
            quiescence: AtomicBool::new(false),
            from_outside: Mutex::new(Vec::new()),
            measured: Mutex::new(Measured::default()),
            gone: Gone::default(),
            fixed: AtomicU64::new(0),
            script: OnceLock::new(),
            cut: OnceLock::new(),
            placed: Mutex::default(),
        });
        core.scheduler.set_language(Kahn::new(Box::new(Joined(Arc::downgrade(&core)))));
        core
    }

    /// Makes a channel and its two ends.
    pub(crate) fn channel<T: Send>(
        &self,
        plan: ChannelPlan<T>,
        by: By<'_>,
    ) -> (Sender<T>, Receiver<T>) {
        let identity = match by {
            None => self.channels.next_fixed(),
            Some((task, _)) => task.next_child(),
        };
        // What is made before the run may be recorded; the run's options decide.
        let contents = plan.digest.or_else(|| self.channels.digest_of::<T>());
        let written = plan.wire.map(DigestOf::Written);
        let digest = contents.map(DigestOf::Contents).or(written);
        let digest = digest.filter(|_| !plan.is_inner);
        let recorded = digest.filter(|_| by.is_none() || self.channels.records_all());
        let how = Plan {
            label: Label { name: plan.name, identity },
            types: &const { TypeOf::<T>::TYPE },
            capacity: plan.capacity,
            initial: u32::try_from(plan.initial.len()).unwrap_or(u32::MAX),
            recorded: recorded.map(|digest| History { digest: Some(digest), digests: Vec::new() }),
            weighing: plan.weighing.unwrap_or_else(Weighing::find::<T>),
            wire: plan.wire,
            is_inner: plan.is_inner,
        };
        let access = by.map_or(Access::SHARED, |(_, worker)| worker.access());
        let channel = self.channels.make(how, access);
        let (mut sender, receiver) = (Sender::new(channel), Receiver::new(channel));
        sender.put_initial(plan.initial);
        if let Some((task, worker)) = by {
            self.channels.graph_changes();
            own_both(channel, task);
            if self.channels.is_over() {
                self.over_budget(channel.name().clone());
                worker.ask_to_end(Ending::Stopped);
            }
        }
        (sender, receiver)
    }

    /// The identity of the next process that is made.
    pub(super) fn next_identity(&self, by: By<'_>) -> Identity {
        match by {
            None => self.scheduler.table.lock().next_fixed(),
            Some((task, _)) => task.next_child(),
        }
    }

    fn task_plan(
        &self,
        plan: ProcessPlan,
        by: By<'_>,
        creates: bool,
        is_joined: bool,
        body: &'static BodyType,
    ) -> TaskPlan {
        let identity = match plan.role {
            Role::Process => self.next_identity(by),
            Role::First(identity) | Role::Helper(identity) => identity,
            Role::Part(whole) => Role::of_part(whole),
        };
        if let (Some(rank), None) = (plan.rank, by) {
            self.placed.lock().insert(identity, rank);
        }
        TaskPlan {
            info: Info { name: plan.name, identity },
            kind: body::kind_of(body),
            attributes: if plan.effects { attribute::EFFECTS } else { 0 }
                | if creates { attribute::CREATES } else { 0 }
                | if is_joined { attribute::JOINED } else { 0 }
                | plan.role.attributes()
                | plan.attributes,
            pinned: plan.pinned,
        }
    }

    /// Makes an async process.
    pub(crate) fn process<'env, P, F, R, O>(&self, plan: ProcessPlan, ports: P, code: F, by: By<'_>)
    where
        P: Ports + 'env,
        F: FnOnce(P) -> R + Send + 'env,
        R: Future<Output = O> + Send + 'env,
        O: ProcessResult + 'env,
    {
        if plan.is_joined && self.is_done_again(&plan, &see(&ports), by) {
            let seen = see(&ports);
            drop_types((code, ports), seen.all(), by);
            self.stand_in(plan, seen, by, 0);
        } else if body::fits::<Body<F, P, R>>() {
            let seen = see(&ports);
            let types = &const { Async::<F, P, R>::TYPE };
            self.create(plan, seen, types, Body::<F, P, R>::start(code, ports), by);
        } else {
            let seen = see(&ports);
            let start: BoxedStart<'env, O> = body::boxed(code, ports);
            self.create_boxed(plan, seen, start, by);
        }
    }

    fn create_boxed<'env, O: ProcessResult + 'env>(
        &self,
        plan: ProcessPlan,
        seen: EndsSeen,
        start: BoxedStart<'env, O>,
        by: By<'_>,
    ) {
        let code = move |()| start();
        self.create_async(plan, seen, code, by);
    }

    pub(super) fn create_async<F, R, O>(
        &self,
        plan: ProcessPlan,
        seen: EndsSeen,
        code: F,
        by: By<'_>,
    ) -> TaskRef
    where
        F: FnOnce(()) -> R + Send,
        R: Future<Output = O> + Send,
        O: ProcessResult,
    {
        let types = &const { Async::<F, (), R>::TYPE };
        self.create(plan, seen, types, Body::<F, (), R>::start(code, ()), by)
    }

    /// Makes a blocking process.
    pub(crate) fn blocking<P, F, O>(&self, plan: ProcessPlan, ports: P, code: F, by: By<'_>)
    where
        P: Ports,
        F: FnOnce(P) -> O + Send,
        O: ProcessResult,
    {
        let seen = see(&ports);
        if (plan.is_joined || !seen.has(End::Receiver)) && self.is_done_again(&plan, &seen, by) {
            drop_types((code, ports), seen.all(), by);
            self.stand_in(plan, seen, by, 0);
        } else if body::fits::<Body<F, P, ()>>() {
            let types = &const { Blocking::<F, P>::TYPE };
            self.create(plan, seen, types, Body::<F, P, ()>::start(code, ports), by);
        } else {
            let boxed = Box::new((code, ports));
            self.create_blocking(plan, seen, move |()| (boxed.0)(boxed.1), by);
        }
    }

    fn create_blocking<F, O>(&self, plan: ProcessPlan, seen: EndsSeen, code: F, by: By<'_>)
    where
        F: FnOnce(()) -> O + Send,
        O: ProcessResult,
    {
        let types = &const { Blocking::<F, ()>::TYPE };
        self.create(plan, seen, types, Body::<F, (), ()>::start(code, ()), by);
    }

    fn create<B>(
        &self,
        plan: ProcessPlan,
        mut seen: EndsSeen,
        types: &'static BodyType,
        body: B,
        by: By<'_>,
    ) -> TaskRef {
        seen.retain(|channel, end| self.may_give(channel, end, by, &plan.name));
        let changes_graph = !matches!(plan.role, Role::Helper(_));
        let is_joined = plan.is_joined || types.blocking && !seen.has(End::Receiver);
        let plan = self.task_plan(plan, by, seen.creates, is_joined, types);
        if types.blocking
            && let Some((_, worker)) = by
        {
            worker.leave_single_threaded_mode();
        }
        let access = by.map_or(Access::SHARED, |(_, worker)| worker.access());
        let task = self.scheduler.enlist_new(access, |table| {
            let task = table.make::<Kahn>(self.scheduler.host(), Some(types), |_| plan);
            // SAFETY: the block was made for this type of body, a moment ago.
            unsafe { body::place(task.non_null(), body) };
            seen.give(by, task);
            if by.is_some() {
                self.prepare(task);
            }
            task
        });
        match by {
            None => {
                self.fixed.fetch_add(1, Relaxed);
            }
            Some((_, worker)) => {
                worker.has_made_one();
                if changes_graph {
                    self.channels.graph_changes();
                }
                tell_of_leave(task);
                // SAFETY: it was made above, and is started once.
                worker.start(unsafe { task.claim() });
            }
        }
        task
    }

    /// Whether an end may be given to a new process: the process that gives it must have it. What was
    /// done there is published.
    fn may_give(&self, channel: ChannelRef, end: End, by: By<'_>, to: &Name) -> bool {
        let here = std::ptr::eq(channel.table(), Arc::as_ptr(&self.channels));
        assert!(
            here,
            "an end of channel `{}` belongs to another network: an end works only in its own",
            channel.name()
        );
        match (by, channel.owner(end)) {
            (None, None) => true,
            (Some((task, worker)), Some(owner)) if owner == task => {
                channel.settle(end, worker);
                true
            }
            _ => {
                let process = by.map_or_else(|| to.clone(), |(task, _)| task.info().name.clone());
                let kind = kahn_report::MisuseKind::NotYours { channel: channel.name().clone() };
                self.misuse(Misuse { process, kind });
                false
            }
        }
    }

    /// Makes an outside party that has these ends.
    pub(crate) fn party(self: &Arc<Self>, name: Name, ports: &impl Ports) -> Arc<Party> {
        if self.script.get().is_some() {
            let plan = ProcessPlan {
                name,
                effects: true,
                is_joined: true,
                pinned: None,
                rank: None,
                role: Role::Process,
                attributes: 0,
            };
            let task = self.stand_in(plan, see(ports), None, attribute::STANDS_FOR_PARTY);
            return Party::stood_in_for(task, Arc::<Self>::clone(self));
        }
        let mut seen = see(ports);
        seen.retain(|channel, end| self.may_give(channel, end, None, &name));
        let identity = self.scheduler.table.lock().next_fixed();
        let plan = TaskPlan {
            info: Info { name, identity },
            kind: Kind::Outside,
            attributes: attribute::EFFECTS | attribute::JOINED,
            pinned: None,
        };
        let host = self.scheduler.host();
        let task = self.scheduler.table.lock().make::<Kahn>(host, None, |_| plan);
        seen.give(None, task);
        self.scheduler.enlist(task);
        let keep: Arc<dyn std::any::Any + Send + Sync> = Arc::<Self>::clone(self);
        let party = Party::new(task, keep);
        self.parties.lock().push(Arc::clone(&party));
        party
    }

    /// Applies the run's settings to a process.
    pub(crate) fn prepare(&self, task: TaskRef) {
        let settings = self.scheduler.settings();
        if settings.wait_once && task.kind() != Kind::Outside {
            task.note(own::WAIT_ONCE);
        }
        if let Some(Again(script)) = self.script.get() {
            let info = task.info();
            if let Some(receive) = script.holds(Subject::new(&info.name, info.identity)) {
                self.channels.hold_process(task, receive);
            }
        }
        if settings.threads && task.kind() == Kind::Pooled {
            // SAFETY: nothing runs yet, or nothing knows the process yet.
            unsafe { task.set_kind(Kind::Threaded) };
        }
    }

    // --- verdicts -----------------------------------------------------------------------------

    /// Ends the run; the first reason counts.
    pub(crate) fn end_with(&self, verdict: Verdict) {
        let mut slot = self.verdict.lock();
        if slot.is_none() && !self.scheduler.is_ending() {
            let (told, channel) = verdict.told();
            *slot = Some(verdict);
            drop(slot);
            // Not under the lock: it is the subscriber's code.
            events::verdict(told, channel.as_ref());
        } else {
            drop(slot);
        }
        self.scheduler.end_run();
    }

    pub(crate) fn misuse(&self, misuse: Misuse) {
        self.end_with(Verdict::Misuse(misuse));
    }

    pub(super) fn over_budget(&self, channel: Name) {
        let explanation = explain(&self.scheduler, &self.channels);
        self.end_with(Verdict::OverBudget { channel, explanation });
    }

    pub(crate) fn explain(&self) -> Explanation {
        explain(&self.scheduler, &self.channels)
    }

    pub(super) fn resolver(&self) -> &Resolver {
        self.resolver.get().expect("set before anything runs")
    }

    /// Marks channels that lie on no cycle.
    pub(crate) fn find_bridges(&self) {
        // Processes were created before the run, one after the other, and no end is closed before it.
        let place = |task: TaskRef| task.info().identity.ancestor();
        let channels = self.channels.all();
        let edges: Vec<_> = channels
            .iter()
            .map(|channel| {
                let end = |end| channel.owner(end).map_or(0, place);
                (end(End::Sender), end(End::Receiver))
            })
            .collect();
        let vertices = edges.iter().map(|&(from, to)| from.max(to) + 1).max();
        let bridges = crate::graph::bridges(vertices.unwrap_or(1), &edges);
        for (channel, is_bridge) in channels.iter().zip(bridges) {
            if is_bridge {
                channel.set_flag(flag::BRIDGE);
            }
        }
    }

    /// Has every operation published at once: each process has a thread of its own.
    pub(crate) fn publish_at_once(&self) {
        for channel in self.channels.all() {
            channel.tell_of_both_ends(told::OUTSIDE);
        }
    }
}

/// What ports show.
#[derive(Default)]
pub(super) struct EndsSeen {
    /// The first ends, for most processes have few; `None` where one must not be given.
    few: [Option<(ChannelRef, End)>; 4],
    count: usize,
    more: Vec<(ChannelRef, End)>,
    creates: bool,
}

impl EndsSeen {
    /// As if ports showed this end alone.
    pub(super) fn one(channel: ChannelRef, end: End) -> Self {
        let mut seen = Self::default();
        seen.add((channel, end));
        seen
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (ChannelRef, End)> + Clone {
        self.few.iter().take(self.count).flatten().chain(&self.more).copied()
    }

    /// Whether there is such an end.
    pub(super) fn has(&self, end: End) -> bool {
        self.all().any(|(_, of_channel)| of_channel == end)
    }

    fn add(&mut self, end: (ChannelRef, End)) {
        match self.few.get_mut(self.count) {
            Some(place) => *place = Some(end),
            None => self.more.push(end),
        }
        self.count += 1;
    }

    /// Forgets the ends for which `may` is false.
    fn retain(&mut self, mut may: impl FnMut(ChannelRef, End) -> bool) {
        for place in self.few.iter_mut().take(self.count) {
            place.take_if(|(channel, end)| !may(*channel, *end));
        }
        self.more.retain(|(channel, end)| may(*channel, *end));
    }

    /// Gives the ends to a process.
    fn give(self, by: By<'_>, to: TaskRef) {
        for (channel, end) in self.all() {
            assert!(
                channel.owner(end) != Some(to),
                "an end of channel `{}` was shown twice by the ports of process `{}`",
                channel.name(),
                to.info().name
            );
            hand_over(channel, end, by, to);
        }
        // All its readers may have left before, and then none of them tells it so.
        if to.is_prunable() {
            to.marks.fetch_or(mark::PRUNE, Relaxed);
        }
    }
}

fn see(ports: &impl Ports) -> EndsSeen {
    let mut seen = EndsSeen::default();
    ports.visit(&mut |port: Port| match port.into_kind() {
        PortKind::End(channel, end) => seen.add((channel, end)),
        PortKind::Creates => seen.creates = true,
    });
    seen
}
