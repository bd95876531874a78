//! Several sorted parts into one sorted stream.
//!
//! The first record that each part has not yet given stands in a heap, the least on top. A part that
//! has given it is asked for the next one, which takes its place: one way down the heap a record.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::vec::IntoIter;

use kahn::{Receiver, Sender};

use crate::batch::RECORDS;
use crate::{Batch, Parts};

/// Merges sorted parts into one sorted stream, in batches; the code of [`Parts::merge`].
///
/// If a part is not sorted, the result is not either, but still the same in every run.
///
/// # Examples
///
/// ```
/// use kahn::testing::run_process;
/// use kahn_mapreduce::{Batch, Parts, merge};
///
/// let odd = vec![Batch::of(vec![(1, 'a')]), Batch::last(vec![(3, 'c')])];
/// let even = vec![Batch::last(vec![(2, 'b'), (4, 'd')])];
/// let merged: Vec<Vec<(u32, char)>> =
///     run_process([odd, even], |(parts, out)| merge((Parts::of(parts.into()), out)));
/// assert_eq!(merged, [[(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')]]);
/// ```
#[expect(clippy::type_complexity, reason = "the ports of a process, in full")]
pub async fn merge<K: Ord + Send, W: Send>((parts, mut out): (Parts<(K, W)>, Sender<Vec<(K, W)>>)) {
    let mut merging = Merging::new(parts.into_receivers());
    while merging.begin_round().await {
        let mut records = Vec::new();
        while let Some(record) = merging.next().await {
            if records.capacity() == 0 {
                records.reserve_exact(RECORDS);
            }
            records.push(record);
            if records.len() == RECORDS {
                out.send(std::mem::take(&mut records)).await;
            }
        }
        if !records.is_empty() {
            out.send(records).await;
        }
    }
}

/// A merge that is under way, round by round.
pub(crate) struct Merging<K, W> {
    inputs: Vec<Input<(K, W)>>,
    heads: BinaryHeap<Head<K, W>>,
}

impl<K: Ord + Send, W: Send> Merging<K, W> {
    pub(crate) fn new(parts: Vec<Receiver<Batch<(K, W)>>>) -> Self {
        let heads = BinaryHeap::with_capacity(parts.len());
        Self { inputs: parts.into_iter().map(Input::new).collect(), heads }
    }

    /// Gets ready for the next round. Says whether there is one: not so if all streams have ended.
    pub(crate) async fn begin_round(&mut self) -> bool {
        let mut there_is = false;
        for (from, input) in self.inputs.iter_mut().enumerate() {
            input.round_has_begun = false;
            input.round_is_over = false;
            let head = input.next().await;
            there_is |= input.round_has_begun;
            self.heads.extend(head.map(|(key, value)| Head { key, from, value }));
        }
        there_is
    }

    /// Gives the next record of the round, in order of the keys.
    #[inline]
    pub(crate) async fn next(&mut self) -> Option<(K, W)> {
        let from = self.heads.peek()?.from;
        let input = &mut self.inputs[from];
        let next = match input.records.next() {
            Some(record) => Some(record),
            None => input.next().await,
        };
        let head = match next {
            Some((key, value)) => {
                let mut top = self.heads.peek_mut()?;
                std::mem::replace(&mut *top, Head { key, from, value })
            }
            None => self.heads.pop()?,
        };
        Some((head.key, head.value))
    }
}

/// A part, and what of its last batch is left.
struct Input<T> {
    batches: Receiver<Batch<T>>,
    records: IntoIter<T>,
    /// There was a batch of the round.
    round_has_begun: bool,
    /// Behind `records` the round ends.
    round_is_over: bool,
}

impl<T: Send> Input<T> {
    fn new(batches: Receiver<Batch<T>>) -> Self {
        let records = Vec::new().into_iter();
        Self { batches, records, round_has_begun: false, round_is_over: false }
    }

    /// Gives the next record of the round.
    async fn next(&mut self) -> Option<T> {
        loop {
            if let Some(record) = self.records.next() {
                return Some(record);
            }
            if self.round_is_over {
                return None;
            }
            let batch = self.batches.recv().await;
            self.round_has_begun |= batch.is_some();
            // A stream that ends ends its round as well.
            let batch = batch.unwrap_or_else(|| Batch::last(Vec::new()));
            self.round_is_over = batch.ends_round;
            self.records = batch.records.into_iter();
        }
    }
}

/// The next record of a part. The greatest, on top of the heap, is the one with the least key; of
/// equal keys, that of the first part.
struct Head<K, W> {
    key: K,
    from: usize,
    value: W,
}

impl<K: Ord, W> Ord for Head<K, W> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then(other.from.cmp(&self.from))
    }
}

impl<K: Ord, W> PartialOrd for Head<K, W> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, W> PartialEq for Head<K, W> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<K: Ord, W> Eq for Head<K, W> {}
