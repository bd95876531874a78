//! One look at a process: what it waits for, and which processes could let it go on.
//!
//! The process may run at any moment, unless nothing runs any more. So each kind of wait is looked
//! at where it is certain:
//!
//! | it waits | looked at | certain because |
//! |---|---|---|
//! | at a channel | behind its gate, in type-stable memory; or twice, if it has left that to its partner | its entry stands there |
//! | for a claim, at a barrier, in a bucket | behind its gate, while the `registry` is held | it stands in the queue there |
//! | for the end of a process | behind the gate of the join, while the table of processes is held | it stands there, and a process in the table has not ended |
//! | for one of several things | in its own memory, while its select state is [kept](select::hold) | no thread can take it, so it stays asleep and its guards where they are |
//!
//! No thread locks a gate while it keeps a select state: of guards only their places are noted, and these
//! are looked at afterwards. A process that is left to a foreign waker too is looked at only if
//! there is no such waker any more.

use crate::channel::rendezvous::{Rendezvous, Side, flag};
use crate::language::common::Common;
use crate::process::body;
use crate::sharing::bucket;
use crate::sharing::claim::Queue;
use crate::sharing::phases::Phases;
use crate::wait::place::{About, At, Awaited, Place};
use crate::wait::select;
use kahn_engine::TaskRef;
use kahn_engine::sync::Ordering::*;
use kahn_engine::task::Task;
use kahn_report::{Activity, Name};

/// A way for a process to go on: all of `needs` must act. `None` is an unknown process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(crate) operation: &'static str,
    pub(crate) name: Name,
    pub(super) needs: Vec<Option<TaskRef>>,
}

/// What was seen of a process.
#[derive(Debug)]
pub(super) struct Seen {
    pub(crate) task: TaskRef,
    pub(crate) activity: Activity,
    /// The ways for it to go on; `None` if it runs, or may do so by itself.
    pub(super) ways: Option<Vec<Way>>,
    /// How often it had run before the look, and after it.
    polls: (u64, u64),
}

impl Seen {
    /// Whether the process has waited for the same since an earlier look; whatever was seen of
    /// several processes then was so at one moment.
    pub(super) fn still_holds(&self, earlier: &Self) -> bool {
        self.polls.1 == earlier.polls.0 && self.ways == earlier.ways
    }
}

/// The processes that have not ended, while the table is locked.
pub(super) struct Inspection<'a> {
    /// In the order of their addresses.
    pub(super) alive: &'a [TaskRef],
    pub(crate) running: &'a [TaskRef],
    pub(super) common: &'a Common,
}

