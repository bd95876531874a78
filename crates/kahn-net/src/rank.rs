//! The loop of one rank, which moves frames between the links here and the transport, and speaks with the
//! coordinator. On rank 0 it is the coordinator, too. A thread of its own turns it, or the worker of a rank with one core.
//!
//! | the network here | the loop |
//! |---|---|
//! | has not begun | waits for it: what comes is left where it is |
//! | runs | moves frames; tells where the rank stands when it comes to rest |
//! | has finished or ended | the same: others may run |
//! | … and the run is over | tells rank 0 what ran here, and returns; on rank 0 when all others have told |
//!
//! Every frame is written and counted when it is made, under one lock with what it tells; so a rank that rests has
//! counted all that it has to say, whether that has left yet or not.

use crate::alike::{Comparison, Difference, Wrong};
use crate::chase::{Lookout, Looks, Seen};
use crate::coordinator::{Coordinator, Say};
use crate::frame::{At, End, Frame, Frames, KnownChain, Lead, Sight, Stand, State, VERSION, full};
use crate::links::{RankLinks, Stage, Told};
use crate::transport::{Event, Transport};
use crate::watch::Watched;
use crate::way::Refusal;
use kahn::ranks::{self, Chain, CutEnd, Local, Reason, Standing};
use kahn_engine::sleep::shared_loop::EventLoop;
use std::sync::Arc;
use std::time::Duration;

/// How a run has come to its end, as one rank knows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// As the parts tell.
    Told,
    Lost(usize),
    Refused {
        rank: usize,
        refusal: Refusal,
    },
    /// This rank has another network or another file than rank 0.
    Differs {
        rank: usize,
        difference: Difference,
    },
}

/// How the run has ended, and what the other ranks have told.
pub(crate) type Ended = (How, Vec<Option<Told>>);

/// One rank, while its loop runs.
pub(crate) struct RankLoop<T> {
    rank: usize,
    links: Arc<RankLinks>,
    transport: T,
    has_begun: bool,
    /// The network here, if it runs.
    local: Option<Arc<dyn Local>>,
    /// How long there is nothing to do, if nothing comes.
    may_wait: Duration,
    /// What has come from each rank and was not taken yet.
    incoming: Vec<Vec<u8>>,
    /// Whether something has come from a rank that is no frame: nothing behind it can be read.
    is_unreadable: Vec<bool>,
    /// Where what is to go is taken, so that its memory is used again.
    outgoing: Vec<u8>,
    coordinator: Option<Coordinator>,
    /// On rank 0: the files of all ranks.
    files: Comparison,
    /// What the rank told last.
    told: Option<Stand>,
    /// It has told that no root is left here, and has had none since, as far as is known.
    has_told_of_roots: bool,
    time: u64,
    chains: Lookout,
    looks: Looks,
    /// A channel that had to grow in the last act, and must not.
    over_budget: Option<String>,
    is_over: bool,
    how: How,
    /// On rank 0: what the others have told.
    all_told: Vec<Heard>,
    watched: Watched,
}

/// What rank 0 has heard of another one when the run is over.
#[derive(Debug)]
enum Heard {
    Nothing,
    Told(Told),
    Lost,
    /// What it tells cannot be read.
    Unreadable(Refusal),
}

impl<T: Transport + Send> EventLoop for RankLoop<T> {
    fn turn(&mut self) -> bool {
        if !self.has_begun && !self.begin() {
            self.may_wait = self.transport.longest_wait();
            return true;
        }
        self.step()
    }

    fn wait(&mut self, most: Duration) {
        if self.may_wait.is_zero() {
            std::thread::yield_now();
        } else {
            self.transport.wait(self.may_wait.min(most));
        }
    }
}

impl<T: Transport> RankLoop<T> {
    pub(crate) fn new(rank: usize, links: Arc<RankLinks>, transport: T) -> Self {
        let (ranks, now) = (links.ranks(), transport.now());
        Self {
            rank,
            links,
            transport,
            has_begun: false,
            local: None,
            may_wait: Duration::ZERO,
            incoming: vec![Vec::new(); ranks],
            is_unreadable: vec![false; ranks],
            outgoing: Vec::new(),
            coordinator: (rank == 0).then(|| Coordinator::new(ranks)),
            files: Comparison::new(ranks, Vec::new()),
            told: None,
            has_told_of_roots: false,
            time: 0,
            chains: Lookout::default(),
            looks: Looks::new(now),
            over_budget: None,
            is_over: false,
            how: How::Told,
            all_told: std::iter::repeat_with(|| Heard::Nothing).take(ranks).collect(),
            watched: Watched::new(None, rank, ranks),
        }
    }

