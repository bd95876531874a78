//! A network on several ranks: with `--ranks` within this program, over a simulated transport, or over a [`Cluster`].
//!
//! The program is built once on each rank, from one input; its result, report and exit code are those of rank 0. Other
//! ranks of a cluster print and write nothing: what is wrong there is told by rank 0.

use clap::{ArgMatches, Args};
use kahn::Network;
use kahn::{Options, Report};
use kahn_net::{NetError, OneRank, Placement, Ran, RankTable, Sim, Weights};
use serde_json::Value;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::arguments::{RunArguments, Shape};
use crate::placed::Placed;
use crate::program::{Form, Kind, Pending, Prepared, Program, Purpose, form_of};
use crate::recording::Outside;
use crate::trace::Tracing;
use crate::watching::{AllRanks, Watching};
use crate::{Answer, Failure, Interrupt, Stopper, progress, result, run};

/// Ranks in processes of their own, of which this is one: those of an MPI job.
///
/// # Examples
///
/// The crate `kahn-mpi` has one.
///
/// ```
/// use kahn_command::Cluster;
///
/// fn tells(cluster: &dyn Cluster) -> bool {
///     cluster.rank() == 0
/// }
/// ```
pub trait Cluster {
    /// Returns which rank this is; the first is 0.
    fn rank(&self) -> usize;

    /// Returns how many ranks there are.
    fn ranks(&self) -> usize;

    /// Makes this rank's part of a run on all ranks.
    fn join(&self, placement: Placement) -> OneRank;
}

/// Runs a program over the ranks of a cluster.
pub(crate) fn run_over(
    cluster: &dyn Cluster,
    program: &dyn Program,
    matches: &ArgMatches,
    mut arguments: RunArguments,
) -> Result<(), Failure> {
    let ranks = cluster.ranks();
    let typed = arguments.ranks.ranks.replace(ranks);
    arguments.ranks.are_launched = typed.is_none();
    if let Some(typed) = typed
        && typed != ranks
    {
        let what =
            format!("--ranks {typed}, and there are {ranks}, which the launcher has started");
        return Err(Failure::input(what).with_help("leave --ranks out"));
    }
    let rank = cluster.join(arguments.ranks.placement()?);
    if cluster.rank() == 0 {
        return run::run(program, matches, &arguments, None, Some(rank));
    }
    let shape = Shape::of(matches);
    let prepare = || {
        let form = network_form(program, matches, &shape)?;
        let options = arguments.options(program, form, &shape)?;
        Ok::<_, Failure>((form, options, program.prepare(matches, shape.settings(program)?)?))
    };
    match prepare() {
        Ok((form, options, prepared)) => {
            let watching = Arc::new(Watching::of_another(&arguments, None));
            let rank = rank.watched_by(Arc::clone(&watching) as _);
            let build = |network: &mut _| {
                prepared.build(form, network, Purpose::Ranks).map(drop)?;
                if let Some(progress) = prepared.progress() {
                    watching.counts(progress);
                }
                Ok::<(), Failure>(())
            };
            rank.run(&options, build).map(drop).map_err(failure)
        }
        Err(failure) => {
            rank.give_up(&failure.to_string());
            Err(failure)
        }
    }
}

/// The form that is asked for, if it is a network.
pub(crate) fn network_form(
    program: &dyn Program,
    matches: &ArgMatches,
    shape: &Shape,
) -> Result<Form, Failure> {
    let form = form_of(program, matches, shape.variant.as_deref(), false)?;
    if form.kind == Kind::Network {
        return Ok(form);
    }
    let what = format!("the variant `{}` is no network, so it runs on one rank", form.name);
    Err(Failure::input(what).with_help("choose another with --variant, or start it once"))
}

/// What launchers of MPI programs tell each of them: how many there are.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// Refuses to be one of several processes that MPI has started: each would do all of it, and write the same files.
pub(crate) fn refuse_mpi() -> Result<(), Failure> {
    let size = |name| std::env::var_os(name)?.to_str()?.parse::<usize>().ok();
    match SIZES.into_iter().filter_map(size).max() {
        Some(ranks @ 2..) => Err(Failure::input(format!(
            "started {ranks} times by MPI, of which this command knows nothing: each would do all of it, and write \
             the same files"
        ))
        .with_help(
            "start it once, without mpirun; what speaks MPI is the command `kahn-mpi`, and programs of the crate \
             of that name",
        )),
        _ => Ok(()),
    }
}

