//! One rank of a network: what runs here, and what stands for the rest.
//!
//! The network is built whole. Then each channel between a process that runs here and one that runs on another
//! rank is *cut*: its far end goes to a *link*, a process that moves messages between the channel and
//! [`Links`] in their written form. A process that runs on another rank is dropped with its closure, unrun.
//!
//! | the far end | the link | does in turn |
//! |---|---|---|
//! | receives | *uplink* | waits for room on the way, receives the messages that are here, gives them to `Links` |
//! | sends | *downlink* | takes what comes next from `Links`, sends what there is room for here, says that it did |
//!
//! Neither waits with messages that are not told of: an uplink that waits for a message has given all to `Links`, and a
//! downlink that waits for room has said what it has sent.
//!
//! A link has the name of the process whose end it has, so that explanations and failures name that. Each has
//! one end of one channel, so no ring of waits on one rank leads through a link.
//!
//! | what ends | at its own link | on the way | at the far link |
//! |---|---|---|---|
//! | the sender, cleanly or not | the uplink receives the end, after all messages | `closes` | the downlink ends in the same way, so the channel does there |
//! | … when no root is left | the same | nothing: what reads it there is pruned, too, but may not know yet | the downlink ends with its reader |
//! | the receiver leaves | the downlink is pruned: it has no reader | `departs` | the uplink is marked and pruned, so the sender loses its reader |
//! | the receiver is dead | the downlink is told, and waits for good | the same | the same |
//! | the run | links are dropped and tell nothing | | |
//!
//! Initial messages lie in the channel on both sides, for both ranks built it: the receiver has them there, and
//! the uplink drops its own.
//!
//! *When a rank rests.* A link that waits for `Links` is counted as pending, like every process that waits for
//! something foreign, and so is the rank itself, which withholds verdicts. So a rank is at rest if nothing is
//! busy and exactly these are pending: all else that could be woken from outside would be counted too. The number
//! of links that wait is kept beside a count of its changes. If that count is the same before and after the one
//! load of the activity, the number was right at the moment of the load.
//!
//! The last worker to sleep looks for rings, and may free one. From before it stops being busy until that is done the rank
//! *settles*, and is not at rest; then it rings.

use super::core::{Core, EndsSeen, ProcessPlan, Role};
use crate::channel::language::{Kahn, Worker};
use crate::channel::process::attribute;
use crate::channel::raw::{ChannelRef, End};
use crate::channel::untyped::{UntypedEnd, drop_without};
use kahn_engine::sync::{Arc, AtomicBool, AtomicU64, Ordering::*};
use kahn_engine::{Kind, Scheduler, TaskRef};
use kahn_report::ranks::{Arrival, Batch, Carried, Joint, Links, Member, Shape, Stays};
use kahn_report::{BoxError, Ending, Identity};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// What this rank has of the network.
pub(crate) struct CutNetwork {
    pub(super) by: Arc<dyn Links>,
    pub(super) rank: usize,
    /// The rank of each process that was there before the run, by its place in the shape.
    pub(super) ranks: Vec<usize>,
    pub(super) processes: Vec<Identity>,
    /// The channels of the shape, with the places of the processes that send and receive.
    pub(super) channels: Vec<(Identity, usize, usize)>,
    /// How many of each there were before the run, as reports count them.
    pub(super) counted: (u64, u64),
    /// The links of cut channels, by the places of the channels.
    pub(super) links: BTreeMap<usize, Link>,
    pub(super) waits: LinkWaits,
    /// What is done when nothing is busy is yet to be done: it may free what waits here.
    pub(super) settles: Arc<AtomicBool>,
    /// It has ended here with a verdict; kept until nothing asks any more.
    pub(super) has_verdict: Arc<AtomicBool>,
}

impl std::fmt::Debug for CutNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cut").field("rank", &self.rank).finish_non_exhaustive()
    }
}

/// What is left of how the network was cut on a rank, when the run is over.
pub(super) struct CutRecord {
    pub(super) rank: usize,
    pub(super) ranks: Vec<usize>,
    pub(super) processes: Vec<Identity>,
    /// The channels that were there before the run, with the places of the processes that send and receive.
    pub(super) channels: Vec<(Identity, (usize, usize))>,
    pub(super) counted: (u64, u64),
    /// The links, by the places of their channels.
    pub(super) links: BTreeMap<usize, Identity>,
    /// What went to other ranks of the channels that are cut, by their places.
    pub(super) carried: BTreeMap<usize, Carried>,
}

