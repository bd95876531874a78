//! Which process runs on which rank, and so which channels are cut.
//!
//! Processes that are joined by a channel without a written form belong together, and so do the parts of one
//! process: they are one *group*. A group with a process that stays on rank 0 is there. The others are dealt out in
//! turn, the first to the last rank, so that rank 0, which has the results, gets the fewest; but a group with a
//! process that is placed by name goes there. Or something else shares them out, such as METIS, by the work of groups
//! and what goes between them: [`Placement::shared_by`].

use crate::NetError;
use kahn::Name;
use kahn::policy::{ChannelLoad, Load, ProcessLoad};
use kahn::ranks::{Joint, Member, Shape};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Where processes are to run: some by name, all others as it comes.
///
/// # Examples
///
/// ```
/// use kahn::{Channel, Network};
/// use kahn_net::Placement;
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
/// network.process("count", out, async |mut out| out.send_all(0..10_u64).await);
/// let _sum = network.fold("sum", numbers, 0, |sum, n: u64| sum + n);
/// let table = Placement::new().at("co*", 2).table(&network.shape(), 3)?;
/// assert_eq!((table.rank_of("count"), table.rank_of("sum")), (Some(2), Some(0)));
/// assert_eq!(table.cut().collect::<Vec<_>>(), ["numbers"]);
/// # Ok::<(), kahn_net::NetError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Placement {
    by_name: Vec<(String, usize)>,
    sharing: Option<Sharing>,
}

/// Returns a rank for each group, of as many as the load has workers.
type Share = dyn Fn(&Load) -> Option<Vec<usize>> + Send + Sync;

/// What shares out the groups that may be anywhere.
#[derive(Clone)]
struct Sharing {
    name: String,
    by: Arc<Share>,
    weights: Weights,
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharing").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What processes and channels weigh, by their names: as in an earlier run.
///
/// # Examples
///
/// See [`Placement::shared_by`].
///
/// ```
/// let _even = kahn_net::Weights::default();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Weights {
    /// The work of processes. What is not there has 1.
    pub processes: BTreeMap<String, u64>,
    /// What goes over channels. What is not there has 1.
    pub channels: BTreeMap<String, u64>,
}

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
    processes: Vec<Name>,
    channels: Vec<Joint>,
    /// What has shared out processes; `None`: they were dealt out in turn.
    shared_by: Option<String>,
}

/// Whether a name is as a pattern says, in which `*` is any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(first) else { return false };
    let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    ends.into_iter().any(|at| matches(rest, &name[at..]))
}

impl Placement {
    /// Makes one that names no process.
    ///
    /// # Examples
    ///
    /// See [`Placement`].
    ///
    /// ```
    /// let _as_it_comes = kahn_net::Placement::new();
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Has processes of this name run on this rank; `*` in it is any text. What is said last counts.
    ///
    /// # Examples
    ///
    /// See [`Placement`].
    ///
    /// ```
    /// let _maps = kahn_net::Placement::new().at("map *", 1).at("map 7", 2);
    /// ```
    #[must_use]
    pub fn at(mut self, name: impl Into<String>, rank: usize) -> Self {
        self.by_name.push((name.into(), rank));
        self
    }

    /// Has the processes that are not placed by name shared out by `share`, which is called `name`. It is given the
    /// groups of processes that belong together, as processes, and what goes between them, weighed so; and returns a
    /// rank for each, or `None` if they are to be dealt out in turn.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    /// use kahn_net::{Placement, Weights};
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
    /// network.process("count", out, async |mut out| out.send_all(0..10_u64).await);
    /// let _sum = network.fold("sum", numbers, 0, |sum, n: u64| sum + n);
    /// // With METIS it is `kahn_policies::better_parts`; this one has the heaviest on the last rank.
    /// let placement = Placement::new().shared_by("weight", Weights::default(), |load| {
    ///     let most = load.processes.iter().map(|group| group.work).max()?;
    ///     let rank = |work| if work == most { load.workers - 1 } else { 0 };
    ///     Some(load.processes.iter().map(|group| rank(group.work)).collect())
    /// });
    /// let table = placement.table(&network.shape(), 2)?;
    /// assert_eq!((table.rank_of("count"), table.rank_of("sum")), (Some(1), Some(0)));
    /// assert!(table.to_string().ends_with("placed by weight"));
    /// # Ok::<(), kahn_net::NetError>(())
    /// ```
    #[must_use]
    pub fn shared_by(
        mut self,
        name: impl Into<String>,
        weights: Weights,
        share: impl Fn(&Load) -> Option<Vec<usize>> + Send + Sync + 'static,
    ) -> Self {
        self.sharing = Some(Sharing { name: name.into(), by: Arc::new(share), weights });
        self
    }

