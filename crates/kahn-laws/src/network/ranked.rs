//! Random networks over several ranks, held against the model as on one.

use super::compare::{broken_by, tally_meaning, told};
use super::interpreter::interpret;
use super::program::{How, Program};
use super::replayed::write_all;
use super::schedule::Schedule;
use super::translate::{Log, Ran, build, quiet};
use super::{generate, schedule, shrink};
use crate::campaign::{Campaign, Tally, Trouble};
use crate::draw::{Choice, Draw};
use kahn::{Network, Options, Report, RunError};

/// What runs networks over several ranks.
pub trait OverRanks {
    /// Runs the network that `build` writes down, once on each of so many ranks.
    ///
    /// # Errors
    /// As for [`Network::run`]; [`RunError::Refused`] if there was something wrong with a rank.
    fn run<'env>(
        &self,
        ranks: usize,
        seed: u64,
        options: &Options,
        build: &(dyn Fn(&mut Network<'env>) + Sync),
    ) -> Result<Report, RunError>;
}

/// The campaign over process networks on several ranks: each runs on 1 to 4 ranks, under several schedules.
#[derive(Clone, Copy, Debug)]
pub struct Ranked<R> {
    /// The runs of each network.
    pub runs: usize,
    /// What runs them.
    pub over: R,
}

impl<R: OverRanks> Campaign for Ranked<R> {
    type Case = Program;

    const NAME: &'static str = "ranks";

    fn choices(&self) -> &'static [&'static [&'static Choice]] {
        static ALL: &[&[&Choice]] = &[generate::CHOICES, schedule::UNCUT];
        ALL
    }

    fn draw(&self, draw: &mut Draw) -> Program {
        let mut program = generate::program(draw);
        write_all(&mut program);
        program
    }

    fn check(&self, program: &Program, draw: &mut Draw, tally: &mut Tally) -> Result<(), Trouble> {
        if program.processes.iter().any(|process| process.how() == How::Party) {
            return Err(Trouble::Refused("has a party outside"));
        }
        let meaning = interpret(program, None).map_err(|_| Trouble::Refused("does not end"))?;
        tally_meaning(&meaning, tally);
        quiet();
        let mut first = None;
        for number in 0..self.runs {
            let schedule = Schedule::uncut(draw);
            let ranks = 1 + number % 4;
            let seed = number as u64;
            let broken = |(promise, what): (&'static str, String)| {
                let ranks = format!("on {ranks} ranks, with seed {seed}");
                Trouble::Broken(promise, format!("{schedule}, {ranks}: {what}"))
            };
            let log = Log::default();
            let options = schedule.options();
            let report = self
                .over
                .run(ranks, seed, &options, &|network| drop(build(program, network, &log)));
            tally.schedules += 1;
            if matches!(report, Err(RunError::Check(_))) {
                tally.note("cases refused for an end that no process holds");
                return Ok(());
            }
            let ran = Ran { record: log.into_inner(), report: Ok(report) };
            let report = match &ran.report {
                Ok(Ok(report)) => report,
                Ok(Err(RunError::Ended(report))) => report,
                other => return Err(broken(("a network runs on ranks", format!("{other:?}")))),
            };
            if let Err((promise, what)) =
                broken_by(&meaning, &ran, report, schedule.quiescence, tally)
            {
                return Err(broken((promise, format!("{what}\n{}", report.explanation()))));
            }
            let told = told(&meaning, report);
            match &first {
                None => first = Some((schedule.quiescence, told)),
                // Whether a quiescent end is normal decides the outcome.
                Some((quiescence, first)) if *quiescence == schedule.quiescence => {
                    if let Some(difference) = told.difference(first) {
                        return Err(broken(difference));
                    }
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn smaller(&self, program: &Program) -> Vec<Program> {
        shrink::smaller(program)
    }
}
