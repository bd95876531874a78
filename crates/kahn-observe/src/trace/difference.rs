//! What is other in one run than in another.
//!
//! A message has the same number in every run, so a wait for it is the same wait. Times never agree: told are
//! processes that ran longer, and waits that are new, took longer or happened much more often, with both figures.

use super::summary::{
    Sums, Waits, counted, place_of_wait, sums, time, waits, write_lost, write_table,
};
use super::timeline::{Channel, Does, Process, Timeline, Wanted};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is other in a later run than in an earlier one: prints the first difference, new and longer waits, and
/// slower processes.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::trace::{Level, Timeline, Trace};
/// use std::sync::Arc;
///
/// fn traced(capacity: u32) -> Result<Timeline, kahn::RunError> {
///     let trace = Arc::new(Trace::new(Level::Schedule));
///     let mut network = Network::new();
///     let numbers = network.source("numbers", 0..1000_u32);
///     network.for_each("ignore", numbers, |_| {});
///     let options = Options::new().workers(1).capacity(capacity);
///     network.run_with(options.observer(Arc::clone(&trace)))?;
///     Ok(trace.timeline())
/// }
///
/// let (much_room, little_room) = (traced(1 << 20)?, traced(1)?);
/// let text = much_room.difference(&little_room).to_string();
/// assert!(text.contains("numbers waits for room in numbers"), "{text}");
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug)]
pub struct Difference<'a> {
    before: &'a Timeline,
    after: &'a Timeline,
    /// What only one of them has: earlier, later.
    processes: [Vec<&'a str>; 2],
    channels: [Vec<&'a str>; 2],
    first: Option<First<'a>>,
    slower: Vec<(&'a str, Sums, Sums)>,
    waits: Vec<(Where<'a>, Waits, Waits)>,
}

/// A process or a channel in every run: its name, and its number for those that share it.
type Identity<'a> = (&'a str, u64);

/// A process, a channel, and what it waits for there.
type Where<'a> = (Identity<'a>, Identity<'a>, Wanted);

/// The first wait that the other run does not have.
#[derive(Debug)]
struct First<'a> {
    at: u64,
    is_in_later: bool,
    place: Where<'a>,
    number: u64,
}

fn process_identity(process: &Process) -> Identity<'_> {
    (&process.name, process.id)
}

fn channel_identity(channel: &Channel) -> Identity<'_> {
    (&channel.name, channel.id)
}

/// All waits, by process, channel and message: when each began.
fn each_wait(timeline: &Timeline) -> Each<'_> {
    let mut all = BTreeMap::new();
    for process in &timeline.processes {
        for span in Timeline::spans(process) {
            if let Does::Waits(wait) = &span.does {
                let channel = channel_identity(&timeline.channels[wait.channel]);
                let place = (process_identity(process), channel, wait.wants);
                all.entry((place, wait.number)).or_insert(span.from);
            }
        }
    }
    all
}

fn waits_by_identity(timeline: &Timeline) -> BTreeMap<Where<'_>, Waits> {
    let by_place = waits(timeline).into_iter();
    let named = by_place.map(|((process, channel, wants), waits)| {
        let process = process_identity(&timeline.processes[process]);
        ((process, channel_identity(&timeline.channels[channel]), wants), waits)
    });
    named.collect()
}

/// When each wait began, by message.
type Each<'a> = BTreeMap<(Where<'a>, u64), u64>;

/// Names that only one of two has.
fn apart<'a>(before: &BTreeSet<Identity<'a>>, after: &BTreeSet<Identity<'a>>) -> [Vec<&'a str>; 2] {
    let of = |one: &BTreeSet<Identity<'a>>, other: &BTreeSet<Identity<'a>>| {
        one.difference(other).map(|(name, _)| *name).collect()
    };
    [of(before, after), of(after, before)]
}

/// What is told if it grew by a tenth, and by more than a thread needs to be put aside once.
fn has_grown(before: u64, after: u64) -> bool {
    const LEAST: u64 = 100_000;
    after > before.saturating_add((before / 10).max(LEAST))
}

/// What is told however long it took: turns cost what lies between the waits.
fn is_more_often(before: &Waits, after: &Waits) -> bool {
    const LEAST: u64 = 100;
    after.count > (2 * before.count).saturating_add(LEAST)
}

impl<'a> Difference<'a> {
    pub(super) fn between(before: &'a Timeline, after: &'a Timeline) -> Self {
        let both = [before, after];
        let [a, b] = both.map(|timeline| timeline.processes.iter().map(process_identity).collect());
        // Else only those are known at which something waited.
        let tells_messages =
            both.map(|timeline| timeline.channels.iter().any(|channel| !channel.holds.is_empty()));
        let [c, d] = both.map(|timeline| timeline.channels.iter().map(channel_identity).collect());
        let [then, now] = both.map(waits_by_identity);
        let mut waits: Vec<_> = now
            .into_iter()
            .map(|(place, now)| (place, then.get(&place).copied().unwrap_or_default(), now))
            .filter(|(_, then, now)| has_grown(then.time, now.time) || is_more_often(then, now))
            .collect();
        waits.sort_by_key(|(_, then, now)| std::cmp::Reverse(now.time.saturating_sub(then.time)));
        let ran_before: BTreeMap<_, _> = before
            .processes
            .iter()
            .map(|process| (process_identity(process), sums(process)))
            .collect();
        let mut slower: Vec<_> = after
            .processes
            .iter()
            .filter_map(|process| {
                let then = *ran_before.get(&process_identity(process))?;
                let now = sums(process);
                has_grown(then.ran, now.ran).then_some((&*process.name, then, now))
            })
            .collect();
        slower.sort_by_key(|(_, then, now)| std::cmp::Reverse(now.ran - then.ran));
        Self {
            before,
            after,
            processes: apart(&a, &b),
            channels: if tells_messages == [true; 2] { apart(&c, &d) } else { Default::default() },
            first: first(before, after),
            slower,
            waits,
        }
    }
}

