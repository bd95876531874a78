//! What ranks of one run have kept, put together as of one: by names, and by the clock of rank 0.
//!
//! Each rank gives its events, with the names that they tell of ([`RankTrace`]); what is woven is woven of all of them at
//! once, on rank 0. So what is lost on one rank is told of none, waits end by what ended them, and a channel between two ranks
//! holds what was sent on one and not yet received on the other.
//!
//! | on several ranks | is told as |
//! |---|---|
//! | a process | of the rank on which it ran |
//! | a link | a process of its own, called by its channel and the other rank |
//! | messages of a channel that is cut | sent by the process that sends and received by the one that receives, not by links; each with an arrow |
//! | a channel | of the rank of its receiver |

use super::event::Event;
use super::names::{Key, Kind, Named, OTHERS, others};
use super::record::{LinkOf, Trace};
use super::ring::Kept;
use super::timeline::{Rank, Timeline};
use super::weave::{Drawn, weave};
use kahn_engine::sync::system::clock;
use kahn_report::Name;
use kahn_report::log::What;
use kahn_report::observe::Tick;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What one rank of a run has kept, on its way to rank 0.
///
/// # Examples
///
/// ```
/// use kahn_observe::trace::{Level, OtherRank, RankTrace, Trace};
///
/// let [here, there] = [Trace::new(Level::Schedule), Trace::new(Level::Schedule)];
/// let bytes = RankTrace::of(&there).to_bytes();
/// // Both have one clock here.
/// let read = RankTrace::from_bytes(&bytes).expect("it was written so");
/// let other = OtherRank { rank: 1, trace: read, here: &|there| there, error: 0 };
/// assert_eq!(here.timeline_with(&[other]).clock_error(), 0);
/// ```
#[derive(Debug, Serialize, Deserialize)]
pub struct RankTrace {
    /// The same moment in ticks and in nanoseconds.
    at: (u64, u64),
    tick: f64,
    began: u64,
    until: u64,
    keeps_messages: bool,
    names: Vec<KnownName>,
    links: Vec<LinkOf>,
    rings: Vec<RingPart>,
}

/// Its kind, number, part, and what it is called.
type KnownName = (u8, u64, u64, String);

/// What happened as a number, process, channel; then the numbers of an [`Event`].
type Packed = (u8, u32, u32, [u64; 4]);

#[derive(Debug, Serialize, Deserialize)]
struct RingPart {
    worker: Option<usize>,
    lost: u64,
    running: Option<(u32, u64)>,
    events: Vec<Packed>,
}

/// What another rank has kept, and how its clock goes.
pub struct OtherRank<'a> {
    /// Which rank.
    pub rank: usize,
    /// What it has kept.
    pub trace: RankTrace,
    /// What the clock of rank 0 showed when that of the other showed so many nanoseconds: those of
    /// [`RankTrace::clock`].
    pub here: &'a dyn Fn(u64) -> u64,
    /// By how many nanoseconds that may be wrong.
    pub error: u64,
}

impl fmt::Debug for OtherRank<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherRank").field("rank", &self.rank).finish_non_exhaustive()
    }
}

impl RankTrace {
    /// Takes what a trace has kept until now.
    ///
    /// # Examples
    ///
    /// See [`RankTrace`].
    pub fn of(trace: &Trace) -> Self {
        let (kept, until) = trace.kept();
        let tick = trace.tick().unwrap_or_else(clock::tick);
        let name = |named: &Named| {
            let (kind, number, part) = named.key;
            (kind as u8, number, part, named.name.to_string())
        };
        let packed = |event: &Event| {
            let Event { what, process, channel, at, second, ran, number } = *event;
            (what as u8, process, channel, [at, second, ran, number])
        };
        let ring = |kept: Kept| RingPart {
            worker: kept.worker,
            lost: kept.lost,
            running: kept.running,
            events: kept.events.iter().map(packed).collect(),
        };
        Self {
            at: both(),
            tick: Tick::of_nanoseconds(1.0).in_one_of(tick),
            began: trace.began(),
            until,
            keeps_messages: trace.keeps_messages(),
            rings: kept.into_iter().map(ring).collect(),
            names: trace.known().list().iter().map(name).collect(),
            links: trace.links(),
        }
    }

    /// Returns the time in nanoseconds by the clock by which times are put together.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::RankTrace;
    ///
    /// assert!(RankTrace::clock() <= RankTrace::clock());
    /// ```
    pub fn clock() -> u64 {
        clock::nanoseconds()
    }

