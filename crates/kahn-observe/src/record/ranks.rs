//! A run on several ranks that is recorded, or done again: what other ranks than the first see of it.
//!
//! What is joined to the outside runs on rank 0, so all that a run is done again from is recorded there. What passes on
//! channels is recorded to find a run that differs, and of each channel one rank tells:
//!
//! | a channel from rank | to rank | is told by |
//! |---|---|---|
//! | 0 | any | rank 0 |
//! | another | 0 | rank 0, where a link sends what has come |
//! | another | another | the rank of its sender |

use super::carried::{Channels, EACH, digest};
use super::{Entry, Recorder, Replay};
use kahn_report::observe::{Graph, Link, Observer, Subject, Wants, WrittenForms};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The channels of which this rank does not tell.
#[derive(Debug, Default)]
struct ToldElsewhere(Mutex<BTreeSet<u64>>);

impl ToldElsewhere {
    fn links(&self, link: Link<'_>) {
        if link.sends || link.rank == 0 {
            self.0.lock().insert(link.channel.id);
        }
    }

    fn has(&self, channel: u64) -> bool {
        self.0.lock().contains(&channel)
    }
}

/// By channel: after so many messages, this is their digest.
type SumsOfChannels = BTreeMap<u64, Vec<(u64, u64)>>;

/// Sums up what passes on the channels of another rank than the first, for the recording of rank 0.
///
/// # Examples
///
/// ```
/// use kahn::{Channel, Network, Options};
/// use kahn_observe::record::RankSums;
/// use std::sync::Arc;
///
/// let sums = Arc::new(RankSums::default());
/// let mut network = Network::new();
/// let bytes = Channel::named("bytes").wire_with(
///     |byte: &u8, into| into.push(*byte),
///     |bytes| bytes.first().copied().ok_or("it is empty".into()),
/// );
/// let (out, bytes) = network.channel_with(bytes);
/// network.process("count", out, async |mut out| out.send_all(0..10_u8).await);
/// network.for_each("ignore", bytes, |_| {});
/// network.run_with(Options::new().observer(Arc::clone(&sums)))?;
/// // To be added to the recording, by `Recorder::add`.
/// assert!(!sums.to_bytes().is_empty());
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug, Default)]
pub struct RankSums {
    channels: OnceLock<Channels>,
    elsewhere: ToldElsewhere,
    sums: Mutex<SumsOfChannels>,
}

impl RankSums {
    /// Writes down what there is, when the run is over.
    ///
    /// # Examples
    ///
    /// See [`RankSums`].
    ///
    /// # Panics
    /// Never: all of it can be written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sums = self.sums.lock().clone();
        for (channel, carried) in self.channels.get().map(Channels::all).unwrap_or_default() {
            let sums = sums.entry(channel).or_default();
            if sums.last().is_none_or(|(messages, _)| *messages < carried.messages()) {
                sums.push((carried.messages(), carried.digest()));
            }
        }
        postcard::to_allocvec(&sums).expect("it goes to memory, and all of it can be written")
    }
}

impl Observer for RankSums {
    fn wants(&self) -> Wants {
        Wants { contents: true, ..Wants::NOTHING }
    }

    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        let wired = graph.channels.iter().filter(|edge| edge.has_written_form);
        let _ = self.channels.set(Channels::new(wired.map(|edge| edge.channel.id)));
        Ok(())
    }

    fn links(&self, link: Link<'_>) {
        self.elsewhere.links(link);
    }

    fn writes(
        &self,
        _: Subject<'_>,
        channel: Subject<'_>,
        messages: Range<u64>,
        written: Option<WrittenForms<'_>>,
    ) {
        let Some(channels) = self.channels.get().filter(|_| !self.elsewhere.has(channel.id)) else {
            return;
        };
        let mut written = written.into_iter().flatten();
        channels.with(channel.id, |carried| {
            for _ in messages {
                carried.add(std::iter::once(written.next().map_or(0, digest)));
                carried.forget_last_if_many();
                if carried.messages() % EACH == 0 {
                    let sum = (carried.messages(), carried.digest());
                    self.sums.lock().entry(channel.id).or_default().push(sum);
                }
            }
        });
    }
}

impl Recorder {
    /// Adds what another rank has [summed up](RankSums), when the run is over, before it is
    /// [finished](Self::finish); whether it is that.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Header, RankSums, Recorder};
    ///
    /// let recorder = Recorder::new("run.rec", Header::default());
    /// assert!(recorder.add(&RankSums::default().to_bytes()));
    /// assert!(!recorder.add(b"something else"));
    /// ```
    pub fn add(&self, sums: &[u8]) -> bool {
        let Ok((sums, [])) = postcard::take_from_bytes::<SumsOfChannels>(sums) else {
            return false;
        };
        for (channel, sums) in sums {
            for (messages, digest) in sums {
                self.append(&Entry::Carried { channel, messages, digest });
            }
        }
        true
    }
}

/// Compares what passes on the channels of another rank than the first with what was recorded.
///
/// # Examples
///
/// ```no_run
/// use kahn_observe::record::{ReplayOnRank, Replay};
/// use std::sync::Arc;
///
/// let replay = Arc::new(Replay::open("run.rec")?);
/// // Of the options of rank 0 it is the replay itself.
/// let options = kahn::Options::new().observer(Arc::new(ReplayOnRank::new(replay)));
/// # drop(options);
/// # Ok::<(), kahn_observe::record::ReadError>(())
/// ```
#[derive(Debug)]
pub struct ReplayOnRank {
    replay: Arc<Replay>,
    elsewhere: ToldElsewhere,
}

impl ReplayOnRank {
    /// Makes one of a replay whose network runs on several ranks within this program.
    ///
    /// # Examples
    ///
    /// See [`ReplayOnRank`].
    pub fn new(replay: Arc<Replay>) -> Self {
        Self { replay, elsewhere: ToldElsewhere::default() }
    }
}

impl Observer for ReplayOnRank {
    fn wants(&self) -> Wants {
        Wants { contents: true, ..Wants::NOTHING }
    }

    fn links(&self, link: Link<'_>) {
        self.elsewhere.links(link);
    }

    fn writes(
        &self,
        process: Subject<'_>,
        channel: Subject<'_>,
        messages: Range<u64>,
        written: Option<WrittenForms<'_>>,
    ) {
        if !self.elsewhere.has(channel.id) {
            self.replay.writes(process, channel, messages, written);
        }
    }
}
