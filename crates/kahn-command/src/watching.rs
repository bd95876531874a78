//! What is seen of a run on several ranks: each tells rank 0 what was asked for.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use indicatif::HumanBytes;
use kahn::observe::{Look, Observer, Sampled, Survey};
use kahn::{Explanation, Progress, StopHandle};
use kahn_net::{Clock, Heard, Watch};
use kahn_observe::record::{RankSums, Recorder, Replay, ReplayOnRank};
use kahn_observe::sample::RankViews;
use kahn_observe::trace::{RankTrace, Trace};
use parking_lot::Mutex;

use crate::arguments::RunArguments;
use crate::messages;
use crate::ranks::SeenHere;
use crate::trace::{Other, Tracing};

/// The most bytes of a piece of what is told when the run is over.
const PIECE: usize = 32 << 10;

/// The most bytes that rank 0 keeps of what all others tell when the run is over.
const MOST_TOLD: usize = 1 << 30;

/// What others tell when the run is over, piece by piece, as far as there is room.
#[derive(Debug, Default)]
struct ToldLast {
    by_rank: BTreeMap<usize, Pieces>,
    kept: usize,
}

/// What one of them has told.
#[derive(Debug, Default)]
struct Pieces {
    kept: Vec<u8>,
    /// Bytes for which there was no room.
    lost: usize,
}

impl ToldLast {
    fn add(&mut self, rank: usize, piece: &[u8], most: usize) {
        let pieces = self.by_rank.entry(rank).or_default();
        if pieces.lost > 0 || piece.len() > most - self.kept {
            // What is not whole is of no use.
            self.kept -= pieces.kept.len();
            pieces.lost += std::mem::take(&mut pieces.kept).len() + piece.len();
        } else {
            pieces.kept.extend(piece);
            self.kept += piece.len();
        }
    }

    /// All that a rank has told; how many bytes it was, if there was no room for it.
    fn take(&mut self, rank: usize) -> Result<Vec<u8>, usize> {
        let Pieces { kept, lost } = self.by_rank.remove(&rank).unwrap_or_default();
        self.kept -= kept.len();
        if lost > 0 { Err(lost) } else { Ok(kept) }
    }
}

/// What is seen of one rank.
#[derive(Default)]
pub(crate) struct Watching {
    trace: Option<Arc<Trace>>,
    /// What passes on the channels of another rank, if the run is recorded.
    sums: Option<Arc<RankSums>>,
    /// What records the run on rank 0, or compares it.
    outside: Option<Arc<dyn Observer>>,
    /// What this rank tells when the run is over, and how much of it was told.
    telling: Mutex<Option<(Vec<u8>, usize)>>,
    /// On rank 0.
    tracing: Option<Tracing>,
    recorder: Option<Arc<Recorder>>,
    told: Mutex<ToldLast>,
    /// What another rank does, if the run is shown, and how far it is.
    views: Option<Arc<RankViews>>,
    progress: OnceLock<Progress>,
    /// On rank 0: the same of all others.
    now: Arc<Now>,
    is_shown: bool,
}

/// What other ranks do now, and how far they are.
#[derive(Debug, Default)]
pub(crate) struct Now(Mutex<Vec<(u64, Arc<[u8]>)>>);

impl Now {
    /// How far they are, all together.
    pub(crate) fn done(&self) -> u64 {
        self.0.lock().iter().map(|(done, _)| done).sum()
    }

    fn hears(&self, rank: usize, told: &[u8]) {
        let Some((done, view)) = told.split_first_chunk() else { return };
        let mut all = self.0.lock();
        if let Some(known) = all.get_mut(rank) {
            *known = (u64::from_le_bytes(*done), view.into());
        }
    }
}

/// A run on several ranks, as rank 0 sees it.
pub(crate) struct AllRanks {
    pub(crate) here: StopHandle,
    pub(crate) now: Arc<Now>,
}

impl Sampled for AllRanks {
    fn look(&self, places: Range<usize>, found: &mut Look) {
        self.here.look(places, found);
    }

    fn survey(&self, processes: Range<usize>, channels: Range<usize>) -> Survey {
        self.here.survey(processes, channels)
    }

    fn ranks(&self) -> Vec<Arc<[u8]>> {
        self.now.0.lock().iter().map(|(_, view)| Arc::clone(view)).collect()
    }

    fn explain(&self) -> Explanation {
        self.here.explain()
    }
}

impl Watching {
    /// What rank 0 sees, if anything is to be seen.
    pub(crate) fn of_first(seen: SeenHere<'_>) -> Option<Self> {
        let SeenHere { tracing, outside, ranks, is_shown, .. } = seen;
        let now = Arc::new(Now(Mutex::new(vec![(0, Arc::default()); ranks])));
        let watching = Self {
            now,
            is_shown,
            trace: tracing.trace(),
            outside: outside.observer(),
            tracing: Some(tracing.clone()),
            recorder: outside.recorder(),
            ..Self::default()
        };
        let is_seen = watching.trace.is_some() || watching.outside.is_some() || is_shown;
        is_seen.then_some(watching)
    }

