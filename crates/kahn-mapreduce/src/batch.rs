//! What a message is: some records, and whether the round ends with them.
//!
//! A stream ends once, but a job that is iterated has many rounds, and its reducers must know when
//! they have all records of one. So the end of a round is said in the stream.

use kahn::Receiver;

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

/// Takes a batch of each input in turn, until the round has ended on all. Says whether there was a
/// round: not so if all streams have ended.
///
/// This is the order in which `deal` of [`split`](mod@crate::split) has dealt them out.
pub(crate) async fn take_round<T: Send, E>(
    inputs: &mut [Receiver<Batch<T>>],
    mut each: impl FnMut(Vec<T>) -> Result<(), E>,
) -> Result<bool, E> {
    let mut there_was = false;
    let mut open: Vec<usize> = (0..inputs.len()).collect();
    while !open.is_empty() {
        let mut still_open = 0;
        for place in 0..open.len() {
            let input = open[place];
            let Some(batch) = inputs[input].recv().await else { continue };
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