impl CutRecord {
    pub(super) fn of(cut: &CutNetwork) -> Self {
        let CutNetwork { by, rank, ranks, processes, channels, counted, links, .. } = cut;
        let leads_away = |place: &&usize| ranks[channels[**place].1] == *rank;
        let carried = links.keys().filter(leads_away).map(|place| (*place, by.carried(*place)));
        let channels = channels.iter().map(|(identity, from, to)| (*identity, (*from, *to)));
        Self {
            rank: *rank,
            ranks: ranks.clone(),
            processes: processes.clone(),
            channels: channels.collect(),
            counted: *counted,
            links: links.iter().map(|(place, link)| (*place, link.identity)).collect(),
            carried: carried.collect(),
        }
    }
}

impl CutNetwork {
    /// Nothing is busy, or will be in a moment, and what is done then was done.
    pub(super) fn has_settled(&self) {
        self.settles.store(false, Release);
        self.by.may_rest();
    }
}

/// A link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) task: TaskRef,
    pub(super) identity: Identity,
}

/// How many links wait for something from another rank.
#[derive(Debug, Default)]
pub(super) struct LinkWaits {
    waiting: AtomicU64,
    changes: AtomicU64,
}

impl LinkWaits {
    // The number first: a thread that reads it before it is changed, and the activity after the link has come to
    // rest, sees that there was a change.
    fn begin(&self) {
        self.waiting.fetch_add(1, SeqCst);
        self.changes.fetch_add(1, SeqCst);
    }

    fn end(&self) {
        self.waiting.fetch_sub(1, SeqCst);
        self.changes.fetch_add(1, SeqCst);
    }

    /// Whether, at one moment, nothing was busy and nothing but links and `others` could be woken; `None` if
    /// something was busy or has been since.
    pub(super) fn only_links_wait(&self, scheduler: &Scheduler, others: u64) -> Option<bool> {
        let before = self.changes.load(SeqCst);
        let waiting = self.waiting.load(SeqCst);
        let pending = scheduler.activity.pending_at_rest()?;
        (self.changes.load(SeqCst) == before).then_some(pending == waiting + others)
    }
}

/// A wait of a link, counted until it is over or dropped.
struct CountedWait<'a>(&'a LinkWaits, bool);

impl CountedWait<'_> {
    fn set(&mut self, waits: bool) {
        if std::mem::replace(&mut self.1, waits) != waits {
            if waits { self.0.begin() } else { self.0.end() }
        }
    }
}

impl Drop for CountedWait<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}

/// Waits as `poll` says, counted.
async fn wait<T>(cut: &CutNetwork, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let mut counted = CountedWait(&cut.waits, false);
    poll_fn(move |context| {
        counted.set(false);
        let polled = poll(context);
        counted.set(polled.is_pending());
        polled
    })
    .await
}

impl Core {
    /// The processes and channels, in the order of their identities; channels within a process behind the others.
    fn members(&self) -> (Vec<TaskRef>, Vec<ChannelRef>) {
        let mut tasks = self.scheduler.table.lock().all();
        tasks.sort_by_key(|task| task.info().identity);
        let mut channels = self.channels.all();
        channels.sort_by_key(|channel| (channel.is_inner(), channel.label().identity));
        (tasks, channels)
    }

    /// The network as it is before the run. Ends that belong to no process are left out: the check before the
    /// run names them.
    pub(super) fn shape(&self) -> Shape {
        let (tasks, channels) = self.members();
        let places: BTreeMap<TaskRef, usize> = tasks.iter().copied().zip(0..).collect();
        let place = |channel: ChannelRef, end| places.get(&channel.owner(end)?).copied();
        let placed = self.placed.lock();
        let member = |task: &TaskRef| {
            let attributes = task.attributes();
            let stays = if attributes & attribute::JOINED != 0 || task.kind() == Kind::Outside {
                Some(Stays::IsJoined)
            } else if attributes & (attribute::HAD_SENDERS | attribute::PART) == 0 {
                Some(Stays::HasResult)
            } else if attributes & attribute::EFFECTS != 0 {
                Some(Stays::KeepsResult)
            } else {
                None
            };
            let rank = placed.get(&task.info().identity).copied();
            Member { name: task.info().name.clone(), stays, rank }
        };
        let joint = |channel: ChannelRef| {
            Some(Joint {
                name: channel.name().clone(),
                from: place(channel, End::Sender)?,
                to: place(channel, End::Receiver)?,
                has_written_form: channel.is_wired() && !channel.is_inner(),
                capacity: channel.cold.capacity.load(Relaxed),
            })
        };
        Shape {
            processes: tasks.iter().map(member).collect(),
            channels: channels.into_iter().filter_map(joint).collect(),
        }
    }