/// The first wait of either that the other does not have, if all waits of both are known.
fn first<'a>(before: &'a Timeline, after: &'a Timeline) -> Option<First<'a>> {
    if before.lost > 0 || after.lost > 0 {
        return None;
    }
    let (then, now) = (each_wait(before), each_wait(after));
    let only = |one: &Each<'a>, other: &Each<'a>, is_in_later| {
        let new = one.iter().filter(|(wait, _)| !other.contains_key(*wait));
        let new = new.map(|(&(place, number), &at)| First { at, is_in_later, place, number });
        new.min_by_key(|first| first.at)
    };
    let firsts = [only(&now, &then, true), only(&then, &now, false)];
    firsts.into_iter().flatten().min_by_key(|first| first.at)
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, timeline) in [("first", self.before), ("second", self.after)] {
            let length = time(timeline.told());
            writeln!(
                f,
                "{name}: {length}, {}",
                counted(timeline.processes.len(), "process", "processes")
            )?;
            write_lost(f, timeline)?;
        }
        for (kind, [before, after]) in [("process", &self.processes), ("channel", &self.channels)] {
            for (which, names) in [("first", before), ("second", after)] {
                for name in names.iter().take(10) {
                    writeln!(f, "only the {which} has the {kind} {name}")?;
                }
                if names.len() > 10 {
                    writeln!(f, "and {} more that only the {which} has", names.len() - 10)?;
                }
            }
        }
        match &self.first {
            Some(First { at, is_in_later, place: ((process, _), (channel, _), wants), number }) => {
                let [has, has_not] =
                    if *is_in_later { ["second", "first"] } else { ["first", "second"] };
                let wait = place_of_wait(channel, *wants);
                writeln!(
                    f,
                    "\nfirst difference: {process} waits {wait}, number {number}, after {} of the {has} run; \
                     it does not in the {has_not}",
                    time(*at)
                )?;
            }
            None if self.before.lost > 0 || self.after.lost > 0 => {
                writeln!(f, "\nfirst difference: not known, for events were lost")?;
            }
            None => {
                writeln!(f, "\nfirst difference: none, all processes wait for the same messages")?;
            }
        }
        if !self.waits.is_empty() {
            writeln!(f, "\nnew waits, and longer ones")?;
            let rows = self.waits.iter().map(|(((process, _), (channel, _), wants), then, now)| {
                let wait = format!("{process} waits {}", place_of_wait(channel, *wants));
                let counts = [then.count, now.count].map(|count| count.to_string());
                [vec![wait], counts.into(), vec![time(then.time), time(now.time)]].concat()
            });
            let header = ["wait", "times", "then", "time", "then"];
            write_table(f, &header, &[0], rows.collect(), "waits")?;
        }
        if !self.slower.is_empty() {
            writeln!(f, "\nslower processes")?;
            let rows = self
                .slower
                .iter()
                .map(|(name, then, now)| vec![(*name).to_owned(), time(then.ran), time(now.ran)]);
            write_table(f, &["process", "ran", "then"], &[0], rows.collect(), "processes")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::timeline::{Part, Run, Span};
    use super::*;

    /// Two processes that ran so long.
    fn ran(times: [u64; 2]) -> Timeline {
        let process = |(id, ran)| {
            let does = Does::Runs(Run { ran, ..Run::default() });
            let spans = vec![Span { from: 0, until: ran, does }];
            let parts = vec![Part { spans, ..Part::default() }];
            Process { rank: 0, name: format!("stage {id}"), id, parts }
        };
        let processes = [1, 3].into_iter().zip(times).map(process).collect();
        Timeline { until: 1 << 40, processes, ..Timeline::default() }
    }

    #[test]
    fn a_wait_that_happens_much_more_often_is_told_however_short_it_is() {
        let waits = |count| Waits { count, time: 10 * count, longest: (10, 0) };
        for (then, now, is_told) in
            [(0, 101, true), (0, 100, false), (60, 220, false), (60, 221, true)]
        {
            assert_eq!(is_more_often(&waits(then), &waits(now)), is_told, "{then} and {now}");
        }
        assert!(!is_more_often(&waits(1000), &waits(10)));
    }

    #[test]
    fn a_process_that_is_slower_is_told_and_one_that_was_put_aside_is_not() {
        let before = ran([10_000_000, 1_000]);
        for (after, expected) in [
            (ran([10_900_000, 90_000]), ""),
            (ran([11_100_000, 90_000]), "stage 1"),
            (ran([10_900_000, 110_000]), "stage 3"),
            (ran([1_000, 1_000]), ""),
        ] {
            let difference = before.difference(&after);
            let names: Vec<_> = difference.slower.iter().map(|(name, ..)| *name).collect();
            assert_eq!(names.concat(), expected);
            assert_eq!(difference.to_string().contains("slower processes"), !expected.is_empty());
        }
    }
}
