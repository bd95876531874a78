//! The map process, and where the records of a map go.
//!
//! Each map process has a list of records for each reducer; after every batch of items each reducer
//! gets its list, were it empty: from how many have come, a reducer knows how far the maps are.

use std::hash::{BuildHasher as _, Hash};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use kahn::{BoxError, Receiver, Sender};

use crate::Batch;
use crate::batch::Sending;

/// The hash that decides on the reducer: the same in every run. It has a seed of its own, for with
/// that of an ordinary table the keys of a reducer would all begin alike in such a table.
const HASH: FixedState = FixedState::with_seed(0x6d61_7072_6564);

/// A map closure, for a batch of items at once: what is called for each is inside it.
pub(crate) type MapBatch<'env, T, K, V> =
    Arc<dyn Fn(Vec<T>, &mut Emit<'_, K, V>) -> Result<(), BoxError> + Send + Sync + 'env>;

/// Adds a value of a key to an earlier one of the same key.
pub(crate) type Combine<'env, V> = Arc<dyn Fn(&mut V, V) + Send + Sync + 'env>;

/// Where a map closure puts its records.
///
/// # Examples
///
/// ```
/// use kahn_mapreduce::{Emit, Job};
///
/// fn letters(text: &str, out: &mut Emit<'_, char, u32>) {
///     text.chars().for_each(|letter| out.emit(letter, 1));
/// }
///
/// let job = Job::new("letters", letters, |_letter, ones, out| out.emit(ones.sum::<u32>()));
/// ```
pub struct Emit<'a, K, V> {
    reducers: Vec<Records<K, V>>,
    combine: Option<Combine<'a, V>>,
}

impl<K, V> std::fmt::Debug for Emit<'_, K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let records: Vec<usize> = self.reducers.iter().map(|part| part.records.len()).collect();
        f.debug_struct("Emit").field("records", &records).finish_non_exhaustive()
    }
}

impl<'a, K: Eq + Hash, V> Emit<'a, K, V> {
    pub(crate) fn new(reducers: usize, combine: Option<Combine<'a, V>>) -> Self {
        Self { reducers: (0..reducers).map(|_| Records::new()).collect(), combine }
    }

    /// Puts out a record. It goes to the reducer that its key hashes to.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Emit, Job, Split};
    ///
    /// /// Emits each word of a line, with a one.
    /// fn words(line: &'static str, out: &mut Emit<'_, &'static str, u32>) {
    ///     for word in line.split(' ') {
    ///         out.emit(word, 1);
    ///     }
    /// }
    ///
    /// let count = Job::new("count", words, |_word, ones, out| out.emit(ones.count()));
    /// let mut network = Network::new();
    /// let parts = Split::new("lines", 2).items(&mut network, ["to be or", "not to be"]);
    /// let merged = count.on(&mut network, parts).merge(&mut network, "merge");
    /// let all = network.collect("all", merged);
    /// network.run()?;
    /// let counts = vec![("be", 2), ("not", 1), ("or", 1), ("to", 2)];
    /// assert_eq!(all.take().map(|batches| batches.concat()), Some(counts));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[inline]
    pub fn emit(&mut self, key: K, value: V) {
        if let ([all], None) = (&mut *self.reducers, &self.combine) {
            all.records.push((key, value));
            return;
        }
        let hash = HASH.hash_one(&key);
        // The upper half of the hash scaled to the number of reducers; the tables use the lower.
        let place = ((hash >> 32) * self.reducers.len() as u64) >> 32;
        let reducer = &mut self.reducers[place as usize];
        match &self.combine {
            None => reducer.records.push((key, value)),
            #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
            Some(combine) => reducer.combine(hash as u32, key, value, combine),
        }
    }
}

/// The records for one reducer since the last message to it.
struct Records<K, V> {
    records: Vec<(K, V)>,
    /// Where a key stands among the records, if they are combined.
    places: HashTable<Place>,
}

/// A place among the records: a table of these is eight bytes an entry, and knows their hashes.
struct Place {
    hash: u32,
    record: u32,
}

impl<K: Eq, V> Records<K, V> {
    fn new() -> Self {
        Self { records: Vec::new(), places: HashTable::new() }
    }

    /// Puts a record with the first one of its key.
    fn combine(&mut self, hash: u32, key: K, value: V, combine: &Combine<'_, V>) {
        let Self { records, places } = self;
        let equal = |place: &Place| place.hash == hash && records[place.record as usize].0 == key;
        if let Some(&Place { record, .. }) = places.find(spread(hash), equal) {
            combine(&mut records[record as usize].1, value);
            return;
        }
        let record = u32::try_from(records.len()).expect("a batch emits less than 2^32 keys");
        places.insert_unique(spread(hash), Place { hash, record }, |place| spread(place.hash));
        records.push((key, value));
    }

    /// Takes the records, and makes room for as many and a few more: batches are alike, and the list
    /// would be moved if it grew.
    fn take(&mut self) -> Vec<(K, V)> {
        self.places.clear();
        let room = Vec::with_capacity(self.records.len() + self.records.len() / 8);
        std::mem::replace(&mut self.records, room)
    }
}

/// Makes 64 bits of 32, for a table looks at the highest ones as well.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Maps batch by batch, and gives each reducer its records after each. The items come as `items_come`
/// says, and records go as `sending` does.
pub(crate) async fn map<T: Send, K: Eq + Hash + Send, V: Send>(
    map: MapBatch<'_, T, K, V>,
    combine: Option<Combine<'_, V>>,
    (items_come, sending): (Sending, Sending),
    mut items: Receiver<Batch<T>>,
    mut reducers: Vec<Sender<Batch<(K, V)>>>,
) -> Result<(), BoxError> {
    let mut emit = Emit::new(reducers.len(), combine);
    while let Some(batch) = items_come.recv(&mut items).await {
        map(batch.records, &mut emit)?;
        for (reducer, part) in reducers.iter_mut().zip(&mut emit.reducers) {
            let records = part.take();
            sending.send(reducer, Batch { records, ends_round: batch.ends_round }).await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_spread_evenly_over_reducers() {
        for reducers in [2, 3, 8, 64] {
            let mut emit = Emit::new(reducers, None);
            (0..6400_u32).for_each(|key| emit.emit(key, ()));
            let fair = 6400 / reducers;
            for part in &emit.reducers {
                let count = part.records.len();
                assert!(count > fair / 2 && count < fair * 2, "{reducers} reducers: {count}");
            }
        }
    }

    #[test]
    fn combined_records_stand_in_the_order_of_their_first() {
        let mut emit = Emit::new(1, Some(Arc::new(|sum: &mut u32, more| *sum += more)));
        for key in ["c", "a", "c", "b", "a", "c"] {
            emit.emit(key, 1);
        }
        assert_eq!(emit.reducers[0].take(), [("c", 3), ("a", 2), ("b", 1)]);
        // Nothing of the batch before is left.
        emit.emit("a", 1);
        assert_eq!(emit.reducers[0].take(), [("a", 1)]);
    }

    #[test]
    fn combining_is_exact_for_many_keys() {
        let mut emit = Emit::new(3, Some(Arc::new(|sum: &mut u32, more| *sum += more)));
        (0..50_000_u32).for_each(|n| emit.emit(n % 7001, 1));
        let mut all: Vec<_> = emit.reducers.iter_mut().flat_map(Records::take).collect();
        all.sort_unstable();
        let expected: Vec<_> =
            (0..7001_u32).map(|key| (key, (50_000 - key).div_ceil(7001))).collect();
        assert_eq!(all, expected);
    }
}
