//! Synchro-cells, alone and as a star of them.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::shape::Rec;

/// Records for the patterns of a cell; a record may stand for several.
///
/// Empty as long as nothing came.
pub(super) type Slots = Vec<Option<Rec>>;

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
    Open(Slots),
    Done,
}

impl Cell {
    pub(super) fn new() -> Self {
        Self::Open(Slots::new())
    }

    /// Offers a record that fits those of `patterns` whose bits are set.
    pub(super) fn offer(&mut self, rec: Rec, fits: u64, patterns: usize) -> Offer {
        let Self::Open(slots) = self else { return Offer::Passed(rec) };
        slots.resize_with(patterns, || None);
        let mut free = (0..patterns).filter(|slot| fits >> slot & 1 == 1 && slots[*slot].is_none());
        let Some(first) = free.next() else { return Offer::Passed(rec) };
        let others: SmallVec<[usize; 4]> = free.collect();
        for slot in others {
            slots[slot] = Some(rec.clone());
        }
        slots[first] = Some(rec);
        if slots.iter().any(Option::is_none) {
            return Offer::Kept;
        }
        let slots = std::mem::take(slots);
        *self = Self::Done;
        Offer::Complete(slots)
    }

    /// Whether it still waits with something in it.
    pub(super) fn half_filled(&self) -> impl Iterator<Item = &Rec> {
        let slots = match self {
            Self::Open(slots) => slots.as_slice(),
            Self::Done => &[],
        };
        slots.iter().flatten()
    }
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

    /// The records that still wait.
    pub(super) fn half_filled(&self) -> impl Iterator<Item = &Rec> {
        self.cells.iter().flat_map(Cell::half_filled)
    }
}
