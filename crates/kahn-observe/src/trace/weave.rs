//! How a timeline is made of events.
//!
//! A ring keeps its last events. Where one has lost some, nothing that happened before its first is told
//! of any: what is told is complete from there on, and no wait looks longer than it was for want of the slice
//! that ended it.
//!
//! After a slice, a part of a process waits until the wake that names the same message, and is ready from
//! then until its next slice. A wait without a wake was over before it began: what it waits for had come
//! before the worker could park the process, which then ran on.

use super::event::Event;
use super::names::{Kind, Named, OTHERS};
use super::ring::Kept;
use super::timeline::{
    Channel, Does, Mark, Part, Passed, Process, Rank, Run, Span, Timeline, Wait, Wanted, Worker,
    flow,
};
use kahn_report::log::What;
use kahn_report::observe::Tick;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Channels of which each message has an arrow: those of their wake-ups are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    All,
    /// Those at these places of the list of names.
    Some(BTreeSet<u32>),
}

impl Drawn {
    pub(super) fn of(draws_all: bool) -> Self {
        if draws_all { Self::All } else { Self::Some(BTreeSet::new()) }
    }

    fn has(&self, channel: u32) -> bool {
        match self {
            Self::All => true,
            Self::Some(channels) => channels.contains(&channel),
        }
    }
}

/// Makes a timeline of what rings have kept of a time in ticks, on these ranks if there are several.
pub(super) fn weave(
    kept: &[Kept],
    names: &[Named],
    time: Range<u64>,
    tick: Tick,
    draws: &Drawn,
    ranks: Vec<Rank>,
) -> Timeline {
    let mut told = BTreeMap::<u32, OfPart>::new();
    let mut of_channels = BTreeMap::<u32, Vec<Event>>::new();
    let mut of_workers = BTreeMap::<(usize, usize), Vec<Slice>>::new();
    for ring in kept {
        for slice in slices(ring, time.end) {
            told.entry(slice.process).or_default().slices.push(slice);
            if let Some(worker) = ring.worker {
                of_workers.entry((ring.rank, worker)).or_default().push(slice);
            }
        }
        for event in &ring.events {
            match event.what {
                What::Sent | What::Received => {
                    of_channels.entry(event.channel).or_default().push(*event);
                }
                _ => told.entry(event.process).or_default().take(*event),
            }
        }
    }
    told.remove(&OTHERS);
    let tracks = Tracks::of(names, &channels_of(kept));
    let scale = Scale::of(kept, &told, &time, tick);
    let mut woven = Timeline {
        until: scale.at(scale.until),
        lost: kept.iter().map(|ring| ring.lost).sum(),
        lost_until: scale.at(scale.complete_from),
        gaps: Vec::new(),
        ranks,
        processes: tracks.processes.clone(),
        workers: Vec::new(),
        channels: tracks.channels.clone(),
    };
    for ((rank, number), slices) in of_workers {
        woven.workers.push(Worker { rank, number, spans: tile(slices, &tracks, &scale) });
    }
    let mut arrows = Arrows { draws, drawn: Vec::new(), flows: BTreeSet::new() };
    for (place, part) in told {
        if let Some((process, index)) = tracks.part(place) {
            let salt = if names[place as usize].is_link { names[place as usize].key.1 } else { 0 };
            woven.processes[process].parts[index] =
                part.weave(names, &tracks, &scale, &mut arrows, salt);
        }
    }
    for (by, at, flow) in arrows.drawn {
        if let Some((process, index)) = tracks.part(by) {
            draw(&mut woven.processes[process].parts[index], at, flow);
        }
    }
    for (place, events) in of_channels {
        if let Some(channel) = tracks.channel(place) {
            if draws.has(place) {
                let (all, moved) = passed(&events, channel, &tracks, &scale);
                if let Some(rank) = woven.ranks.get_mut(woven.channels[channel].rank) {
                    rank.moved = rank.moved.max(moved);
                }
                for (by, passed) in all {
                    if let Some((process, index)) = tracks.part(by) {
                        woven.processes[process].parts[index].passed.push(passed);
                    }
                }
            }
            woven.channels[channel].holds = holds(events, &scale);
        }
    }
    for part in woven.processes.iter_mut().flat_map(|process| &mut process.parts) {
        part.passed.sort_by_key(|passed| passed.at);
    }
    woven
}

