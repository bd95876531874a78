//! The dining philosophers: how processes that share come to a standstill, and how not.
//!
//! Around a table sit as many philosophers as there are forks. A philosopher thinks, takes the fork
//! on either side, eats, and puts both back; a fork is in one hand at a time. A fork is something
//! shared that is claimed.
//!
//! * *deadlock*: a bell rings for each round. Everyone takes the left fork, and when all have, the
//!   right one; but that is the left one of the neighbour. Without the bell it would happen some
//!   day. With it, it happens in the first round under every schedule.
//! * *corrected*: forks are numbered, and each philosopher takes the one with the lower number
//!   first. Somebody always has the highest number that is taken, and can go on.
//!
//! Source: Dijkstra, "Hierarchical ordering of sequential processes", 1971; Hoare, "Communicating
//! Sequential Processes", 1985, section 2.5.

use kahn_csp::{self as csp, Barrier, Options, Report, RunError, Shared};

use crate::{Answer, Failure, Program, Progress, Ran, Stop, Variant, failed, whole};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run philosophers --seats 100 --rounds 1000     all of them eat
  kahn run philosophers --variant deadlock            who waits for whose fork";

/// The most philosophers at a table.
pub const MOST_SEATS: u32 = 1_000_000;

/// What is typed after `philosophers`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many philosophers, and forks: 2 to 1000000
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = whole(2..=i64::from(MOST_SEATS)))]
    seats: u32,

    /// How often each of them eats
    #[arg(long, value_name = "R", default_value_t = 100)]
    rounds: u32,
}

/// A table, and how long they dine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// How many philosophers, and forks: two or more.
    pub seats: u32,
    /// How often each of them eats.
    pub rounds: u32,
}

/// What happened at a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evening {
    /// How often somebody ate.
    pub meals: u64,
    /// How often a fork was taken, as the forks have counted.
    pub taken: u64,
}

/// A fork counts how often it is taken.
type Fork = Shared<u64>;

impl Table {
    /// Lets them dine, in the order that cannot get stuck or, with a bell, in the one that must.
    ///
    /// `watch` is called for each meal.
    ///
    /// ```
    /// use kahn_csp::Options;
    /// use kahn_apps::philosophers::Table;
    ///
    /// let table = Table { seats: 5, rounds: 3 };
    /// let (evening, _report) = table.dine(Options::new(), true, || {})?;
    /// assert_eq!((evening.meals, evening.taken), (15, 30));
    ///
    /// let stuck = table.dine(Options::new(), false, || {}).expect_err("nobody can eat");
    /// assert!(stuck.to_string().contains("`fork 3`"));
    /// # Ok::<(), kahn_csp::RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the explanation of the deadlock, if there is one.
    ///
    /// # Panics
    ///
    /// Panics if there are less than two seats.
    pub fn dine(
        self,
        options: Options,
        corrected: bool,
        watch: impl Fn() + Sync,
    ) -> Result<(Evening, Report), RunError> {
        assert!(self.seats > 1, "a philosopher has two forks");
        let watch = &watch;
        let run = csp::run(options, async move |scope| {
            let forks: Vec<Fork> =
                (0..self.seats).map(|n| Fork::new(format!("fork {n}"), 0)).collect();
            let bell = (!corrected).then(|| Barrier::new("bell"));
            let mut philosophers = Vec::new();
            for (seat, left) in forks.iter().enumerate() {
                let right = (seat + 1) % forks.len();
                let (left, right) = (left.clone(), forks[right].clone());
                // Only the last one has the higher number on the left.
                let is_last = seat + 1 == forks.len();
                let forks = if corrected && is_last { [right, left] } else { [left, right] };
                let bell = bell.clone();
                let philosopher = philosopher(forks, self.rounds, bell, watch);
                philosophers.push(scope.fork(format!("philosopher {seat}"), philosopher));
            }
            drop(bell);
            let (mut meals, mut taken) = (0, 0);
            for philosopher in philosophers {
                meals += philosopher.join().await.unwrap_or(0);
            }
            for fork in &forks {
                taken += *fork.claim().await;
            }
            Evening { meals, taken }
        })?;
        Ok((run.result, run.report))
    }

    /// Counts what must happen if everyone eats as often as meant.
    pub fn sequential(self) -> Evening {
        let meals = (0..self.seats).map(|_| u64::from(self.rounds)).sum();
        Evening { meals, taken: 2 * meals }
    }
}

/// Takes two forks in the given order, eats, thinks; returns how often.
async fn philosopher(
    [first, second]: [Fork; 2],
    rounds: u32,
    mut bell: Option<Barrier>,
    watch: &(impl Fn() + Sync),
) -> u64 {
    let mut meals = 0;
    for _ in 0..rounds {
        let mut one = first.claim().await;
        *one += 1;
        match &mut bell {
            Some(bell) => bell.sync().await,
            None => csp::yield_now().await,
        }
        let mut other = second.claim().await;
        *other += 1;
        meals += 1;
        watch();
        drop((one, other));
        csp::yield_now().await;
    }
    meals
}

/// A table with its result, as a program.
#[derive(Debug)]
pub struct PhilosophersProgram {
    table: Table,
    progress: Progress,
}

impl PhilosophersProgram {
    /// Makes the program from what was typed.
    pub fn new(arguments: &Arguments) -> Self {
        let Arguments { seats, rounds } = *arguments;
        let progress = Progress::new("meals", Some(u64::from(seats) * u64::from(rounds)));
        Self { table: Table { seats, rounds }, progress }
    }
}

fn answer<'env>(Evening { meals, taken }: Evening) -> Answer<'env> {
    Answer::new(move |out| writeln!(out, "{meals} meals, forks taken {taken} times"))
}

impl Program for PhilosophersProgram {
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
        let ran = self.table.dine(options, variant == Variant::Corrected, watch);
        let (evening, report) = ran.map_err(failed)?;
        Ok(Ran { answer: answer(evening), report: Some(report) })
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(answer(self.table.sequential()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}
