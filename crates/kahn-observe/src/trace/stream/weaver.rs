//! Tells of slices when what led to them is known: the rounds are told of in the folder's first lines.

use super::super::event::Event;
use super::super::names::{Kind, Known, Named, OTHERS};
use super::super::perfetto::Appender;
use super::super::timeline::{Does, Passed, Run, Span, Wait, Wanted, flow};
use super::super::weave::{Slice, WaitedFor, next_wake, waited_for};
use super::follow::Round;
use kahn_report::log::What;
use kahn_report::observe::Tick;
use std::collections::{BTreeMap, VecDeque, btree_map};
use std::io::{self, Write};

/// What is known of a run so far.
#[derive(Debug)]
pub(super) struct Weaver<W> {
    out: Appender<W>,
    tick: Tick,
    /// When the trace began.
    origin: u64,
    draws_all: bool,
    parts: BTreeMap<u32, Part>,
    channels: BTreeMap<u32, Channel>,
    /// Until when each worker is told of.
    workers: BTreeMap<usize, u64>,
    /// When the round before began.
    before: u64,
    /// The last moment that is told of.
    last: u64,
    /// When the last gap ended: nothing that happened sooner is told from then on, whenever it is read.
    resumed: u64,
    lost: u64,
}

/// A part of a process.
#[derive(Debug)]
struct Part {
    /// The place of its process, and the number of its track.
    process: usize,
    track: u64,
    /// Slices that are not told yet.
    slices: Vec<Slice>,
    /// Of them those that begin until then were read in the round before and over when that began.
    ripe: u64,
    /// Why it rests, at which channel, for which message, and since when.
    rests: Option<(What, u32, u64, u64)>,
    woken: BTreeMap<WaitedFor, VecDeque<(u64, u32)>>,
    dropped: Option<u64>,
    /// Ticks that it ran.
    ran: u64,
}

/// Wakes that no wait has asked for, of which a part keeps so many.
const UNASKED: usize = 1 << 10;

/// A channel.
#[derive(Debug, Default)]
struct Channel {
    place: usize,
    id: u64,
    /// Publications that are not told yet.
    events: Vec<Event>,
    /// How many messages were sent and received, and so how many it holds.
    all_sent: Option<u64>,
    all_received: u64,
    holds: Option<u64>,
    /// The first message of which it is told when it was sent, and the one behind the last.
    sent: Option<(u64, u64)>,
    /// Of those that are not received: the one behind each publication, and when that was.
    sends: VecDeque<(u64, u64)>,
    /// The last messages for which arrows began, by what was waited for.
    drawn: [Option<u64>; 3],
}

impl<W: Write> Weaver<W> {
    pub(super) fn new(out: Appender<W>, tick: Tick, origin: u64, draws_all: bool) -> Self {
        let (parts, channels, workers) = Default::default();
        let (before, last, resumed, lost) = (origin, origin, 0, 0);
        Self { out, tick, origin, draws_all, parts, channels, workers, before, last, resumed, lost }
    }

    fn at(&self, ticks: u64) -> u64 {
        self.tick.nanoseconds(ticks.saturating_sub(self.origin))
    }

    /// Takes a round, and tells what is complete with it; nothing is handed on.
    pub(super) fn take(&mut self, mut round: Round, known: &Known) -> io::Result<()> {
        if round.of_rings.iter().any(|ring| ring.lost > 0) {
            self.lose(&round, known)?;
        }
        // Some of it may be read in the rounds after the gap, for it was not over when that was found, or was written down
        // behind where its ring had been read.
        for ring in &mut round.of_rings {
            ring.events.retain(|event| event.known_at() >= self.resumed);
            for event in &mut ring.events {
                event.at = event.at.max(self.resumed);
            }
        }
        // What was read before this round, and was over when the round before began.
        let before = self.before;
        for part in self.parts.values_mut() {
            let over = part.slices.iter().filter(|slice| slice.until <= before);
            part.ripe = over.map(|slice| slice.from + 1).max().unwrap_or(0);
        }
        let mut ripe = Vec::new();
        for (&place, channel) in &mut self.channels {
            let (over, not) =
                channel.events.drain(..).partition(|event: &Event| event.at <= before);
            channel.events = not;
            ripe.push((place, over));
        }
        for ring in round.of_rings {
            for event in ring.events {
                self.feed(event, ring.worker, known)?;
            }
        }
        for place in self.parts.keys().copied().collect::<Vec<_>>() {
            self.tell(place, known)?;
        }
        for (place, events) in ripe {
            self.pass(place, events, false, known)?;
        }
        self.before = round.began;
        Ok(())
    }

