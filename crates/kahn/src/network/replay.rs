//! Doing again what a process did in another run, in place of running it.
//!
//! A process that is joined to the outside (see [`Act`](kahn_report::observe::Act)) is created with its ends
//! and without its code. What stands in for it does what a [`Script`] tells, step by step. All other
//! processes run as ever: each is a function of what it receives, so what passes on every channel is what
//! passed then, whatever the schedule.
//!
//! *The steps of a process can be done in the order in which they were told.* A message was told to be sent
//! before it was visible, and to be received after it was. Take the first step, by the time at which it was told,
//! that cannot be done: it is a receive, or the end of a channel is to be seen. The steps of the process at the other
//! end that made it possible were done before it was told, and all that they depend on was, so they
//! have been done again; a full channel grows if processes would wait for each other. In a
//! process whose messages are published late, sends may be told earlier than steps that were done before
//! them: what it sends does not depend on these, it was so. Before the end of a channel is told to be seen all that the
//! process did is told, for that may end it.
//!
//! *What is discarded is sent again.* Whether a reader is pruned before a message is sent depends on the schedule, so
//! a message to a reader that has left is told as well: in the replay it may be there, and reads on.
//!
//! | the script says | what is done |
//! |---|---|
//! | that it gives up a sender | that, and it takes effect: a failure that follows does not mark the channel |
//! | that a party sees the end of a channel whose sender failed | it goes on, as the party did |
//! | another step | that; if another one is seen, the network is another: `Script::parts`, and it fails |
//! | that it ends | it returns, or fails with the same failure |
//! | that it waits, in a run in which nothing could go on | it waits there |
//! | that a process is run all the same ([`Script::is_run`]) | nothing of this: its own code runs, from its beginning |
//! | nothing more: the process was pruned or stopped, or no more is known | it waits for good, and may be pruned |

use super::core::{By, Core, EndsSeen, ProcessPlan};
use crate::channel::closing::flush;
use crate::channel::language::Worker;
use crate::channel::raw::End;
use crate::channel::table::ChannelTable;
#[cfg(doc)]
use crate::channel::untyped::drop_types;
use crate::channel::untyped::{UntypedEnd, wait_for_good};
use kahn_engine::TaskRef;
use kahn_engine::sync::Arc;
use kahn_report::observe::{Script, Step, Subject};
use kahn_report::{BoxError, Name};
use std::collections::BTreeMap;
use std::fmt;

/// What processes do again.
#[derive(Clone)]
pub(crate) struct Again(pub(super) Arc<dyn Script>);

impl fmt::Debug for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl Core {
    /// Whether a process with these ports, which is joined to the outside and the next to be created, is not
    /// run but stood in for.
    pub(super) fn is_done_again(&self, plan: &ProcessPlan, seen: &EndsSeen, by: By<'_>) -> bool {
        self.script.get().is_some_and(|Again(script)| {
            let is_new = || script.is_run(self.coming(&plan.name, by));
            (seen.has(End::Sender) || !script.acts_again()) && !is_new()
        })
    }

    /// What observers and scripts will be told that the next process is.
    pub(super) fn coming<'a>(&self, name: &'a Name, by: By<'_>) -> Subject<'a> {
        let identity = match by {
            None => self.scheduler.table.lock().coming_fixed(),
            Some((task, _)) => task.coming_child(),
        };
        Subject::new(name, identity)
    }

    /// Creates a process that does again what it did. Its caller has [dropped](drop_types) the types of the ends
    /// that were seen, or forgets them, and has asked whether there is a script.
    #[cold]
    pub(super) fn stand_in(
        &self,
        mut plan: ProcessPlan,
        seen: EndsSeen,
        by: By<'_>,
        attributes: u8,
    ) -> TaskRef {
        let Again(script) = self.script.get().expect("asked by the caller");
        // SAFETY: said by the caller.
        let end = |(channel, end)| unsafe { UntypedEnd::instead_of(channel, end) };
        let ends = Ends::new(seen.all().map(end));
        plan.is_joined = true;
        plan.attributes = attributes;
        let (script, channels) = (Arc::clone(script), Arc::clone(&self.channels));
        let code = move |()| async move {
            let Some((_, task)) = Worker::running() else { return Ok(()) };
            perform(&*script, task, &channels, ends).await.map_err(|parted| match parted {
                Parted::Fails(error) => error,
                Parted::Other(what) => {
                    let what = format!("`{}` {what}", task.info().name);
                    script.parts(what.clone());
                    what.into()
                }
            })
        };
        self.create_async(plan, seen, code, by)
    }
}

