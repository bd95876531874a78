//! The short form of a report: what a person asks first, then families of processes and channels.

use super::text::new_table;
use super::{ChannelReport, ProcessCounts, Report, Summary};
use crate::Name;
use crate::families::{Family, families};
use crate::human;
use std::fmt;

/// Families that a table shows.
const ROWS: usize = 6;

/// Several channels of one family.
struct Traffic<'report> {
    name: String,
    /// From where, to where.
    ends: [String; 2],
    first: &'report ChannelReport,
    received: u64,
    /// Bytes received; the second tells whether what messages owned is known.
    bytes: (u64, bool),
    most_waiting: u32,
    growths: u32,
}

impl Report {
    pub(super) fn write_short(&self, f: &mut impl fmt::Write) -> fmt::Result {
        self.write_outcome(f)?;
        let busy = self.busy_share().map_or("-".to_owned(), |share| human::share(share, 1.0));
        let workers = human::count(self.workers as u64, "worker", "workers");
        let policy = &self.policy;
        writeln!(f, "{}, {workers} busy {busy}, policy {policy}", human::time(Some(self.seconds)))?;
        if matches!(self.outcome, Summary::Finished | Summary::Quiescent) {
            writeln!(f, "{}", self.limit())?;
        }
        self.write_growth(f)?;
        if self.chooses {
            writeln!(f, "processes that choose took part: the result may depend on the schedule")?;
        }
        write!(
            f,
            "{}, {}, {}",
            human::count(self.created.0, "process", "processes"),
            human::count(self.created.1, "channel", "channels"),
            human::count(self.messages(), "message", "messages"),
        )?;
        // What passes where processes meet is not weighed.
        if !self.channels.is_empty() || self.more_channels.is_some() {
            write!(f, ", {}", self.traffic_text())?;
        }
        writeln!(f)?;
        self.write_processes(f)?;
        self.write_meetings(f)?;
        self.write_channels(f)
    }

    /// The families of the channels of communicating processes, those with the most messages first.
    fn write_meetings(&self, f: &mut impl fmt::Write) -> fmt::Result {
        if self.meetings.is_empty() && self.more_meetings.is_none() {
            return Ok(());
        }
        let names = self.meetings.iter().map(|meeting| meeting.name.as_str());
        let of = |family: &Family| {
            family.members.iter().map(|&member| &self.meetings[member]).collect::<Vec<_>>()
        };
        let families = families(names).into_iter().map(|family| {
            let members = of(&family);
            let received = members.iter().map(|meeting| meeting.messages).sum::<u64>();
            (family, members, received)
        });
        let mut families: Vec<_> = families.collect();
        families.sort_by_key(|(_, _, received)| std::cmp::Reverse(*received));
        let mut table = new_table(&["channel", "kind", "from", "to", "state"], ["received"]);
        for (family, members, received) in families.iter().take(ROWS) {
            let ends = [
                ends(members.iter().map(|meeting| meeting.from.as_ref())),
                ends(members.iter().map(|meeting| meeting.to.as_ref())),
            ];
            let [from, to] = ends;
            let kind = same(members.iter().map(|meeting| meeting.kind_text()));
            let state = same(members.iter().map(|meeting| meeting.state_text().to_owned()));
            let name = counted(&family.name, members.len());
            table.add_row([name, kind, from, to, state, received.to_string()]);
        }
        let rest = families.iter().skip(ROWS);
        let (mut number, mut received) = self.more_meetings.unwrap_or((0, 0));
        for (_, members, messages) in rest {
            number += members.len() as u64;
            received += messages;
        }
        if number > 0 {
            let none = String::new;
            let more = format!("{number} more");
            table.add_row([more, none(), none(), none(), none(), received.to_string()]);
        }
        writeln!(f, "\n{}", trimmed(&table.to_string()))
    }

    fn write_growth(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let (most, budget) = (human::bytes(self.most_bytes), self.slot_bytes.1);
        let took = format!("channels took {most} at most of {}", human::bytes(budget));
        match &self.grown[..] {
            [] if budget > 0 => writeln!(f, "no channel grew; {took}")?,
            [] => {}
            [first, more @ ..] => {
                writeln!(f, "{first}")?;
                if !more.is_empty() {
                    let more = human::count(more.len() as u64, "more channel", "more channels");
                    writeln!(f, "{more} had to grow; {took}")?;
                }
            }
        }
        if let [first, more @ ..] = &self.weight_unknown[..] {
            let more =
                if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            writeln!(
                f,
                "weight unknown: the budget counts no more than the slots of `{first}`{more}"
            )?;
        }
        Ok(())
    }

    fn traffic_text(&self) -> String {
        let more = self.more_channels.as_ref().map(|(_, channel)| &**channel);
        let (mut sum, mut known) = (0_u64, true);
        for channel in self.channels.iter().chain(more) {
            let (bytes, is_known) = traffic(channel);
            sum = sum.saturating_add(bytes);
            known &= is_known || channel.received == 0;
        }
        format!("{}{} of traffic", if known { "" } else { "at least " }, human::bytes(sum))
    }

    /// The families of processes with the sums of their counts, those that took longest first.
    pub(super) fn process_families(&self) -> Vec<(Family, ProcessCounts)> {
        let names = self.processes.iter().map(|process| process.name.as_str());
        let mut families: Vec<_> = families(names)
            .into_iter()
            .map(|family| {
                let mut sum = ProcessCounts::default();
                for &member in &family.members {
                    sum.add(&self.processes[member].counts());
                }
                (family, sum)
            })
            .collect();
        let seconds = |counts: &ProcessCounts| counts.cpu_seconds.unwrap_or(0.0);
        families.sort_by(|a, b| seconds(&b.1).total_cmp(&seconds(&a.1)));
        families
    }