// --- times ---------------------------------------------------------------------------------------

/// From ticks to nanoseconds since the timeline begins.
#[derive(Debug)]
struct Scale {
    from: u64,
    /// Nothing that happened since was lost.
    complete_from: u64,
    until: u64,
    tick: Tick,
}

impl Scale {
    fn of(kept: &[Kept], told: &BTreeMap<u32, OfPart>, time: &Range<u64>, tick: Tick) -> Self {
        let events = || kept.iter().flat_map(|ring| &ring.events);
        let starts = || told.values().flat_map(|part| part.slices.iter().map(|slice| slice.from));
        let losers = kept.iter().filter(|ring| ring.lost > 0);
        let complete_from =
            losers.map(|ring| ring.events.first().map_or(time.end, |first| first.known_at())).max();
        // Nothing happened before the first event, unless that is lost; nor after the last of a run that is over.
        let first = events().map(|event| event.at).chain(starts()).min().unwrap_or(time.end);
        let last = events().map(|event| event.known_at()).max().unwrap_or(time.end);
        let is_over = told.values().all(OfPart::is_over);
        let from = if complete_from.is_some() { time.start.min(first) } else { first };
        Self {
            from,
            complete_from: complete_from.unwrap_or(from),
            until: if is_over { last } else { time.end }.max(from),
            tick,
        }
    }

    fn at(&self, ticks: u64) -> u64 {
        self.long(ticks.clamp(self.from, self.until) - self.from)
    }

    fn long(&self, ticks: u64) -> u64 {
        self.tick.nanoseconds(ticks)
    }

    /// The part of a time that is told of; none if it is empty.
    fn part(&self, from: u64, until: u64) -> Option<Range<u64>> {
        let told = self.at(from.max(self.complete_from))..self.at(until.max(self.complete_from));
        (!told.is_empty()).then_some(told)
    }
}

/// The channels that events tell of.
fn channels_of(kept: &[Kept]) -> BTreeSet<u32> {
    let events = kept.iter().flat_map(|ring| &ring.events);
    let told = events.filter(|event| event.what != What::Mark && event.channel != OTHERS);
    told.map(|event| event.channel).collect()
}

// --- names ---------------------------------------------------------------------------------------

/// Which track each name has.
#[derive(Debug, Default)]
struct Tracks {
    processes: Vec<Process>,
    channels: Vec<Channel>,
    /// By place in the list of names: the process and which of its parts, or the channel.
    places: Vec<(usize, usize)>,
    kinds: Vec<Kind>,
}

impl Tracks {
    /// Of all processes, and of these channels.
    fn of(names: &[Named], of_channels: &BTreeSet<u32>) -> Self {
        let all_of = |kind| {
            let named = (0_u32..).zip(names).filter(move |(place, named)| {
                named.key.0 == kind && (kind != Kind::Channel || of_channels.contains(place))
            });
            named
                .map(|(_, named)| (named.key.1, (named.name.to_string(), named.rank)))
                .collect::<BTreeMap<_, _>>()
        };
        let mut processes: Vec<_> = all_of(Kind::Process)
            .into_iter()
            .map(|(id, (name, rank))| Process { rank, name, id, parts: Vec::new() })
            .collect();
        let mut channels: Vec<_> = all_of(Kind::Channel)
            .into_iter()
            .map(|(id, (name, rank))| Channel { rank, name, id, holds: Vec::new() })
            .collect();
        processes.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        channels.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        let by_id = |ids: &mut dyn Iterator<Item = u64>| {
            ids.enumerate().map(|(place, id)| (id, place)).collect::<BTreeMap<_, _>>()
        };
        let process_of = by_id(&mut processes.iter().map(|process| process.id));
        let channel_of = by_id(&mut channels.iter().map(|channel| channel.id));
        let place_of = |named: &Named| match named.key.0 {
            Kind::Process => {
                let process = process_of[&named.key.1];
                let parts = &mut processes[process].parts;
                parts.push(Part::default());
                (process, parts.len() - 1)
            }
            Kind::Channel => (channel_of.get(&named.key.1).copied().unwrap_or_default(), 0),
            Kind::Other | Kind::Label => (0, 0),
        };
        let places = names.iter().map(place_of).collect();
        Self { processes, channels, places, kinds: names.iter().map(|name| name.key.0).collect() }
    }