    /// Places the processes of a network on so many ranks.
    ///
    /// # Examples
    ///
    /// See [`Placement`].
    ///
    /// ```
    /// use kahn_net::Placement;
    ///
    /// let network = kahn::Network::new();
    /// let error = Placement::new().at("nobody", 1).table(&network.shape(), 2);
    /// assert!(error.expect_err("there is none").to_string().contains("no process is called `nobody`"));
    /// ```
    ///
    /// # Errors
    /// [`NetError::Placement`] if there is no such process or rank, or if processes are to be apart that cannot
    /// be.
    pub fn table(&self, shape: &Shape, ranks: usize) -> Result<RankTable, NetError> {
        let refused = |why: String| Err(NetError::Placement(why));
        let mut groups = Groups::new(shape.processes.len());
        for joint in shape.channels.iter().filter(|joint| !joint.has_written_form) {
            groups.join(joint.from, joint.to);
        }
        // What is said by name counts more than what the program says.
        let says = |(place, one): (usize, &Member)| Some((place, one.rank?));
        let said = shape.processes.iter().enumerate().filter_map(says);
        let mut named: BTreeMap<_, _> = said.filter(|(_, rank)| *rank < ranks).collect();
        for (pattern, rank) in &self.by_name {
            if *rank >= ranks {
                return refused(format!(
                    "there is no rank {rank} to place `{pattern}` on: there are {ranks}, the first is 0"
                ));
            }
            let all = shape.processes.iter().enumerate();
            let mut places = all.filter(|(_, one)| matches(pattern, one.name.as_str())).peekable();
            if places.peek().is_none() {
                return refused(format!(
                    "no process is called `{pattern}`: `kahn graph` shows their names"
                ));
            }
            named.extend(places.map(|(place, _)| (place, *rank)));
        }
        // For each group, where it must be, and the process for which it must.
        let mut fixed: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let stays = shape.processes.iter().enumerate();
        let stays = stays.filter(|(_, one)| one.stays.is_some()).map(|(place, _)| (place, 0));
        for (place, rank) in stays.chain(named) {
            let (at, first) = *fixed.entry(groups.of(place)).or_insert((rank, place));
            if at != rank {
                return refused(apart(shape, &groups, (first, at), (place, rank)));
            }
        }
        let mut of_group = BTreeMap::new();
        let shared = self.sharing.as_ref().and_then(|sharing| {
            let shared = sharing.share(shape, &groups, &fixed, ranks)?;
            of_group.extend(shared);
            Some(sharing.name.clone())
        });
        let mut next = 0;
        let of = (0..shape.processes.len()).map(|place| {
            let group = groups.of(place);
            *of_group.entry(group).or_insert_with(|| {
                fixed.get(&group).map_or_else(
                    || {
                        next += 1;
                        ranks - 1 - (next - 1) % ranks
                    },
                    |(rank, _)| *rank,
                )
            })
        });
        Ok(RankTable {
            ranks: of.collect(),
            processes: shape.processes.iter().map(|one| one.name.clone()).collect(),
            channels: shape.channels.clone(),
            shared_by: shared,
        })
    }
}