impl Inspection<'_> {
    /// Looks at a process.
    pub(crate) fn at(&self, task: TaskRef) -> Seen {
        // Relaxed, and before all else: an old number only makes the second look differ. What is
        // read last comes after a gate that the process passed before it waited.
        let before = task.polls.load(Relaxed);
        let (activity, ways) = self.waits(task);
        Seen { task, activity, ways, polls: (before, task.polls.load(Relaxed)) }
    }

    fn waits(&self, task: TaskRef) -> (Activity, Option<Vec<Way>>) {
        if self.running.contains(&task) {
            return (Activity::Computes, None);
        }
        let foreign = task.foreign_if_any();
        if foreign.as_ref().is_some_and(|foreign| foreign.is_pending()) {
            return (Activity::WaitsForeign, None);
        }
        let orphan = foreign.filter(|foreign| foreign.is_orphan());
        let is_orphan = orphan.is_some();
        if let Some(guards) = guards_of(task, is_orphan) {
            let names = guards.iter().map(ToString::to_string).collect();
            return (Activity::Alternates { guards: names }, self.ways_of(task, &guards));
        }
        if is_orphan {
            let was_asked = orphan.is_some_and(|foreign| foreign.was_asked());
            let activity = if was_asked { Activity::Orphaned } else { Activity::Stopped };
            return (activity, Some(Vec::new()));
        }
        let seen = match Place::of(task) {
            Some(Place::Send(at)) => self.at_rendezvous(task, at.cast(), "send"),
            Some(Place::Receive(at)) => self.at_rendezvous(task, at.cast(), "receive"),
            Some(Place::Claim(at)) => self.at_claim(task, at.cast()),
            Some(Place::Barrier(at)) => self.at_barrier(task, at.cast()),
            Some(Place::Bucket(at)) => {
                bucket::name_if_in(&self.common.registry, at, task).map(|bucket| {
                    let way =
                        Way { operation: "flush of", name: bucket.clone(), needs: vec![None] };
                    (Activity::FallenIn { bucket }, vec![way])
                })
            }
            Some(Place::Join(child)) => self.at_join(task, child.cast()),
            Some(Place::Sleep) if select::open_ticket(task).is_some() => {
                return (Activity::Sleeps, None);
            }
            Some(Place::Alternation(_) | Place::Sleep) | None => None,
        };
        seen.map_or((Activity::Ready, None), |(activity, ways)| (activity, Some(ways)))
    }

    /// The process at an address, if it has not ended.
    fn alive(&self, task: *const Task) -> Option<TaskRef> {
        let place = self.alive.binary_search_by_key(&task, |task| task.as_ptr()).ok()?;
        Some(self.alive[place]).filter(|task| !task.has_ended())
    }

    fn name_of(&self, task: Option<TaskRef>) -> Option<Name> {
        // The table is locked: a process in it keeps its name.
        task.filter(|task| self.alive(task.as_ptr()).is_some()).map(|task| task.info().name.clone())
    }

    /// The process that used the other end last; none if that was the process itself, for then it has
    /// given the end away, or keeps it in vain.
    fn partner(&self, task: TaskRef, rendezvous: &Rendezvous, side: Side) -> Option<TaskRef> {
        self.alive(rendezvous.user(side.other())).filter(|&partner| partner != task)
    }

    fn at_rendezvous(
        &self,
        task: TaskRef,
        rendezvous: *const Rendezvous,
        operation: &'static str,
    ) -> Option<(Activity, Vec<Way>)> {
        // SAFETY: type-stable memory.
        let rendezvous = unsafe { &*rendezvous };
        let seen = rendezvous.inspect(self.common, |flags| {
            // One that swaps is entered at either side.
            let sides = [Side::Sender, Side::Receiver];
            let side = sides.into_iter().find(|&side| rendezvous.has(side, flags, task))?;
            let partner = self.partner(task, rendezvous, side);
            let is_held = side == Side::Sender && flags & flag::SENDER_HELD != 0;
            Some((rendezvous.name().clone(), partner, rendezvous.met() + u64::from(!is_held)))
        });
        let (channel, partner, message) = seen??;
        let activity = Activity::Meets {
            operation,
            channel: channel.clone(),
            message,
            partner: self.name_of(partner),
        };
        let operation = if operation == "send" { "send to" } else { "receive from" };
        Some((activity, vec![Way { operation, name: channel, needs: vec![partner] }]))
    }

    /// The process that a guard at a channel needs.
    fn needed_at(&self, task: TaskRef, at: *const Rendezvous, side: Side) -> Option<TaskRef> {
        // SAFETY: type-stable memory.
        let rendezvous = unsafe { &*at };
        rendezvous.inspect(self.common, |_| self.partner(task, rendezvous, side))?
    }

    fn at_claim(&self, task: TaskRef, queue: *const Queue) -> Option<(Activity, Vec<Way>)> {
        let (what, state) = self
            .common
            .registry
            .look(queue, |queue| queue.has(task).then(|| (queue.name.clone(), queue.state())))??;
        let holder = state.holder.and_then(|holder| self.alive(holder));
        let activity = Activity::Claims {
            what: what.clone(),
            claims: state.claims,
            holder: self.name_of(holder),
        };
        Some((activity, vec![Way { operation: "claim", name: what, needs: vec![holder] }]))
    }

    fn at_barrier(&self, task: TaskRef, phases: *const Phases) -> Option<(Activity, Vec<Way>)> {
        let (name, joins_forks, (phase, missing)) =
            self.common.registry.look(phases, |phases| {
                phases
                    .has(task)
                    .then(|| (phases.name.clone(), phases.joins_forks, phases.missing()))
            })??;
        let missing: Vec<_> = missing.into_iter().map(|task| self.alive(task)).collect();
        let names = missing.iter().map(|&task| self.name_of(task)).collect();
        let (operation, activity) = if joins_forks {
            ("end of", Activity::JoinsForks { forks: name.clone(), left: names })
        } else {
            ("barrier", Activity::Synchronises { barrier: name.clone(), phase, missing: names })
        };
        let needs = all_or_unknown(missing);
        Some((activity, vec![Way { operation, name, needs }]))
    }

    fn at_join(&self, task: TaskRef, child: *const Task) -> Option<(Activity, Vec<Way>)> {
        let child = self.alive(child)?;
        if !body::join_if_any(child)?.has(task) {
            return None;
        }
        let name = child.info().name.clone();
        let way = Way { operation: "end of", name: name.clone(), needs: vec![Some(child)] };
        Some((Activity::Joins { process: Some(name) }, vec![way]))
    }

    /// The ways that the guards of an alternation leave; `None` if one comes by itself.
    fn ways_of(&self, task: TaskRef, guards: &[Awaited]) -> Option<Vec<Way>> {
        let mut ways = Vec::new();
        for Awaited { operation, name, at } in guards {
            let needs = match *at {
                At::Time => return None,
                At::Never => continue,
                At::Somebody => vec![None],
                At::Place(Place::Send(at)) => vec![self.needed_at(task, at.cast(), Side::Sender)],
                At::Place(Place::Receive(at)) => {
                    vec![self.needed_at(task, at.cast(), Side::Receiver)]
                }
                At::Place(Place::Claim(at)) => {
                    let state = self.common.registry.look(at.cast(), Queue::state)?;
                    vec![state.holder.and_then(|holder| self.alive(holder))]
                }
                At::Place(Place::Barrier(at)) => {
                    let (_, missing) = self.common.registry.look(at.cast(), Phases::missing)?;
                    all_or_unknown(missing.into_iter().map(|task| self.alive(task)).collect())
                }
                At::Place(Place::Join(child)) => vec![self.alive(child.cast())],
                At::Place(Place::Alternation(_) | Place::Bucket(_) | Place::Sleep) => {
                    unreachable!("no guard waits there")
                }
            };
            let name = name.clone().unwrap_or_else(|| Name::from(""));
            ways.push(Way { operation, name, needs });
        }
        Some(ways)
    }
}

/// Which processes are needed for a phase. If all have come, one of them has something else by now and is about
/// to withdraw; or one process has come twice, with two handles.
fn all_or_unknown(missing: Vec<Option<TaskRef>>) -> Vec<Option<TaskRef>> {
    if missing.is_empty() { vec![None] } else { missing }
}

/// What the alternation of a process waits for, if it is asleep in one.
fn guards_of(task: TaskRef, is_orphan: bool) -> Option<Vec<Awaited>> {
    let ticket = select::open_ticket(task).filter(|_| is_orphan || !select::is_foreign(task))?;
    if !select::hold(task, ticket) {
        return None;
    }
    // With its select state kept it stays where it is: the place is that of this wait.
    let mut guards = None;
    if let Some(Place::Alternation(about)) = Place::of(task) {
        // SAFETY: in the memory of a process that waits there, and is kept from running on.
        let About { what, describe } = unsafe { *about.cast::<About>() };
        let mut all = Vec::new();
        // SAFETY: written by the alternation for itself.
        unsafe { describe(what, &mut |guard| all.push(guard)) };
        guards = Some(all);
    }
    select::let_go(task);
    guards
}