    /// Keeps what runs on this rank; before anything runs, when all is checked and configured.
    pub(super) fn cut(self: &Arc<Self>, links: &Arc<dyn Links>) -> Result<(), String> {
        let (tasks, channels) = self.members();
        if let Some(party) = tasks.iter().find(|task| task.kind() == Kind::Outside) {
            let name = &party.info().name;
            return Err(format!(
                "`{name}` is a party outside: a network that has one runs on one rank"
            ));
        }
        let shape = self.shape();
        let ranks = links.places(&shape)?;
        let rank = links.rank();
        assert!(ranks.len() == tasks.len(), "each process runs on some rank");
        let ends = channels.iter().zip(&shape.channels);
        let identities =
            ends.map(|(channel, joint)| (channel.label().identity, joint.from, joint.to));
        let mut cut = CutNetwork {
            by: Arc::clone(links),
            rank,
            ranks,
            processes: tasks.iter().map(|task| task.info().identity).collect(),
            channels: identities.collect(),
            counted: (self.scheduler.table.lock().created, self.channels.created()),
            links: BTreeMap::new(),
            waits: LinkWaits::default(),
            settles: Arc::default(),
            has_verdict: Arc::default(),
        };
        let is_here = |place: usize| cut.ranks[place] == rank;
        let mut far = vec![Vec::new(); tasks.len()];
        let mut to_link = Vec::new();
        for (number, (channel, joint)) in channels.iter().zip(&shape.channels).enumerate() {
            let (sends_here, receives_here) = (is_here(joint.from), is_here(joint.to));
            for (end, place, here) in
                [(End::Sender, joint.from, sends_here), (End::Receiver, joint.to, receives_here)]
            {
                if !here {
                    far[place].push((*channel, end));
                }
            }
            match (sends_here, receives_here) {
                (true, true) => {}
                (true, false) => to_link.push((number, *channel, End::Receiver, joint.to)),
                (false, true) => to_link.push((number, *channel, End::Sender, joint.from)),
                (false, false) => {
                    self.channels.end_gone();
                    self.channels.end_gone();
                }
            }
        }
        for (place, ends) in far.iter().enumerate().filter(|(place, _)| !is_here(*place)) {
            // SAFETY: nothing runs, and no process has these ends from now on but links.
            unsafe { drop_unrun(&self.scheduler, tasks[place], ends) };
        }
        let names: Vec<_> = shape.processes.into_iter().map(|member| member.name).collect();
        let places: Vec<_> = to_link
            .into_iter()
            .map(|(number, channel, end, place)| (number, channel, end, names[place].clone()))
            .collect();
        // The links know the cut, which knows them.
        let of_links = Arc::new(std::sync::OnceLock::<Arc<CutNetwork>>::new());
        for (number, channel, end, name) in places {
            let link = self.make_link(&of_links, links, (number, channel, end), name);
            cut.links.insert(number, link);
        }
        let cut = Arc::new(cut);
        let _ = self.scheduler.language::<Kahn>().settles.set(Arc::clone(&cut.settles));
        let _ = of_links.set(Arc::clone(&cut));
        let _ = self.cut.set(cut);
        // Withholds verdicts, until the run is ended.
        self.scheduler.activity.expect();
        Ok(())
    }

