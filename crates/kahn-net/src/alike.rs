//! Whether all ranks have the same files, before anything runs.
//!
//! What two ranks have mapped of one file of one machine is the same, and is not read for that. Otherwise both read
//! what they have, with all cores that they may use, and sum it up.
//!
//! | | another rank | rank 0 |
//! |---|---|---|
//! | its network is about to run | tells what it has (`Hello`), and waits at its gate | waits at its gate |
//! | what another has told is [the same](Input::is_same) | | has it begin (`Begin`) |
//! | … may be another | | has it sum up, and itself (`Sum`) |
//! | is to sum up | does so, and tells (`Sums`) | the same |
//! | the sums of another and its own are there | | has it begin, if they are the same; else ends the run |
//! | all others are to begin | | begins |
//!
//! What waits is the thread that is about to run the network, at the [`Gate`]; the loop of the rank goes on, and opens
//! the gate, too, when the run is over. Without files nothing waits.
//!
//! *Nothing runs that may be wrong.* A rank begins when rank 0 has compared it, and rank 0, which alone acts outside, when
//! it has compared all. What another sends to a rank that has not begun is kept there, within its window.

use crate::coordinator::Say;
use crate::files::{Input, Sum, sum};
use crate::frame::Frame;
use parking_lot::{Condvar, Mutex};

/// What is different about the files, or the network, of another rank than here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Network(String),
    Input { path: String, what: String },
}

/// The first difference of another rank's files from those here that is known without reading them.
fn difference(own: &[Input], others: &[Input]) -> Option<Difference> {
    let other = |(own, there): (&Input, &Input)| {
        let what = if own.path != there.path {
            format!("it is `{}` there", there.path)
        } else if own.bytes != there.bytes {
            format!("it has {} bytes there, and {} here", there.bytes, own.bytes)
        } else {
            return None;
        };
        Some(Difference::Input { path: own.path.clone(), what })
    };
    own.iter().zip(others).find_map(other).or_else(|| {
        let more = || format!("it depends on {} files, and {} here", others.len(), own.len());
        (own.len() != others.len()).then(|| Difference::Network(more()))
    })
}

/// What rank 0 knows of the files of all ranks.
#[derive(Debug)]
pub(crate) struct Comparison {
    own: Vec<Input>,
    /// Of each rank, itself among them.
    ranks: Vec<Known>,
}

/// What rank 0 knows of the files of a rank.
#[derive(Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    /// It is to sum them up.
    Asked,
    Sums(Vec<Sum>),
    /// They are the same.
    Same,
}

/// Why there is nothing to be said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// What a rank has is another.
    Differs { rank: usize, difference: Difference },
    /// A rank has told what it was not asked for.
    OutOfTurn,
}

impl Comparison {
    pub(crate) fn new(ranks: usize, own: Vec<Input>) -> Self {
        Self { own, ranks: std::iter::repeat_with(|| Known::Nothing).take(ranks).collect() }
    }

    /// Another rank has told what it has; returns what is to be said to ranks, rank 0 among them.
    pub(crate) fn told(&mut self, rank: usize, inputs: &[Input]) -> Result<Vec<Say>, Wrong> {
        if self.ranks[rank] != Known::Nothing {
            return Err(Wrong::OutOfTurn);
        }
        if let Some(difference) = difference(&self.own, inputs) {
            return Err(Wrong::Differs { rank, difference });
        }
        if self.own.iter().zip(inputs).all(|(own, other)| own.is_same(other)) {
            return Ok(self.has_same(rank));
        }
        let mut says = Vec::new();
        for asked in [rank, 0] {
            if self.ranks[asked] == Known::Nothing {
                self.ranks[asked] = Known::Asked;
                says.push((asked, Frame::Sum));
            }
        }
        Ok(says)
    }

