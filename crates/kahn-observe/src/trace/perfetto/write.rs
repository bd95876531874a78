//! Writes a timeline.

use super::super::timeline::{Does, Part, Passed, Rank, Run, Span, Timeline, Wait, Wanted};
use super::event::{self, Of};
use super::message::{
    Annotation, Counter, DO_NOT_MERGE, EXPLICIT, File, InternedData, Named, OfProcess, Packet,
    TrackDescriptor, TrackEvent, flags, kind,
};
use super::{said, track};
use prost::Message;
use std::collections::BTreeSet;
use std::io::{self, Write};

pub(in super::super) fn write(timeline: &Timeline, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer::new(out, BUNDLE);
    writer.interned(timeline)?;
    let uuids = writer.tracks(timeline)?;
    for rank in &timeline.ranks {
        writer.clock(rank)?;
    }
    for (process, uuids) in timeline.processes.iter().zip(uuids) {
        for (part, uuid) in process.parts.iter().zip(uuids) {
            writer.part(part, uuid)?;
        }
    }
    writer.workers(timeline)?;
    for channel in &timeline.channels {
        for &(at, holds) in &channel.holds {
            writer.holds(channel.id, at, holds)?;
        }
    }
    writer.end(timeline.until)
}

/// Packets that are written in bundles.
#[derive(Debug)]
pub(super) struct Writer<W> {
    out: W,
    packets: Vec<Packet>,
    /// So many of them at most.
    bundle: usize,
}

const BUNDLE: usize = 4096;

/// All of it is one sequence of packets.
const SEQUENCE: u32 = 1;

