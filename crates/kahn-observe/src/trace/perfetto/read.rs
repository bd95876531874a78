//! Reads a timeline.

use super::super::timeline::{
    Channel, Does, Mark, Part, Passed, Process, Rank, Run, Span, Timeline, Wait, Wanted, Worker,
};
use super::event::{self, Of};
use super::message::{Annotation, File, Packet, TrackDescriptor, TrackEvent, kind};
use super::{said, track};
use prost::Message;
use std::collections::BTreeMap;

/// Why a file is no trace of Kahn.
///
/// # Examples
///
/// ```
/// use kahn_observe::trace::{ReadError, Timeline};
///
/// let error = Timeline::read(b"text").unwrap_err();
/// assert!(matches!(error, ReadError::NotPerfetto(_)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not Perfetto's protobuf, or its end is missing.
    #[error("it is no trace of Perfetto's format, or its end is missing")]
    NotPerfetto(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It is, but of another program.
    #[error("it is a trace of another program: {0}")]
    NotOfKahn(&'static str),
}

pub(in super::super) fn read(bytes: &[u8]) -> Result<Timeline, ReadError> {
    let mut reader = Reader::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        match next(&mut rest) {
            Ok(Some(packet)) => {
                reader.packet(packet).ok_or(ReadError::NotOfKahn("it has other packets"))?;
            }
            // What was being written when the run was killed.
            Ok(None) | Err(_) if reader.is_stream => break,
            Ok(None) => return Err(ReadError::NotPerfetto("its end is missing".into())),
            Err(error) => return Err(ReadError::NotPerfetto(Box::new(error))),
        }
    }
    let is_whole = reader.has_end && reader.open.is_empty();
    if !reader.has_root || !(is_whole || reader.is_stream) {
        return Err(ReadError::NotOfKahn("it has no beginning or no end"));
    }
    Ok(if reader.is_stream { reader.in_order() } else { reader.timeline })
}

/// The next packet of a file; none if only a part of it is there.
fn next(rest: &mut &[u8]) -> Result<Option<Packet>, prost::DecodeError> {
    /// What stands before each: it is the first field of a file, and has a length.
    const HEAD: u8 = 1 << 3 | 2;

    let [HEAD, body @ ..] = rest else {
        // Anything else is refused by the decoder.
        let file = File::decode(*rest)?;
        *rest = &[];
        return Ok(file.packet.into_iter().next());
    };
    let mut body = body;
    let Ok(length) = prost::decode_length_delimiter(&mut body) else { return Ok(None) };
    let Some((packet, after)) = body.split_at_checked(length) else { return Ok(None) };
    *rest = after;
    Packet::decode(packet).map(Some)
}

/// What a track is.
#[derive(Clone, Copy, Debug)]
enum Track {
    Folder,
    Rank(usize),
    Lost,
    Part(usize, usize),
    Worker(usize),
    Channel(usize),
}

#[derive(Debug, Default)]
struct Reader {
    timeline: Timeline,
    tracks: BTreeMap<u64, Track>,
    /// Slices that have begun, by track.
    open: BTreeMap<u64, (u64, TrackEvent)>,
    has_root: bool,
    has_end: bool,
    /// It was written while the run went on.
    is_stream: bool,
    /// The last moment that is told of.
    last: u64,
}

fn said_number(event: &TrackEvent, name: u64) -> Option<u64> {
    said_of(event, name)?.uint_value
}

fn said_of(event: &TrackEvent, name: u64) -> Option<&Annotation> {
    event.debug_annotations.iter().find(|said| said.name_iid == Some(name))
}