    /// A rank has summed up what it has; returns what is to be said.
    pub(crate) fn summed(&mut self, rank: usize, sums: &[Sum]) -> Result<Vec<Say>, Wrong> {
        if self.ranks[rank] != Known::Asked || sums.len() != self.own.len() {
            return Err(Wrong::OutOfTurn);
        }
        self.ranks[rank] = Known::Sums(sums.to_vec());
        let mut says = Vec::new();
        let Known::Sums(own) = &self.ranks[0] else { return Ok(says) };
        let own = own.clone();
        for rank in 1..self.ranks.len() {
            let Known::Sums(sums) = &self.ranks[rank] else { continue };
            if let Some(file) = own.iter().zip(sums).position(|(own, there)| own != there) {
                let Input { path, bytes, .. } = &self.own[file];
                let what = format!("its {bytes} bytes have another SHA-256 there");
                let difference = Difference::Input { path: path.clone(), what };
                return Err(Wrong::Differs { rank, difference });
            }
            says.extend(self.has_same(rank));
        }
        Ok(says)
    }

    /// Another rank has the same as this one: it begins, and after the last of them so does this one.
    fn has_same(&mut self, rank: usize) -> Vec<Say> {
        self.ranks[rank] = Known::Same;
        let is_last = self.ranks[1..].iter().all(|known| *known == Known::Same);
        let begin = [Some(rank), is_last.then_some(0)].into_iter().flatten();
        // Without files none waits.
        begin.filter(|_| !self.own.is_empty()).map(|rank| (rank, Frame::Begin)).collect()
    }
}

/// What holds the thread that is about to run the network until the rank is to begin.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    stage: Mutex<Stage>,
    bell: Condvar,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Closed,
    /// The files are to be summed up.
    Wanted,
    /// They are, and that is to be told.
    Summed(Vec<Sum>),
    /// That was told.
    Told,
    Open,
}

impl Gate {
    /// Waits until it is open.
    pub(crate) fn pass(&self) {
        let mut stage = self.stage.lock();
        self.bell.wait_while(&mut stage, |stage| *stage != Stage::Open);
    }

    /// Whether it is not open, and nothing is summed up here.
    pub(crate) fn holds(&self) -> bool {
        !matches!(*self.stage.lock(), Stage::Open | Stage::Wanted)
    }

    pub(crate) fn open(&self) {
        *self.stage.lock() = Stage::Open;
        self.bell.notify_all();
    }

    /// Has the files summed up, once.
    pub(crate) fn want_sums(&self) {
        let mut stage = self.stage.lock();
        if *stage == Stage::Closed {
            *stage = Stage::Wanted;
            self.bell.notify_all();
        }
    }

    /// Waits until files are to be summed up, which have these contents, and does so; or until the gate is open.
    pub(crate) fn sum(&self, contents: &[&[u8]]) {
        self.bell.wait_while(&mut self.stage.lock(), |stage| *stage == Stage::Closed);
        let is_wanted = || *self.stage.lock() == Stage::Wanted;
        let sums: Option<Vec<Sum>> =
            contents.iter().map(|contents| sum(contents, is_wanted)).collect();
        let mut stage = self.stage.lock();
        if let (Some(sums), Stage::Wanted) = (sums, &*stage) {
            *stage = Stage::Summed(sums);
        }
    }

