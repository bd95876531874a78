//! The stages as a table: what each costs, and from where it gets its frames.

use crate::checksum::mix;
use crate::work::Work;

/// The macroblocks of a frame, of 16 by 16 pixels: those of 640 by 480. A divided stage divides them.
pub const MACROBLOCKS: u32 = 1200;

/// What a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Gives the frames.
    Source,
    /// Copies frames to several stages.
    Fork,
    /// Works on a frame by itself.
    Alone,
    /// Has workers that work on parts of a frame.
    Divided,
    /// Takes what comes out.
    Sink,
}

/// From where a stage gets its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// The frame that goes through the graph.
    This(&'static str),
    /// The one before it.
    Last(&'static str),
}

/// A stage of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) part: Part,
    /// What it costs, of ten thousand for the whole frame.
    share: u64,
    /// The first one ends first, or with the others.
    pub(super) inputs: &'static [Frame],
}

const fn row(name: &'static str, part: Part, share: u64, inputs: &'static [Frame]) -> Row {
    Row { name, part, share, inputs }
}

/// What a frame costs in all stages, as shares are counted.
const WHOLE: u64 = 10_000;

use Frame::{Last, This};
use Part::{Alone, Divided, Fork, Sink, Source};

/// The graph. Costs are those measured in x264; what was measured together is divided evenly.
pub(super) const STAGES: &[Row] = &[
    row("Fn", Source, 0, &[]),
    row("copy Fn", Fork, 0, &[This("Fn")]),
    row("Fn-1", Alone, 0, &[Last("copy plus")]),
    row("copy Fn-1", Fork, 0, &[This("Fn-1")]),
    row("ME", Divided, 1718, &[This("copy Fn"), This("copy Fn-1")]),
    row("MC", Divided, 1718, &[This("ME"), This("copy Fn-1")]),
    row("CIP", Alone, 808, &[This("copy Fn"), Last("copy plus")]),
    row("IP", Alone, 502, &[This("CIP"), Last("copy plus")]),
    row("P", Divided, 2383, &[This("MC"), This("IP")]),
    row("copy P", Fork, 0, &[This("P")]),
    row("minus", Alone, 0, &[This("copy Fn"), This("copy P")]),
    row("T", Alone, 217, &[This("minus")]),
    row("Q", Alone, 217, &[This("T")]),
    row("copy Q", Fork, 0, &[This("Q")]),
    row("R", Alone, 1330, &[This("copy Q")]),
    row("EC", Sink, 672, &[This("R")]),
    row("Qi", Alone, 217, &[This("copy Q")]),
    row("Ti", Alone, 217, &[This("Qi")]),
    row("plus", Alone, 0, &[This("copy P"), This("Ti")]),
    row("copy plus", Fork, 0, &[This("plus")]),
];

/// A stage and from where it gets its frames, for those who build the graph by other means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageShape {
    /// Its name.
    pub name: &'static str,
    /// What it spends on a frame.
    pub work: Work,
    /// Whether it divides a frame among workers.
    pub divided: bool,
    /// The stages that it gets a frame from, by their place in the list, and whether that is the
    /// frame before.
    pub inputs: Vec<(usize, bool)>,
}

/// Gives the stages of the table, if a frame costs `work` in all of them together.
pub(super) fn shapes(work: Work) -> Vec<StageShape> {
    let place = |name: &str| STAGES.iter().position(|row| row.name == name);
    let shape = |row: &Row| StageShape {
        name: row.name,
        work: work.between(0, row.share, WHOLE),
        divided: row.part == Divided,
        inputs: row
            .inputs
            .iter()
            .filter_map(|input| match input {
                This(name) => Some((place(name)?, false)),
                Last(name) => Some((place(name)?, true)),
            })
            .collect(),
    };
    STAGES.iter().map(shape).collect()
}

/// What stands for the frame before the first.
pub(super) const BLACK: u64 = 0;

/// A stage, ready to work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    number: u64,
    part: Part,
    /// Of a whole frame.
    whole: Work,
    /// Of a macroblock: of each of the first `more`, and of each of the others.
    blocks: [Work; 2],
    more: u64,
}

