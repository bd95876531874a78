//! Which process runs on which rank, and so which channels are cut.

#[cfg(doc)]
use super::Placement;
use kahn::Name;
use kahn::ranks::Joint;
use std::fmt;
use std::hash::BuildHasher;

/// Which process runs on which rank.
///
/// # Examples
///
/// See [`Placement`].
///
/// ```
/// let table = kahn_net::Placement::new().table(&kahn::Network::new().shape(), 2)?;
/// assert_eq!(table.rank_of("nothing"), None);
/// # Ok::<(), kahn_net::NetError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RankTable {
    pub(crate) ranks: Vec<usize>,
    pub(super) processes: Vec<Name>,
    pub(super) channels: Vec<Joint>,
    /// How processes were placed that may be anywhere.
    pub(super) placed: String,
}

impl RankTable {
    /// Returns the rank on which the process of this name runs.
    ///
    /// # Examples
    ///
    /// See [`Placement`].
    ///
    /// ```
    /// assert_eq!(kahn_net::RankTable::default().rank_of("nothing"), None);
    /// ```
    pub fn rank_of(&self, process: &str) -> Option<usize> {
        let place = self.processes.iter().position(|name| name.as_str() == process)?;
        self.ranks.get(place).copied()
    }

    /// Returns the names of the channels that are cut.
    ///
    /// # Examples
    ///
    /// See [`Placement`].
    ///
    /// ```
    /// assert_eq!(kahn_net::RankTable::default().cut().count(), 0);
    /// ```
    pub fn cut(&self) -> impl Iterator<Item = &str> {
        let all = self.channels.iter();
        all.filter(|joint| self.is_cut(joint)).map(|joint| joint.name.as_str())
    }

    /// Returns the channels that are cut, with the ranks of their senders and of their receivers.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn_net::RankTable::default().between().count(), 0);
    /// ```
    pub fn between(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        let all = self.channels.iter().filter(|joint| self.is_cut(joint));
        all.map(|joint| (joint.name.as_str(), self.ranks[joint.from], self.ranks[joint.to]))
    }

    /// Returns each process with its rank, in the order of their creation.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn_net::RankTable::default().placed().count(), 0);
    /// ```
    pub fn placed(&self) -> impl Iterator<Item = (&str, usize)> {
        self.processes.iter().map(Name::as_str).zip(self.ranks.iter().copied())
    }

    /// Returns how processes were placed that may be anywhere, in words: `in blocks`, `in turn`, or by what has [shared
    /// them out](Placement::shared_by).
    ///
    /// # Examples
    ///
    /// See [`Placement::shared_by`].
    ///
    /// ```
    /// let table = kahn_net::Placement::new().table(&kahn::Network::new().shape(), 2)?;
    /// assert_eq!(table.placed_how(), "in turn");
    /// # Ok::<(), kahn_net::NetError>(())
    /// ```
    pub fn placed_how(&self) -> &str {
        &self.placed
    }

    /// Returns each channel that has no written form, with the processes that it keeps together.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_net::Placement;
    ///
    /// let mut network = kahn::Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// network.for_each("ignore", numbers, |_| {});
    /// let table = Placement::new().table(&network.shape(), 2)?;
    /// let kept: Vec<_> = table.kept_together().collect();
    /// assert_eq!(kept, [("numbers", "numbers", "ignore")]);
    /// # Ok::<(), kahn_net::NetError>(())
    /// ```
    pub fn kept_together(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let name = |place: usize| self.processes[place].as_str();
        let without = self.channels.iter().filter(|joint| !joint.has_written_form);
        without
            .filter(|joint| joint.from != joint.to)
            .map(move |joint| (joint.name.as_str(), name(joint.from), name(joint.to)))
    }

    pub(crate) fn process(&self, place: usize) -> Option<String> {
        self.processes.get(place).map(Name::to_string)
    }

    pub(crate) fn channel(&self, place: usize) -> Option<String> {
        self.channels.get(place).map(|joint| joint.name.to_string())
    }

    fn is_cut(&self, joint: &Joint) -> bool {
        self.ranks[joint.from] != self.ranks[joint.to]
    }
}

/// A line a rank, with its processes, one with the channels that are cut, and one that says what has shared out processes.
impl fmt::Display for RankTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.ranks.iter().max().map_or(0, |most| most + 1);
        for rank in 0..most {
            let here = self.processes.iter().zip(&self.ranks).filter(|(_, at)| **at == rank);
            let names: Vec<_> = here.map(|(name, _)| name.as_str()).collect();
            writeln!(f, "rank {rank}: {}", names.join(", "))?;
        }
        let cut: Vec<_> = self.cut().collect();
        if cut.is_empty() {
            writeln!(f, "no channel goes from rank to rank")?;
        } else {
            writeln!(f, "from rank to rank: {}", cut.join(", "))?;
        }
        write!(f, "placed {}", self.placed)
    }
}

/// A number for each of these, and for all before it.
pub(crate) fn digests<T: std::hash::Hash>(all: impl Iterator<Item = T>) -> Vec<u32> {
    let hasher = foldhash::fast::FixedState::with_seed(1);
    let mut before = 0_u64;
    all.map(|one| {
        before = hasher.hash_one((before, one));
        u32::try_from(before >> 32).expect("32 bits are left")
    })
    .collect()
}