    fn find(&self, place: u32, kind: Kind) -> Option<(usize, usize)> {
        let place = place as usize;
        (*self.kinds.get(place)? == kind).then(|| self.places[place])
    }

    fn part(&self, place: u32) -> Option<(usize, usize)> {
        self.find(place, Kind::Process)
    }

    fn channel(&self, place: u32) -> Option<usize> {
        self.find(place, Kind::Channel).map(|(channel, _)| channel)
    }
}

// --- processes -----------------------------------------------------------------------------------

/// A slice and what follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) process: u32,
    pub(super) worker: Option<usize>,
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) ran: u64,
    /// Why the process rested, at which channel, for which message; none if it still runs.
    pub(super) rest: Option<(What, u32, u64)>,
}

/// The slices of a ring, and the one that is not over.
fn slices(ring: &Kept, now: u64) -> impl Iterator<Item = Slice> {
    let worker = ring.worker;
    let told = ring.events.iter().filter(|event| event.what.is_slice()).map(move |event| Slice {
        process: event.process,
        worker,
        from: event.at,
        until: event.second,
        ran: event.ran,
        rest: Some((event.what, event.channel, event.number)),
    });
    // It may have ended while the events were read.
    let is_told =
        |since| ring.events.iter().rev().any(|event| event.what.is_slice() && event.at == since);
    let running = ring.running.filter(|&(_, since)| !is_told(since) && since <= now);
    let running = running.map(move |(process, since)| Slice {
        process,
        worker,
        from: since,
        until: now,
        ran: now - since,
        rest: None,
    });
    told.chain(running)
}

/// A channel, a message, and what is waited for. For a partner no message is: which one is not known.
pub(super) type WaitedFor = (u32, u64, Wanted);

pub(super) fn waited_for(what: What, channel: u32, number: u64) -> Option<WaitedFor> {
    Some(match what {
        What::UntilMessage | What::WokenForMessage => (channel, number, Wanted::Message),
        What::UntilRoom | What::WokenForRoom => (channel, number, Wanted::Room),
        What::UntilPartner | What::WokenForPartner => (channel, 0, Wanted::Partner),
        _ => return None,
    })
}

/// What is told of one part of a process.
#[derive(Debug, Default)]
struct OfPart {
    slices: Vec<Slice>,
    /// By what it waited for: each when, and by which process.
    woken: BTreeMap<WaitedFor, VecDeque<(u64, u32)>>,
    dropped: Option<u64>,
    marks: Vec<(u64, u32, u64)>,
}