impl Stage {
    /// Makes the stage of a row ready, if a frame costs `work` in all stages together.
    pub(super) fn new(number: usize, row: &Row, work: Work) -> Self {
        let whole = work.between(0, row.share, WHOLE);
        let count = u64::from(MACROBLOCKS);
        let more = whole.units() % count;
        let least = whole.units() / count;
        let of = |units| whole.between(0, units, whole.units().max(1));
        let blocks = [of(least + u64::from(more > 0)), of(least)];
        Self { number: number as u64, part: row.part, whole, blocks, more }
    }

    /// Does what a stage does, by itself: makes a frame of those that come in.
    pub(super) fn run(self, inputs: &[u64]) -> u64 {
        let frame = self.begin(inputs);
        match self.part {
            Source | Fork => frame,
            Alone | Sink => self.whole.spend(frame),
            Divided => self.macroblocks(frame, 0, 1),
        }
    }

    /// Joins the frames that come in.
    pub(super) fn begin(self, inputs: &[u64]) -> u64 {
        inputs.iter().copied().fold(self.number, mix)
    }

    /// Does the macroblocks of a worker, of so many. What workers make of a frame is joined by
    /// exclusive or, so that it does not matter how many there are.
    pub(super) fn macroblocks(self, frame: u64, worker: u32, workers: u32) -> u64 {
        let until = |worker: u32| u64::from(MACROBLOCKS) * u64::from(worker) / u64::from(workers);
        (until(worker)..until(worker + 1)).fold(0, |sum, block| {
            let work = self.blocks[usize::from(block >= self.more)];
            sum ^ work.spend(mix(frame, block))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_those_of_the_measured_encoder() {
        let share = |names: &[&str]| -> u64 {
            let rows = STAGES.iter().filter(|row| names.contains(&row.name));
            rows.map(|row| row.share).sum()
        };
        assert_eq!(share(&["CIP"]), 808);
        assert_eq!(share(&["IP"]), 502);
        assert_eq!(share(&["MC", "ME"]), 3436);
        assert_eq!(share(&["P"]), 2383);
        assert_eq!(share(&["T", "Ti", "Q", "Qi"]), 868, "8.69 per cent, in four equal parts");
        assert_eq!(share(&["EC"]), 672);
        assert_eq!(share(&["R"]), 1330);
        assert_eq!(STAGES.iter().map(|row| row.share).sum::<u64>(), WHOLE - 1);
    }

    #[test]
    fn a_frame_comes_from_a_row_above_and_the_last_one_from_below() {
        for (number, row) in STAGES.iter().enumerate() {
            for input in row.inputs {
                let (This(name) | Last(name)) = input;
                let from = STAGES.iter().position(|other| other.name == *name).unwrap();
                assert_eq!(from < number, matches!(input, This(_)), "{name} to {}", row.name);
            }
        }
    }

    #[test]
    fn forks_are_processes_that_copy() {
        for row in STAGES {
            let names = STAGES.iter().flat_map(|other| other.inputs);
            let readers = names.filter(|input| {
                let (This(name) | Last(name)) = input;
                *name == row.name
            });
            match (row.part, readers.count()) {
                (Fork, readers) => assert!(readers > 1, "{}", row.name),
                (Sink, readers) => assert_eq!(readers, 0),
                (_, readers) => assert_eq!(readers, 1, "{}", row.name),
            }
        }
    }

    #[test]
    fn a_frame_does_not_show_how_many_workers_there_were() {
        let row = STAGES.iter().find(|row| row.part == Divided).unwrap();
        let stage = Stage::new(4, row, Work::iterations(1_000_000));
        assert!(stage.more > 0, "macroblocks differ");
        let alone = stage.macroblocks(7, 0, 1);
        for workers in [2, 3, 7, 1199, 1200, 5000] {
            let parts = (0..workers).map(|worker| stage.macroblocks(7, worker, workers));
            assert_eq!(parts.fold(0, |a, b| a ^ b), alone, "{workers} workers");
        }
    }

    #[test]
    fn the_macroblocks_cost_what_the_stage_costs() {
        let row = STAGES.iter().find(|row| row.name == "P").unwrap();
        for iterations in [0, 5, 100_000, 1_234_567] {
            let stage = Stage::new(0, row, Work::iterations(iterations));
            let [more, less] = stage.blocks.map(Work::units);
            let all = stage.more * more + (u64::from(MACROBLOCKS) - stage.more) * less;
            assert_eq!(all, stage.whole.units());
        }
    }
}
