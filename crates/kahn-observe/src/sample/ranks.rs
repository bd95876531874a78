//! What other ranks of a run do: each samples itself, and its last view goes to rank 0, which puts all together.
//!
//! | of a channel between two ranks | is |
//! |---|---|
//! | `waiting`, `capacity` | what it holds on both: on the way there may be as much again |
//! | `received`, `rate` | of its receiver, on that rank |

use super::view::{ChannelView, Part, ProcessView, RingView, Shares, View, WorkerView};
use super::watch::Watch;
use kahn_report::observe::{Doing, Observer, Sampled, Tick, Wants};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How often a rank makes a view.
const EVERY: Duration = Duration::from_millis(200);

/// Samples the processes of a rank, for rank 0 to show them.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::sample::RankViews;
/// use std::sync::Arc;
///
/// let views = Arc::new(RankViews::default());
/// let mut network = Network::new();
/// network.process("one", (), async |()| {});
/// network.run_with(Options::new().observer(Arc::clone(&views)))?;
/// // It was over before there was one.
/// assert!(views.last().is_empty());
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug, Default)]
pub struct RankViews {
    last: Arc<Mutex<Arc<[u8]>>>,
    watch: Mutex<Option<Watch>>,
}

impl RankViews {
    /// Returns the last view, written down; empty before there is one.
    ///
    /// # Examples
    ///
    /// See [`RankViews`].
    pub fn last(&self) -> Arc<[u8]> {
        Arc::clone(&self.last.lock())
    }
}

impl Observer for RankViews {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn begins(
        &self,
        run: &Arc<dyn Sampled>,
        _: &Arc<dyn Fn() + Send + Sync>,
    ) -> Result<(), String> {
        let last = Arc::clone(&self.last);
        let watch =
            Watch::start(Arc::clone(run), EVERY, move |view| *last.lock() = view.to_bytes().into());
        *self.watch.lock() = Some(watch.map_err(|error| format!("the run is not shown: {error}"))?);
        Ok(())
    }

    fn ends(&self, _: Tick) {
        self.watch.lock().take();
    }
}

/// Number, name, kind, shares, what it does, where it waits, whether it is stuck.
type WrittenProcess = (u64, String, u8, [f64; 5], u8, Option<u64>, bool);

/// Number, name, ends, capacity, waiting, received, rate, growths.
type WrittenChannel = (u64, String, [Option<u64>; 2], u32, u64, u64, Option<f64>, u32);

/// A view as it goes from rank to rank.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Written {
    processes: Vec<WrittenProcess>,
    channels: Vec<WrittenChannel>,
    workers: Vec<(f64, Option<u64>)>,
    rings: Vec<Vec<(String, String, bool)>>,
    places: (usize, usize),
}

/// What kinds of processes there are.
const KINDS: [&str; 3] = ["process", "blocking", "outside"];