impl Sharing {
    /// The rank of each group; where a group must be, it is.
    fn share(
        &self,
        shape: &Shape,
        groups: &Groups,
        fixed: &BTreeMap<usize, (usize, usize)>,
        ranks: usize,
    ) -> Option<BTreeMap<usize, usize>> {
        let weight = |of: &BTreeMap<String, u64>, name: &Name| of.get(name.as_str()).copied();
        let mut load = Load::new(ranks);
        let (mut places, mut all) = (BTreeMap::new(), Vec::new());
        for (place, process) in shape.processes.iter().enumerate() {
            let group = groups.of(place);
            let number = *places.entry(group).or_insert_with(|| {
                let mut one = ProcessLoad::new(process.name.clone());
                one.pinned = fixed.get(&group).map(|(rank, _)| *rank);
                load.processes.push(one);
                all.push(group);
                all.len() - 1
            });
            let work = weight(&self.weights.processes, &process.name).unwrap_or(1);
            load.processes[number].work = load.processes[number].work.saturating_add(work);
        }
        for joint in &shape.channels {
            let [from, to] = [joint.from, joint.to].map(|place| places[&groups.of(place)]);
            if from != to {
                let volume = weight(&self.weights.channels, &joint.name).unwrap_or(1);
                load.channels.push(ChannelLoad::new(from, to, volume));
            }
        }
        let shared = (self.by)(&load).filter(|shared| shared.len() == all.len())?;
        let must_be = |group: &usize| fixed.get(group).map(|(rank, _)| *rank);
        let pairs = all.into_iter().zip(shared);
        Some(pairs.map(|(group, rank)| (group, must_be(&group).unwrap_or(rank % ranks))).collect())
    }
}

/// Why two processes cannot be on two ranks.
fn apart(shape: &Shape, groups: &Groups, one: (usize, usize), other: (usize, usize)) -> String {
    let process = |place: usize| &shape.processes[place];
    for (place, rank) in [one, other] {
        if let Some(stays) = process(place).stays.filter(|_| rank != 0) {
            return format!("`{}` cannot be placed on rank {rank}: {stays}", process(place).name);
        }
    }
    if one.0 == other.0
        && let Some(stays) = process(one.0).stays
    {
        let rank = one.1.max(other.1);
        return format!("`{}` cannot be placed on rank {rank}: {stays}", process(one.0).name);
    }
    // The channel that joins them, or others of their group, and has no written form.
    let group = groups.of(one.0);
    let within = || shape.channels.iter().filter(|joint| !joint.has_written_form);
    let direct = within()
        .find(|joint| [(joint.from, joint.to), (joint.to, joint.from)].contains(&(one.0, other.0)));
    let joint = direct.or_else(|| within().find(|joint| groups.of(joint.from) == group));
    let by = joint.map_or_else(String::new, |joint| {
        format!(
            "channel `{}` has no written form, by which messages go from rank to rank: make it with \
             `Channel::wire`, or place them together",
            joint.name
        )
    });
    format!(
        "`{}` and `{}` cannot be on the ranks {} and {}: {by}",
        process(one.0).name,
        process(other.0).name,
        one.1,
        other.1
    )
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

    /// Returns what has shared out processes that may be anywhere: `None` if they were dealt out in turn.
    ///
    /// # Examples
    ///
    /// See [`Placement::shared_by`].
    ///
    /// ```
    /// assert_eq!(kahn_net::RankTable::default().shared_by(), None);
    /// ```
    pub fn shared_by(&self) -> Option<&str> {
        self.shared_by.as_deref()
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
        match &self.shared_by {
            Some(name) => write!(f, "placed by {name}"),
            None => f.write_str("placed in turn"),
        }
    }
}

/// Which processes belong together: disjoint sets.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn of(&self, mut place: usize) -> usize {
        while self.0[place] != place {
            place = self.0[place];
        }
        place
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        // The first of a group stands for it, so that groups are in the order of creation.
        let (first, second) = (one.min(other), one.max(other));
        self.0[second] = first;
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

#[cfg(test)]
mod tests {
    use super::*;
    use kahn::ranks::Stays;

    fn shape(processes: usize, channels: &[(usize, usize, bool)]) -> Shape {
        let member = |place| Member { name: format!("p{place}").into(), stays: None, rank: None };
        let joint = |(number, &(from, to, has_written_form)): (usize, &(usize, usize, bool))| {
            Joint { name: format!("c{number}").into(), from, to, has_written_form, capacity: 1 }
        };
        Shape {
            processes: (0..processes).map(member).collect(),
            channels: channels.iter().enumerate().map(joint).collect(),
        }
    }