    fn write_processes(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let families = self.process_families();
        let headings = ["share", "time", "min", "median", "max", "waits: message", "room"];
        let mut table = new_table(&["process", "ended"], headings);
        let all = self.all_seconds();
        let mut row = |name: String, ended: String, sum: &ProcessCounts, of_each: [String; 3]| {
            let share = match (sum.cpu_seconds, all) {
                (Some(part), Some(all)) => human::share(part, all),
                _ => "-".to_owned(),
            };
            let waits = [sum.waits_empty.to_string(), sum.waits_full.to_string()];
            let figures =
                [vec![share, human::time(sum.cpu_seconds)], of_each.to_vec(), waits.to_vec()];
            table.add_row([vec![name, ended], figures.concat()].concat());
        };
        for (family, sum) in families.iter().take(ROWS) {
            let members = family.members.iter().map(|&member| &self.processes[member]);
            let first = &self.processes[family.members[0]];
            let is_same = members.clone().all(|process| process.ending == first.ending);
            let ended =
                if is_same { first.ending.to_string() } else { "in several ways".to_owned() };
            let mut times: Vec<_> = members.filter_map(|process| process.cpu_seconds).collect();
            times.sort_by(f64::total_cmp);
            let of_each = match times.len() {
                _ if family.members.len() == 1 => Default::default(),
                0 => ["-"; 3].map(str::to_owned),
                n => [times[0], times[n / 2], times[n - 1]].map(|time| human::time(Some(time))),
            };
            row(counted(&family.name, family.members.len()), ended, sum, of_each);
        }
        let (mut rest, mut number) = (ProcessCounts::default(), 0);
        for (family, sum) in families.iter().skip(ROWS) {
            rest.add(sum);
            number += family.members.len() as u64;
        }
        if let Some((count, sums)) = &self.more_processes {
            rest.add(&sums.counts());
            number += count;
        }
        if number > 0 {
            row(format!("{number} more"), String::new(), &rest, Default::default());
        }
        writeln!(f, "\n{}", trimmed(&table.to_string()))
    }

    fn write_channels(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let mut rows = self.channel_families();
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_by_key(|row| std::cmp::Reverse((row.bytes.0, row.received)));
        let headings = ["messages", "traffic", "waiting", "grew"];
        let mut table = new_table(&["channel", "from", "to"], headings);
        for row in rows.iter().take(ROWS - 1) {
            let at_least = if row.bytes.1 { "" } else { "≥ " };
            let waiting = format!("{} of {}", row.most_waiting, row.first.capacity);
            let traffic = format!("{at_least}{}", human::bytes(row.bytes.0));
            let figures = [row.received.to_string(), traffic, waiting, row.growths.to_string()];
            table.add_row([vec![row.name.clone()], row.ends.to_vec(), figures.to_vec()].concat());
        }
        writeln!(f, "\n{}", trimmed(&table.to_string()))?;
        match rows.len().saturating_sub(ROWS - 1) {
            0 => Ok(()),
            more => writeln!(f, " and {more} more"),
        }
    }

    fn channel_families(&self) -> Vec<Traffic<'_>> {
        let names = self.channels.iter().map(|channel| channel.name.as_str());
        let summed = families(names).into_iter().map(|family| {
            let first = &self.channels[family.members[0]];
            let name = counted(&family.name, family.members.len());
            let members = family.members.iter().map(|&member| &self.channels[member]);
            let ends = [
                ends(members.clone().map(|channel| channel.from.as_ref())),
                ends(members.map(|channel| channel.to.as_ref())),
            ];
            let (received, bytes) = (0, (0, true));
            let mut sum =
                Traffic { name, ends, first, received, bytes, most_waiting: 0, growths: 0 };
            for &member in &family.members {
                let channel = &self.channels[member];
                let (bytes, is_known) = traffic(channel);
                sum.received += channel.received;
                sum.bytes.0 = sum.bytes.0.saturating_add(bytes);
                sum.bytes.1 &= is_known || channel.received == 0;
                sum.most_waiting = sum.most_waiting.max(channel.most_waiting);
                sum.growths += channel.growths;
            }
            sum
        });
        summed.collect()
    }
}

/// The bytes that were received on a channel, and whether what messages owned is known.
pub(crate) fn traffic(channel: &ChannelReport) -> (u64, bool) {
    let owned = channel.owned_bytes.unwrap_or(0);
    let each = (channel.message_bytes as u64).saturating_add(owned);
    (channel.received.saturating_mul(each), channel.owned_bytes.is_some())
}

/// What is at one end of several channels: the family, or that they are several.
fn ends<'name>(names: impl Iterator<Item = Option<&'name Name>>) -> String {
    let names: Vec<_> = names.map(|name| name.map_or("", Name::as_str)).collect();
    same(families(names).into_iter().map(|family| family.name))
}

/// The text that all have, or that they have several.
fn same(mut texts: impl Iterator<Item = String>) -> String {
    let first = texts.next().unwrap_or_default();
    if texts.all(|text| text == first) { first } else { "several".to_owned() }
}

/// A family's name, and how many it has if its name does not tell.
fn counted(name: &str, members: usize) -> String {
    if members > 1 { format!("{name} × {members}") } else { name.to_owned() }
}

/// The table without blanks at the ends of its lines.
fn trimmed(table: &str) -> String {
    table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