/// The most ranks that are asked for by hand.
const MOST_RANKS: usize = 64;

/// Where processes run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RankArguments {
    /// Runs the network on N ranks within this program, each with its share of the cores; messages between two go
    /// over a simulated transport
    #[arg(long, value_name = "N", value_parser = ranks)]
    pub(crate) ranks: Option<usize>,

    /// Has the process of this name run on a rank, the first being 0; `*` in the name is any text
    #[arg(long, value_name = "PROCESS=RANK", value_parser = placed, requires = "ranks")]
    pub(crate) place: Vec<(String, usize)>,

    /// Shares out the other processes by METIS: all of one weight, or as they were in the run of which
    /// FILE is the report (--report-json), by their processor time if it is there (--accounting timing) or else by polls
    #[cfg_attr(not(feature = "partition"), arg(hide = true))]
    #[arg(long, value_name = "even|FILE", requires = "ranks")]
    pub(crate) weights: Option<String>,

    /// Whether a run on one rank is the same again of one on several: channels have their written forms.
    #[arg(skip)]
    were_several: bool,

    /// Whether a launcher has said how many there are, and not what was typed.
    #[arg(skip)]
    are_launched: bool,
}

impl RankArguments {
    /// Those of the same run again, on so many ranks.
    pub(crate) fn again(self, ranks: Option<usize>) -> Self {
        Self { were_several: self.ranks.is_some(), ranks, ..Self::default() }
    }

    /// How many there are, if that is not among what was typed.
    pub(crate) fn untyped(&self) -> Option<usize> {
        self.ranks.filter(|_| self.are_launched)
    }

    /// What the network is built for.
    pub(crate) fn purpose(&self) -> Purpose {
        if self.were_several || self.ranks.is_some() { Purpose::Ranks } else { Purpose::Run }
    }

    /// Which of them were typed.
    pub(crate) fn typed(&self) -> [(&'static str, bool); 3] {
        [
            ("--ranks", self.ranks.is_some()),
            ("--place", !self.place.is_empty()),
            ("--weights", self.weights.is_some()),
        ]
    }

    pub(crate) fn placement(&self) -> Result<Placement, Failure> {
        let by_name = self.place.iter();
        let placed =
            by_name.fold(Placement::new(), |all, (name, rank)| all.at(name.clone(), *rank));
        let Some(weights) = &self.weights else { return Ok(placed) };
        let (weights, name) = match &**weights {
            "even" => (Weights::default(), "METIS, all processes of one weight".to_owned()),
            file => (weights_of(Path::new(file))?, format!("METIS, weights of {file}")),
        };
        #[cfg(feature = "partition")]
        return Ok(placed.shared_by(name, weights, kahn_policies::better_parts));
        #[cfg(not(feature = "partition"))]
        Ok(placed.shared_by(name, weights, |_load| None))
    }
}

/// The weights of processes and channels in the report of a run.
fn weights_of(path: &Path) -> Result<Weights, Failure> {
    let text = std::fs::read_to_string(path).map_err(|cause| match cause.kind() {
        ErrorKind::NotFound => Failure::file(path, "no such file")
            .with_help("`run --report-json FILE` writes one; `--weights even` needs none"),
        _ => Failure::file(path, format_args!("cannot read: {cause}")),
    })?;
    let report: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::file(path, format_args!("is no report: {error}")))?;
    let weights = |of: &str, weigh: &dyn Fn(&Value) -> Option<u64>| -> Option<BTreeMap<_, _>> {
        let all = report[of].as_array()?;
        all.iter().map(|one| Some((one["name"].as_str()?.to_owned(), weigh(one)?))).collect()
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "weights")]
    let work = |one: &Value| match one["cpu_seconds"].as_f64() {
        Some(seconds) => Some((seconds * 1e9) as u64),
        None => one["polls"].as_u64(),
    };
    let volume = |one: &Value| {
        let (sent, bytes) = (one["sent"].as_u64()?, one["message_bytes"].as_u64()?);
        let owned = one["owned_bytes"].as_u64().unwrap_or(0);
        Some(sent.saturating_mul(bytes.max(1)).saturating_add(owned))
    };
    let both = weights("processes", &work).zip(weights("channels", &volume));
    let (processes, channels) = both.ok_or_else(|| {
        Failure::file(path, "is no report: it has no list of processes and channels")
            .with_help("`run --report-json FILE` writes one")
    })?;
    Ok(Weights { processes, channels })
}

