//! Which process runs on which rank, and so which channels are cut.
//!
//! Processes that are joined by a channel without a written form belong together, and so do the parts of one
//! process: they are one *group*. A group with a process that stays on rank 0 is there, and one with a process that is
//! placed by name goes there. The others are dealt out in turn, or in blocks if that cuts fewer channels (`groups`). Or
//! something else shares them out, such as METIS, by the work of groups and what goes between them:
//! [`Placement::shared_by`].

mod groups;
mod table;

pub use table::RankTable;
pub(crate) use table::digests;

use self::groups::Groups;
use crate::NetError;
use kahn::Name;
use kahn::policy::{ChannelLoad, Load, ProcessLoad};
use kahn::ranks::{Member, Shape};
use std::collections::BTreeMap;
use std::fmt;
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

/// The groups that must be on a rank, each with this and the process for which it must.
type Fixed = BTreeMap<usize, (usize, usize)>;

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
    /// rank for each, or `None` if they are to be dealt out as if nothing shared them out.
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
        let mut fixed = Fixed::new();
        let stays = shape.processes.iter().enumerate();
        let stays = stays.filter(|(_, one)| one.stays.is_some()).map(|(place, _)| (place, 0));
        for (place, rank) in stays.chain(named) {
            let (at, first) = *fixed.entry(groups.of(place)).or_insert((rank, place));
            if at != rank {
                return refused(apart(shape, &groups, (first, at), (place, rank)));
            }
        }
        let shared = self.sharing.as_ref().and_then(|sharing| {
            Some((sharing.share(shape, &groups, &fixed, ranks)?, format!("by {}", sharing.name)))
        });
        let (of_group, placed) = shared.unwrap_or_else(|| dealt_out(shape, &groups, &fixed, ranks));
        Ok(RankTable {
            ranks: (0..shape.processes.len()).map(|place| of_group[&groups.of(place)]).collect(),
            processes: shape.processes.iter().map(|one| one.name.clone()).collect(),
            channels: shape.channels.clone(),
            placed,
        })
    }
}

/// What processes do whose names are the same but for numbers.
fn kind(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The rank of each group, and how those were dealt out that may be anywhere: in turn, or in blocks if that cuts fewer
/// channels and each rank still has its share of the processes of a kind, such as the maps of a job: these have about
/// the same work, at about the same time.
fn dealt_out(
    shape: &Shape,
    groups: &Groups,
    fixed: &Fixed,
    ranks: usize,
) -> (BTreeMap<usize, usize>, String) {
    let mut sizes = BTreeMap::<usize, usize>::new();
    for place in 0..shape.processes.len() {
        *sizes.entry(groups.of(place)).or_default() += 1;
    }
    let mut on_ranks = vec![0; ranks];
    for (group, (rank, _)) in fixed {
        on_ranks[*rank] += sizes.remove(group).unwrap_or(0);
    }
    let count: Vec<usize> = sizes.values().copied().collect();
    let with = |places: Vec<usize>| -> BTreeMap<usize, usize> {
        let free = sizes.keys().copied().zip(places);
        fixed.iter().map(|(group, (rank, _))| (*group, *rank)).chain(free).collect()
    };
    let cut = |of_group: &BTreeMap<usize, usize>| {
        let rank = |place: usize| of_group[&groups.of(place)];
        shape.channels.iter().filter(|joint| rank(joint.from) != rank(joint.to)).count()
    };
    let in_turn = with(groups::in_turn(count.len(), ranks));
    let in_blocks = with(groups::in_blocks(&count, on_ranks));
    let kinds = shape.processes.iter().enumerate().filter_map(|(place, process)| {
        let group = groups.of(place);
        let is_free = !fixed.contains_key(&group);
        is_free.then(|| (kind(process.name.as_str()), in_blocks[&group]))
    });
    if cut(&in_blocks) < cut(&in_turn) && groups::are_shared(kinds, ranks) {
        (in_blocks, "in blocks".to_owned())
    } else {
        (in_turn, "in turn".to_owned())
    }
}

impl Sharing {
    /// The rank of each group; where a group must be, it is.
    fn share(
        &self,
        shape: &Shape,
        groups: &Groups,
        fixed: &Fixed,
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

#[cfg(test)]
mod tests {
    use super::*;
    use kahn::ranks::{Joint, Stays};

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
        assert_eq!(table.ranks, [2, 1, 1, 0, 0]);
        assert_eq!(table.cut().collect::<Vec<_>>(), ["c0", "c2"]);
    }

    #[test]
    fn groups_are_dealt_out_so_that_fewer_channels_are_cut() {
        let ring: Vec<_> = (0..8).map(|place| (place, (place + 1) % 8, true)).collect();
        let table = Placement::new().table(&shape(8, &ring), 2).expect("it can be placed");
        assert_eq!((table.cut().count(), table.placed_how()), (2, "in blocks"));
        // One of a kind is on each rank, for all of a kind work at once, however many channels that cuts.
        let mut shape = shape(4, &[(0, 1, true), (1, 2, true), (2, 3, true)]);
        for (process, name) in shape.processes.iter_mut().zip(["a 0", "a 1", "b", "c"]) {
            process.name = name.into();
        }
        let table = Placement::new().table(&shape, 2).expect("it can be placed");
        assert_eq!((table.cut().count(), table.placed_how()), (3, "in turn"));
        shape.processes[0].name = "d".into();
        let table = Placement::new().table(&shape, 2).expect("it can be placed");
        assert_eq!((table.cut().count(), table.placed_how()), (1, "in blocks"));
    }

    #[test]
    fn stages_are_dealt_out_in_turn_if_each_process_is_joined_to_its_like() {
        let stages: Vec<_> = (0..4).map(|place| (place, place + 4, true)).collect();
        let table = Placement::new().table(&shape(8, &stages), 2).expect("it can be placed");
        assert_eq!((table.cut().count(), table.placed_how()), (0, "in turn"));
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
