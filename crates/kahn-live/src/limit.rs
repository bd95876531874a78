//! What limits a process, in words, and in which order a person wants to see them.

use kahn_observe::sample::{ChannelView, ProcessView, RingView, View};
use kahn_report::observe::Doing;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Processes of a ring that are shown; the explanation has all.
const MEMBERS: usize = 12;

/// A line for each of so many rings of processes that wait for each other, and one for those that are not shown.
pub(crate) fn rings(view: &View, most: usize) -> Vec<String> {
    let ring = |ring: &Vec<RingView>| {
        let mut members: Vec<_> = ring.iter().take(MEMBERS).map(ToString::to_string).collect();
        if ring.len() > MEMBERS {
            members.push(format!("… and {} more", ring.len() - MEMBERS));
        }
        format!("a ring: {}", members.join(" → "))
    };
    let mut lines: Vec<_> = view.rings.iter().take(most).map(ring).collect();
    if view.rings.len() > most {
        lines.push(format!("{} rings more", view.rings.len() - most));
    }
    lines
}

/// Processes and channels of a view by their numbers.
pub(crate) struct Known<'a> {
    processes: BTreeMap<u64, &'a ProcessView>,
    channels: BTreeMap<u64, &'a ChannelView>,
}

impl<'a> Known<'a> {
    pub(crate) fn new(view: &'a View) -> Self {
        Self {
            processes: view.processes.iter().map(|process| (process.id, process)).collect(),
            channels: view.channels.iter().map(|channel| (channel.id, channel)).collect(),
        }
    }

    fn process(&self, id: Option<u64>) -> Option<&'a ProcessView> {
        id.and_then(|id| self.processes.get(&id).copied())
    }

    /// The name of a process; dots if it is not in this view.
    pub(crate) fn name(&self, id: Option<u64>) -> &'a str {
        self.process(id).map_or("…", |process| process.name.as_str())
    }

    /// The same with its rank, if there are several.
    pub(crate) fn called(&self, id: Option<u64>) -> Cow<'a, str> {
        self.process(id).map_or("…".into(), ProcessView::called)
    }

    /// What a process could not go faster for.
    pub(crate) fn limit(&self, process: &ProcessView) -> String {
        if process.stuck {
            return "stuck: nothing can wake it".to_owned();
        }
        let channel = process.waits_at.and_then(|id| self.channels.get(&id));
        match (process.shares.most(), channel) {
            (Doing::Busy, _) => "its own work".to_owned(),
            (Doing::Ready, _) => "the workers: all are busy".to_owned(),
            (Doing::WaitsOutside, _) => "what is outside".to_owned(),
            (Doing::WaitsForMessage, Some(channel)) => {
                format!("`{}`, which sends `{}`", self.called(channel.from), channel.name)
            }
            (Doing::WaitsForRoom, Some(channel)) => {
                format!("`{}`, which reads `{}`", self.called(channel.to), channel.name)
            }
            (Doing::WaitsForMessage, None) => "what sends to it".to_owned(),
            (Doing::WaitsForRoom, None) => "what reads from it".to_owned(),
        }
    }
}

/// Processes by what limits them: those that are stuck, then those that compute most, wait for a worker, for
/// room, for messages, for what is outside.
pub(crate) fn by_limit(view: &View) -> Vec<&ProcessView> {
    let mut processes: Vec<_> = view.processes.iter().collect();
    let place = |doing| match doing {
        Doing::Busy => 0,
        Doing::Ready => 1,
        Doing::WaitsForRoom => 2,
        Doing::WaitsForMessage => 3,
        Doing::WaitsOutside => 4,
    };
    processes.sort_by(|a, b| {
        let (most_a, most_b) = (a.shares.most(), b.shares.most());
        let by_kind = (Reverse(a.stuck), place(most_a)).cmp(&(Reverse(b.stuck), place(most_b)));
        by_kind.then(b.shares.of(most_a).total_cmp(&a.shares.of(most_b)))
    });
    processes
}

/// Channels by how full they are, those that carry most first among equals.
pub(crate) fn by_fill(view: &View) -> Vec<&ChannelView> {
    let mut channels: Vec<_> = view.channels.iter().collect();
    let rate = |channel: &ChannelView| channel.rate.unwrap_or(0.0);
    channels.sort_by(|a, b| fill(b).total_cmp(&fill(a)).then(rate(b).total_cmp(&rate(a))));
    channels
}

/// How full a channel is, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "a share")]
pub(crate) fn fill(channel: &ChannelView) -> f64 {
    (channel.waiting as f64 / f64::from(channel.capacity.max(1))).min(1.0)
}