pub(super) fn event_of(uuid: u64, kind: i32) -> TrackEvent {
    TrackEvent { track_uuid: Some(uuid), r#type: Some(kind), ..TrackEvent::default() }
}

fn number(name: u64, value: u64) -> Annotation {
    Annotation { name_iid: Some(name), uint_value: Some(value), string_value_iid: None }
}

fn text(name: u64, value: Of) -> Annotation {
    Annotation { name_iid: Some(name), uint_value: None, string_value_iid: Some(value.number()) }
}

pub(super) fn named(iid: u64, name: impl Into<String>) -> Named {
    Named { iid: Some(iid), name: Some(name.into()) }
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W, bundle: usize) -> Self {
        Self { out, packets: Vec::new(), bundle }
    }

    pub(super) fn packet(&mut self, packet: Packet) -> io::Result<()> {
        let trusted_packet_sequence_id = Some(SEQUENCE);
        self.packets.push(Packet { trusted_packet_sequence_id, ..packet });
        if self.packets.len() >= self.bundle { self.flush() } else { Ok(()) }
    }

    /// A file is its packets, so files one behind the other are one.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let bundle = File { packet: std::mem::take(&mut self.packets) };
        self.out.write_all(&bundle.encode_to_vec())?;
        self.out.flush()
    }

    pub(super) fn event(&mut self, at: u64, event: TrackEvent) -> io::Result<()> {
        self.packet(Packet {
            timestamp: Some(at),
            track_event: Some(Box::new(event)),
            sequence_flags: Some(flags::NEEDS_INCREMENTAL_STATE),
            ..Packet::default()
        })
    }

    pub(super) fn slice(&mut self, from: u64, until: u64, begin: TrackEvent) -> io::Result<()> {
        let end = TrackEvent { track_uuid: begin.track_uuid, ..event_of(0, kind::SLICE_END) };
        self.event(from, TrackEvent { r#type: Some(kind::SLICE_BEGIN), ..begin })?;
        self.event(until, end)
    }

    fn interned(&mut self, timeline: &Timeline) -> io::Result<()> {
        let mut names: Vec<_> = event::NAMES.map(|(iid, name)| named(iid, name)).into();
        let mut values = Vec::new();
        for (place, process) in timeline.processes.iter().enumerate() {
            of_process(place, &process.name, &mut names, &mut values);
        }
        for (place, channel) in timeline.channels.iter().enumerate() {
            of_channel(place, &channel.name, &mut names, &mut values);
        }
        self.names(flags::INCREMENTAL_STATE_CLEARED, names, values)
    }

    /// Says names of events, and texts; with the first of them those of what is said of events.
    pub(super) fn names(
        &mut self,
        flag: u32,
        event_names: Vec<Named>,
        debug_annotation_string_values: Vec<Named>,
    ) -> io::Result<()> {
        let is_first = flag == flags::INCREMENTAL_STATE_CLEARED;
        let said = said::NAMES.into_iter().filter(|_| is_first);
        let debug_annotation_names = said.map(|(iid, name)| named(iid, name)).collect();
        self.packet(Packet {
            sequence_flags: Some(flag),
            interned_data: Some(InternedData {
                event_names,
                debug_annotation_names,
                debug_annotation_string_values,
            }),
            ..Packet::default()
        })
    }

    fn track(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        let sibling_merge_behavior = Some(DO_NOT_MERGE);
        let descriptor = TrackDescriptor { sibling_merge_behavior, ..descriptor };
        self.packet(Packet { track_descriptor: Some(descriptor), ..Packet::default() })
    }

    pub(super) fn child(
        &mut self,
        parent: u64,
        uuid: u64,
        rank: usize,
        name: &str,
    ) -> io::Result<()> {
        self.track(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(parent),
            name: Some(name.to_owned()),
            sibling_order_rank: i32::try_from(rank).ok(),
            ..TrackDescriptor::default()
        })
    }

    pub(super) fn folder(
        &mut self,
        parent: Option<u64>,
        uuid: u64,
        rank: i32,
        name: &str,
    ) -> io::Result<()> {
        self.track(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: parent,
            name: Some(name.to_owned()),
            child_ordering: Some(EXPLICIT),
            sibling_order_rank: Some(rank),
            ..TrackDescriptor::default()
        })
    }

    pub(super) fn folders(&mut self) -> io::Result<()> {
        self.folder(None, track::ROOT, 0, "Kahn")?;
        self.folders_of(0)
    }

    /// Those under the root of a rank.
    fn folders_of(&mut self, rank: usize) -> io::Result<()> {
        let of = |track| track::of(rank, track);
        self.folder(Some(of(track::ROOT)), of(track::WORKERS), 1, "workers")?;
        self.folder(Some(of(track::ROOT)), of(track::PROCESSES), 2, "processes")?;
        self.folder(Some(of(track::ROOT)), of(track::CHANNELS), 3, "channels")
    }

    /// A rank of several, as a process.
    fn rank(&mut self, rank: &Rank) -> io::Result<()> {
        let &Rank { number, error, .. } = rank;
        let name = format!("rank {number}");
        let process = OfProcess {
            // There is none with the number 0.
            pid: i32::try_from(number + 1).ok(),
            process_name: Some(name.clone()),
            process_labels: vec![format!("clock to {} us", error.div_ceil(1000))],
        };
        self.track(TrackDescriptor {
            uuid: Some(track::of(number, track::ROOT)),
            name: Some(name),
            process: Some(process),
            child_ordering: Some(EXPLICIT),
            sibling_order_rank: i32::try_from(number).ok(),
            ..TrackDescriptor::default()
        })?;
        self.folders_of(number)
    }

    /// Says how well the clock of a rank is known.
    fn clock(&mut self, rank: &Rank) -> io::Result<()> {
        let mut event = event_of(track::of(rank.number, track::ROOT), kind::INSTANT);
        event.name_iid = Some(event::CLOCK);
        event.debug_annotations =
            vec![number(said::ERROR, rank.error), number(said::MOVED, rank.moved)];
        self.event(0, event)
    }

    pub(super) fn worker(&mut self, place: usize, of: usize, number: usize) -> io::Result<()> {
        let parent = track::of(of, track::WORKERS);
        self.child(parent, worker_uuid(place), number, &format!("worker {number}"))
    }

    pub(super) fn channel(
        &mut self,
        rank: usize,
        of: usize,
        id: u64,
        name: &str,
    ) -> io::Result<()> {
        self.track(TrackDescriptor {
            uuid: Some(track::channel(id)),
            parent_uuid: Some(track::of(of, track::CHANNELS)),
            name: Some(name.to_owned()),
            sibling_order_rank: i32::try_from(rank).ok(),
            counter: Some(Counter { unit_name: Some("messages".to_owned()) }),
            ..TrackDescriptor::default()
        })
    }

    pub(super) fn holds(&mut self, id: u64, at: u64, holds: u64) -> io::Result<()> {
        let mut event = event_of(track::channel(id), kind::COUNTER);
        event.counter_value = i64::try_from(holds).ok();
        self.event(at, event)
    }

    /// Describes all tracks; returns the numbers of those of processes, part by part.
    fn tracks(&mut self, timeline: &Timeline) -> io::Result<Vec<Vec<u64>>> {
        match &timeline.ranks[..] {
            [] => self.folders()?,
            ranks => ranks.iter().try_for_each(|rank| self.rank(rank))?,
        }
        if timeline.lost > 0 {
            self.child(track::ROOT, track::LOST, 0, "lost")?;
        }
        for (place, worker) in timeline.workers.iter().enumerate() {
            self.worker(place, worker.rank, worker.number)?;
        }
        let mut taken: BTreeSet<_> = timeline.processes.iter().map(|process| process.id).collect();
        let mut uuids = Vec::new();
        for (rank, process) in timeline.processes.iter().enumerate() {
            let parent = track::of(process.rank, track::PROCESSES);
            self.child(parent, process.id, rank, &process.name)?;
            let mut parts = vec![process.id];
            let mut next = process.id;
            for part in 1..process.parts.len() {
                while !taken.insert(next) {
                    // By a large even number, so that it stays odd.
                    next = next.wrapping_add(0x9e37_79b9_7f4a_7c14);
                }
                self.child(process.id, next, part, &process.name)?;
                parts.push(next);
            }
            uuids.push(parts);
        }
        for (rank, channel) in timeline.channels.iter().enumerate() {
            self.channel(rank, channel.rank, channel.id, &channel.name)?;
        }
        Ok(uuids)
    }

    fn part(&mut self, part: &Part, uuid: u64) -> io::Result<()> {
        for span in &part.spans {
            self.span(uuid, span)?;
        }
        for mark in &part.marks {
            self.mark(uuid, mark.at, &mark.label, mark.number)?;
        }
        for &(at, flow) in &part.wakes {
            self.wake(uuid, at, flow)?;
        }
        part.passed.iter().try_for_each(|passed| self.passed(uuid, passed))
    }

    pub(super) fn span(&mut self, uuid: u64, span: &Span) -> io::Result<()> {
        self.slice(span.from, span.until, begin(&span.does, uuid))
    }

    pub(super) fn mark(&mut self, uuid: u64, at: u64, label: &str, tells: u64) -> io::Result<()> {
        let mut event = event_of(uuid, kind::INSTANT);
        event.name = Some(label.to_owned());
        event.debug_annotations.push(number(said::NUMBER, tells));
        self.event(at, event)
    }

    pub(super) fn wake(&mut self, uuid: u64, at: u64, flow: u64) -> io::Result<()> {
        let mut event = event_of(uuid, kind::INSTANT);
        event.name_iid = Some(event::ENDS_WAIT);
        event.flow_ids.push(flow);
        self.event(at, event)
    }

    pub(super) fn passed(&mut self, uuid: u64, passed: &Passed) -> io::Result<()> {
        let mut event = event_of(uuid, kind::INSTANT);
        let flows = passed.flows.clone();
        if passed.is_received {
            event.name_iid = Some(event::RECEIVES);
            event.terminating_flow_ids = flows;
        } else {
            event.name_iid = Some(event::SENDS);
            event.flow_ids = flows;
        }
        event.debug_annotations = vec![
            text(said::CHANNEL, Of::ForMessage(passed.channel)),
            number(said::MESSAGE, passed.number),
            number(said::COUNT, passed.count),
        ];
        self.event(passed.at, event)
    }

    /// Says that nothing is told of a time in which so many events were lost.
    pub(super) fn lost(&mut self, from: u64, until: u64, events: u64) -> io::Result<()> {
        let mut lost = event_of(track::LOST, kind::SLICE_BEGIN);
        lost.name = Some(format!("{events} events lost"));
        lost.debug_annotations.push(number(said::NUMBER, events));
        self.slice(from, until, lost)
    }

    /// What a worker does for a time: this process, or none.
    pub(super) fn works(
        &mut self,
        rank: usize,
        from: u64,
        until: u64,
        process: Option<usize>,
    ) -> io::Result<()> {
        let name = process.map_or(event::IDLE, |process| Of::Process(process).number());
        self.works_as(rank, from, until, name)
    }

    pub(super) fn works_as(
        &mut self,
        rank: usize,
        from: u64,
        until: u64,
        name: u64,
    ) -> io::Result<()> {
        let mut begin = event_of(worker_uuid(rank), kind::SLICE_BEGIN);
        begin.name_iid = Some(name);
        self.slice(from, until, begin)
    }

    fn workers(&mut self, timeline: &Timeline) -> io::Result<()> {
        let before = (timeline.lost > 0 && (timeline.gaps.is_empty() || timeline.lost_until > 0))
            .then_some((0, timeline.lost_until));
        let mut events = timeline.lost;
        for &(from, until) in before.iter().chain(&timeline.gaps) {
            // How many each gap has is not known any more: the first has all.
            self.lost(from, until, std::mem::take(&mut events))?;
        }
        for (rank, worker) in timeline.workers.iter().enumerate() {
            let mut at = 0;
            for &(from, until, process) in &worker.spans {
                if from > at {
                    self.works_as(rank, at, from, event::LOST)?;
                }
                self.works(rank, from, until, process)?;
                at = until;
            }
            if timeline.until > at {
                self.works_as(rank, at, timeline.until, event::LOST)?;
            }
        }
        Ok(())
    }

    /// The last packet: a file without it is cut off.
    pub(super) fn end(&mut self, until: u64) -> io::Result<()> {
        let mut end = event_of(track::ROOT, kind::INSTANT);
        end.name_iid = Some(event::END);
        self.event(until, end)?;
        self.flush()
    }
}