pub(crate) fn ranks(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().filter(|number| (1..=MOST_RANKS).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {MOST_RANKS}"))
}

fn placed(text: &str) -> Result<(String, usize), String> {
    let parts = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
    let parts = parts.and_then(|(name, rank)| Some((name.to_owned(), rank.parse().ok()?)));
    parts.ok_or_else(|| "expected the name of a process and a rank, such as `merge=1`".to_owned())
}

/// Where the processes of a network run.
pub(crate) fn table(
    network: &Network<'_>,
    ranks: usize,
    placement: &Placement,
) -> Result<RankTable, Failure> {
    placement.table(&network.shape(), ranks).map_err(failure)
}

/// What rank 0 gets to see of a run.
#[derive(Clone, Copy)]
pub(crate) struct SeenHere<'run> {
    pub(crate) tracing: &'run Tracing,
    pub(crate) outside: &'run Outside,
    /// How many ranks there are, and whether what they do is shown while the run goes on.
    pub(crate) ranks: usize,
    pub(crate) is_shown: bool,
    /// Whether that takes the whole screen.
    pub(crate) is_on_screen: bool,
    /// Set when it is known which process runs where.
    pub(crate) placed: &'run OnceLock<Placed>,
}

/// A run of a Kahn network on several ranks.
pub(crate) struct RunOnRanks<'run, 'env> {
    pub(crate) prepared: &'env dyn Prepared,
    pub(crate) form: Form,
    pub(crate) options: &'run Options,
    pub(crate) seed: u64,
    pub(crate) arguments: &'run RunArguments,
    pub(crate) interrupt: &'run Interrupt,
    pub(crate) seen: SeenHere<'run>,
    /// This rank, if the others are programs of their own.
    pub(crate) one: Option<OneRank>,
}

impl<'env> RunOnRanks<'_, 'env> {
    /// Runs it; on rank 0.
    pub(crate) fn run(self) -> Result<(Answer<'env>, Option<Report>), Failure> {
        let Self { prepared, form, options, seed, arguments, interrupt, seen, one } = self;
        let ranks = seen.ranks;
        let placement = arguments.ranks.placement()?;
        // What is wrong with the network is told before it runs.
        let mut network = Network::new();
        drop(prepared.build(form, &mut network, Purpose::Ranks)?);
        let found = table(&network, ranks, &placement)?;
        drop(network);
        // All may be placed on one rank, but not without a word.
        let is_apart = found.cut().next().is_some() || found.kept_together().next().is_none();
        if ranks > 1 && !is_apart {
            return Err(nothing_is_cut(ranks, &found));
        }
        let is_cluster = one.is_some();
        let first = Watching::of_first(seen).map(Arc::new);
        let by_hand = !arguments.ranks.place.is_empty();
        let _ = seen.placed.set(Placed { ranks, by_hand, table: found });
        let build = |rank: usize, network: &mut Network<'env>| -> Result<Pending<'env>, Failure> {
            match rank {
                0 => seen.outside.prepare(network),
                _ => seen.outside.prepare_another(network),
            }
            let pending = prepared.build(form, network, Purpose::Ranks)?;
            if rank == 0 {
                let (here, handle) = (network.stop_handle(), network.stop_handle());
                let now = first.as_ref().map_or_else(Arc::default, |first| first.now());
                interrupt.running(Stopper::of(AllRanks { here, now }, move || handle.stop()));
            }
            Ok(pending)
        };
        let perform = || -> Result<Ran<_>, NetError> {
            if let Some(one) = one {
                let one = match first.clone() {
                    Some(first) => one.watched_by(first),
                    None => one,
                };
                let ran = one.run(options, |network| build(0, network))?;
                return Ok(ran.expect("rank 0 tells"));
            }
            let sim = Sim::new(ranks).seed(seed).placement(placement);
            let sim = match first.clone() {
                Some(first) => {
                    let (arguments, replay) = (arguments.clone(), seen.outside.replay());
                    sim.watched(move |rank| match rank {
                        0 => Arc::clone(&first) as _,
                        _ => Arc::new(Watching::of_another(&arguments, replay.as_ref())) as _,
                    })
                }
                None => sim,
            };
            sim.run_each(options, build)
        };
        // Ranks of this program count together, those of a cluster each for itself.
        let elsewhere = first.as_ref().filter(|_| is_cluster).map(|first| first.now());
        let ran = match prepared.progress() {
            Some(counted) if !seen.is_on_screen => {
                let done = || counted.done() + elsewhere.as_ref().map_or(0, |others| others.done());
                progress::watched(&done, counted.total(), counted.unit(), perform)
            }
            _ => perform(),
        };
        let ran = ran.map_err(failure)?;
        let pending = ran.result?;
        let answer = run::answer_of(pending(), seen.outside)?;
        Ok((answer, Some(ran.report)))
    }
}