    /// Begins, when the network has begun or will not; whether it has.
    fn begin(&mut self) -> bool {
        self.local = match self.links.stage() {
            Stage::Before => return false,
            Stage::Begun(local) => Some(local),
            Stage::Never => None,
        };
        self.has_begun = true;
        let watch = self.links.watch.lock().clone();
        self.watched = Watched::new(watch, self.rank, self.links.ranks());
        // Before anything else is said.
        self.watched.ask(self.is_over, self.transport.now(), &self.links);
        let inputs = self.links.inputs.lock().clone();
        if self.rank == 0 {
            self.files = Comparison::new(self.links.ranks(), inputs);
        } else if self.local.is_some() {
            let (processes, channels) = self.links.hello();
            self.links.say(0, &Frame::Hello { version: VERSION, processes, channels, inputs });
        }
        true
    }

    /// Does what there is to do; whether it goes on.
    fn step(&mut self) -> bool {
        let Some(is_later) = self.receive() else { return false };
        if let Some(refusal) = self.links.take_refusal() {
            self.refused(self.rank, &refusal);
        }
        if let Some(sums) = self.links.gate.take_sums() {
            self.say(vec![(0, Frame::Sums { sums })]);
        }
        self.tell_of_roots();
        self.tell();
        self.look_for_chains();
        self.watched.ask(self.is_over, self.transport.now(), &self.links);
        self.flush();
        let has_ended =
            self.state().is_none_or(|state| matches!(state, State::Finished | State::Ended));
        if self.is_over && has_ended && self.has_told() {
            return false;
        }
        self.may_wait = if is_later { Duration::ZERO } else { self.longest_wait() };
        true
    }

    /// How long there is nothing to do here, if nothing comes.
    fn longest_wait(&self) -> Duration {
        let longest = self.transport.longest_wait();
        let looks = self.looks_for_chains().then(|| self.looks.left(self.transport.now()));
        looks.map_or(longest, |left| longest.min(left))
    }

    /// Whether all is told of the run, which is over: to rank 0, or by all others.
    fn has_told(&mut self) -> bool {
        if matches!(self.all_told[self.rank], Heard::Nothing) {
            let now = self.transport.now();
            let may_go = || self.watched.has_stayed(now);
            let Some(told) = self.links.take_told(may_go) else { return false };
            if self.rank != 0 {
                self.watched.tell_last(&self.links);
                match &told {
                    Told::Ran(part) => self.links.say(0, &Frame::Ran { part }),
                    Told::NotRun(why) => self.links.say(0, &Frame::NotRun { why }),
                }
                self.flush();
            }
            self.all_told[self.rank] = Heard::Told(told);
        }
        self.rank != 0 || !self.all_told.iter().any(|heard| matches!(heard, Heard::Nothing))
    }

    /// How the run has ended, what the others have told, if this is rank 0, and the transport.
    pub(crate) fn end_of_run(mut self) -> (Ended, T) {
        // What it came to is not known whole.
        let is_not_told = |(rank, heard): (usize, &Heard)| match heard {
            Heard::Lost => Some(How::Lost(rank)),
            Heard::Unreadable(refusal) => {
                Some(How::Refused { rank: self.rank, refusal: refusal.clone() })
            }
            Heard::Nothing | Heard::Told(_) => None,
        };
        if self.how == How::Told
            && let Some(how) = self.all_told.iter().enumerate().find_map(is_not_told)
        {
            self.how = how;
        }
        let told = |heard| match heard {
            Heard::Told(told) => Some(told),
            Heard::Nothing | Heard::Lost | Heard::Unreadable(_) => None,
        };
        self.watched.ends();
        self.links.waits.close();
        let all_told = self.all_told.into_iter().map(told).collect();
        ((self.how, all_told), self.transport)
    }

