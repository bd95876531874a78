//! What a run was limited by, as far as its figures tell.

use super::Report;
use crate::Name;
use crate::human;
use std::collections::BTreeMap;

/// From this share on, something is busy all the time.
const MOSTLY: f64 = 0.8;

/// What a run could not be faster for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Limit<'report> {
    /// Times were not measured.
    Unknown,
    /// One process ran all the time: more workers are of no use.
    Process(&'report Name, f64),
    /// The same, of one that brings the input in.
    Input(&'report Name, f64),
    /// The workers were busy all the time.
    Workers(f64),
    /// Processes of a loop, which wait for each other: some of their names, how many, their share.
    Loop(Vec<&'report Name>, usize, f64),
    /// The workers had nothing to run for this share of their time, and waited for an end of a channel
    /// that they do not run.
    Outside(f64, Outside<'report>),
    /// The same, and no such end is known.
    Waiting(f64),
    /// No process or loop was busy throughout, and there are no workers: each process has a thread.
    NoWorkers,
}

/// What waited for something that the workers do not run: a party outside the network, or a process on
/// a thread of its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outside<'report> {
    other: &'report Name,
    /// The process that waited, how often, and whether for a message or for room.
    waited: &'report Name,
    times: u64,
    for_message: bool,
}

impl Report {
    /// Seconds in which workers ran processes, as a share of those that they had.
    #[expect(clippy::cast_precision_loss, reason = "workers are few")]
    pub(super) fn busy_share(&self) -> Option<f64> {
        let busy: f64 = self.worker_reports.iter().map(|worker| worker.busy_seconds).sum();
        let all = self.seconds * self.workers as f64;
        (busy > 0.0 && all > 0.0).then(|| (busy / all).min(1.0))
    }

    /// Seconds of processors that all processes took, if they were measured.
    pub(super) fn all_seconds(&self) -> Option<f64> {
        let more = self.more_processes.as_ref().and_then(|(_, sums)| sums.cpu_seconds);
        let listed = self.processes.iter().filter_map(|process| process.cpu_seconds);
        listed.chain(more).reduce(|sum, seconds| sum + seconds)
    }

    /// What the run was limited by.
    pub(super) fn limit(&self) -> Limit<'_> {
        let Some(all) = self.all_seconds().filter(|&all| all > 0.0 && self.seconds > 0.0) else {
            return Limit::Unknown;
        };
        let seconds = |place: usize| self.processes[place].cpu_seconds.unwrap_or(0.0);
        // The first of those that took longest.
        let busiest =
            (0..self.processes.len()).rev().max_by(|&a, &b| seconds(a).total_cmp(&seconds(b)));
        if let Some(place) = busiest
            && seconds(place) >= MOSTLY * self.seconds
        {
            let (name, share) = (&self.processes[place].name, seconds(place) / self.seconds);
            let reads = self.channels.iter().any(|channel| channel.to.as_ref() == Some(name));
            let sends = self.channels.iter().any(|channel| channel.from.as_ref() == Some(name));
            let is_input = sends && !reads;
            return if is_input { Limit::Input(name, share) } else { Limit::Process(name, share) };
        }
        let busy = self.busy_share();
        if let Some(busy) = busy.filter(|&busy| busy >= MOSTLY) {
            return Limit::Workers(busy);
        }
        let largest = self.loops().into_iter().map(|members| {
            let sum: f64 = members.iter().map(|&place| seconds(place)).sum();
            (members, sum / all)
        });
        let largest = largest.reduce(|a, b| if b.1 > a.1 { b } else { a });
        match largest {
            // Of a loop that limits a run, one process or another runs, or is about to: waking it takes time,
            // too. A loop that waits for the world outside runs little.
            Some((members, share)) if share >= 0.5 && share * all >= 0.25 * self.seconds => {
                let names = members.iter().take(2).map(|&place| &self.processes[place].name);
                Limit::Loop(names.collect(), members.len(), share)
            }
            _ => match (busy, self.outside()) {
                (None, _) => Limit::NoWorkers,
                (Some(busy), Some(outside)) => Limit::Outside(1.0 - busy, outside),
                (Some(busy), None) => Limit::Waiting(1.0 - busy),
            },
        }
    }

    /// The end of a channel that no worker runs and that was waited for most often. The process that
    /// waited must have no channel but those with that end in this direction, or it may have waited
    /// elsewhere.
    fn outside(&self) -> Option<Outside<'_>> {
        if self.more_processes.is_some() {
            // An end that is not listed may be one of those.
            return None;
        }
        let places = self.places();
        let process = |name: &Name| places.get(name.as_str()).map(|&place| &self.processes[place]);
        // A process that is never polled has a thread of its own.
        let is_run = |name: &Name| process(name).is_some_and(|process| process.polls > 0);
        // By the process that may have waited, and for what: the other end, if it is always the same.
        let mut ends: BTreeMap<(&str, bool), Option<(&Name, &Name)>> = BTreeMap::new();
        for channel in &self.channels {
            let (Some(from), Some(to)) = (&channel.from, &channel.to) else { continue };
            for (waited, other, for_message) in [(to, from, true), (from, to, false)] {
                let end = ends.entry((waited.as_str(), for_message));
                let end = end.or_insert(Some((waited, other)));
                *end = end.filter(|(_, only)| *only == other);
            }
        }
        let outside = ends.into_iter().filter_map(|((_, for_message), end)| {
            let (waited, other) = end.filter(|(waited, other)| is_run(waited) && !is_run(other))?;
            let waiting = process(waited)?;
            let times = if for_message { waiting.waits_empty } else { waiting.waits_full };
            (times > 0).then_some(Outside { other, waited, times, for_message })
        });
        outside.max_by_key(|outside| outside.times)
    }

    /// The place of each process in the report; of those with one name, the first.
    fn places(&self) -> BTreeMap<&str, usize> {
        let mut places = BTreeMap::new();
        for (place, process) in self.processes.iter().enumerate() {
            places.entry(process.name.as_str()).or_insert(place);
        }
        places
    }

    /// The groups of processes that reach each other (Tarjan 1972), without recursion; each in the order
    /// of the report.
    fn loops(&self) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let count = self.processes.len();
        let places = self.places();
        let mut next = vec![Vec::new(); count];
        let channels = self.channels.iter().map(|channel| (&channel.from, &channel.to));
        // Each side of a rendezvous waits for the other, in both directions.
        let meetings = self
            .meetings
            .iter()
            .flat_map(|meeting| [(&meeting.from, &meeting.to), (&meeting.to, &meeting.from)]);
        for (from, to) in channels.chain(meetings) {
            let end = |end: &Option<Name>| places.get(end.as_ref()?.as_str()).copied();
            if let (Some(from), Some(to)) = (end(from), end(to)) {
                next[from].push(to);
            }
        }
        let (mut found, mut low) = (vec![UNSEEN; count], vec![UNSEEN; count]);
        let (mut open, mut is_open) = (Vec::new(), vec![false; count]);
        let (mut time, mut loops) = (0, Vec::new());
        let mut path: Vec<(usize, usize)> = Vec::new();
        for root in 0..count {
            if found[root] == UNSEEN {
                path.push((root, 0));
            }
            while let Some((place, edge)) = path.pop() {
                if found[place] == UNSEEN {
                    (found[place], low[place], is_open[place]) = (time, time, true);
                    time += 1;
                    open.push(place);
                }
                if let Some(&to) = next[place].get(edge) {
                    path.push((place, edge + 1));
                    if found[to] == UNSEEN {
                        path.push((to, 0));
                    } else if is_open[to] {
                        low[place] = low[place].min(found[to]);
                    }
                    continue;
                }
                if let Some(&(parent, _)) = path.last() {
                    low[parent] = low[parent].min(low[place]);
                }
                if low[place] == found[place] {
                    let start = open.iter().rposition(|&other| other == place).unwrap_or(0);
                    let mut members = open.split_off(start);
                    for &member in &members {
                        is_open[member] = false;
                    }
                    members.sort_unstable();
                    if members.len() > 1 {
                        loops.push(members);
                    }
                }
            }
        }
        loops
    }
}