/// Why all processes would run on rank 0.
fn nothing_is_cut(ranks: usize, table: &RankTable) -> Failure {
    let line = |(channel, from, to): (&str, &str, &str)| {
        format!("\n  `{channel}`, from `{from}` to `{to}`")
    };
    let mut lines: Vec<_> = table.kept_together().take(8).map(line).collect();
    let more = table.kept_together().count().saturating_sub(8);
    if more > 0 {
        lines.push(format!("\n  and {more} more"));
    }
    let lines = lines.concat();
    let what = format!(
        "nothing would run on {} of {ranks} ranks: these channels have no written form, by which messages go from \
         rank to rank:{lines}",
        if ranks == 2 { "one" } else { "all but one" }
    );
    Failure::input(what)
        .with_help("a channel made with `Channel::wire` has one; run it without --ranks")
}

/// What a run on ranks failed with, as the command tells it.
pub(crate) fn failure(error: NetError) -> Failure {
    match error {
        NetError::Placement(why) => Failure::input(why),
        NetError::OtherInput { rank, path, .. } if path == Path::new("-") => {
            let what = format!("standard input is that of rank 0: rank {rank} does not have it");
            Failure::input(what).with_help("name a file that is there on all ranks")
        }
        error @ (NetError::OtherInput { .. } | NetError::NotRun { .. }) => {
            Failure::input(error.to_string())
        }
        NetError::Run(error) => error.into(),
        NetError::Lost { rank, report } => Failure::Run {
            error: NetError::Lost { rank, report: report.clone() }.into(),
            report: Some(report),
        },
        other => Failure::Run { error: other.into(), report: None },
    }
}

/// Numbers of ranks that are compared.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SeveralRanks {
    /// Compares the network on these numbers of ranks, each with some seeds of the simulated transport, and not
    /// schedules: output, messages, and how processes ended
    #[arg(long, value_name = "N,…", value_parser = ranks, value_delimiter = ',')]
    pub(crate) ranks: Vec<usize>,
    /// Tries each number of ranks with so many seeds of the simulated transport, and not with 5
    #[arg(long, value_name = "N", requires = "ranks", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: Option<u64>,
}

/// Seeds with which each number of ranks is tried, if nothing is said.
const SEEDS: u64 = 5;

/// How often a run asks for room between ranks, about. A cut channel that holds one message asks for every message, and
/// each time the ranks wait for each other.
const MOST_ROUND_TRIPS: u64 = 5_000;