    #[test]
    fn a_star_in_a_pattern_is_any_text() {
        for (pattern, name, is) in [
            ("map", "map", true),
            ("map*", "map 12", true),
            ("*12", "map 12", true),
            ("m*1*", "map 12", true),
            ("map", "map 1", false),
            ("*3", "map 12", false),
            ("ö*", "öl", true),
        ] {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
    }

    #[test]
    fn what_has_no_written_form_stays_together_and_the_rest_is_dealt_out() {
        let shape = shape(5, &[(0, 1, true), (1, 2, false), (2, 3, true), (3, 4, true)]);
        let table = Placement::new().table(&shape, 3).expect("it can be placed");
        assert_eq!(table.ranks, [2, 1, 1, 0, 2]);
        assert_eq!(table.cut().collect::<Vec<_>>(), ["c0", "c2", "c3"]);
    }

    #[test]
    fn what_the_program_says_counts_if_there_is_such_a_rank_and_a_name_counts_more() {
        let mut shape = shape(2, &[(0, 1, true)]);
        shape.processes[0].rank = Some(1);
        shape.processes[1].rank = Some(2);
        let ranks = |placement: Placement, ranks| {
            placement.table(&shape, ranks).expect("it can be placed").ranks
        };
        assert_eq!(ranks(Placement::new(), 3), [1, 2]);
        assert_eq!(ranks(Placement::new(), 2), [1, 1]);
        assert_eq!(ranks(Placement::new(), 1), [0, 0]);
        assert_eq!(ranks(Placement::new().at("p0", 0), 3), [0, 2]);
    }

    #[test]
    fn groups_are_shared_out_by_their_weights_and_stay_where_they_must_be() {
        let mut shape = shape(5, &[(0, 1, true), (1, 2, false), (2, 3, true), (3, 4, true)]);
        shape.processes[4].stays = Some(Stays::HasResult);
        let weights = Weights {
            processes: [("p1", 10), ("p2", 20), ("p3", 0)].map(|(n, w)| (n.to_owned(), w)).into(),
            channels: [("c2".to_owned(), 7)].into(),
        };
        let seen = Arc::new(parking_lot::Mutex::new(None));
        let told = Arc::clone(&seen);
        let placement = Placement::new().at("p0", 2).shared_by("all on 1", weights, move |load| {
            let work: Vec<_> = load.processes.iter().map(|one| (one.work, one.pinned)).collect();
            let volumes: Vec<_> =
                load.channels.iter().map(|one| (one.from, one.to, one.volume)).collect();
            *told.lock() = Some((load.workers, work, volumes));
            Some(vec![1; load.processes.len()])
        });
        let table = placement.table(&shape, 3).expect("it can be placed");
        assert_eq!(table.ranks, [2, 1, 1, 1, 0]);
        let groups = vec![(1, Some(2)), (30, None), (0, None), (1, Some(0))];
        let between = vec![(0, 1, 1), (1, 2, 7), (2, 3, 1)];
        assert_eq!(*seen.lock(), Some((3, groups, between)));
        assert!(table.to_string().ends_with("placed by all on 1"));
        // What shares nothing out leaves it to turns.
        let none = Placement::new().shared_by("nothing", Weights::default(), |_| None);
        let table = none.table(&shape, 3).expect("it can be placed");
        assert!(table.to_string().ends_with("placed in turn"), "{table}");
    }

    #[test]
    fn what_has_a_result_stays_on_rank_0_and_cannot_be_placed_elsewhere() {
        let mut shape = shape(2, &[(0, 1, true)]);
        shape.processes[1].stays = Some(Stays::HasResult);
        let table = Placement::new().at("p0", 0).table(&shape, 2).expect("it can be placed");
        assert_eq!(table.ranks, [0, 0]);
        let error = Placement::new().at("p1", 1).table(&shape, 2).expect_err("it stays");
        assert_eq!(
            error.to_string(),
            "`p1` cannot be placed on rank 1: it sends nothing, so its result is taken on rank 0"
        );
    }

    #[test]
    fn processes_that_cannot_be_apart_are_named_with_what_joins_them() {
        let shape = shape(2, &[(0, 1, false)]);
        let error = Placement::new().at("p0", 0).at("p1", 1).table(&shape, 2).expect_err("apart");
        assert_eq!(
            error.to_string(),
            "`p0` and `p1` cannot be on the ranks 0 and 1: channel `c0` has no written form, by which \
             messages go from rank to rank: make it with `Channel::wire`, or place them together"
        );
    }
}
