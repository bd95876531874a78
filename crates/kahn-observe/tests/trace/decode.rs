//! A second reader of traces, which knows of the format what Perfetto documents and nothing of the crate.

use prost::Message;
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, tag = "8")]
    timestamp: u64,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    r#type: i32,
    #[prost(uint64, tag = "10")]
    name_iid: u64,
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
    #[prost(string, tag = "23")]
    name: String,
    #[prost(int64, tag = "30")]
    counter_value: i64,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(uint64, tag = "1")]
    name_iid: u64,
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(uint64, optional, tag = "17")]
    string_value_iid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedData {
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<Interned>,
    #[prost(message, repeated, tag = "3")]
    debug_annotation_names: Vec<Interned>,
    #[prost(message, repeated, tag = "29")]
    debug_annotation_string_values: Vec<Interned>,
}

#[derive(Clone, PartialEq, Message)]
struct Interned {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(uint64, tag = "5")]
    parent_uuid: u64,
}

/// A slice of a track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slice {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) name: String,
    pub(crate) numbers: BTreeMap<String, u64>,
    pub(crate) texts: BTreeMap<String, String>,
}

/// What is on a track.
#[derive(Debug, Default)]
pub(crate) struct Track {
    pub(crate) name: String,
    pub(crate) parent: u64,
    pub(crate) slices: Vec<Slice>,
    /// When and which.
    pub(crate) instants: Vec<(u64, String)>,
    pub(crate) counts: Vec<(u64, i64)>,
}

/// All of a file.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) tracks: BTreeMap<u64, Track>,
    /// By number: when each begins, and when it ends.
    pub(crate) begins: BTreeMap<u64, Vec<u64>>,
    pub(crate) ends: BTreeMap<u64, Vec<u64>>,
}

impl Decoded {
    /// The tracks under the track of this name.
    pub(crate) fn under(&self, folder: &str) -> impl Iterator<Item = &Track> {
        let named = self.tracks.iter().find(|(_, track)| track.name == folder);
        let folder = named.map_or(0, |(uuid, _)| *uuid);
        self.tracks.values().filter(move |track| track.parent == folder)
    }

    /// The tracks of processes and of their parts, by the names of the processes.
    pub(crate) fn processes(&self) -> BTreeMap<&str, Vec<&Track>> {
        let mut processes = BTreeMap::<&str, Vec<_>>::new();
        let folder =
            |name| self.tracks.iter().find(|(_, track)| track.name == name).map(|(uuid, _)| *uuid);
        let top = folder("processes").expect("there is a folder of processes");
        for track in self.tracks.values() {
            let is_part = self.tracks.get(&track.parent).is_some_and(|whole| whole.parent == top);
            if track.parent == top || is_part {
                processes.entry(&track.name).or_default().push(track);
            }
        }
        processes
    }
}

/// Reads a file. Panics if slices of a track are not one behind the other, or a track is not described.
pub(crate) fn decode(bytes: &[u8]) -> Decoded {
    let file = Trace::decode(bytes).expect("it is a trace");
    let mut decoded = Decoded::default();
    let mut interned: [BTreeMap<u64, String>; 3] = Default::default();
    let mut open = BTreeMap::<u64, Slice>::new();
    for packet in file.packet {
        if let Some(data) = packet.interned_data {
            let InternedData {
                event_names,
                debug_annotation_names,
                debug_annotation_string_values,
            } = data;
            let all = [event_names, debug_annotation_names, debug_annotation_string_values];
            for (known, new) in interned.iter_mut().zip(all) {
                known.extend(new.into_iter().map(|named| (named.iid, named.name)));
            }
        }
        if let Some(TrackDescriptor { uuid, name, parent_uuid }) = packet.track_descriptor {
            let track = Track { name, parent: parent_uuid, ..Track::default() };
            assert!(uuid != 0 && decoded.tracks.insert(uuid, track).is_none(), "{uuid} is new");
        }
        let Some(event) = packet.track_event else { continue };
        let [names, keys, values] = &interned;
        let at = packet.timestamp;
        let uuid = event.track_uuid;
        let track = decoded.tracks.get_mut(&uuid).expect("the track is described");
        let name = if event.name_iid > 0 { names[&event.name_iid].clone() } else { event.name };
        for flow in event.flow_ids {
            decoded.begins.entry(flow).or_default().push(at);
        }
        for flow in event.terminating_flow_ids {
            decoded.ends.entry(flow).or_default().push(at);
        }
        let said = event.debug_annotations;
        let numbers =
            said.iter().filter_map(|said| Some((keys[&said.name_iid].clone(), said.uint_value?)));
        let texts = said.iter().filter_map(|said| {
            Some((keys[&said.name_iid].clone(), values[&said.string_value_iid?].clone()))
        });
        match event.r#type {
            1 => {
                let last = track.slices.last().map_or(0, |slice| slice.until);
                assert!(last <= at, "{}: {name} begins at {at}, before {last}", track.name);
                let numbers = numbers.collect();
                let texts = texts.collect();
                let slice = Slice { from: at, until: at, name, numbers, texts };
                assert!(open.insert(uuid, slice).is_none(), "{}: one at a time", track.name);
            }
            2 => {
                let slice = open.remove(&uuid).expect("it has begun");
                assert!(slice.from <= at, "{}: {slice:?} ends at {at}", track.name);
                track.slices.push(Slice { until: at, ..slice });
            }
            3 => track.instants.push((at, name)),
            4 => track.counts.push((at, event.counter_value)),
            other => panic!("an event of type {other}"),
        }
    }
    assert!(open.is_empty(), "all slices end: {open:?}");
    decoded
}