impl View {
    /// Writes it down for [`add_ranks`](Self::add_ranks) on rank 0.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let process = |one: &ProcessView| {
            let kind = KINDS.iter().position(|kind| *kind == one.kind).unwrap_or_default();
            let shares = Doing::ALL.map(|doing| one.shares.of(doing));
            let kind = u8::try_from(kind).unwrap_or_default();
            let name = one.name.to_string();
            (one.id, name, kind, shares, one.doing as u8, one.waits_at, one.stuck)
        };
        let channel = |one: &ChannelView| {
            let ChannelView { id, name, from, to, capacity, waiting, received, rate, growths } =
                one;
            let ends = [*from, *to];
            (*id, name.to_string(), ends, *capacity, *waiting, *received, *rate, *growths)
        };
        let member = |one: &RingView| (one.process.to_string(), one.channel.to_string(), one.full);
        let written = Written {
            processes: self.processes.iter().map(process).collect(),
            channels: self.channels.iter().map(channel).collect(),
            workers: self.workers.iter().map(|one| (one.busy, one.runs)).collect(),
            rings: self.rings.iter().map(|ring| ring.iter().map(member).collect()).collect(),
            places: (self.of_processes.all, self.of_channels.all),
        };
        postcard::to_allocvec(&written).expect("it goes to memory, and all of it can be written")
    }

    /// Reads it.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let written: Written = postcard::from_bytes(bytes).ok()?;
        let process = |one: WrittenProcess| {
            let (id, name, kind, shares, doing, waits_at, stuck) = one;
            let [busy, ready, empty, full, outside] = shares;
            Some(ProcessView {
                id,
                name: name.into(),
                rank: None,
                kind: KINDS.get(usize::from(kind))?,
                shares: Shares { busy, ready, empty, full, outside },
                doing: *Doing::ALL.get(usize::from(doing))?,
                waits_at,
                stuck,
            })
        };
        let channel = |one: WrittenChannel| {
            let (id, name, [from, to], capacity, waiting, received, rate, growths) = one;
            let name = name.into();
            ChannelView { id, name, from, to, capacity, waiting, received, rate, growths }
        };
        let member = |(process, channel, full): (String, String, bool)| RingView {
            process: process.into(),
            channel: channel.into(),
            full,
        };
        let worker = |(busy, runs)| WorkerView { busy, runs, rank: None };
        let processes = written.processes.into_iter().map(process).collect::<Option<Vec<_>>>()?;
        let part = |count, all| Part { first: 0, count, all };
        Some(Self {
            of_processes: part(processes.len(), written.places.0),
            of_channels: part(written.channels.len(), written.places.1),
            processes,
            channels: written.channels.into_iter().map(channel).collect(),
            workers: written.workers.into_iter().map(worker).collect(),
            rings: written
                .rings
                .into_iter()
                .map(|ring| ring.into_iter().map(member).collect())
                .collect(),
            ..Self::default()
        })
    }

    /// Adds what other ranks have written down, to this view of rank 0.
    pub(super) fn add_ranks(&mut self, ranks: &[Arc<[u8]>]) {
        self.is_on(0);
        let own = std::mem::take(&mut self.channels);
        let mut channels: Vec<_> = own.into_iter().map(|channel| (0, channel)).collect();
        for (rank, bytes) in ranks.iter().enumerate().skip(1) {
            let Some(mut other) = Self::from_bytes(bytes) else { continue };
            other.is_on(rank);
            self.processes.append(&mut other.processes);
            self.workers.append(&mut other.workers);
            self.rings.append(&mut other.rings);
            channels.extend(other.channels.into_iter().map(|channel| (rank, channel)));
        }
        let on: BTreeMap<u64, Option<usize>> =
            self.processes.iter().map(|one| (one.id, one.rank)).collect();
        let mut places = BTreeMap::<u64, usize>::new();
        for (rank, channel) in channels {
            // Of a channel between two ranks that of the receiver tells what was received.
            let is_receivers = channel.to.and_then(|to| *on.get(&to)?) == Some(rank);
            match places.get(&channel.id) {
                None => {
                    places.insert(channel.id, self.channels.len());
                    self.channels.push(channel);
                }
                Some(&place) => join(&mut self.channels[place], &channel, is_receivers),
            }
        }
        // Of very many, each rank tells of a part in turn.
        let told = |count| Part { first: 0, count, all: count };
        self.of_processes = told(self.processes.len());
        self.of_channels = told(self.channels.len());
    }

    fn is_on(&mut self, rank: usize) {
        self.processes.iter_mut().for_each(|one| one.rank = Some(rank));
        self.workers.iter_mut().for_each(|one| one.rank = Some(rank));
    }
}

/// Puts together what two ranks tell of a channel between them.
fn join(known: &mut ChannelView, other: &ChannelView, is_receivers: bool) {
    known.waiting += other.waiting;
    known.capacity = known.capacity.saturating_add(other.capacity);
    known.growths += other.growths;
    if is_receivers {
        (known.received, known.rate, known.to) = (other.received, other.rate, other.to);
    } else {
        known.from = other.from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: u64, name: &str) -> ProcessView {
        ProcessView {
            id,
            name: name.to_owned().into(),
            rank: None,
            kind: "process",
            shares: Shares { busy: 0.25, empty: 0.75, ..Shares::default() },
            doing: Doing::WaitsForMessage,
            waits_at: Some(9),
            stuck: false,
        }
    }

    /// What a rank sees of a channel from process 1 to process 2.
    fn channel(waiting: u64, received: u64, rate: f64) -> ChannelView {
        ChannelView {
            id: 9,
            name: "numbers".into(),
            from: Some(1),
            to: Some(2),
            capacity: 8,
            waiting,
            received,
            rate: Some(rate),
            growths: 1,
        }
    }

    #[test]
    fn views_of_ranks_are_put_together_and_a_channel_between_two_is_one() {
        let of = |process, channel| View {
            processes: vec![process],
            channels: vec![channel],
            workers: vec![WorkerView { busy: 0.5, runs: None, rank: None }],
            rings: vec![vec![RingView { process: "a".into(), channel: "b".into(), full: true }]],
            ..View::default()
        };
        for (sender, receiver) in [(0, 1), (1, 0)] {
            let sends = of(process(1, "count"), channel(3, 50, 7.0));
            let receives = of(process(2, "add"), channel(4, 40, 5.0));
            let views = if sender == 0 { [sends, receives] } else { [receives, sends] };
            let [mut here, there] = views;
            // Of rank 2 nothing is known yet, and rank 3 tells what cannot be read.
            let ranks =
                [Vec::new(), there.to_bytes(), Vec::new(), vec![255; 9]].map(Arc::<[u8]>::from);
            here.add_ranks(&ranks);
            let named: Vec<_> = here.processes.iter().map(|one| (one.called(), one.rank)).collect();
            let expected = |name: &str, rank| (format!("{name} (rank {rank})").into(), Some(rank));
            assert!(named.contains(&expected("count", sender)), "{named:?}");
            assert!(named.contains(&expected("add", receiver)), "{named:?}");
            let [one] = &here.channels[..] else { panic!("{:?}", here.channels) };
            // What was received is what its receiver has, wherever that is.
            assert_eq!((one.received, one.rate, one.waiting, one.capacity), (40, Some(5.0), 7, 16));
            assert_eq!((here.workers.len(), here.rings.len(), here.is_whole()), (2, 2, true));
        }
    }
}