/// A number with three digits: `6.50k`.
pub(crate) fn short(number: f64) -> String {
    let (value, unit) = match number {
        n if n >= 999.5e6 => (n / 1e9, "G"),
        n if n >= 999.5e3 => (n / 1e6, "M"),
        n if n >= 999.5 => (n / 1e3, "k"),
        n => return format!("{n:.0}"),
    };
    match value {
        v if v >= 99.95 => format!("{v:.0}{unit}"),
        v if v >= 9.995 => format!("{v:.1}{unit}"),
        v => format!("{v:.2}{unit}"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kahn_observe::sample::{Part, RingView, Shares, WorkerView};
    use std::collections::BTreeSet;

    /// A pipeline whose middle is slow, and a ring that is stuck.
    pub(crate) fn view() -> View {
        let process = |id: u64, name: &str, shares: Shares, doing, waits_at| ProcessView {
            id,
            rank: None,
            name: name.to_owned().into(),
            kind: "process",
            shares,
            doing,
            waits_at,
            stuck: false,
        };
        let channel = |id: u64, name: &str, (from, to), (waiting, capacity), rate| ChannelView {
            id,
            name: name.to_owned().into(),
            from: Some(from),
            to: Some(to),
            capacity,
            waiting,
            received: 41_000,
            rate,
            growths: u32::try_from(id % 2).expect("0 or 1"),
        };
        let of = Shares::default();
        let mut stuck =
            process(5, "chicken", Shares { empty: 1.0, ..of }, Doing::WaitsForMessage, Some(14));
        stuck.stuck = true;
        View {
            seconds: 12.34,
            of_seconds: 0.5,
            looks: 25,
            of_processes: Part { first: 0, count: 5, all: 5 },
            of_channels: Part { first: 0, count: 4, all: 4 },
            processes: vec![
                process(
                    1,
                    "read",
                    Shares { full: 0.92, busy: 0.08, ..of },
                    Doing::WaitsForRoom,
                    Some(11),
                ),
                process(2, "compress", Shares { busy: 0.96, ready: 0.04, ..of }, Doing::Busy, None),
                process(
                    3,
                    "write",
                    Shares { empty: 0.8, busy: 0.12, ready: 0.08, ..of },
                    Doing::WaitsForMessage,
                    Some(12),
                ),
                process(4, "typed", Shares { outside: 1.0, ..of }, Doing::WaitsOutside, None),
                stuck,
            ],
            channels: vec![
                channel(11, "blocks", (1, 2), (64, 64), Some(6500.0)),
                channel(12, "packed", (2, 3), (0, 64), Some(6480.4)),
                channel(13, "lines", (4, 1), (3, 8), None),
                channel(14, "egg", (5, 5), (0, 1), Some(0.0)),
            ],
            workers: vec![
                WorkerView { busy: 0.97, runs: Some(2), rank: None },
                WorkerView { busy: 0.2, runs: None, rank: None },
            ],
            rings: vec![vec![RingView {
                process: "chicken".into(),
                channel: "egg".into(),
                full: false,
            }]],
        }
    }

    #[test]
    fn processes_are_told_by_what_limits_them() {
        let view = view();
        let known = Known::new(&view);
        let told: Vec<_> = by_limit(&view)
            .into_iter()
            .map(|process| format!("{}: {}", process.name, known.limit(process)))
            .collect();
        let expected = [
            "chicken: stuck: nothing can wake it",
            "compress: its own work",
            "read: `compress`, which reads `blocks`",
            "write: `compress`, which sends `packed`",
            "typed: what is outside",
        ];
        assert_eq!(told, expected);
        let channels: Vec<_> = by_fill(&view).into_iter().map(|c| c.name.as_str()).collect();
        assert_eq!(channels, ["blocks", "lines", "packed", "egg"]);
    }

    #[test]
    fn what_limits_a_process_is_told_with_its_rank() {
        let mut view = view();
        view.processes[1].rank = Some(2);
        let known = Known::new(&view);
        assert_eq!(known.limit(&view.processes[0]), "`compress (rank 2)`, which reads `blocks`");
    }

    #[test]
    fn long_rings_and_many_are_told_in_part() {
        let mut view = view();
        assert_eq!(rings(&view, 2), ["a ring: `chicken` waits at `egg` (empty)"]);
        let long = vec![view.rings[0][0].clone(); 20];
        view.rings.extend([long, Vec::new(), Vec::new()]);
        let lines = rings(&view, 2);
        assert!(
            lines[1].ends_with("→ `chicken` waits at `egg` (empty) → … and 8 more"),
            "{lines:?}"
        );
        assert_eq!(lines[1].matches("chicken").count(), 12);
        assert_eq!(lines[2..], ["2 rings more"]);
    }

    /// The names of a JSON object, and of those in its lists.
    fn names(value: &serde_json::Value, found: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    found.insert(name.clone());
                    names(value, found);
                }
            }
            serde_json::Value::Array(values) => values.iter().for_each(|v| names(v, found)),
            _ => {}
        }
    }

    #[test]
    fn the_page_about_it_names_every_field_of_a_line_and_no_other() {
        let page = include_str!("../../../docs/live.md");
        let (_, table) = page.split_once("| field | what |").expect("a table");
        let (table, _) = table.split_once("\n\n").expect("it ends");
        let mut told: BTreeSet<_> =
            table.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        for value in ["blocking", "null"] {
            assert!(told.remove(value), "{value}");
        }
        let mut view = view();
        // Of a run on several ranks.
        view.processes[0].rank = Some(1);
        view.workers[0].rank = Some(1);
        let mut found = BTreeSet::new();
        names(&serde_json::to_value(view).expect("it is data"), &mut found);
        assert_eq!(told, found);
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [0.0, 7.4, 999.4, 999.6, 6480.4, 99_960.0, 1_234_567.0, 5e9];
        let expected = ["0", "7", "999", "1.00k", "6.48k", "100k", "1.23M", "5.00G"];
        assert_eq!(numbers.map(short), expected);
    }
}
