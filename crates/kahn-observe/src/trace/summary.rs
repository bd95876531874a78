//! Where the time of a run went, in figures.

use super::timeline::{Does, Process, Timeline, Wanted};
use comfy_table::{CellAlignment, Table, presets};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Where the time of a run went: prints tables of processes, waits and workers.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::trace::{Level, Trace};
/// use std::sync::Arc;
///
/// let trace = Arc::new(Trace::new(Level::Schedule));
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..1000_u32);
/// network.for_each("ignore", numbers, |_| {});
/// network.run_with(Options::new().workers(1).observer(Arc::clone(&trace)))?;
///
/// let timeline = trace.timeline();
/// let text = timeline.summary().to_string();
/// assert!(text.contains("ignore") && text.contains("for a message of numbers"));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug)]
pub struct Summary<'a> {
    timeline: &'a Timeline,
    /// By place.
    sums: Vec<Sums>,
    /// By process, channel, and what it waits for.
    waits: BTreeMap<WaitKey, Waits>,
}

/// A process, a channel, and what the process waits for there.
pub(super) type WaitKey = (usize, usize, Wanted);

/// What a process did, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) runs: u64,
    /// On a processor.
    pub(super) ran: u64,
    pub(super) running: u64,
    pub(super) for_messages: u64,
    pub(super) for_room: u64,
    pub(super) for_partners: u64,
    pub(super) ready: u64,
    pub(super) outside: u64,
}

/// Waits of one process at one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) count: u64,
    pub(super) time: u64,
    /// The longest, and for which message.
    pub(super) longest: (u64, u64),
}

/// Rows that a table has; the rest is told as how many.
const ROWS: usize = 20;

pub(super) fn sums(process: &Process) -> Sums {
    let mut sums = Sums::default();
    for span in Timeline::spans(process) {
        let length = span.length();
        match &span.does {
            Does::Runs(run) => {
                sums.runs += 1;
                sums.ran += run.ran;
                sums.running += length;
            }
            Does::Waits(wait) => match wait.wants {
                Wanted::Message => sums.for_messages += length,
                Wanted::Room => sums.for_room += length,
                Wanted::Partner => sums.for_partners += length,
            },
            Does::Ready => sums.ready += length,
            Does::Outside => sums.outside += length,
        }
    }
    sums
}

pub(super) fn waits(timeline: &Timeline) -> BTreeMap<WaitKey, Waits> {
    let mut waits = BTreeMap::<_, Waits>::new();
    for (place, process) in timeline.processes.iter().enumerate() {
        for span in Timeline::spans(process) {
            if let Does::Waits(wait) = &span.does {
                let entry = waits.entry((place, wait.channel, wait.wants)).or_default();
                entry.count += 1;
                entry.time += span.length();
                entry.longest = entry.longest.max((span.length(), wait.number));
            }
        }
    }
    waits
}

impl<'a> Summary<'a> {
    pub(super) fn of(timeline: &'a Timeline) -> Self {
        let sums = timeline.processes.iter().map(sums).collect();
        Self { timeline, sums, waits: waits(timeline) }
    }
}

/// A time as one says it.
pub(super) fn time(nanoseconds: u64) -> String {
    if nanoseconds == 0 {
        return "-".to_owned();
    }
    format!("{:.2?}", Duration::from_nanos(nanoseconds))
}

#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.0} %", 100.0 * part as f64 / whole as f64) }
}

pub(super) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Where a process waits, in words.
pub(super) fn place_of_wait(channel: &str, wants: Wanted) -> String {
    match wants {
        Wanted::Message => format!("for a message of {channel}"),
        Wanted::Room => format!("for room in {channel}"),
        Wanted::Partner => format!("for a partner at {channel}"),
    }
}

/// Writes a table, of which `left` columns are text; says how many rows it leaves out.
pub(super) fn write_table(
    f: &mut fmt::Formatter<'_>,
    header: &[&str],
    left: &[usize],
    rows: Vec<Vec<String>>,
    what: &str,
) -> fmt::Result {
    let more = rows.len().saturating_sub(ROWS);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    for row in rows.into_iter().take(ROWS) {
        table.add_row(row);
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(place > 0), 1));
        if !left.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.to_string().lines() {
        writeln!(f, "  {}", line.trim_end())?;
    }
    if more > 0 {
        writeln!(f, "  and {more} more {what}")?;
    }
    Ok(())
}

