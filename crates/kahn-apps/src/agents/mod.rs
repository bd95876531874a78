//! Agents in a world of places, who see each other and move: what many small processes cost that
//! share, lend and wait for each other.
//!
//! ```text
//!   agent ⇄ location: who is here    a claim, then one question and its answer
//!   agent ⇄ view: who is in sight    a claim for as long as the agent looks
//!   view  ⇄ location, nine of them   a claim, then the list is lent and given back
//!   agents: a barrier, twice a cycle
//! ```
//!
//! The world is a torus of G × G locations, each 4096 × 4096 with its centre in the middle. In a
//! cycle each agent looks at all agents of the nine locations around it, is pushed away from each
//! by a force that depends on its bias, moves, and perhaps has to knock at the next location, which
//! may send it on. All numbers are whole, and the sum of forces does not depend on their order: so
//! the state of every agent at the end depends on nothing but the sizes.
//!
//! Source: the benchmark "agents" of Ritson, Sampson and Barnes, "Multicore scheduling for
//! lightweight communicating processes", 2009, section 5.3, after the simulation `occoids`.

mod body;
mod network;
mod rounds;

use kahn_csp::Options;

pub use self::body::State;
use self::body::Vector;
use crate::{Answer, Failure, Program, Progress, Ran, Settings, Stop, Variant, failed, whole};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run agents --grid 5 --agents 12 --cycles 64 --report
  kahn run agents --grid 10 --agents 12 --cycles 1024          the size in the paper
  kahn run agents --variant data-parallel --parts 2            without a process for each agent";

/// How many processes share the agents in the variant `data-parallel`, unless said otherwise.
pub(crate) const DEFAULT_PARTS: usize = 8;

/// The most of them.
pub(crate) const MOST_PARTS: usize = 4096;

/// The most agents: all numbers stay within 32 bits.
const MOST_AGENTS: u32 = 1_000_000;

/// What is typed after `agents`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The world has G times G locations: 1 to 180
    #[arg(long, value_name = "G", default_value_t = 3, value_parser = whole(1..=180))]
    grid: u32,

    /// How many agents each location has at the start: 1 to 4000
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = whole(1..=4000))]
    agents: u32,

    /// How often each agent looks and moves
    #[arg(long, value_name = "C", default_value_t = 16, value_parser = whole(0..=1_000_000_000))]
    cycles: u32,
}

/// The sizes of a world.
///
/// ```
/// use kahn_csp::Options;
/// use kahn_apps::agents::World;
///
/// let world = World { grid: 2, agents: 3, cycles: 4 };
/// let (states, _report) = world.network(Options::new().workers(2), || {})?;
/// assert_eq!(states, world.sequential());
/// # Ok::<(), kahn_csp::RunError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct World {
    /// It has the square of this number of locations: 1 to 180.
    pub grid: u32,
    /// How many agents each location has at the start: 1 to 4000.
    pub agents: u32,
    /// How often each agent looks and moves.
    pub cycles: u32,
}

impl World {
    fn locations(self) -> u32 {
        self.grid * self.grid
    }

    /// The agents as they start, in the order of their ids.
    fn start(self) -> Vec<State> {
        let (locations, agents) = (self.locations().cast_signed(), self.agents.cast_signed());
        let gap = body::SIZE / (agents + 4);
        let starts =
            (0..locations).flat_map(|location| (0..agents).map(move |nth| (location, nth)));
        starts
            .zip(1..)
            .map(|((location, nth), id)| {
                let both = body::LEAST + gap * (nth + 2);
                State { id, location, x: both, y: both, bias: 37 * id }
            })
            .collect()
    }

    /// The location that lies in a direction: the world is a torus.
    fn neighbour(self, location: i32, Vector { x, y }: Vector) -> i32 {
        let grid = self.grid.cast_signed();
        let (column, row) = (location % grid, location / grid);
        (row + y).rem_euclid(grid) * grid + (column + x).rem_euclid(grid)
    }
}

/// A world with its result, as a program.
#[derive(Debug)]
pub struct AgentsProgram {
    world: World,
    parts: usize,
    progress: Progress,
}

impl AgentsProgram {
    /// Checks that the numbers stay within 32 bits.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if there are too many agents.
    pub fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Self, Failure> {
        let &Arguments { grid, agents, cycles } = arguments;
        let world = World { grid, agents, cycles };
        let all = world.locations() * agents;
        if all > MOST_AGENTS {
            return Err(Failure::input(format!(
                "--grid {grid} and --agents {agents}: that is {all} agents, at most {MOST_AGENTS} \
                 are possible"
            )));
        }
        let progress = Progress::new("cycles", Some(cycles.into()));
        Ok(Self { world, parts: settings.parts, progress })
    }
}

fn answer<'env>(states: Vec<State>) -> Answer<'env> {
    Answer::new(move |out| {
        for State { id, location, x, y, bias } in &states {
            writeln!(out, "{id} {location} {x} {y} {bias}")?;
        }
        Ok(())
    })
}

impl Program for AgentsProgram {
    fn communicate(
        &self,
        variant: Variant,
        options: Options,
        stop: &Stop,
    ) -> Result<Ran<'_>, Failure> {
        let watch = || {
            self.progress.add(1);
            stop.obey();
        };
        let (states, report) = match variant {
            Variant::DataParallel => self.world.data_parallel(options, self.parts, watch),
            _ => self.world.network(options, watch),
        }
        .map_err(failed)?;
        Ok(Ran { answer: answer(states), report: Some(report) })
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(answer(self.world.sequential()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}
