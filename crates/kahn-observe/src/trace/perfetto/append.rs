//! Writes what is known so far, while the run goes on: tracks and names are said when they are first told of.

use super::super::timeline::{Passed, Span};
use super::event;
use super::message::{flags, kind};
use super::track;
use super::write::{Writer, event_of, of_channel, of_process};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// A file that grows.
#[derive(Debug)]
pub(in super::super) struct Appender<W> {
    writer: Writer<W>,
    /// Places of processes and of channels by their number, and of workers.
    processes: BTreeMap<u64, usize>,
    channels: BTreeMap<u64, usize>,
    workers: BTreeMap<usize, usize>,
    /// Numbers of tracks of processes and of their parts.
    taken: BTreeSet<u64>,
}

impl<W: Write> Appender<W> {
    pub(in super::super) fn new(out: W) -> io::Result<Self> {
        // It is handed on when its caller says so.
        let mut writer = Writer::new(out, usize::MAX);
        let names = event::NAMES.map(|(iid, name)| super::write::named(iid, name)).into();
        writer.names(flags::INCREMENTAL_STATE_CLEARED, names, Vec::new())?;
        writer.folders()?;
        writer.child(track::ROOT, track::LOST, 0, "lost")?;
        let mut begins = event_of(track::ROOT, kind::INSTANT);
        begins.name_iid = Some(event::STREAM);
        writer.event(0, begins)?;
        let (processes, channels, workers) = Default::default();
        let mut this = Self { writer, processes, channels, workers, taken: BTreeSet::new() };
        this.flush()?;
        Ok(this)
    }

    /// The place of a process, and the number of the track of a part of it that was not told of before.
    pub(in super::super) fn part(&mut self, id: u64, name: &str) -> io::Result<(usize, u64)> {
        if let Some(&place) = self.processes.get(&id) {
            let mut uuid = id;
            while !self.taken.insert(uuid) {
                // By a large even number, so that it stays odd.
                uuid = uuid.wrapping_add(0x9e37_79b9_7f4a_7c14);
            }
            self.writer.child(id, uuid, place, name)?;
            return Ok((place, uuid));
        }
        let place = self.processes.len();
        self.processes.insert(id, place);
        let (mut names, mut values) = (Vec::new(), Vec::new());
        of_process(place, name, &mut names, &mut values);
        self.writer.names(flags::NEEDS_INCREMENTAL_STATE, names, values)?;
        // A part of another process may have its number: by chance, once in 2^60.
        self.taken.insert(id);
        self.writer.child(track::PROCESSES, id, place, name)?;
        Ok((place, id))
    }

    /// The place of a channel.
    pub(in super::super) fn channel(&mut self, id: u64, name: &str) -> io::Result<usize> {
        if let Some(&place) = self.channels.get(&id) {
            return Ok(place);
        }
        let place = self.channels.len();
        self.channels.insert(id, place);
        let (mut names, mut values) = (Vec::new(), Vec::new());
        of_channel(place, name, &mut names, &mut values);
        self.writer.names(flags::NEEDS_INCREMENTAL_STATE, names, values)?;
        self.writer.channel(place, 0, id, name)?;
        Ok(place)
    }

    /// The place of a worker.
    fn worker(&mut self, number: usize) -> io::Result<usize> {
        if let Some(&rank) = self.workers.get(&number) {
            return Ok(rank);
        }
        let rank = self.workers.len();
        self.workers.insert(number, rank);
        self.writer.worker(rank, 0, number)?;
        Ok(rank)
    }

    pub(in super::super) fn span(&mut self, track: u64, span: &Span) -> io::Result<()> {
        self.writer.span(track, span)
    }

    pub(in super::super) fn mark(
        &mut self,
        track: u64,
        at: u64,
        label: &str,
        number: u64,
    ) -> io::Result<()> {
        self.writer.mark(track, at, label, number)
    }

    pub(in super::super) fn wake(&mut self, track: u64, at: u64, flow: u64) -> io::Result<()> {
        self.writer.wake(track, at, flow)
    }

    pub(in super::super) fn passed(&mut self, track: u64, passed: &Passed) -> io::Result<()> {
        self.writer.passed(track, passed)
    }

    pub(in super::super) fn holds(&mut self, channel: u64, at: u64, holds: u64) -> io::Result<()> {
        self.writer.holds(channel, at, holds)
    }

    pub(in super::super) fn lost(&mut self, from: u64, until: u64, events: u64) -> io::Result<()> {
        self.writer.lost(from, until, events)
    }

    /// What a worker does for a time: this process, or none.
    pub(in super::super) fn works(
        &mut self,
        worker: usize,
        from: u64,
        until: u64,
        process: Option<usize>,
    ) -> io::Result<()> {
        let rank = self.worker(worker)?;
        self.writer.works(rank, from, until, process)
    }

    /// For a time of a worker nothing is told.
    pub(in super::super) fn works_untold(
        &mut self,
        worker: usize,
        from: u64,
        until: u64,
    ) -> io::Result<()> {
        let rank = self.worker(worker)?;
        self.writer.works_as(rank, from, until, event::LOST)
    }

    /// Hands on what was written till now: whole packets.
    pub(in super::super) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    pub(in super::super) fn end(&mut self, until: u64) -> io::Result<()> {
        self.writer.end(until)
    }
}