    /// Writes it down for rank 0.
    ///
    /// # Examples
    ///
    /// See [`RankTrace`].
    ///
    /// # Panics
    /// Never: all of it can be written.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("it goes to memory, and all of it can be written")
    }

    /// Reads what another rank has written; `None` if it is nothing of the kind.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::RankTrace;
    ///
    /// assert!(RankTrace::from_bytes(b"something else").is_none());
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (read, rest) = postcard::take_from_bytes::<Self>(bytes).ok()?;
        // Places lead into the list of names.
        let is_place = |place: u32| (place as usize) < read.names.len();
        let is_event = |&(what, process, channel, [_, second, ..]): &Packed| {
            let by = u32::try_from(second).is_ok_and(is_place);
            let what = what_of(what);
            let by_place = matches!(
                what,
                Some(What::WokenForMessage | What::WokenForRoom | What::WokenForPartner)
            );
            what.is_some() && is_place(process) && is_place(channel) && (by || !by_place)
        };
        let are_events = |ring: &RingPart| {
            ring.events.iter().all(is_event) && ring.running.is_none_or(|(at, _)| is_place(at))
        };
        let is_whole = rest.is_empty() && read.names.first()?.0 == Kind::Other as u8;
        let is_finite = read.tick.is_finite() && read.tick > 0.0;
        (is_whole && is_finite && read.rings.iter().all(are_events)).then_some(read)
    }

    /// Nanoseconds by the clock of this rank.
    fn nanoseconds(&self, ticks: u64) -> u64 {
        let (at, then) = self.at;
        let tick = Tick::of_nanoseconds(self.tick);
        if ticks >= at {
            then + tick.nanoseconds(ticks - at)
        } else {
            then.saturating_sub(tick.nanoseconds(at - ticks))
        }
    }
}

/// What has this number, `what as u8`.
fn what_of(number: u8) -> Option<What> {
    const ALL: [What; 14] = [
        What::UntilMessage,
        What::UntilRoom,
        What::UntilPartner,
        What::UntilGivesWay,
        What::UntilOtherwise,
        What::UntilGood,
        What::PutAside,
        What::WokenForMessage,
        What::WokenForRoom,
        What::WokenForPartner,
        What::Dropped,
        What::Sent,
        What::Received,
        What::Mark,
    ];
    ALL.into_iter().find(|what| *what as u8 == number)
}

/// Reads both clocks at one moment, as far as that is possible.
fn both() -> (u64, u64) {
    let read = || {
        let before = clock::ticks();
        let nanoseconds = clock::nanoseconds();
        let after = clock::ticks();
        (after.saturating_sub(before), (before + after.saturating_sub(before) / 2, nanoseconds))
    };
    let best = (0..4).map(|_| read()).min_by_key(|&(apart, _)| apart);
    best.expect("it was read").1
}

impl Trace {
    /// Makes a timeline of what is kept here, on rank 0, and on other ranks of the run.
    ///
    /// # Examples
    ///
    /// See [`RankTrace`].
    pub fn timeline_with(&self, others: &[OtherRank<'_>]) -> Timeline {
        let own = OtherRank { rank: 0, trace: RankTrace::of(self), here: &|here| here, error: 0 };
        let mut all = Together::new(self.draws_all());
        let mut ranks = vec![Rank::default()];
        all.add(&own);
        for other in others {
            ranks.resize(ranks.len().max(other.rank + 1), Rank::default());
            ranks[other.rank].error = other.error;
            all.add(other);
        }
        for (number, rank) in ranks.iter_mut().enumerate() {
            rank.number = number;
        }
        let Together { kept, names, time: (from, until), draws, .. } = all;
        let tick = Tick::of_nanoseconds(1.0);
        weave(&kept, &names, from..until.max(from), tick, &draws, ranks)
    }
}

/// What ranks have kept, by one list of names and in nanoseconds of rank 0.
struct Together {
    kept: Vec<Kept>,
    names: Vec<Named>,
    /// Places of channels, which two ranks may tell of.
    channels: BTreeMap<u64, u32>,
    time: (u64, u64),
    draws: Drawn,
}

impl Together {
    fn new(draws_all: bool) -> Self {
        Self {
            kept: Vec::new(),
            names: vec![others()],
            channels: BTreeMap::new(),
            time: (u64::MAX, 0),
            draws: Drawn::of(draws_all),
        }
    }