impl Reader {
    /// `None`: it is none of those that are written here.
    fn packet(&mut self, packet: Packet) -> Option<()> {
        if let Some(descriptor) = packet.track_descriptor {
            return self.describe(descriptor);
        }
        let Some(event) = packet.track_event else { return packet.interned_data.map(|_| ()) };
        let (uuid, at) = (event.track_uuid?, packet.timestamp?);
        let track = *self.tracks.get(&uuid)?;
        self.last = self.last.max(at);
        match event.r#type? {
            kind::SLICE_BEGIN => self.open.insert(uuid, (at, *event)).is_none().then_some(()),
            kind::SLICE_END => {
                let (from, event) = self.open.remove(&uuid)?;
                (from <= at).then(|| self.slice(track, from, at, &event))?
            }
            kind::INSTANT => self.instant(track, at, *event),
            kind::COUNTER => {
                let Track::Channel(channel) = track else { return None };
                let holds = u64::try_from(event.counter_value?).ok()?;
                self.timeline.channels[channel].holds.push((at, holds));
                Some(())
            }
            _ => None,
        }
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> Option<()> {
        let (uuid, name) = (descriptor.uuid?, descriptor.name?);
        let Timeline { ranks, processes, workers, channels, .. } = &mut self.timeline;
        // Children have the rank of their folder.
        let rank = descriptor.parent_uuid.map_or(0, |parent| track::rank(parent).0);
        let of_first = |uuid| track::rank(uuid).1;
        let track = match (of_first(uuid), descriptor.parent_uuid.map(of_first)) {
            (track::ROOT, None) => {
                let number = track::rank(uuid).0;
                if descriptor.process.is_some() {
                    // In their order.
                    if number != ranks.len() {
                        return None;
                    }
                    ranks.push(Rank { number, ..Rank::default() });
                    self.has_root = true;
                    Track::Rank(number)
                } else {
                    self.has_root = number == 0 && name == "Kahn";
                    Track::Folder
                }
            }
            (track::LOST, _) => Track::Lost,
            (track::PROCESSES | track::WORKERS | track::CHANNELS, _) => Track::Folder,
            (_, Some(track::PROCESSES)) => {
                processes.push(Process { rank, name, id: uuid, parts: vec![Part::default()] });
                Track::Part(processes.len() - 1, 0)
            }
            (_, Some(track::WORKERS)) => {
                let number = usize::try_from(descriptor.sibling_order_rank?).ok()?;
                workers.push(Worker { rank, number, spans: Vec::new() });
                Track::Worker(workers.len() - 1)
            }
            (_, Some(track::CHANNELS)) => {
                let id = track::channel_id(uuid);
                channels.push(Channel { rank, name, id, holds: Vec::new() });
                Track::Channel(channels.len() - 1)
            }
            _ => {
                let parent = descriptor.parent_uuid?;
                let Track::Part(process, _) = *self.tracks.get(&parent)? else { return None };
                let parts = &mut processes[process].parts;
                parts.push(Part::default());
                Track::Part(process, parts.len() - 1)
            }
        };
        self.tracks.insert(uuid, track).is_none().then_some(())
    }

    fn slice(&mut self, track: Track, from: u64, until: u64, event: &TrackEvent) -> Option<()> {
        match track {
            Track::Lost => {
                self.timeline.lost += said_number(event, said::NUMBER)?;
                if from == 0 {
                    self.timeline.lost_until = until;
                } else {
                    self.timeline.gaps.push((from, until));
                }
            }
            Track::Worker(worker) => {
                let process = match event.name_iid? {
                    event::LOST => return Some(()),
                    event::IDLE => None,
                    name => Some(self.process(name)?),
                };
                self.timeline.workers[worker].spans.push((from, until, process));
            }
            Track::Part(process, part) => {
                let does = self.does(event)?;
                let spans = &mut self.timeline.processes[process].parts[part].spans;
                spans.push(Span { from, until, does });
            }
            Track::Folder | Track::Rank(_) | Track::Channel(_) => return None,
        }
        Some(())
    }

    fn does(&self, event: &TrackEvent) -> Option<Does> {
        Some(match event.name_iid? {
            event::RUNS => Does::Runs(Run {
                worker: said_number(event, said::WORKER).and_then(|number| number.try_into().ok()),
                ran: said_number(event, said::CPU)?,
                wakes: event.flow_ids.clone(),
                woken: event.terminating_flow_ids.first().copied(),
            }),
            event::READY => Does::Ready,
            event::OUTSIDE => Does::Outside,
            name => {
                let (wants, channel) = match Of::find(name)? {
                    Of::ForMessage(channel) => (Wanted::Message, channel),
                    Of::ForRoom(channel) => (Wanted::Room, channel),
                    Of::ForPartner(channel) => (Wanted::Partner, channel),
                    Of::Process(_) => return None,
                };
                self.timeline.channels.get(channel)?;
                let ended_by = match said_of(event, said::ENDED_BY) {
                    Some(said) => Some(self.process(said.string_value_iid?)?),
                    None => None,
                };
                let number = said_number(event, said::MESSAGE)?;
                Does::Waits(Wait { wants, channel, number, ended_by })
            }
        })
    }