    fn make_link(
        self: &Arc<Self>,
        cut: &Arc<std::sync::OnceLock<Arc<CutNetwork>>>,
        links: &Arc<dyn Links>,
        (number, channel, end): (usize, ChannelRef, End),
        name: kahn_report::Name,
    ) -> Link {
        let plan = ProcessPlan {
            name,
            effects: false,
            is_joined: false,
            pinned: None,
            rank: None,
            role: Role::Process,
            attributes: attribute::LINK | attribute::STANDS_FOR_PARTY,
        };
        // SAFETY: what had this end was dropped, and not the end.
        let own = unsafe { UntypedEnd::instead_of(channel, end) };
        let initial = channel.initial();
        // It may be pruned before it begins to run.
        let departure = (end == End::Sender).then(|| Departure {
            links: Arc::clone(links),
            channel: number,
            is_over: false,
        });
        let (cut, links) = (Arc::clone(cut), Arc::clone(links));
        let code = move |()| async move {
            let Some(cut) = cut.get() else { return Ok(()) };
            match departure {
                None => uplink(cut, &*links, number, initial, own).await,
                Some(departure) => downlink(cut, &*links, departure, own).await,
            }
        };
        let task = self.create_async(plan, EndsSeen::one(channel, end), code, None);
        Link { task, identity: task.info().identity }
    }
}

/// Drops a process that runs on another rank, and not its ends.
///
/// # Safety
/// Nothing runs, and `ends` are all that it has: only what is made of them by the caller uses them again.
unsafe fn drop_unrun(scheduler: &Scheduler, task: TaskRef, ends: &[(ChannelRef, End)]) {
    drop_without(task, ends, || {
        // SAFETY: nothing runs it, and it has not ended.
        unsafe { kahn_engine::Worker::<Kahn>::for_clearing(scheduler).end(task, Ending::Stopped) };
    });
}

/// Moves the messages of a process that runs here to the rank of its reader.
async fn uplink(
    cut: &CutNetwork,
    links: &dyn Links,
    channel: usize,
    initial: u32,
    mut end: UntypedEnd,
) -> Result<(), BoxError> {
    for _ in 0..initial {
        end.skip().await;
    }
    let (mut messages, mut room) = (Batch::new(), 0);
    loop {
        if room == 0 {
            room = wait(cut, |context| links.poll_room(channel, context)).await;
        }
        match end.recv_written(&mut messages, room).await {
            Some(true) => {
                room = links.sends(channel, &mut messages);
                let_go();
            }
            Some(false) => {
                let number = end.number();
                links.refuses(channel, format!("message {number} cannot be written"));
                std::future::pending::<()>().await;
            }
            None => break,
        }
    }
    if !end.is_unobserved() {
        links.closes(channel, end.has_failed());
        let_go();
    }
    Ok(())
}

/// Something is to go to another rank: by this worker, if it speaks with that.
fn let_go() {
    if let Some((worker, _)) = Worker::running() {
        worker.drive_soon();
    }
}

/// Moves messages from the rank of a writer to the process that reads them here.
async fn downlink(
    cut: &CutNetwork,
    links: &dyn Links,
    mut departure: Departure,
    mut end: UntypedEnd,
) -> Result<(), BoxError> {
    let channel = departure.channel;
    let mut messages = Batch::new();
    loop {
        // It is woken, too, when its reader is found dead.
        let next = wait(cut, |context| {
            if end.is_dead_end() {
                return Poll::Ready(None);
            }
            links.poll_next(channel, &mut messages, context).map(Some)
        });
        let Some(next) = next.await else {
            departure.is_over = true;
            links.departs(channel);
            // With a waker, so that it is counted among those that wait.
            let mut kept = None;
            return wait(cut, |context| {
                kept = Some(context.waker().clone());
                Poll::Pending
            })
            .await;
        };
        match next {
            Arrival::Messages => {
                while !messages.is_empty() {
                    match end.send_each_written(&mut messages).await {
                        Ok(sent) => {
                            links.takes(channel, sent);
                            let_go();
                        }
                        Err(error) => {
                            let number = end.number() + 1;
                            let why = format!("message {number} is not read: {error}");
                            links.refuses(channel, why);
                            std::future::pending::<()>().await;
                        }
                    }
                }
            }
            Arrival::End => {
                departure.is_over = true;
                return Ok(());
            }
            Arrival::Failure => {
                departure.is_over = true;
                return Err("the process has failed on its rank".into());
            }
        }
    }
}

/// Tells that nothing reads any more, when a downlink is dropped before the stream has ended: while it waits, or before
/// it has begun to run.
struct Departure {
    links: Arc<dyn Links>,
    channel: usize,
    is_over: bool,
}

impl Drop for Departure {
    fn drop(&mut self) {
        let ends = Worker::running().is_none_or(|(_, task)| Scheduler::of(task).is_ending());
        if !self.is_over && !ends {
            self.links.departs(self.channel);
        }
    }
}
