//! Writes a timeline.

use super::super::timeline::{Does, Part, Run, Span, Timeline, Wait, Wanted};
use super::event::{self, Of};
use super::message::{
    Annotation, Counter, DO_NOT_MERGE, EXPLICIT, File, InternedData, Named, Packet,
    TrackDescriptor, TrackEvent, flags, kind,
};
use super::{said, track};
use prost::Message;
use std::collections::BTreeSet;
use std::io::{self, Write};

pub(in super::super) fn write(timeline: &Timeline, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer { out, packets: Vec::new() };
    writer.interned(timeline)?;
    let uuids = writer.tracks(timeline)?;
    for (process, uuids) in timeline.processes.iter().zip(uuids) {
        for (part, uuid) in process.parts.iter().zip(uuids) {
            writer.part(part, uuid)?;
        }
    }
    writer.workers(timeline)?;
    for channel in &timeline.channels {
        for &(at, holds) in &channel.holds {
            let mut event = event_of(track::channel(channel.id), kind::COUNTER);
            event.counter_value = i64::try_from(holds).ok();
            writer.event(at, event)?;
        }
    }
    writer.end(timeline)
}

/// Packets that are written in bundles.
struct Writer<'a, W> {
    out: &'a mut W,
    packets: Vec<Packet>,
}

const BUNDLE: usize = 4096;

/// All of it is one sequence of packets.
const SEQUENCE: u32 = 1;

