//! Adds up what looks at a run find.
//!
//! Each look stands for the time since the look before it: the process found computing is taken to have
//! computed since then. From one view to the next all looks are at the same places, so that a process has all
//! of them, and the next view is of the next places: with more than [`MOST`] processes each has its turn.

use super::view::{ChannelView, Part, ProcessView, RingView, Shares, View, WorkerView};
use kahn_report::observe::{Doing, Look, Sampled, SurveyedChannel, SurveyedProcess};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The most processes, and the most channels, that a view tells of.
pub const MOST: usize = 2000;

/// What looks found of one process since the last view.
#[derive(Clone, Copy, Debug)]
struct Tally {
    id: u64,
    /// By `Doing as usize`.
    times: [Duration; Doing::ALL.len()],
    last: Doing,
}

/// What was known of a channel when it was seen last.
#[derive(Clone, Copy, Debug)]
struct Before {
    received: u64,
    at: Duration,
    /// The turn of the table in which it was seen.
    turn: u64,
}

/// Adds up what looks at one run find. It is told the time, and so asks no clock.
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn_observe::sample::Sampler;
/// use std::time::Duration;
///
/// let mut network = Network::new();
/// let handle = network.stop_handle();
/// let (out, seen) = network.channel("seen");
/// network.process("look", out, async move |mut out| {
///     let mut sampler = Sampler::default();
///     sampler.look(&handle, Duration::from_millis(20));
///     sampler.look(&handle, Duration::from_millis(40));
///     let view = sampler.view(&handle, Duration::from_millis(50));
///     let look = view.processes.iter().find(|process| process.name == "look");
///     out.send(look.map(|process| process.shares.busy)).await;
/// });
/// let seen = network.collect("all", seen);
/// network.run()?;
/// assert_eq!(seen.take(), Some(vec![Some(1.0)]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug)]
pub struct Sampler {
    most: usize,
    /// Where the parts begin that are looked at.
    first: usize,
    first_channel: usize,
    /// Kept, to be filled again.
    look: Look,
    tallies: Vec<Tally>,
    /// Where the tally of a process stands.
    places: BTreeMap<u64, usize>,
    workers: Vec<(Duration, Option<u64>)>,
    looks: u32,
    /// When the last look was.
    at: Duration,
    /// When the last view was.
    viewed: Duration,
    channels: BTreeMap<u64, Before>,
    /// How often the table of channels was begun anew.
    turn: u64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self::of_at_most(MOST)
    }
}

impl Sampler {
    /// Makes one that tells of so many processes and channels in a view, of one at least.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::sample::Sampler;
    ///
    /// let sampler = Sampler::of_at_most(100);
    /// ```
    pub fn of_at_most(most: usize) -> Self {
        Self {
            most: most.max(1),
            first: 0,
            first_channel: 0,
            look: Look::default(),
            tallies: Vec::new(),
            places: BTreeMap::new(),
            workers: Vec::new(),
            looks: 0,
            at: Duration::ZERO,
            viewed: Duration::ZERO,
            channels: BTreeMap::new(),
            turn: 0,
        }
    }

    /// How often it has looked since the last view.
    pub(super) fn looks(&self) -> u32 {
        self.looks
    }

    fn part(&self, first: usize) -> Range<usize> {
        first..first + self.most
    }

    /// Looks at the run, at this time; whether there is anything to see.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::sample::Sampler;
    /// use std::time::Duration;
    ///
    /// let network = kahn::Network::new();
    /// let mut sampler = Sampler::default();
    /// // It has not begun.
    /// assert!(!sampler.look(&network.stop_handle(), Duration::from_millis(20)));
    /// ```
    pub fn look(&mut self, run: &impl Sampled, at: Duration) -> bool {
        let mut look = std::mem::take(&mut self.look);
        run.look(self.part(self.first), &mut look);
        let passed = at.saturating_sub(self.at);
        self.at = at;
        let is_there = look.places > 0;
        if is_there {
            self.looks += 1;
            self.add(&look, passed);
        } else {
            // What is seen next is seen for the first time.
            self.viewed = at;
        }
        self.look = look;
        is_there
    }