fn worker_uuid(rank: usize) -> u64 {
    track::FIRST_WORKER + track::STEP * rank as u64
}

/// Says the name of a process of this place.
pub(super) fn of_process(
    place: usize,
    name: &str,
    names: &mut Vec<Named>,
    values: &mut Vec<Named>,
) {
    names.push(named(Of::Process(place).number(), name));
    values.push(named(Of::Process(place).number(), name));
}

/// Says the name of a channel of this place, and of waits at it.
pub(super) fn of_channel(
    place: usize,
    name: &str,
    names: &mut Vec<Named>,
    values: &mut Vec<Named>,
) {
    let of = [Of::ForMessage(place), Of::ForRoom(place), Of::ForPartner(place)];
    let [message, room, partner] = of.map(Of::number);
    names.push(named(message, format!("waits for a message of {name}")));
    names.push(named(room, format!("waits for room in {name}")));
    names.push(named(partner, format!("waits for a partner at {name}")));
    values.push(named(message, name));
}

fn begin(does: &Does, uuid: u64) -> TrackEvent {
    let mut event = event_of(uuid, kind::SLICE_BEGIN);
    match does {
        Does::Runs(Run { worker, ran, wakes, woken }) => {
            event.name_iid = Some(event::RUNS);
            event
                .debug_annotations
                .extend(worker.map(|worker| number(said::WORKER, worker as u64)));
            event.debug_annotations.push(number(said::CPU, *ran));
            event.flow_ids.clone_from(wakes);
            event.terminating_flow_ids.extend(woken);
        }
        Does::Waits(Wait { wants, channel, number: message, ended_by }) => {
            let of_message = Of::ForMessage(*channel);
            let name = match wants {
                Wanted::Message => of_message,
                Wanted::Room => Of::ForRoom(*channel),
                Wanted::Partner => Of::ForPartner(*channel),
            };
            event.name_iid = Some(name.number());
            event.debug_annotations.push(text(said::CHANNEL, of_message));
            event.debug_annotations.push(number(said::MESSAGE, *message));
            let ended_by = ended_by.map(|process| text(said::ENDED_BY, Of::Process(process)));
            event.debug_annotations.extend(ended_by);
        }
        Does::Ready => event.name_iid = Some(event::READY),
        Does::Outside => event.name_iid = Some(event::OUTSIDE),
    }
    event
}