    /// What was written while the run went on, in the order in which a timeline has it.
    fn in_order(self) -> Timeline {
        let Self { mut timeline, has_end, last, .. } = self;
        if !has_end {
            timeline.until = last;
        }
        // Places by name, then by number.
        let processes =
            places(timeline.processes.iter().map(|process| (&*process.name, process.id)));
        let channels = places(timeline.channels.iter().map(|channel| (&*channel.name, channel.id)));
        for part in timeline.processes.iter_mut().flat_map(|process| &mut process.parts) {
            for span in &mut part.spans {
                if let Does::Waits(wait) = &mut span.does {
                    wait.channel = channels[wait.channel];
                    wait.ended_by = wait.ended_by.map(|process| processes[process]);
                }
            }
            for passed in &mut part.passed {
                passed.channel = channels[passed.channel];
            }
            part.spans.sort_by_key(|span| (span.from, span.until));
            part.marks.sort_by_key(|mark| mark.at);
            part.wakes.sort_unstable();
            part.passed.sort_by_key(|passed| passed.at);
        }
        for worker in &mut timeline.workers {
            for (.., process) in &mut worker.spans {
                *process = process.map(|process| processes[process]);
            }
            worker.spans.sort_by_key(|&(from, until, _)| (from, until));
        }
        for channel in &mut timeline.channels {
            channel.holds.sort_by_key(|&(at, _)| at);
        }
        timeline.processes.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        timeline.channels.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        timeline.workers.sort_by_key(|worker| worker.number);
        timeline
    }

    fn process(&self, number: u64) -> Option<usize> {
        let Of::Process(place) = Of::find(number)? else { return None };
        self.timeline.processes.get(place).map(|_| place)
    }

    fn instant(&mut self, track: Track, at: u64, event: TrackEvent) -> Option<()> {
        match (track, event.name_iid) {
            (Track::Folder | Track::Rank(_), Some(event::END)) => {
                self.timeline.until = at;
                self.has_end = true;
            }
            (Track::Rank(rank), Some(event::CLOCK)) => {
                let rank = &mut self.timeline.ranks[rank];
                rank.error = said_number(&event, said::ERROR)?;
                rank.moved = said_number(&event, said::MOVED)?;
            }
            (Track::Folder, Some(event::STREAM)) => self.is_stream = true,
            (Track::Part(process, part), Some(event::SENDS | event::RECEIVES)) => {
                let Of::ForMessage(channel) =
                    Of::find(said_of(&event, said::CHANNEL)?.string_value_iid?)?
                else {
                    return None;
                };
                self.timeline.channels.get(channel)?;
                let is_received = event.name_iid == Some(event::RECEIVES);
                let number = said_number(&event, said::MESSAGE)?;
                let count = said_number(&event, said::COUNT)?;
                let flows = if is_received { event.terminating_flow_ids } else { event.flow_ids };
                let passed = Passed { at, is_received, channel, number, count, flows };
                self.timeline.processes[process].parts[part].passed.push(passed);
            }
            (Track::Part(process, part), Some(event::ENDS_WAIT)) => {
                let wakes = &mut self.timeline.processes[process].parts[part].wakes;
                wakes.push((at, *event.flow_ids.first()?));
            }
            (Track::Part(process, part), None) => {
                let number = said_number(&event, said::NUMBER)?;
                let marks = &mut self.timeline.processes[process].parts[part].marks;
                marks.push(Mark { at, label: event.name?, number });
            }
            _ => return None,
        }
        Some(())
    }
}

/// The place of each among all, by name, then by number.
fn places<'a>(all: impl Iterator<Item = (&'a str, u64)>) -> Vec<usize> {
    let mut order: Vec<_> = all.enumerate().map(|(was, key)| (key, was)).collect();
    order.sort_unstable();
    let mut places = vec![0; order.len()];
    for (place, (_, was)) in order.into_iter().enumerate() {
        places[was] = place;
    }
    places
}
