//! Random process networks, held against what the model says of them.
//!
//! | file | what |
//! |---|---|
//! | `program` | the language, and how a program is shown |
//! | `machine` | the sequential half of a process: which operation comes next |
//! | `interpreter`, `world`, `pruning`, `failures` | what a program means, by the model alone |
//! | `translate`, `party` | a program as a network of the runtime |
//! | `schedule` | how it is run |
//! | `compare` | what came against what was to come |
//! | `replayed` | what is recorded of a run, and done again |
//! | `generate`, `shrink` | random programs, and smaller ones |

mod compare;
mod failures;
mod generate;
mod interpreter;
mod machine;
mod party;
pub mod program;
mod pruning;
mod ranked;
mod replayed;
mod schedule;
mod shrink;
mod translate;
mod world;

pub use interpreter::{Ending, History, Meaning, Mistake, Outlook, Unending, interpret};
pub use ranked::{OverRanks, Ranked};
pub use replayed::{Records, Replayed};

use crate::campaign::{Campaign, Tally, Trouble};
use crate::draw::{Choice, Draw};
use program::Program;

/// The campaign over process networks.
#[derive(Clone, Copy, Debug)]
pub struct Networks {
    /// The runs of each network.
    pub schedules: usize,
    /// A rule that the interpreter breaks, to see whether that is noticed.
    pub mistake: Option<Mistake>,
}

impl Default for Networks {
    fn default() -> Self {
        Self { schedules: 6, mistake: None }
    }
}

impl Campaign for Networks {
    type Case = Program;

    const NAME: &'static str = "networks";

    fn choices(&self) -> &'static [&'static [&'static Choice]] {
        static ALL: &[&[&Choice]] = &[generate::CHOICES, schedule::CHOICES];
        // The generator's lists are statics of their own.
        ALL
    }

    fn draw(&self, draw: &mut Draw) -> Program {
        generate::program(draw)
    }

    fn check(&self, program: &Program, draw: &mut Draw, tally: &mut Tally) -> Result<(), Trouble> {
        let unending = |why| {
            Trouble::Refused(match why {
                Unending::Long => "does not end within some thousand steps",
                Unending::Narrow => "ends only with more room than a run may have",
                Unending::Scheduled => "ends only in schedules that prune a process in time",
            })
        };
        let meaning = interpret(program, self.mistake).map_err(unending)?;
        if self.mistake.is_some() {
            // What ends by mistake alone would run for ever.
            interpret(program, None).map_err(unending)?;
        }
        compare::check(program, &meaning, self.schedules, draw, tally)
    }

    fn smaller(&self, program: &Program) -> Vec<Program> {
        shrink::smaller(program)
    }
}