    /// Takes the sums that are to be told, if there are some.
    pub(crate) fn take_sums(&self) -> Option<Vec<Sum>> {
        let mut stage = self.stage.lock();
        let Stage::Summed(sums) = &mut *stage else { return None };
        let sums = std::mem::take(sums);
        *stage = Stage::Told;
        Some(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(numbers: &[Option<u64>]) -> Vec<Input> {
        numbers.iter().map(|number| Input::known(12, *number)).collect()
    }

    fn other(what: &str) -> Wrong {
        let (path, what) = ("poem.txt".to_owned(), what.to_owned());
        Wrong::Differs { rank: 1, difference: Difference::Input { path, what } }
    }

    #[test]
    fn what_all_have_mapped_alike_nobody_reads_and_this_rank_is_the_last_to_begin() {
        let mut all = Comparison::new(3, files(&[Some(1), Some(2)]));
        let begin = |rank| (rank, Frame::Begin);
        assert_eq!(all.told(2, &files(&[Some(1), Some(2)])), Ok(vec![begin(2)]));
        assert_eq!(all.told(1, &files(&[Some(1), Some(2)])), Ok(vec![begin(1), begin(0)]));
    }

    #[test]
    fn where_there_are_no_files_nobody_waits() {
        assert_eq!(Comparison::new(2, Vec::new()).told(1, &[]), Ok(Vec::new()));
    }

    #[test]
    fn what_may_be_another_is_summed_up_by_those_that_have_it_and_begins_if_it_is_the_same() {
        let (begin, sum) = (|rank| (rank, Frame::Begin), |rank| (rank, Frame::Sum));
        for own_is_first in [true, false] {
            let mut all = Comparison::new(4, files(&[Some(1)]));
            assert_eq!(all.told(1, &files(&[Some(2)])), Ok(vec![sum(1), sum(0)]));
            assert_eq!(all.told(2, &files(&[Some(1)])), Ok(vec![begin(2)]));
            assert_eq!(all.told(3, &files(&[None])), Ok(vec![sum(3)]));
            let (first, second) = if own_is_first { (0, 1) } else { (1, 0) };
            assert_eq!(all.summed(first, &[[7; 32]]), Ok(Vec::new()));
            assert_eq!(all.summed(second, &[[7; 32]]), Ok(vec![begin(1)]));
            assert_eq!(all.summed(3, &[[7; 32]]), Ok(vec![begin(3), begin(0)]));
        }
    }

    #[test]
    fn what_is_another_is_told() {
        let with = |inputs: &[Input]| Comparison::new(2, files(&[None])).told(1, inputs);
        assert_eq!(with(&[Input::known(5, None)]), Err(other("it has 5 bytes there, and 12 here")));
        let what = Difference::Network("it depends on 2 files, and 1 here".to_owned());
        let more = Err(Wrong::Differs { rank: 1, difference: what });
        assert_eq!(with(&files(&[None, None])), more);
        let mut all = Comparison::new(2, files(&[None, None]));
        assert!(all.told(1, &files(&[None, None])).is_ok());
        assert_eq!(all.summed(0, &[[7; 32], [7; 32]]), Ok(Vec::new()));
        let summed = all.summed(1, &[[7; 32], [8; 32]]);
        assert_eq!(summed, Err(other("its 12 bytes have another SHA-256 there")));
    }

    #[test]
    fn what_a_rank_was_not_asked_for_is_refused() {
        let mut all = Comparison::new(2, files(&[None]));
        assert_eq!(all.summed(1, &[[7; 32]]), Err(Wrong::OutOfTurn));
        assert!(all.told(1, &files(&[None])).is_ok());
        assert_eq!(all.told(1, &files(&[None])), Err(Wrong::OutOfTurn));
        assert_eq!(all.summed(1, &[]), Err(Wrong::OutOfTurn));
        assert_eq!(all.summed(1, &[[7; 32]]), Ok(Vec::new()));
        assert_eq!(all.summed(1, &[[7; 32]]), Err(Wrong::OutOfTurn));
    }

    #[test]
    fn sums_are_made_when_they_are_wanted_and_told_once() {
        let gate = Gate::default();
        gate.want_sums();
        gate.sum(&[b"to be", b"or not"]);
        assert_eq!(gate.take_sums().map(|sums| sums.len()), Some(2));
        assert_eq!(gate.take_sums(), None);
        gate.want_sums();
        assert_eq!(gate.take_sums(), None);
        gate.open();
        gate.pass();
        let gate = Gate::default();
        gate.open();
        gate.want_sums();
        gate.sum(&[b"to be"]);
        assert_eq!(gate.take_sums(), None);
    }
}