/// The ends of a process, by the numbers of their channels.
struct Ends(BTreeMap<(u64, bool), UntypedEnd>);

impl Ends {
    fn new(ends: impl Iterator<Item = UntypedEnd>) -> Self {
        Self(ends.map(|end| ((end.channel().id, end.end() == End::Sender), end)).collect())
    }

    fn get(&mut self, channel: u64, to_send: bool) -> Result<&mut UntypedEnd, Parted> {
        self.0.get_mut(&(channel, to_send)).ok_or_else(|| missing(to_send))
    }

    fn give_up(&mut self, channel: u64, to_send: bool) -> Result<(), Parted> {
        self.0.remove(&(channel, to_send)).map(drop).ok_or_else(|| missing(to_send))
    }
}

fn missing(to_send: bool) -> Parted {
    let end = if to_send { "sender" } else { "receiver" };
    Parted::Other(format!("used a {end} that it has not"))
}

/// Why a process ends otherwise than by returning.
enum Parted {
    /// It fails, as it did.
    Fails(BoxError),
    /// What it sees is not what it saw.
    Other(String),
}

async fn perform(
    script: &dyn Script,
    task: TaskRef,
    channels: &ChannelTable,
    mut ends: Ends,
) -> Result<(), Parted> {
    let id = Subject::new(&task.info().name, task.info().identity).id;
    let mut message = Vec::new();
    loop {
        message.clear();
        let Some(step) = script.next(id, &mut message) else {
            wait_for_good(channels).await;
            return Ok(());
        };
        match step {
            Step::Sends { channel } => {
                let end = ends.get(channel, true)?;
                if let Err(error) = end.send_written(&message).await {
                    let (name, number) = (end.channel().name.clone(), end.number() + 1);
                    let what = format!("cannot send message {number} of `{name}` again: {error}");
                    return Err(Parted::Other(what));
                }
            }
            Step::Receives { channel, messages } => {
                let end = ends.get(channel, false)?;
                for _ in 0..messages {
                    if !end.skip().await {
                        let (name, number) = (end.channel().name.clone(), end.number());
                        let what = format!("received more than the {number} messages of `{name}`");
                        return Err(Parted::Other(what));
                    }
                }
            }
            Step::SeesEnd { channel } => {
                let end = ends.get(channel, false)?;
                if end.skip().await {
                    let (name, number) = (end.channel().name.clone(), end.number());
                    let what = format!("saw `{name}` end before message {number}, which there is");
                    return Err(Parted::Other(what));
                }
            }
            Step::Closes { channel } => {
                ends.give_up(channel, true)?;
                // It took effect there: a failure that follows does not mark it.
                flush(task).await;
            }
            Step::Departs { channel } => ends.give_up(channel, false)?,
            Step::Ends { failure: None } => return Ok(()),
            Step::Ends { failure: Some(failure) } => {
                return Err(Parted::Fails(failure.into_error()));
            }
            Step::Waits { channel, to_send } => {
                let end = ends.get(channel, to_send)?;
                if to_send {
                    end.wait_for_room().await;
                } else {
                    end.skip().await;
                }
                let name = end.channel().name.clone();
                return Err(Parted::Other(format!("waited for good at `{name}`, and goes on")));
            }
            // Steps that are told by later versions of what tells them.
            other => return Err(Parted::Other(format!("did what is not known here: {other:?}"))),
        }
    }
}