impl OfPart {
    fn take(&mut self, event: Event) {
        match event.what {
            What::WokenForMessage | What::WokenForRoom | What::WokenForPartner => {
                let key = waited_for(event.what, event.channel, event.number);
                let by = u32::try_from(event.second).unwrap_or(OTHERS);
                self.woken.entry(key.expect("it is a wait")).or_default().push_back((event.at, by));
            }
            What::Dropped => self.dropped = Some(event.at),
            What::Mark => self.marks.push((event.at, event.channel, event.number)),
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        let last = self.slices.iter().max_by_key(|slice| slice.from);
        let has_returned = last.is_none_or(|last| matches!(last.rest, Some((What::UntilGood, ..))));
        has_returned || self.dropped.is_some()
    }

    fn weave(
        mut self,
        names: &[Named],
        tracks: &Tracks,
        scale: &Scale,
        arrows: &mut Arrows<'_>,
        // Of a link: it waits for the same messages as the process on the other rank.
        salt: u64,
    ) -> Part {
        self.slices.sort_by_key(|slice| slice.from);
        // Several workers may have ended its waits for partners.
        for wakes in self.woken.values_mut() {
            wakes.make_contiguous().sort_unstable();
        }
        let mut part = Part::default();
        // So that rounding does not add up: what it ran altogether, before and behind a slice.
        let mut ran = 0;
        let mut woken = None;
        for (place, slice) in self.slices.iter().enumerate() {
            let before = scale.long(ran);
            ran += slice.ran;
            if slice.until >= scale.complete_from {
                let from = scale.at(slice.from.max(scale.complete_from));
                let run = Run {
                    worker: slice.worker,
                    ran: scale.long(ran) - before,
                    wakes: Vec::new(),
                    woken: woken.take(),
                };
                part.spans.push(Span { from, until: scale.at(slice.until), does: Does::Runs(run) });
            }
            let Some((why, channel, number)) = slice.rest else { break };
            let after = self.slices.get(place + 1).map(|next| next.from);
            let until = after.or(self.dropped).unwrap_or(scale.until).max(slice.until);
            let mut push = |from, until, does| {
                if let Some(told) = scale.part(from, until) {
                    part.spans.push(Span { from: told.start, until: told.end, does });
                }
            };
            match why {
                What::UntilGivesWay => push(slice.until, until, Does::Ready),
                What::UntilOtherwise => push(slice.until, until, Does::Outside),
                _ => {
                    let Some(key) = waited_for(why, channel, number) else { continue };
                    let (_, _, wants) = key;
                    let wake = self.woken.get_mut(&key);
                    let wake = wake.and_then(|wakes| next_wake(wakes, wants, slice.until, until));
                    let ready = wake.map_or(until, |(at, _)| at.clamp(slice.until, until));
                    let ended_by =
                        wake.and_then(|(_, by)| tracks.part(by)).map(|(process, _)| process);
                    let Some(place) = tracks.channel(channel) else { continue };
                    let wait = Wait { wants, channel: place, number, ended_by };
                    push(slice.until, ready, Does::Waits(wait));
                    push(ready, until, Does::Ready);
                    if let Some((at, by)) = wake.filter(|&(at, _)| at >= scale.complete_from)
                        && ended_by.is_some()
                        && (salt != 0 || wants != Wanted::Message || !arrows.draws.has(channel))
                    {
                        let flow = flow(tracks.channels[place].id ^ salt, number, wants);
                        woken = arrows.add(by, scale.at(at), flow).filter(|_| after.is_some());
                    }
                }
            }
        }
        for (at, label, number) in self.marks {
            if at >= scale.complete_from {
                let label = names[label as usize].name.to_string();
                part.marks.push(Mark { at: scale.at(at), label, number });
            }
        }
        part.marks.sort_by_key(|mark| mark.at);
        part
    }
}

/// The wake that ended a wait from one moment to another, if one did: of a message the one that names it, of
/// a partner the one that came then.
pub(super) fn next_wake(
    wakes: &mut VecDeque<(u64, u32)>,
    wants: Wanted,
    from: u64,
    until: u64,
) -> Option<(u64, u32)> {
    if wants == Wanted::Partner {
        while wakes.front().is_some_and(|&(at, _)| at < from) {
            wakes.pop_front();
        }
        return wakes.front().is_some_and(|&(at, _)| at <= until).then(|| wakes.pop_front())?;
    }
    wakes.pop_front()
}

/// Arrows from processes that ended waits, each when and which.
#[derive(Debug)]
struct Arrows<'a> {
    /// Messages of these have arrows of their own.
    draws: &'a Drawn,
    drawn: Vec<(u32, u64, u64)>,
    flows: BTreeSet<u64>,
}

impl Arrows<'_> {
    /// Adds one, unless there is one of the same number: one begins once.
    fn add(&mut self, by: u32, at: u64, flow: u64) -> Option<u64> {
        self.flows.insert(flow).then(|| {
            self.drawn.push((by, at, flow));
            flow
        })
    }
}

/// Lets an arrow begin at the slice that lasted then, or between slices.
fn draw(part: &mut Part, at: u64, flow: u64) {
    let behind = part.spans.partition_point(|span| span.from <= at);
    let near = part.spans[..behind].iter_mut().rev().take_while(|span| span.until >= at);
    let run =
        near.filter_map(|span| if let Does::Runs(run) = &mut span.does { Some(run) } else { None });
    match run.last() {
        Some(run) => run.wakes.push(flow),
        None => part.wakes.push((at, flow)),
    }
}

// --- workers and channels ------------------------------------------------------------------------