    fn add(&mut self, look: &Look, passed: Duration) {
        // The table keeps its order, so the tally of the next process is mostly the next.
        let mut next = 0;
        for &(id, doing) in &look.processes {
            let is_next = self.tallies.get(next).is_some_and(|tally| tally.id == id);
            let known = if is_next { Some(next) } else { self.places.get(&id).copied() };
            let place = known.unwrap_or_else(|| {
                let times = [Duration::ZERO; Doing::ALL.len()];
                self.tallies.push(Tally { id, times, last: doing });
                self.places.insert(id, self.tallies.len() - 1);
                self.tallies.len() - 1
            });
            let tally = &mut self.tallies[place];
            tally.times[doing as usize] += passed;
            tally.last = doing;
            if known.is_some() {
                next = place + 1;
            }
        }
        self.workers.resize(look.workers.len(), (Duration::ZERO, None));
        for (worker, &runs) in self.workers.iter_mut().zip(&look.workers) {
            worker.0 += if runs.is_some() { passed } else { Duration::ZERO };
            worker.1 = runs;
        }
    }

    /// Returns what the run did since the last view, at this time; the next view is of the next part.
    ///
    /// A process that no look has found yet is told in the next view.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::sample::Sampler;
    /// use std::time::Duration;
    ///
    /// let network = kahn::Network::new();
    /// let mut sampler = Sampler::default();
    /// let view = sampler.view(&network.stop_handle(), Duration::from_millis(200));
    /// assert!(view.processes.is_empty() && view.looks == 0);
    /// ```
    pub fn view(&mut self, run: &impl Sampled, at: Duration) -> View {
        let (processes, channels) = (self.part(self.first), self.part(self.first_channel));
        let survey = run.survey(processes.clone(), channels.clone());
        let since = at.saturating_sub(self.viewed);
        let looked: Duration = self.at.saturating_sub(self.viewed);
        let mut view = View {
            seconds: at.as_secs_f64(),
            of_seconds: since.as_secs_f64(),
            looks: self.looks,
            of_processes: Part::new(processes, survey.process_places),
            of_channels: Part::new(channels, survey.channel_places),
            processes: survey.processes.into_iter().filter_map(|p| self.process(p)).collect(),
            channels: survey
                .channels
                .into_iter()
                .map(|channel| self.channel(channel, at))
                .collect(),
            workers: self.workers.iter().map(|worker| Self::worker(*worker, looked)).collect(),
            rings: survey.rings.iter().map(|ring| ring.iter().map(member).collect()).collect(),
        };
        let ranks = run.ranks();
        if !ranks.is_empty() {
            view.add_ranks(&ranks);
        }
        self.tallies.clear();
        self.places.clear();
        self.workers.clear();
        (self.looks, self.viewed, self.at) = (0, at, at);
        self.go_on(survey.process_places, survey.channel_places);
        view
    }

    /// Goes on to the next parts.
    fn go_on(&mut self, processes: usize, channels: usize) {
        self.first += self.most;
        if self.first >= processes {
            self.first = 0;
        }
        self.first_channel += self.most;
        if self.first_channel >= channels {
            (self.first_channel, self.turn) = (0, self.turn + 1);
            // Those that were not there in this turn have ended.
            let turn = self.turn;
            self.channels.retain(|_, before| before.turn + 1 >= turn);
        }
    }

    fn process(&self, process: SurveyedProcess) -> Option<ProcessView> {
        let tally = &self.tallies[*self.places.get(&process.id)?];
        Some(ProcessView {
            id: process.id,
            name: process.name,
            rank: None,
            kind: process.kind,
            shares: Shares::new(tally.times)?,
            doing: tally.last,
            waits_at: process.waits_at,
            stuck: process.is_stuck,
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate is shown with three digits")]
    fn channel(&mut self, channel: SurveyedChannel, at: Duration) -> ChannelView {
        let now = Before { received: channel.received, at, turn: self.turn };
        let rate = self.channels.insert(channel.id, now).and_then(|before| {
            let (more, passed) =
                (channel.received.saturating_sub(before.received), at.saturating_sub(before.at));
            (!passed.is_zero()).then(|| more as f64 / passed.as_secs_f64())
        });
        ChannelView {
            id: channel.id,
            name: channel.name,
            from: channel.from,
            to: channel.to,
            capacity: channel.capacity,
            waiting: channel.sent.saturating_sub(channel.received),
            received: channel.received,
            rate,
            growths: channel.growths,
        }
    }

    fn worker((busy, runs): (Duration, Option<u64>), looked: Duration) -> WorkerView {
        let busy = if looked.is_zero() { 0.0 } else { busy.div_duration_f64(looked).min(1.0) };
        WorkerView { busy, runs, rank: None }
    }
}

fn member(member: &kahn_report::RingMember) -> RingView {
    RingView { process: member.process.clone(), channel: member.channel.clone(), full: member.full }
}
