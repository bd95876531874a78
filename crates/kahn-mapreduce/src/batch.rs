//! What a message is: some records, and whether the round ends with them.
//!
//! A stream ends once, but a job that is iterated has many rounds, and its reducers must know when
//! they have all records of one. So the end of a round is said in the stream.
//!
//! What belongs together, all that a map has for a reducer of one batch of items, is a message or,
//! if [each record](Sending::OneByOne) is to be a message, as many as there are records and an empty
//! one behind. The order of the records is the same, so nothing that a job makes depends on it.

use kahn::ranks::Beside;
use kahn::{BoxError, Channel, Network, Receiver, Sender};

/// How many records a message has at most, unless its maker has a reason for more.
pub(crate) const RECORDS: usize = 1024;

/// Some records of a stream, in one message.
///
/// # Examples
///
/// ```
/// use kahn_mapreduce::Batch;
///
/// let batch = Batch::of(vec![1, 2, 3]);
/// assert_eq!((batch.records.len(), batch.ends_round), (3, false));
/// assert!(Batch::last(vec![4]).ends_round);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, kahn::Digest)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Batch<T> {
    /// The records; there may be none.
    pub records: Vec<T>,
    /// Whether these are the last of a round. A stream that ends ends its round as well.
    pub ends_round: bool,
}

impl<T> Batch<T> {
    /// Makes a batch behind which more of the round comes.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!kahn_mapreduce::Batch::of(vec![1, 2]).ends_round);
    /// ```
    pub fn of(records: Vec<T>) -> Self {
        Self { records, ends_round: false }
    }

    /// Makes a batch that is the last of its round.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(kahn_mapreduce::Batch::last(vec![1, 2]).ends_round);
    /// ```
    pub fn last(records: Vec<T>) -> Self {
        Self { records, ends_round: true }
    }
}

impl<S: Copy, T: Beside<S>> Beside<S> for Batch<T> {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        self.records.encode(beside, into);
        self.ends_round.encode(beside, into);
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let (records, ends_round) = Beside::decode(beside, bytes)?;
        Ok(Self { records, ends_round })
    }
}

/// The two ends of a channel of batches.
pub(crate) type Ends<T> = (Sender<Batch<T>>, Receiver<Batch<T>>);

/// Makes the channels for batches of a kind: with a written form, or without.
pub(crate) trait MakeChannel<T>: Send + Sync {
    fn make<'env>(&self, network: &mut Network<'env>, channel: Channel<Batch<T>>) -> Ends<T>
    where
        Self: 'env,
        T: 'env;
}

/// Makes them as they are described.
pub(crate) struct AsDescribed;

impl<T: Send> MakeChannel<T> for AsDescribed {
    fn make<'env>(&self, network: &mut Network<'env>, channel: Channel<Batch<T>>) -> Ends<T>
    where
        T: 'env,
    {
        network.channel_with(channel)
    }
}

/// Makes them with the written form that serde describes.
#[cfg(feature = "wire")]
pub(crate) struct BySerde;

#[cfg(feature = "wire")]
impl<T: serde::Serialize + serde::de::DeserializeOwned + Send> MakeChannel<T> for BySerde {
    fn make<'env>(&self, network: &mut Network<'env>, channel: Channel<Batch<T>>) -> Ends<T>
    where
        T: 'env,
    {
        network.channel_with(channel.wire())
    }
}

/// Makes them with a written form beside something that every rank has.
pub(crate) struct BesideIt<S>(pub(crate) S);

impl<T: Beside<S> + Send, S: Copy + Send + Sync> MakeChannel<T> for BesideIt<S> {
    fn make<'env>(&self, network: &mut Network<'env>, channel: Channel<Batch<T>>) -> Ends<T>
    where
        Self: 'env,
        T: 'env,
    {
        network.channel_beside(channel, self.0)
    }
}

/// How the records of a batch are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    /// In one message, were it empty.
    Together,
    /// Each in a message of its own, and behind them an empty one.
    OneByOne,
}

impl Sending {
    pub(crate) async fn send<T: Send>(self, out: &mut Sender<Batch<T>>, batch: Batch<T>) {
        let Batch { records, ends_round } = batch;
        let records = match self {
            Self::Together => records,
            Self::OneByOne => {
                for record in records {
                    out.send(Batch::of(vec![record])).await;
                }
                Vec::new()
            }
        };
        out.send(Batch { records, ends_round }).await;
    }

    /// Takes what was sent as a batch; none when the stream has ended.
    pub(crate) async fn recv<T: Send>(self, input: &mut Receiver<Batch<T>>) -> Option<Batch<T>> {
        let mut batch = input.recv().await?;
        if self == Self::Together || batch.records.is_empty() {
            return Some(batch);
        }
        // A sender that fails ends the stream anywhere; its reader then ends as well.
        while let Some(next) = input.recv().await {
            batch.ends_round = next.ends_round;
            if next.records.is_empty() {
                break;
            }
            batch.records.extend(next.records);
        }
        Some(batch)
    }
}

/// Takes a batch of each input in turn, until the round has ended on all. Says whether there was a
/// round: not so if all streams have ended.
///
/// This is the order in which `deal` of [`split`](mod@crate::split) has dealt them out.
pub(crate) async fn take_round<T: Send, E>(
    sending: Sending,
    inputs: &mut [Receiver<Batch<T>>],
    mut each: impl FnMut(Vec<T>) -> Result<(), E>,
) -> Result<bool, E> {
    let mut there_was = false;
    let mut open: Vec<usize> = (0..inputs.len()).collect();
    while !open.is_empty() {
        let mut still_open = 0;
        for place in 0..open.len() {
            let input = open[place];
            let Some(batch) = sending.recv(&mut inputs[input]).await else { continue };
            there_was = true;
            each(batch.records)?;
            if !batch.ends_round {
                open[still_open] = input;
                still_open += 1;
            }
        }
        open.truncate(still_open);
    }
    Ok(there_was)
}