/// The capacity with which a seed is tried: a small one, but none so small that a run of so many messages takes minutes.
fn capacity(seed: u64, messages: u64) -> u32 {
    u32::try_from((messages / MOST_ROUND_TRIPS).max(1) + seed % SEEDS).unwrap_or(u32::MAX)
}

/// Runs the network of a program on these numbers of ranks and compares outputs, and what its processes came to.
/// The first run has the capacities of the network, the others one and two workers on each rank in turn.
pub(crate) fn verify(
    name: &str,
    prepared: &dyn Prepared,
    form: Form,
    several: &SeveralRanks,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let SeveralRanks { ranks: numbers, seeds } = several;
    let expected = prepared.expected()?.map(Answer::into_bytes);
    let mut first: Option<(Vec<u8>, Ran<()>)> = None;
    let (mut tried, mut cut) = (0, 0);
    let mut messages = None;
    for &number in numbers {
        for seed in 0..seeds.unwrap_or(SEEDS) {
            let sim = Sim::new(number).seed(seed);
            let options = Options::new().histories();
            let options = match messages {
                Some(messages) => options
                    .capacity_at_most(capacity(seed, messages))
                    .workers(if seed % 2 == 0 { 1 } else { 2 }),
                None => options,
            };
            let ran = sim.run_each(&options, |rank, network| {
                let pending = prepared.build(form, network, Purpose::VerifyRanks)?;
                if rank == 0 {
                    interrupt.running(network.stop_handle());
                }
                Ok::<_, Failure>(pending)
            });
            if interrupt.ended() {
                return Err(Failure::Interrupted);
            }
            let ran = ran.map_err(failure)?;
            cut = cut.max(ran.table.cut().count());
            let received = ran.report.channels.iter().map(|channel| channel.received);
            messages.get_or_insert(received.sum());
            let Ran { result, report, table, histories } = ran;
            let Some(answer) = (result?)() else {
                return Err(Failure::Difference(format!("on {number} ranks there is no result")));
            };
            let answer = answer.into_bytes();
            let ran = Ran { result: (), report, table, histories };
            let Some((output, reference)) = &first else {
                if expected.as_ref().is_some_and(|expected| *expected != answer) {
                    let what =
                        format!("on {number} ranks the output is another than without a network");
                    return Err(Failure::Difference(what));
                }
                first = Some((answer, ran));
                tried += 1;
                continue;
            };
            let differs = reference.difference(&ran);
            let differs = differs.or_else(|| (*output != answer).then(|| "the output".to_owned()));
            if let Some(what) = differs.or_else(|| another_end(&reference.report, &ran.report)) {
                let what = format!("on {number} ranks with seed {seed} is another: {what}");
                return Err(Failure::Difference(what));
            }
            tried += 1;
        }
    }
    let all: Vec<_> = numbers.iter().map(usize::to_string).collect();
    let all = all.join(", ");
    let channels = first.map_or(0, |(_, reference)| reference.histories.len());
    result::write(|out| {
        writeln!(
            out,
            "{name} on {all} ranks: {tried} runs with the same output and the same messages on {channels} channels, \
             of which at most {cut} went from rank to rank"
        )
    })
}

/// The first process that has ended in another way, if there is one.
fn another_end(expected: &Report, found: &Report) -> Option<String> {
    let mut pairs = expected.processes.iter().zip(&found.processes);
    let other = pairs.find(|(one, other)| (&one.name, &one.ending) != (&other.name, &other.ending));
    let (expected, found) = (&expected.processes, &found.processes);
    let more = || format!("there are {} processes, and not {}", found.len(), expected.len());
    other.map_or_else(
        || (expected.len() != found.len()).then(more),
        |(one, _)| Some(format!("how process `{}` has ended", one.name)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_many_messages_is_not_tried_with_one_place_for_them() {
        assert_eq!([0, 100, 5_000].map(|messages| capacity(0, messages)), [1, 1, 1]);
        assert_eq!(capacity(4, 100), 5);
        let round_trips = 10_000_000 / u64::from(capacity(0, 10_000_000));
        assert_eq!(round_trips, MOST_ROUND_TRIPS);
        assert_eq!(capacity(4, u64::MAX), u32::MAX);
    }
}
