//! What a run was limited by, as far as its figures tell.

use super::Report;
use super::human;
use crate::Name;
use std::collections::BTreeMap;

/// From this share on, something is busy all the time.
const MOSTLY: f64 = 0.8;

/// What a run could not be faster for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Limit<'report> {
    /// Times were not measured.
    Unknown,
    /// One process ran all the time, and nobody can share its work.
    Process(&'report Name, f64),
    /// The same, of one that brings the input in.
    Input(&'report Name, f64),
    /// The workers were busy all the time.
    Workers(f64),
    /// Processes of a loop, which wait for each other: some of their names, how many, their share.
    Loop(Vec<&'report Name>, usize, f64),
    /// Something outside the network was waited for.
    Outside(f64),
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
        let busy = self.busy_share().unwrap_or(0.0);
        if busy >= MOSTLY {
            return Limit::Workers(busy);
        }
        let largest = self.loops().into_iter().map(|members| {
            let sum: f64 = members.iter().map(|&place| seconds(place)).sum();
            (members, sum / all)
        });
        let largest = largest.reduce(|a, b| if b.1 > a.1 { b } else { a });
        match largest {
            Some((members, share)) if share >= 0.5 => {
                let names = members.iter().take(2).map(|&place| &self.processes[place].name);
                Limit::Loop(names.collect(), members.len(), share)
            }
            _ => Limit::Outside(1.0 - busy),
        }
    }

    /// The groups of processes that reach each other (Tarjan 1972), without recursion; each in the order
    /// of the report.
    fn loops(&self) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let count = self.processes.len();
        let mut places = BTreeMap::new();
        for (place, process) in self.processes.iter().enumerate() {
            places.entry(process.name.as_str()).or_insert(place);
        }
        let mut next = vec![Vec::new(); count];
        for channel in &self.channels {
            let end = |end: &Option<Name>| places.get(end.as_ref()?.as_str()).copied();
            if let (Some(from), Some(to)) = (end(&channel.from), end(&channel.to)) {
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
            Self::Outside(share) => write!(
                f,
                "limited by waiting: for {} of their time the workers had nothing to run, and no process \
                 or loop was busy throughout (start and end, the world outside, or turns taken)",
                percent(*share)
            ),
        }
    }
}