    /// Takes all that has come; whether more is on its way, `None` if the rank is to be gone.
    fn receive(&mut self) -> Option<bool> {
        loop {
            match self.transport.receive(&mut self.incoming) {
                Event::Nothing => return Some(false),
                Event::Later => return Some(true),
                Event::Bytes(from) => self.take(from),
                Event::Lost(rank) => {
                    if self.how == How::Told && !self.is_over {
                        self.how = How::Lost(rank);
                    }
                    if matches!(self.all_told[rank], Heard::Nothing) {
                        self.all_told[rank] = Heard::Lost;
                    }
                    if self.coordinator.is_some() {
                        let says = self.coordinator.as_mut().map(|all| all.end(End::Elsewhere));
                        self.say(says.unwrap_or_default());
                    } else if rank == 0 {
                        self.watched.goes();
                        self.end(&End::Elsewhere);
                    }
                }
                Event::Killed => {
                    if self.how == How::Told {
                        self.how = How::Lost(self.rank);
                    }
                    self.end(&End::Elsewhere);
                    return None;
                }
            }
        }
    }

    /// Takes the frames of a rank.
    fn take(&mut self, from: usize) {
        let mut bytes = std::mem::take(&mut self.incoming[from]);
        if self.is_unreadable[from] {
            return;
        }
        let mut frames = Frames::of(&bytes);
        loop {
            match frames.next() {
                Ok(None) => break,
                Ok(Some(Frame::Ran { part })) if self.rank == 0 => {
                    self.all_told[from] = Heard::Told(Told::Ran(part.to_vec()));
                }
                Ok(Some(Frame::NotRun { why })) if self.rank == 0 => {
                    self.all_told[from] = Heard::Told(Told::NotRun(why.to_owned()));
                }
                Ok(Some(frame)) if self.watched.takes(from, &frame, &self.links) => {}
                Ok(Some(frame)) if self.links.takes_of_waits(from, &frame) => {}
                // What is under way when the run is over is of no use.
                Ok(Some(_)) if self.is_over => {}
                Ok(Some(frame)) if frame.is_counted() => {
                    if self.local.is_some()
                        && let Err(refusal) = self.links.take(from, &frame)
                    {
                        self.refused(self.rank, &refusal);
                    }
                }
                Ok(Some(frame)) => {
                    if let Err(what) = self.hear(from, &frame) {
                        self.refused(self.rank, &Refusal { channel: None, what });
                    }
                }
                Err(what) => {
                    let what = format!("{what}, from rank {from}");
                    let refusal = Refusal { channel: None, what };
                    self.refused(self.rank, &refusal);
                    self.is_unreadable[from] = true;
                    if matches!(self.all_told[from], Heard::Nothing) {
                        self.all_told[from] = Heard::Unreadable(refusal);
                    }
                    return;
                }
            }
        }
        let taken = bytes.len() - frames.left();
        bytes.drain(..taken);
        self.incoming[from] = bytes;
    }

    /// Heeds what a rank says to this one, or this one to itself.
    fn hear(&mut self, from: usize, frame: &Frame<'_>) -> Result<(), String> {
        if let Some(all) = &mut self.coordinator {
            let says = match frame {
                Frame::Stand(stand) => Some(all.told(from, *stand)),
                Frame::Answer { round, stand } => Some(all.answered(from, *round, *stand)),
                Frame::Seen(sight) => Some(all.saw(from, sight.clone())),
                Frame::Stands { chains } => Some(all.stands(from, chains)),
                Frame::Confirmed { round, stood } => Some(all.confirmed(from, *round, stood)),
                Frame::NoRoot => Some(all.has_no_root(from)),
                Frame::Root { round, stays } => Some(all.stays_without_root(from, *round, *stays)),
                _ => None,
            };
            if let Some(says) = says {
                self.say(says);
                return Ok(());
            }
        }
        let is_to_coordinator =
            matches!(frame, Frame::Hello { .. } | Frame::Sums { .. } | Frame::Refuse { .. });
        // Ranks speak with the coordinator alone, which is on rank 0.
        if is_to_coordinator && self.rank != 0 || !is_to_coordinator && from != 0 {
            return Err(format!("what rank {from} does not say"));
        }
        match frame {
            Frame::Hello { version, processes, channels, inputs } => {
                let compared = match self.links.compare(*version, processes, channels) {
                    Some(what) => {
                        Err(Wrong::Differs { rank: from, difference: Difference::Network(what) })
                    }
                    None => self.files.told(from, inputs),
                };
                return self.compared(from, compared);
            }
            Frame::Sums { sums } => {
                let compared = self.files.summed(from, sums);
                return self.compared(from, compared);
            }
            Frame::Sum => self.links.gate.want_sums(),
            Frame::Begin => self.links.gate.open(),
            Frame::Refuse { channel, what } => {
                let refusal = Refusal { channel: *channel, what: (*what).to_owned() };
                self.refused(from, &refusal);
            }
            Frame::Ask { round } => {
                let stand = self.stand();
                // A worker may be awake that finds nothing: then it is told anew that the rank rests.
                self.told = Some(stand);
                let answer = Frame::Answer { round: *round, stand };
                self.say(vec![(0, answer)]);
            }
            Frame::Look => {
                let sight = self.look();
                self.say(vec![(0, Frame::Seen(sight))]);
            }
            Frame::Act { time, grow, dead } => {
                self.act(grow, dead);
                self.time = *time;
            }
            Frame::Confirm { round, chains } => {
                let stood = self.confirm(chains);
                self.say(vec![(0, Frame::Confirmed { round: *round, stood })]);
            }
            Frame::Free { time, grow, dead } => {
                self.free(grow, dead);
                self.time = *time;
                // Whatever it does: the others wait for it.
                let stand = self.stand();
                self.told = Some(stand);
                self.say(vec![(0, Frame::Stand(stand))]);
            }
            Frame::Release { time } => {
                self.local.iter().for_each(|local| local.release());
                self.time = *time;
            }
            Frame::AskRoot { round } => {
                let stays = self.local.as_ref().is_none_or(|local| local.stays_without_root());
                self.has_told_of_roots &= stays;
                self.say(vec![(0, Frame::Root { round: *round, stays })]);
                self.tell_of_roots();
            }
            Frame::Prune { time } => {
                if let Some(local) = &self.local {
                    local.release();
                    local.prune_all();
                }
                self.time = *time;
            }
            Frame::End(why) => self.end(why),
            _ => return Err(format!("what rank {from} does not say")),
        }
        Ok(())
    }