    /// What other ranks do now.
    pub(crate) fn now(&self) -> Arc<Now> {
        Arc::clone(&self.now)
    }

    /// Tells how far another rank is by this.
    pub(crate) fn counts(&self, progress: Progress) {
        let _ = self.progress.set(progress);
    }

    /// What another rank tells, likewise; what is done again is within this program.
    pub(crate) fn of_another(arguments: &RunArguments, replay: Option<&Arc<Replay>>) -> Self {
        let compares = |replay: &Arc<Replay>| Arc::new(ReplayOnRank::new(Arc::clone(replay))) as _;
        Self {
            trace: arguments.trace.trace(),
            sums: arguments.record.is_asked_for().then(Arc::default),
            outside: replay.map(compares),
            views: arguments.live.is_asked_for().then(Arc::default),
            ..Self::default()
        }
    }

    /// All that is told when the run is over: how long the trace is, that, and the sums.
    fn all(&self) -> Vec<u8> {
        let trace = self.trace.as_ref().map(|trace| RankTrace::of(trace).to_bytes());
        let trace = trace.unwrap_or_default();
        let sums = self.sums.as_ref().map(|sums| sums.to_bytes()).unwrap_or_default();
        [&(trace.len() as u64).to_le_bytes()[..], &trace, &sums].concat()
    }

    /// Takes all that another rank has told.
    fn take(&self, rank: usize, told: &[u8], clock: Clock) -> Option<()> {
        let (length, rest) = told.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (trace, sums) = rest.split_at_checked(length)?;
        if let Some(tracing) = self.tracing.as_ref().filter(|_| self.trace.is_some()) {
            tracing.hears(Other { rank, trace: RankTrace::from_bytes(trace)?, clock });
        }
        match &self.recorder {
            Some(recorder) => recorder.add(sums).then_some(()),
            None => Some(()),
        }
    }
}

impl Watch for Watching {
    fn observers(&self) -> Vec<Arc<dyn Observer>> {
        let trace = self.trace.clone().map(|trace| trace as Arc<dyn Observer>);
        let sums = self.sums.clone().map(|sums| sums as Arc<dyn Observer>);
        let views = self.views.clone().map(|views| views as Arc<dyn Observer>);
        [trace, sums, views, self.outside.clone()].into_iter().flatten().collect()
    }

    fn every(&self) -> Duration {
        if self.is_shown { Duration::from_millis(200) } else { Duration::from_secs(1) }
    }

    fn now(&self, into: &mut Vec<u8>) {
        into.extend(self.progress.get().map_or(0, Progress::done).to_le_bytes());
        if let Some(views) = &self.views {
            into.extend(&*views.last());
        }
    }

    fn clock(&self) -> u64 {
        RankTrace::clock()
    }

    fn last(&self, into: &mut Vec<u8>) -> bool {
        let mut telling = self.telling.lock();
        let (all, told) = telling.get_or_insert_with(|| (self.all(), 0));
        let end = all.len().min(*told + PIECE);
        into.extend(&all[*told..end]);
        *told = end;
        end < all.len()
    }

    fn hears(&self, rank: usize, what: Heard<'_>) {
        match what {
            Heard::Now(told) => self.now.hears(rank, told),
            Heard::Last(piece) => self.told.lock().add(rank, piece, MOST_TOLD),
            Heard::Clock(clock) => {
                let told = self.told.lock().take(rank);
                match told {
                    Ok(told) if self.take(rank, &told, clock).is_some() => {}
                    Ok(_) => messages::note(format_args!(
                        "rank {rank} has not told what is to be seen of it"
                    )),
                    Err(bytes) => messages::note(format_args!(
                        "{} of what is to be seen of rank {rank} are lost: rank 0 keeps {} of all ranks; \
                         `--trace-events N` traces less",
                        HumanBytes(bytes as u64),
                        HumanBytes(MOST_TOLD as u64)
                    )),
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ranks_tell_last_is_bounded_and_what_is_lost_is_counted() {
        let mut told = ToldLast::default();
        told.add(1, b"four", 10);
        told.add(2, b"five!", 10);
        // There is room for one byte more, and this rank needs two: all of it goes.
        told.add(2, b"..", 10);
        told.add(2, b".", 10);
        told.add(3, b"sixsix", 10);
        assert_eq!(told.take(1), Ok(b"four".to_vec()));
        assert_eq!(told.take(2), Err(8));
        assert_eq!(told.take(3), Ok(b"sixsix".to_vec()));
        assert_eq!((told.take(4), told.kept), (Ok(Vec::new()), 0));
    }
}