/// Slices of one worker, and what is between them.
fn tile(mut slices: Vec<Slice>, tracks: &Tracks, scale: &Scale) -> Vec<(u64, u64, Option<usize>)> {
    slices.sort_by_key(|slice| slice.from);
    let mut spans = Vec::new();
    let (mut at, end) = (scale.at(scale.complete_from), scale.at(scale.until));
    for slice in slices {
        let Some(told) = scale.part(slice.from, slice.until) else { continue };
        if told.start > at {
            spans.push((at, told.start, None));
        }
        spans.push((
            told.start.max(at),
            told.end,
            tracks.part(slice.process).map(|(process, _)| process),
        ));
        at = told.end;
    }
    if end > at {
        spans.push((at, end, None));
    }
    spans
}

/// Messages of a channel where they are sent and received, with their arrows, and by which part of a process; and by how
/// many nanoseconds one had to be moved at most, so that it is received after it was sent.
fn passed(
    events: &[Event],
    channel: usize,
    tracks: &Tracks,
    scale: &Scale,
) -> (Vec<(u32, Passed)>, u64) {
    let id = tracks.channels[channel].id;
    let told = || events.iter().filter(|event| event.at >= scale.complete_from);
    let sent = || told().filter(|event| event.what == What::Sent);
    // The last message of each publication, and when that was.
    let sends: BTreeMap<u64, u64> =
        sent().map(|event| (event.number + event.second, event.at)).collect();
    let first = sent().map(|event| event.number).min().unwrap_or_default();
    let end = sends.last_key_value().map_or(0, |(&end, _)| end);
    let mut moved = 0;
    let all = told().map(|event| {
        let (is_received, mut at) = (event.what == What::Received, event.at);
        let behind = event.number + event.second;
        // Initial messages were sent by none.
        if is_received
            && behind > first
            && let Some((_, &sent_at)) = sends.range(behind.min(end)..).next()
        {
            // Two processors read the clock, or two ranks.
            moved = moved.max(scale.long(sent_at.saturating_sub(at)));
            at = at.max(sent_at);
        }
        let numbers = event.number.max(first)..behind.min(end);
        let flows = numbers.map(|number| flow(id, number, Wanted::Message)).collect();
        let (at, number, count) = (scale.at(at), event.number, event.second);
        (event.process, Passed { at, is_received, channel, number, count, flows })
    });
    let all = all.collect();
    (all, moved)
}

/// How many messages a channel holds, by what was sent and received.
fn holds(mut events: Vec<Event>, scale: &Scale) -> Vec<(u64, u64)> {
    let is_received = |event: &Event| event.what == What::Received;
    events.sort_by_key(|event| (event.at, is_received(event)));
    let first = |received| {
        let mut those = events.iter().filter(|event| is_received(event) == received);
        those.next().map(|event| event.number)
    };
    let all_received =
        events.iter().filter(|event| is_received(event)).map(|event| event.number + event.second);
    // Of a channel that is only received from, all was there before.
    let mut sent = first(false).or(all_received.max()).unwrap_or_default();
    let nothing_lost = scale.complete_from == scale.from;
    let mut received = first(true).unwrap_or(if nothing_lost { 0 } else { sent });
    let mut holds: Vec<(u64, u64)> = Vec::new();
    for event in &events {
        let end = event.number + event.second;
        if is_received(event) {
            received = received.max(end);
        } else {
            sent = sent.max(end);
        }
        if event.at < scale.complete_from {
            continue;
        }
        let now = (scale.at(event.at), sent.saturating_sub(received));
        match holds.last_mut() {
            Some(last) if last.0 == now.0 => *last = now,
            Some(last) if last.1 == now.1 => {}
            _ => holds.push(now),
        }
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_does_not_add_up() {
        let scale =
            Scale { from: 0, complete_from: 0, until: 100, tick: Tick::of_nanoseconds(0.4) };
        let slices = (0..10).map(|place| Slice {
            process: 1,
            worker: None,
            from: 10 * place,
            until: 10 * place + 1,
            ran: 1,
            rest: Some((What::UntilGivesWay, OTHERS, 0)),
        });
        let part = OfPart { slices: slices.collect(), ..OfPart::default() };
        let draws = Drawn::of(false);
        let mut arrows = Arrows { draws: &draws, drawn: Vec::new(), flows: BTreeSet::new() };
        let part = part.weave(&[], &Tracks::default(), &scale, &mut arrows, 0);
        let ran = part
            .spans
            .iter()
            .map(|span| if let Does::Runs(run) = &span.does { run.ran } else { 0 });
        assert_eq!(ran.sum::<u64>(), 4);
    }
}