    /// Hands on what is complete.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Takes what is told at once, and keeps the rest.
    fn feed(&mut self, event: Event, worker: Option<usize>, known: &Known) -> io::Result<()> {
        self.last = self.last.max(event.known_at());
        if let What::Sent | What::Received = event.what {
            if let Some(channel) = self.channel(event.channel, known)? {
                channel.events.push(event);
            }
            return Ok(());
        }
        let from = self.at(event.at);
        let Some(part) = self.part(event.process, known)? else { return Ok(()) };
        match event.what {
            What::WokenForMessage | What::WokenForRoom | What::WokenForPartner => {
                let by = u32::try_from(event.second).unwrap_or(OTHERS);
                if let Some(key) = waited_for(event.what, event.channel, event.number) {
                    part.woken.entry(key).or_default().push_back((event.at, by));
                }
            }
            What::Dropped => part.dropped = Some(event.at),
            What::Mark => {
                let track = part.track;
                let label = known.list()[event.channel as usize].name.to_string();
                self.out.mark(track, from, &label, event.number)?;
            }
            what if what.is_slice() => {
                part.slices.push(Slice {
                    process: event.process,
                    worker,
                    from: event.at,
                    until: event.second,
                    ran: event.ran,
                    rest: Some((event.what, event.channel, event.number)),
                });
                let process = part.process;
                if let Some(worker) = worker {
                    let until = self.at(event.second);
                    self.works(worker, from, until, process)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn works(&mut self, worker: usize, from: u64, until: u64, process: usize) -> io::Result<()> {
        let told = self.workers.entry(worker).or_default();
        let (idle, begins) = (*told, from.max(*told));
        if until > begins {
            *told = until;
            if begins > idle {
                self.out.works(worker, idle, begins, None)?;
            }
            self.out.works(worker, begins, until, Some(process))?;
        }
        Ok(())
    }

    /// Tells the slices of a part that are ripe, each with what was before it.
    fn tell(&mut self, place: u32, known: &Known) -> io::Result<()> {
        let Some(part) = self.parts.get_mut(&place) else { return Ok(()) };
        if part.slices.is_empty() || part.ripe == 0 {
            return Ok(());
        }
        part.slices.sort_by_key(|slice| slice.from);
        let many = part.slices.partition_point(|slice| slice.from < part.ripe);
        part.ripe = 0;
        let told: Vec<_> = part.slices.drain(..many).collect();
        for slice in told {
            let woken = self.rested(place, slice.from, known)?;
            let (from, until, tick) = (self.at(slice.from), self.at(slice.until), self.tick);
            let Some(part) = self.parts.get_mut(&place) else { return Ok(()) };
            // So that rounding does not add up.
            let before = tick.nanoseconds(part.ran);
            part.ran += slice.ran;
            let ran = tick.nanoseconds(part.ran) - before;
            let run = Run { worker: slice.worker, ran, wakes: Vec::new(), woken };
            part.rests =
                slice.rest.map(|(why, channel, number)| (why, channel, number, slice.until));
            self.out.span(part.track, &Span { from, until, does: Does::Runs(run) })?;
        }
        Ok(())
    }

    /// Tells what a part did since its last slice, until then; returns the arrow of what ended its wait.
    fn rested(&mut self, place: u32, until: u64, known: &Known) -> io::Result<Option<u64>> {
        let Some(part) = self.parts.get_mut(&place) else { return Ok(None) };
        let Some((why, channel, number, since)) = part.rests.take() else { return Ok(None) };
        let (track, until) = (part.track, until.max(since));
        let Some(key) = waited_for(why, channel, number) else {
            let does = match why {
                What::UntilGivesWay => Does::Ready,
                What::UntilOtherwise => Does::Outside,
                _ => return Ok(None),
            };
            self.span(track, since, until, does)?;
            return Ok(None);
        };
        let (.., wants) = key;
        let wake = part.woken.get_mut(&key).and_then(|wakes| next_wake(wakes, wants, since, until));
        if part.woken.get(&key).is_some_and(VecDeque::is_empty) {
            part.woken.remove(&key);
        }
        if part.woken.len() > UNASKED {
            part.woken.retain(|_, wakes| wakes.back().is_some_and(|&(at, _)| at > until));
        }
        let by = match wake {
            Some((_, by)) => self.part(by, known)?.map(|by| (by.process, by.track)),
            None => None,
        };
        let ready = wake.map_or(until, |(at, _)| at.clamp(since, until));
        let Some(channel) = self.channel(channel, known)? else { return Ok(None) };
        let drawn = &mut channel.drawn[wants as usize];
        // Each begins once: what is waited for has numbers that grow.
        let is_new = drawn.is_none_or(|drawn| number > drawn);
        *drawn = Some(drawn.map_or(number, |drawn| drawn.max(number)));
        let flow = flow(channel.id, number, wants);
        let ended_by = by.map(|(process, _)| process);
        let wait = Wait { wants, channel: channel.place, number, ended_by };
        self.span(track, since, ready, Does::Waits(wait))?;
        self.span(track, ready, until, Does::Ready)?;
        // Else its message has an arrow anyway.
        let is_drawn = is_new && !(self.draws_all && wants == Wanted::Message);
        let Some((_, by)) = by.filter(|_| is_drawn) else { return Ok(None) };
        self.out.wake(by, self.at(ready), flow)?;
        Ok(Some(flow))
    }

    fn span(&mut self, track: u64, from: u64, until: u64, does: Does) -> io::Result<()> {
        let (from, until) = (self.at(from), self.at(until));
        if from < until { self.out.span(track, &Span { from, until, does }) } else { Ok(()) }
    }

    /// Tells publications of a channel; those whose messages are not known to be sent are kept, unless they are all that
    /// there will be.
    fn pass(
        &mut self,
        place: u32,
        mut events: Vec<Event>,
        is_all: bool,
        known: &Known,
    ) -> io::Result<()> {
        let is_received = |event: &Event| event.what == What::Received;
        events.sort_by_key(|event| (event.at, is_received(event)));
        // What was in it before is received, too.
        let initial = events.iter().find(|event| !is_received(event)).map(|event| event.number);
        for event in events {
            let at = self.at(event.at);
            let Some(channel) = self.channels.get_mut(&place) else { continue };
            let end = event.number + event.second;
            let is_sent = channel.sent.is_none_or(|(_, sent)| end <= sent);
            if self.draws_all && is_received(&event) && !is_sent && !is_all {
                channel.events.push(event);
                continue;
            }
            let known_sent = channel.all_sent.or(initial).unwrap_or(end);
            if is_received(&event) {
                channel.all_sent = Some(known_sent);
                channel.all_received = channel.all_received.max(end);
            } else {
                channel.all_sent = Some(known_sent.max(end));
            }
            let holds = channel.all_sent.unwrap_or(end).saturating_sub(channel.all_received);
            let id = channel.id;
            if channel.holds.replace(holds) != Some(holds) {
                self.out.holds(id, at, holds)?;
            }
            if self.draws_all {
                self.draw(place, event, known)?;
            }
        }
        Ok(())
    }

    /// Tells of messages where they are sent or received, each with its arrow.
    fn draw(&mut self, place: u32, event: Event, known: &Known) -> io::Result<()> {
        let Some(channel) = self.channels.get_mut(&place) else { return Ok(()) };
        let (end, mut at) = (event.number + event.second, event.at);
        let is_received = event.what == What::Received;
        let numbers = if is_received {
            channel.sends.retain(|&(sent, _)| sent >= end);
            // Two processors read the clock.
            at = channel.sends.front().map_or(at, |&(_, sent_at)| at.max(sent_at));
            let (first, sent) = channel.sent.unwrap_or_default();
            event.number.max(first)..end.min(sent)
        } else {
            let first = channel.sent.map_or(event.number, |(first, _)| first);
            channel.sent = Some((first, end));
            channel.sends.push_back((end, at));
            event.number..end
        };
        let (id, channel) = (channel.id, channel.place);
        let flows = numbers.map(|number| flow(id, number, Wanted::Message)).collect();
        let (at, number, count) = (self.at(at), event.number, event.second);
        let Some(part) = self.part(event.process, known)? else { return Ok(()) };
        let track = part.track;
        self.out.passed(track, &Passed { at, is_received, channel, number, count, flows })
    }

    /// Begins a gap: records of this round are missing.
    fn lose(&mut self, round: &Round, known: &Known) -> io::Result<()> {
        self.tell_all(known)?;
        let from = self.before.max(self.last);
        let losers = round.of_rings.iter().filter(|ring| ring.lost > 0);
        let left =
            losers.map(|ring| ring.events.first().map_or(round.began, |event| event.known_at()));
        let until = left.max().unwrap_or(from).max(from);
        for place in self.parts.keys().copied().collect::<Vec<_>>() {
            self.rested(place, from, known)?;
        }
        for part in self.parts.values_mut() {
            part.woken.clear();
        }
        for channel in self.channels.values_mut() {
            channel.sent = None;
            channel.sends.clear();
        }
        let (begins, ends) = (self.at(from), self.at(until));
        for (&worker, told) in &mut self.workers {
            self.out.works_untold(worker, *told, ends)?;
            *told = ends;
        }
        let lost = round.of_rings.iter().map(|ring| ring.lost).sum();
        self.out.lost(begins, ends, lost)?;
        self.lost += lost;
        (self.last, self.resumed) = (until, until);
        Ok(())
    }

    /// Tells all that was read.
    fn tell_all(&mut self, known: &Known) -> io::Result<()> {
        for place in self.parts.keys().copied().collect::<Vec<_>>() {
            if let Some(part) = self.parts.get_mut(&place) {
                part.ripe = u64::MAX;
            }
            self.tell(place, known)?;
        }
        for place in self.channels.keys().copied().collect::<Vec<_>>() {
            let events =
                self.channels.get_mut(&place).map(|channel| std::mem::take(&mut channel.events));
            self.pass(place, events.unwrap_or_default(), true, known)?;
        }
        Ok(())
    }

    /// Tells what is left, and that it is all; returns how many events were lost.
    pub(super) fn finish(mut self, known: &Known) -> io::Result<u64> {
        self.tell_all(known)?;
        let has_returned = |part: &Part| part.rests.is_none_or(|(why, ..)| why == What::UntilGood);
        let is_over = self.parts.values().all(|part| has_returned(part) || part.dropped.is_some());
        let end = if is_over { self.last } else { self.before.max(self.last) };
        for place in self.parts.keys().copied().collect::<Vec<_>>() {
            let dropped = self.parts.get(&place).and_then(|part| part.dropped);
            self.rested(place, dropped.unwrap_or(end), known)?;
        }
        let until = self.at(end);
        for (&worker, &told) in &self.workers {
            if until > told {
                self.out.works(worker, told, until, None)?;
            }
        }
        self.out.end(until)?;
        Ok(self.lost)
    }

    /// A part of a process; none if there are too many to be told apart.
    fn part(&mut self, place: u32, known: &Known) -> io::Result<Option<&mut Part>> {
        if let btree_map::Entry::Vacant(entry) = self.parts.entry(place) {
            let Some(named) = find(known, place, Kind::Process) else { return Ok(None) };
            let (process, track) = self.out.part(named.key.1, &named.name.to_string())?;
            let (slices, woken) = Default::default();
            let (ripe, ran, rests, dropped) = Default::default();
            entry.insert(Part { process, track, slices, ripe, rests, woken, dropped, ran });
        }
        Ok(self.parts.get_mut(&place))
    }

    fn channel(&mut self, place: u32, known: &Known) -> io::Result<Option<&mut Channel>> {
        if let btree_map::Entry::Vacant(entry) = self.channels.entry(place) {
            let Some(named) = find(known, place, Kind::Channel) else { return Ok(None) };
            let id = named.key.1;
            let place = self.out.channel(id, &named.name.to_string())?;
            entry.insert(Channel { place, id, ..Channel::default() });
        }
        Ok(self.channels.get_mut(&place))
    }
}

fn find(known: &Known, place: u32, kind: Kind) -> Option<&Named> {
    known.list().get(place as usize).filter(|named| named.key.0 == kind)
}

#[cfg(test)]
mod tests {
    use super::super::super::names::Names;
    use super::super::super::timeline::Timeline;
    use super::super::follow::OfRing;
    use super::*;
    use kahn_report::observe::Subject;
    use kahn_report::{Identity, Name};

    /// What is new in the ring of a worker: so many were lost, and then it ran a process from one moment to another.
    fn ring(worker: usize, lost: u64, ran: Option<(u32, u64, u64)>) -> OfRing {
        let event = ran.map(|(process, at, second)| Event {
            what: What::UntilGivesWay,
            process,
            channel: OTHERS,
            at,
            second,
            ran: second - at,
            number: 0,
        });
        OfRing { worker: Some(worker), events: event.into_iter().collect(), lost }
    }

    #[test]
    fn what_is_read_behind_a_gap_and_began_in_it_begins_behind_it() {
        let names = Names::new();
        for (number, name) in [(0, "loses"), (1, "runs on")] {
            let (name, identity) = (Name::from(name), Identity::fixed(number));
            names.stands_at(Kind::Process, 64, 0, Subject::new(&name, identity));
        }
        let mut file = Vec::new();
        let out = Appender::new(&mut file).expect("memory takes it");
        let mut weaver = Weaver::new(out, Tick::of_nanoseconds(1.0), 0, false);
        let rounds = [
            (10, [ring(0, 0, Some((1, 0, 5))), ring(1, 0, Some((2, 0, 6)))]),
            // The gap lasts from 10 to 40; what worker 1 runs is not over.
            (20, [ring(0, 3, Some((1, 30, 40))), ring(1, 0, None)]),
            (50, [ring(0, 0, None), ring(1, 0, Some((2, 12, 48)))]),
            (60, [ring(0, 0, None), ring(1, 0, None)]),
        ];
        for (began, of_rings) in rounds {
            let round = Round { began, of_rings: of_rings.into() };
            weaver.take(round, &names.known()).expect("memory takes it");
        }
        assert_eq!(weaver.finish(&names.known()).expect("memory takes it"), 3);
        let told = Timeline::read(&file).expect("it reads what it writes");
        let process = told.processes.iter().position(|process| process.name == "runs on");
        let spans = &told.processes[process.expect("it is told of")].parts[0].spans;
        let runs = spans.iter().filter(|span| matches!(span.does, Does::Runs(_)));
        let runs: Vec<_> = runs.map(|span| (span.from, span.until)).collect();
        assert_eq!(runs, [(0, 6), (40, 48)]);
        let worker = told.workers.iter().find(|worker| worker.number == 1).expect("it ran");
        let ran = worker.spans.iter().filter(|(.., ran)| *ran == process);
        assert_eq!(ran.map(|&(from, until, _)| (from, until)).collect::<Vec<_>>(), runs);
    }
}