impl std::fmt::Display for Limit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: f64| human::share(share, 1.0);
        match self {
            Self::Unknown => write!(f, "limited by: unknown, for times were not measured"),
            Self::Process(name, share) => {
                write!(f, "limited by process `{name}`: it ran {} of the time", percent(*share))
            }
            Self::Input(name, share) => {
                let share = percent(*share);
                write!(f, "limited by the input: process `{name}` ran {share} of the time")
            }
            Self::Workers(_) => write!(f, "limited by the workers: all were busy"),
            Self::Loop(names, count, share) => {
                let named: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                let more = match count - named.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                write!(
                    f,
                    "limited by a loop: {}{more} wait for each other, and took {} of the processors' time",
                    named.join(", "),
                    percent(*share)
                )
            }
            Self::Outside(share, outside) => {
                let Outside { other, waited, times, for_message } = outside;
                let what = if *for_message { "a message from" } else { "room towards" };
                let times = human::count(*times, "time", "times");
                write!(
                    f,
                    "limited by waiting: for {} of their time the workers had nothing to run; `{waited}` \
                     waited {times} for {what} `{other}`, which no worker runs",
                    percent(*share)
                )
            }
            Self::NoWorkers => write!(
                f,
                "limited by: unknown, for no process or loop was busy throughout, and each has a thread of \
                 its own"
            ),
            Self::Waiting(share) => write!(
                f,
                "limited by waiting: for {} of their time the workers had nothing to run, and no process \
                 or loop was busy throughout (start and end, the world outside, or turns taken)",
                percent(*share)
            ),
        }
    }
}