/// Says what is not in it.
pub(super) fn write_lost(f: &mut fmt::Formatter<'_>, timeline: &Timeline) -> fmt::Result {
    let Timeline { lost, lost_until, gaps, .. } = timeline;
    match &gaps[..] {
        [] if *lost == 0 => Ok(()),
        [] => writeln!(f, "{lost} older events were lost; it begins at {}", time(*lost_until)),
        gaps => {
            let all = time(gaps.iter().map(|(from, until)| until - from).sum());
            let gaps = counted(gaps.len(), "gap", "gaps");
            writeln!(f, "{lost} events were lost in {gaps} of {all}")
        }
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeline = self.timeline;
        let processes = counted(timeline.processes.len(), "process", "processes");
        let workers = counted(timeline.workers.len(), "worker", "workers");
        let length = timeline.told();
        writeln!(f, "trace of {}: {processes}, {workers}", time(length))?;
        write_lost(f, timeline)?;
        if !timeline.ranks.is_empty() {
            let error = time(timeline.clock_error());
            writeln!(f, "{} ranks, whose clocks agree to {error}", timeline.ranks.len())?;
        }
        writeln!(f, "\nprocesses, by the time they ran")?;
        let mut order: Vec<_> = (0..self.sums.len()).collect();
        order.sort_by_key(|&place| std::cmp::Reverse(self.sums[place].ran));
        // Processes that meet at channels have no other waits there.
        let meets = self.sums.iter().any(|sums| sums.for_partners > 0);
        let rows = order.iter().map(|&place| {
            let sums = self.sums[place];
            let waits = if meets {
                vec![sums.for_partners]
            } else {
                vec![sums.for_messages, sums.for_room]
            };
            let times = [waits, vec![sums.ready, sums.outside]].concat();
            let times = times.into_iter().map(time).collect();
            let name = timeline.called(&timeline.processes[place]);
            let ran = [sums.runs.to_string(), time(sums.ran), share(sums.running, length)];
            [vec![name], ran.into(), times].concat()
        });
        let waits: &[&str] = if meets { &["for partners"] } else { &["for messages", "for room"] };
        let header = [&["process", "runs", "ran", "share"], waits, &["ready", "outside"]].concat();
        write_table(f, &header, &[0], rows.collect(), "processes")?;
        let mut waits: Vec<_> = self.waits.iter().collect();
        waits.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.time));
        if !waits.is_empty() {
            writeln!(f, "\nwaits, the longest first")?;
        }
        let rows = waits.iter().map(|((process, channel, wants), waits)| {
            let at = place_of_wait(&timeline.channels[*channel].name, *wants);
            let name = timeline.called(&timeline.processes[*process]);
            let (longest, message) = waits.longest;
            let figures =
                [waits.count.to_string(), time(waits.time), time(longest), message.to_string()];
            [vec![name, at], figures.into()].concat()
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            let header = ["process", "waits", "times", "time", "longest", "at message"];
            write_table(f, &header, &[0, 1], rows, "waits")?;
        }
        if !timeline.workers.is_empty() {
            writeln!(f, "\nworkers")?;
        }
        for worker in &timeline.workers {
            let runs = worker.spans.iter().filter(|(.., process)| process.is_some());
            let busy = runs.map(|(from, until, _)| until - from).sum();
            let rank = match &timeline.ranks[..] {
                [] => String::new(),
                _ => format!("rank {}, worker ", worker.rank),
            };
            let (number, busy) = (worker.number, share(busy, length));
            writeln!(f, "  {rank}{number} runs processes {busy} of the time")?;
        }
        let fullest = timeline.channels.iter().filter_map(|channel| {
            let most = channel.holds.iter().map(|&(_, holds)| holds).max()?;
            Some((most, &channel.name))
        });
        let mut fullest: Vec<_> = fullest.collect();
        fullest.sort_by_key(|&(most, _)| std::cmp::Reverse(most));
        let rows: Vec<_> =
            fullest.iter().map(|(most, name)| vec![(*name).clone(), most.to_string()]).collect();
        if !rows.is_empty() {
            writeln!(f, "\nchannels")?;
            write_table(f, &["channel", "most messages"], &[0], rows, "channels")?;
        }
        let marks = timeline.marks().count();
        if marks > 0 {
            writeln!(f, "\n{}", counted(marks, "mark", "marks"))?;
        }
        Ok(())
    }
}
