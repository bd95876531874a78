#!/usr/bin/env python3
"""Reads traces with Perfetto's own definition of the format, and checks what a viewer relies on.

    ci/trace.py FILE...

Needs `perfetto` of PyPI (`python3 -m pip install perfetto`): its compiled definition, not its trace processor.
Nothing of Kahn is used. Exits with 1 at the first thing that is wrong.
"""

import sys
from collections import defaultdict

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

EVENT = proto.TrackEvent


def check(path):
    trace = proto.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    names, tracks, open_slices = {}, {}, defaultdict(list)
    begins, ends, last = defaultdict(list), defaultdict(list), {}
    spans = defaultdict(list)
    counts = defaultdict(int)
    # Of a run on several ranks: each is a process, and says how well its clock is known.
    ranks, clocks, said, between = {}, {}, {}, 0
    for packet in trace.packet:
        # Fields that the definition does not have would be kept apart.
        assert not list(proto_unknown(packet)), f"{path}: a field that Perfetto does not know"
        assert packet.trusted_packet_sequence_id, f"{path}: a packet of no sequence"
        for name in packet.interned_data.event_names:
            names[name.iid] = name.name
        said.update((name.iid, name.name) for name in packet.interned_data.debug_annotation_names)
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks, f"{path}: {track.name} is described twice"
            assert not track.parent_uuid or track.parent_uuid in tracks, f"{path}: {track.name} has no parent"
            tracks[track.uuid] = track
            if track.HasField("process"):
                name = f"rank {len(ranks)}"
                assert track.process.process_name == name and track.process.pid, f"{path}: {track} is not {name}"
                ranks[track.uuid] = name
        if not packet.HasField("track_event"):
            continue
        event, at = packet.track_event, packet.timestamp
        track = tracks[event.track_uuid]
        name = names[event.name_iid] if event.name_iid else event.name
        for flow in event.flow_ids:
            begins[flow].append((at, root(tracks, track)))
        for flow in event.terminating_flow_ids:
            ends[flow].append((at, root(tracks, track)))
        if name == "the clock of this rank":
            clocks[ranks[track.uuid]] = {said[one.name_iid]: one.uint_value for one in event.debug_annotations}
        counts[EVENT.Type.Name(event.type)] += 1
        if event.type == EVENT.TYPE_SLICE_BEGIN:
            assert not open_slices[track.uuid], f"{path}: {track.name}: {name} begins in another slice"
            assert last.get(track.uuid, 0) <= at, f"{path}: {track.name}: {name} begins before another ends"
            open_slices[track.uuid].append((at, name))
        elif event.type == EVENT.TYPE_SLICE_END:
            begun, name = open_slices[track.uuid].pop()
            assert begun <= at, f"{path}: {track.name}: {name} ends before it begins"
            last[track.uuid] = at
            spans[track.uuid].append((begun, at))
        elif event.type == EVENT.TYPE_COUNTER:
            assert track.HasField("counter"), f"{path}: {track.name} counts nothing"
            assert event.counter_value >= 0, f"{path}: {track.name} holds {event.counter_value}"
        else:
            assert event.type == EVENT.TYPE_INSTANT, f"{path}: an event of type {event.type}"
    assert not any(open_slices.values()), f"{path}: slices without an end"
    for flow, times in begins.items():
        assert len(times) == 1, f"{path}: flow {flow} begins {len(times)} times"
    for flow, times in ends.items():
        assert len(times) == 1 and begins[flow][0][0] <= times[0][0], f"{path}: flow {flow} ends before it begins"
        between += begins[flow][0][1] != times[0][1]
    if ranks:
        assert len(clocks) == len(ranks) > 1, f"{path}: clocks of {clocks.keys()}, ranks {ranks.values()}"
        # Two clocks that are both aligned to that of rank 0.
        error = sum(sorted(clock["error ns"] for clock in clocks.values())[-2:])
        moved = max(clock["moved ns"] for clock in clocks.values())
        assert moved <= error, f"{path}: an arrow would point backwards by {moved} ns, and clocks agree to {error}"
        print(f"{path}: {len(ranks)} ranks, {between} arrows between them, clocks to {error} ns, moved by {moved} at most")
    workers = {uuid for uuid, track in tracks.items() if track.name == "workers"}
    assert workers, f"{path}: no workers"
    for uuid, track in tracks.items():
        if track.parent_uuid in workers:
            gaps = [b[0] - a[1] for a, b in zip(spans[uuid], spans[uuid][1:])]
            assert not any(gaps), f"{path}: {track.name} is not tiled"
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
    print(f"{path}: {len(tracks)} tracks, {len(begins)} flows, {told}")


def root(tracks, track):
    while track.parent_uuid:
        track = tracks[track.parent_uuid]
    return track.uuid


def proto_unknown(message):
    from google.protobuf.unknown_fields import UnknownFieldSet
    yield from UnknownFieldSet(message)
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in (value if hasattr(value, "__len__") and not hasattr(value, "ListFields") else [value]):
                if hasattr(inner, "ListFields"):
                    yield from proto_unknown(inner)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        try:
            check(path)
        except AssertionError as error:
            sys.exit(f"error: {error}")