    /// Says things to ranks, this one among them.
    fn say(&mut self, says: Vec<Say>) {
        for (to, frame) in says {
            if to == self.rank {
                let heard = self.hear(self.rank, &frame);
                debug_assert_eq!(heard, Ok(()), "it says what there is to say");
            } else {
                self.links.say(to, &frame);
            }
        }
    }

    /// Tells the coordinator where the rank stands, if that is another place.
    fn tell(&mut self) {
        if self.is_over {
            return;
        }
        let stand = self.stand();
        if self.told == Some(stand) || matches!(stand.state, State::Runs | State::Waits) {
            return;
        }
        self.told = Some(stand);
        self.say(vec![(0, Frame::Stand(stand))]);
    }

    /// Tells the coordinator that no root is left here. That comes before what is told of a rank that rests.
    fn tell_of_roots(&mut self) {
        let may_tell = !self.is_over && !self.has_told_of_roots;
        if may_tell && self.local.as_ref().is_some_and(|local| local.has_no_root()) {
            self.has_told_of_roots = true;
            self.say(vec![(0, Frame::NoRoot)]);
        }
    }

    fn state(&self) -> Option<State> {
        self.local.as_ref().map(|local| match local.rest() {
            Standing::Runs => State::Runs,
            Standing::Waits => State::Waits,
            Standing::Rests => State::Rests,
            Standing::Finished => State::Finished,
            Standing::Ended => State::Ended,
        })
    }

    fn stand(&self) -> Stand {
        // First whether it rests: if so, the counts stay as they are.
        let state = self.state().unwrap_or(State::Ended);
        let (sent, received) = self.links.counts();
        Stand { time: self.time, state, sent, received }
    }

    fn look(&mut self) -> Sight {
        let seen = self.local.as_ref().map(|local| local.look()).unwrap_or_default();
        let lead = |lead| match lead {
            ranks::Lead::Dead => Lead::Dead,
            ranks::Lead::To { end, smallest } => {
                Lead::To { end: end.into(), smallest: smallest.map(full) }
            }
        };
        let over_budget = seen.over_budget.map(|name| name.to_string());
        Sight {
            goes_on: seen.goes_on,
            over_budget: over_budget.or_else(|| self.over_budget.clone()),
            leads: seen.leads.into_iter().map(|(end, to)| (At::from(end), lead(to))).collect(),
        }
    }

    fn act(&mut self, grow: &[At], dead: &[At]) {
        self.over_budget = None;
        let Some(local) = &self.local else { return };
        let cut_end = |end: &At| CutEnd { channel: end.channel as usize, is_sender: end.is_sender };
        for end in grow.iter().map(cut_end) {
            if !local.grow(end) {
                self.over_budget = self.links.name_of_channel(end.channel);
            }
        }
        dead.iter().map(cut_end).for_each(|end| local.is_dead(end));
    }