    fn add(&mut self, of: &OtherRank<'_>) {
        let OtherRank { rank, trace, here, .. } = of;
        let links: BTreeMap<u64, LinkOf> =
            trace.links.iter().map(|link| (link.process, *link)).collect();
        let mut places = vec![OTHERS];
        places
            .extend(trace.names.iter().skip(1).map(|name| self.place(*rank, name, trace, &links)));
        for link in &trace.links {
            let Some(&place) = self.channels.get(&link.channel) else { continue };
            if let Drawn::Some(channels) = &mut self.draws
                && trace.keeps_messages
            {
                channels.insert(place);
            }
            if link.sends {
                self.names[place as usize].rank = *rank;
            }
        }
        let at = |ticks| here(trace.nanoseconds(ticks));
        self.time.0 = self.time.0.min(at(trace.began));
        self.time.1 = self.time.1.max(at(trace.until));
        let tick = Tick::of_nanoseconds(trace.tick);
        // What processes ran altogether, so that rounding does not add up.
        let mut ran = BTreeMap::<u32, u64>::new();
        let is_link = |place: u32| links.contains_key(&trace.names[place as usize].1);
        let cut: BTreeSet<u64> = trace.links.iter().map(|link| link.channel).collect();
        for ring in &trace.rings {
            let mut events = Vec::with_capacity(ring.events.len());
            for &(what, process, channel, [from, second, on_processor, number]) in &ring.events {
                let Some(what) = what_of(what) else { continue };
                let is_cut = cut.contains(&trace.names[channel as usize].1);
                // The process on the other rank sends and receives.
                if matches!(what, What::Sent | What::Received) && is_cut && is_link(process) {
                    continue;
                }
                if !is_cut && what != What::Mark {
                    self.names[places[channel as usize] as usize].rank = *rank;
                }
                let place = |of: u64| {
                    let place = usize::try_from(of).ok().and_then(|of| places.get(of));
                    u64::from(place.copied().unwrap_or(OTHERS))
                };
                let second = match what {
                    what if what.is_slice() => at(second),
                    What::WokenForMessage | What::WokenForRoom | What::WokenForPartner => {
                        place(second)
                    }
                    _ => second,
                };
                let all = ran.entry(process).or_default();
                let before = tick.nanoseconds(*all);
                *all += on_processor;
                events.push(Event {
                    what,
                    process: places[process as usize],
                    channel: places[channel as usize],
                    at: at(from),
                    second,
                    ran: tick.nanoseconds(*all) - before,
                    number,
                });
            }
            self.kept.push(Kept {
                rank: *rank,
                worker: ring.worker,
                events,
                lost: ring.lost,
                running: ring.running.map(|(place, since)| (places[place as usize], at(since))),
            });
        }
    }

    /// The place of a name of a rank.
    fn place(
        &mut self,
        rank: usize,
        (kind, number, part, name): &KnownName,
        trace: &RankTrace,
        links: &BTreeMap<u64, LinkOf>,
    ) -> u32 {
        let kinds = [Kind::Other, Kind::Process, Kind::Channel, Kind::Label];
        let kind = kinds.get(usize::from(*kind)).copied().unwrap_or(Kind::Other);
        let mut named = Named::new(Name::from(&**name), (kind, *number, *part));
        named.rank = rank;
        match kind {
            Kind::Channel => {
                if let Some(&place) = self.channels.get(number) {
                    return place;
                }
                self.channels.insert(*number, self.next());
            }
            Kind::Process => {
                if let Some(link) = links.get(number) {
                    let channel = trace.names.iter().find(|(kind, number, ..)| {
                        (*kind, *number) == (Kind::Channel as u8, link.channel)
                    });
                    let channel = channel.map_or("a channel", |(.., name)| name);
                    let way = if link.sends { "from" } else { "to" };
                    named.name = Name::from(format!("{channel} {way} rank {}", link.rank));
                    named.key = of_link(rank, *number, *part);
                    named.is_link = true;
                }
            }
            Kind::Label | Kind::Other => {}
        }
        let place = self.next();
        self.names.push(named);
        place
    }

    fn next(&self) -> u32 {
        u32::try_from(self.names.len()).unwrap_or(OTHERS)
    }
}

/// Links of two ranks may have one number: those of processes are odd, and so are these.
fn of_link(rank: usize, number: u64, part: u64) -> Key {
    let mixed = number ^ (rank as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (Kind::Process, mixed | 1, part)
}
