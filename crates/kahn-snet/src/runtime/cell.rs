//! Synchro-cells, alone and as a star of them.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::shape::Rec;

/// The records of a cell that has all, by pattern.
pub(super) type Slots = SmallVec<[Rec; 2]>;

/// What became of a record that came to a cell.
#[derive(Debug)]
pub(super) enum Offer {
    /// It waits for the others.
    Kept,
    /// No slot was free for it.
    Passed(Rec),
    /// It was the last; all of them together are one record now.
    Complete(Slots),
}

/// A synchro-cell: joins once, and passes everything on for ever after.
#[derive(Debug)]
pub(super) enum Cell {
    /// The patterns that have a record, a bit for each, and these records in the order of the
    /// patterns. No more room than they need, for there may be very many cells that wait.
    Open {
        filled: u64,
        kept: Vec<Rec>,
    },
    Done,
}

impl Cell {
    pub(super) fn new() -> Self {
        Self::Open { filled: 0, kept: Vec::new() }
    }

    /// Offers a record that fits those of `patterns` whose bits are set.
    pub(super) fn offer(&mut self, rec: Rec, fits: u64, patterns: usize) -> Offer {
        let Self::Open { filled, kept } = self else { return Offer::Passed(rec) };
        let free = fits & !*filled;
        if free == 0 {
            return Offer::Passed(rec);
        }
        let more = free.count_ones() as usize;
        if kept.len() + more < patterns {
            kept.reserve_exact(more);
            fill(filled, free, rec, |at, rec| kept.insert(at, rec));
            return Offer::Kept;
        }
        let mut slots: Slots = kept.drain(..).collect();
        fill(filled, free, rec, |at, rec| slots.insert(at, rec));
        *self = Self::Done;
        Offer::Complete(slots)
    }

    /// Whether it has not fired.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// What it still waits with.
    pub(super) fn half_filled(&self) -> impl Iterator<Item = &Rec> {
        let kept = match self {
            Self::Open { kept, .. } => kept.as_slice(),
            Self::Done => &[],
        };
        kept.iter()
    }
}

/// Inserts a record for each pattern of `free`, where it belongs among those of `filled`.
fn fill(filled: &mut u64, mut free: u64, rec: Rec, mut insert: impl FnMut(usize, Rec)) {
    let mut place = |slot: u32, rec| {
        insert((*filled & ((1 << slot) - 1)).count_ones() as usize, rec);
        *filled |= 1 << slot;
    };
    while !free.is_power_of_two() {
        place(free.trailing_zeros(), rec.clone());
        free &= free - 1;
    }
    place(free.trailing_zeros(), rec);
}

/// A star whose body is a single cell: a list of cells that are still open.
///
/// A cell that fired passes everything on, so only open cells need be kept. For each pattern it
/// is known up to which cell its slot is surely filled: a record goes straight to its cell.
#[derive(Debug)]
pub(super) struct Zipper {
    /// Cells in order; the number of the first is `base`, fired ones are `Done`.
    cells: VecDeque<Cell>,
    base: u64,
    /// For each pattern the first cell whose slot may be free.
    free: SmallVec<[u64; 2]>,
}

impl Zipper {
    pub(super) fn new(patterns: usize) -> Self {
        Self { cells: VecDeque::new(), base: 0, free: SmallVec::from_elem(0, patterns) }
    }

    /// Offers a record to the cells from number `from` on; tells which cell it completed.
    pub(super) fn offer(&mut self, mut rec: Rec, fits: u64, from: u64) -> (Offer, u64) {
        let patterns = self.free.len();
        let fitting = || (0..patterns).filter(move |pattern| fits >> pattern & 1 == 1);
        let start = fitting().map(|pattern| self.free[pattern]).min().unwrap_or(0);
        let mut number = start.max(from).max(self.base);
        loop {
            let index = usize::try_from(number - self.base).unwrap_or(usize::MAX);
            if index >= self.cells.len() {
                self.cells.push_back(Cell::new());
            }
            match self.cells[index].offer(rec, fits, patterns) {
                Offer::Passed(back) => rec = back,
                Offer::Complete(slots) => {
                    self.shrink();
                    return (Offer::Complete(slots), number);
                }
                Offer::Kept => return (Offer::Kept, number),
            }
            for pattern in fitting() {
                if self.free[pattern] == number {
                    self.free[pattern] += 1;
                }
            }
            number += 1;
        }
    }

    fn shrink(&mut self) {
        while matches!(self.cells.front(), Some(Cell::Done)) {
            self.cells.pop_front();
            self.base += 1;
        }
        for free in &mut self.free {
            *free = (*free).max(self.base);
        }
    }

    /// The records that still wait, each with the number of its cell, from 1.
    pub(super) fn half_filled(&self) -> impl Iterator<Item = (i64, &Rec)> {
        let base = i64::try_from(self.base).unwrap_or(i64::MAX);
        (base + 1..)
            .zip(&self.cells)
            .flat_map(|(number, cell)| cell.half_filled().map(move |rec| (number, rec)))
    }
}