fn event_of(uuid: u64, kind: i32) -> TrackEvent {
    TrackEvent { track_uuid: Some(uuid), r#type: Some(kind), ..TrackEvent::default() }
}

fn number(name: u64, value: u64) -> Annotation {
    Annotation { name_iid: Some(name), uint_value: Some(value), string_value_iid: None }
}

fn text(name: u64, value: Of) -> Annotation {
    Annotation { name_iid: Some(name), uint_value: None, string_value_iid: Some(value.number()) }
}

fn named(iid: u64, name: impl Into<String>) -> Named {
    Named { iid: Some(iid), name: Some(name.into()) }
}

impl<W: Write> Writer<'_, W> {
    fn packet(&mut self, packet: Packet) -> io::Result<()> {
        let trusted_packet_sequence_id = Some(SEQUENCE);
        self.packets.push(Packet { trusted_packet_sequence_id, ..packet });
        if self.packets.len() >= BUNDLE { self.flush() } else { Ok(()) }
    }

    /// A file is its packets, so files one behind the other are one.
    fn flush(&mut self) -> io::Result<()> {
        let bundle = File { packet: std::mem::take(&mut self.packets) };
        self.out.write_all(&bundle.encode_to_vec())
    }

    fn event(&mut self, at: u64, event: TrackEvent) -> io::Result<()> {
        self.packet(Packet {
            timestamp: Some(at),
            track_event: Some(Box::new(event)),
            sequence_flags: Some(flags::NEEDS_INCREMENTAL_STATE),
            ..Packet::default()
        })
    }

    fn slice(&mut self, from: u64, until: u64, begin: TrackEvent) -> io::Result<()> {
        let end = TrackEvent { track_uuid: begin.track_uuid, ..event_of(0, kind::SLICE_END) };
        self.event(from, TrackEvent { r#type: Some(kind::SLICE_BEGIN), ..begin })?;
        self.event(until, end)
    }

    fn interned(&mut self, timeline: &Timeline) -> io::Result<()> {
        let mut names = vec![
            named(event::RUNS, "runs"),
            named(event::READY, "ready"),
            named(event::OUTSIDE, "waits outside"),
            named(event::IDLE, "idle"),
            named(event::LOST, "lost"),
            named(event::ENDS_WAIT, "ends a wait"),
            named(event::END, "end of the trace"),
        ];
        let mut values = Vec::new();
        for (place, process) in timeline.processes.iter().enumerate() {
            names.push(named(Of::Process(place).number(), &process.name));
            values.push(named(Of::Process(place).number(), &process.name));
        }
        for (place, channel) in timeline.channels.iter().enumerate() {
            let of = [Of::ForMessage(place), Of::ForRoom(place), Of::ForPartner(place)];
            let [message, room, partner] = of.map(Of::number);
            names.push(named(message, format!("waits for a message of {}", channel.name)));
            names.push(named(room, format!("waits for room in {}", channel.name)));
            names.push(named(partner, format!("waits for a partner at {}", channel.name)));
            values.push(named(message, &channel.name));
        }
        let annotations = said::NAMES.map(|(iid, name)| named(iid, name)).into();
        self.packet(Packet {
            sequence_flags: Some(flags::INCREMENTAL_STATE_CLEARED),
            interned_data: Some(InternedData {
                event_names: names,
                debug_annotation_names: annotations,
                debug_annotation_string_values: values,
            }),
            ..Packet::default()
        })
    }

    fn track(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        let sibling_merge_behavior = Some(DO_NOT_MERGE);
        let descriptor = TrackDescriptor { sibling_merge_behavior, ..descriptor };
        self.packet(Packet { track_descriptor: Some(descriptor), ..Packet::default() })
    }

    fn child(&mut self, parent: u64, uuid: u64, rank: usize, name: &str) -> io::Result<()> {
        self.track(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(parent),
            name: Some(name.to_owned()),
            sibling_order_rank: i32::try_from(rank).ok(),
            ..TrackDescriptor::default()
        })
    }

    fn folder(&mut self, parent: Option<u64>, uuid: u64, rank: i32, name: &str) -> io::Result<()> {
        self.track(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: parent,
            name: Some(name.to_owned()),
            child_ordering: Some(EXPLICIT),
            sibling_order_rank: Some(rank),
            ..TrackDescriptor::default()
        })
    }

    /// Describes all tracks; returns the numbers of those of processes, part by part.
    fn tracks(&mut self, timeline: &Timeline) -> io::Result<Vec<Vec<u64>>> {
        self.folder(None, track::ROOT, 0, "Kahn")?;
        self.folder(Some(track::ROOT), track::WORKERS, 1, "workers")?;
        self.folder(Some(track::ROOT), track::PROCESSES, 2, "processes")?;
        self.folder(Some(track::ROOT), track::CHANNELS, 3, "channels")?;
        if timeline.lost > 0 {
            self.child(track::ROOT, track::LOST, 0, "lost")?;
        }
        for (rank, worker) in timeline.workers.iter().enumerate() {
            let name = format!("worker {}", worker.number);
            self.child(track::WORKERS, worker_uuid(rank), worker.number, &name)?;
        }
        let mut taken: BTreeSet<_> = timeline.processes.iter().map(|process| process.id).collect();
        let mut uuids = Vec::new();
        for (rank, process) in timeline.processes.iter().enumerate() {
            self.child(track::PROCESSES, process.id, rank, &process.name)?;
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
            self.track(TrackDescriptor {
                uuid: Some(track::channel(channel.id)),
                parent_uuid: Some(track::CHANNELS),
                name: Some(channel.name.clone()),
                sibling_order_rank: i32::try_from(rank).ok(),
                counter: Some(Counter { unit_name: Some("messages".to_owned()) }),
                ..TrackDescriptor::default()
            })?;
        }
        Ok(uuids)
    }

    fn part(&mut self, part: &Part, uuid: u64) -> io::Result<()> {
        for span in &part.spans {
            let Span { from, until, does } = span;
            self.slice(*from, *until, begin(does, uuid))?;
        }
        for mark in &part.marks {
            let mut event = event_of(uuid, kind::INSTANT);
            event.name = Some(mark.label.clone());
            event.debug_annotations.push(number(said::NUMBER, mark.number));
            self.event(mark.at, event)?;
        }
        for &(at, flow) in &part.wakes {
            let mut event = event_of(uuid, kind::INSTANT);
            event.name_iid = Some(event::ENDS_WAIT);
            event.flow_ids.push(flow);
            self.event(at, event)?;
        }
        Ok(())
    }

    fn workers(&mut self, timeline: &Timeline) -> io::Result<()> {
        let mut lost = event_of(track::LOST, kind::SLICE_BEGIN);
        lost.name = Some(format!("{} events lost", timeline.lost));
        lost.debug_annotations.push(number(said::NUMBER, timeline.lost));
        if timeline.lost > 0 {
            self.slice(0, timeline.lost_until, lost)?;
        }
        for (rank, worker) in timeline.workers.iter().enumerate() {
            let uuid = worker_uuid(rank);
            let mut begin = event_of(uuid, kind::SLICE_BEGIN);
            begin.name_iid = Some(event::LOST);
            if timeline.lost_until > 0 {
                self.slice(0, timeline.lost_until, begin.clone())?;
            }
            for &(from, until, process) in &worker.spans {
                begin.name_iid =
                    Some(process.map_or(event::IDLE, |process| Of::Process(process).number()));
                self.slice(from, until, begin.clone())?;
            }
        }
        Ok(())
    }

    /// The last packet: a file without it is cut off.
    fn end(&mut self, timeline: &Timeline) -> io::Result<()> {
        let mut end = event_of(track::ROOT, kind::INSTANT);
        end.name_iid = Some(event::END);
        self.event(timeline.until, end)?;
        self.flush()
    }
}

fn worker_uuid(rank: usize) -> u64 {
    track::FIRST_WORKER + track::STEP * rank as u64
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