    /// Whether there may be chains of waits that lead to other ranks.
    fn looks_for_chains(&self) -> bool {
        self.local.is_some() && !self.is_over && self.links.ranks() > 1
    }

    /// Looks for chains of waits now and then, and tells of those that have stood since it looked last.
    fn look_for_chains(&mut self) {
        let may_look = self.looks_for_chains() && self.looks.is_due(self.transport.now());
        let Some(local) = self.local.as_ref().filter(|_| may_look) else { return };
        let seen = self.seen(local.chains());
        let new = self.chains.look(seen);
        let is_worth_while = new.iter().any(|(_, seen)| !self.chains.was_tried(seen));
        self.looks.has_looked(is_worth_while, self.transport.now());
        if new.is_empty() {
            return;
        }
        let chains = new.into_iter().map(KnownChain::of).collect();
        self.say(vec![(0, Frame::Stands { chains })]);
    }

    fn seen(&self, chains: Vec<Chain>) -> Vec<Seen> {
        let seen = |chain: Chain| {
            let (from_count, to_count) = self.links.counts_of(&chain)?;
            Some(Seen { chain, from_count, to_count })
        };
        chains.into_iter().filter_map(seen).collect()
    }

    /// Holds those of these chains that stand; their numbers.
    fn confirm(&self, numbers: &[u64]) -> Vec<u64> {
        let told = numbers.iter().filter_map(|number| Some((*number, self.chains.told(*number)?)));
        let told: Vec<(u64, &Seen)> = told.collect();
        let chains: Vec<Chain> = told.iter().map(|(_, seen)| seen.chain.clone()).collect();
        let stand = self.local.as_ref().map(|local| local.hold(&chains)).unwrap_or_default();
        let stood = told.into_iter().zip(stand).filter(|((_, seen), stands)| {
            *stands && self.links.counts_of(&seen.chain) == Some((seen.from_count, seen.to_count))
        });
        stood.map(|((number, _), _)| number).collect()
    }

    fn free(&mut self, grow: &[u64], dead: &[u64]) {
        let Some(local) = &self.local else { return };
        let mut is_done = true;
        for seen in grow.iter().filter_map(|number| self.chains.take(*number)) {
            // If it must not grow, it is told and tried again, less and less often, until nothing else goes on.
            is_done &= local.grow_on(&seen.chain);
        }
        for seen in dead.iter().filter_map(|number| self.chains.take(*number)) {
            local.is_dead_on(&seen.chain);
        }
        if is_done {
            self.looks.is_due_soon(self.transport.now());
        }
    }

    fn end(&mut self, why: &End) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        if let Some(local) = &self.local {
            local.end(match why {
                End::Stuck => Reason::Stuck,
                End::OverBudget(channel) => Reason::OverBudget(channel.as_str().into()),
                End::Finished | End::Elsewhere => Reason::Elsewhere,
            });
        }
        // What waits there does not run any more.
        self.links.gate.open();
    }

    /// A rank was sent something that is not right: the run is over.
    fn refused(&mut self, rank: usize, refusal: &Refusal) {
        if self.how == How::Told && !self.is_over {
            self.how = How::Refused { rank, refusal: refusal.clone() };
        }
        if let Some(all) = &mut self.coordinator {
            let says = all.end(End::Elsewhere);
            self.say(says);
        } else {
            let Refusal { channel, what } = refusal;
            self.links.say(0, &Frame::Refuse { channel: *channel, what });
            self.end(&End::Elsewhere);
        }
    }

    /// Says what follows from it that a rank has the same as this one, or another.
    fn compared(&mut self, from: usize, compared: Result<Vec<Say>, Wrong>) -> Result<(), String> {
        let says = match compared {
            Ok(says) => says,
            Err(Wrong::OutOfTurn) => return Err(format!("what rank {from} does not say")),
            Err(Wrong::Differs { rank, difference }) => {
                if self.how == How::Told {
                    self.how = How::Differs { rank, difference };
                }
                let says = self.coordinator.as_mut().map(|all| all.end(End::Elsewhere));
                says.unwrap_or_default()
            }
        };
        self.say(says);
        Ok(())
    }

    /// Gives the transport all that is to go.
    fn flush(&mut self) {
        for to in (0..self.links.ranks()).filter(|to| *to != self.rank) {
            self.links.take_out(to, &mut self.outgoing);
            if !self.outgoing.is_empty() {
                self.transport.send(to, &mut self.outgoing);
            }
        }
    }
}
