//! Synchro-cells, alone and as a star of them.

use std::collections::{BTreeMap, VecDeque};

use smallvec::SmallVec;

use super::answers::Facts;
use super::graph::{Kind, OpId};
use super::marks::BEFORE_ALL;
use super::shape::{LabelId, Position, Rec, ShapeId};
use super::tickets::Tickets;

/// The records of a cell that has all, by pattern.
pub(crate) type Slots = SmallVec<[Rec; 2]>;

/// What became of a record that came to a cell.
#[derive(Debug)]
pub(crate) enum Offer {
    /// It waits for the others.
    Kept,
    /// No slot was free for it.
    Passed(Rec),
    /// It was the last; all of them together are one record now.
    Complete(Slots),
}

/// A synchro-cell: joins once, and passes everything on for ever after.
#[derive(Debug)]
pub(crate) enum Cell {
    /// The patterns that have a record, a bit for each, and these records in the order of the
    /// patterns. No more room than they need, for there may be very many cells that wait.
    Open {
        filled: u64,
        kept: Vec<Rec>,
    },
    Done,
}

impl Cell {
    pub(crate) fn new() -> Self {
        Self::Open { filled: 0, kept: Vec::new() }
    }

    /// Offers a record that fits those of `patterns` whose bits are set.
    pub(crate) fn offer(&mut self, rec: Rec, fits: u64, patterns: usize) -> Offer {
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
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// What it still waits with.
    pub(crate) fn half_filled(&self) -> impl Iterator<Item = &Rec> {
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
pub(crate) struct Zipper {
    /// Cells in order; the number of the first is `base`, fired ones are `Done`.
    cells: VecDeque<Cell>,
    base: u64,
    /// For each pattern the first cell whose slot may be free.
    free: SmallVec<[u64; 2]>,
}

impl Zipper {
    pub(crate) fn new(patterns: usize) -> Self {
        Self { cells: VecDeque::new(), base: 0, free: SmallVec::from_elem(0, patterns) }
    }

    /// Offers a record to the cells from number `from` on; tells which cell it completed.
    pub(crate) fn offer(&mut self, mut rec: Rec, fits: u64, from: u64) -> (Offer, u64) {
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
    pub(crate) fn half_filled(&self) -> impl Iterator<Item = (i64, &Rec)> {
        let base = i64::try_from(self.base).unwrap_or(i64::MAX);
        (base + 1..)
            .zip(&self.cells)
            .flat_map(|(number, cell)| cell.half_filled().map(move |rec| (number, rec)))
    }
}

/// How the records of a cell become one.
#[derive(Debug)]
pub(crate) struct MergeStep {
    pub(crate) shape: ShapeId,
    /// Slot and index.
    fields: Vec<(usize, usize)>,
    tags: Vec<(usize, usize)>,
}

impl MergeStep {
    /// Joins the records; the new one has no slots in any order yet.
    pub(crate) fn of(&self, slots: &[Rec]) -> Rec {
        let fields = self.fields.iter().map(|(slot, index)| slots[*slot].fields[*index].clone());
        let tags = self.tags.iter().map(|(slot, index)| slots[*slot].tags[*index]);
        let (fields, tags) = (fields.collect(), tags.collect());
        let number = slots.iter().map(|rec| rec.number).max().unwrap_or(BEFORE_ALL);
        Rec { shape: self.shape, number, tickets: Tickets::default(), tags, fields }
    }
}

/// How records of these shapes become one in a cell.
pub(crate) fn merge(facts: Facts<'_>, op: OpId, slots: &[ShapeId]) -> MergeStep {
    let tests = match &facts.graph.ops[op.0].kind {
        Kind::Cell(tests) | Kind::Star { zipper: Some(tests), .. } => tests.as_slice(),
        _ => &[],
    };
    let mut from: BTreeMap<LabelId, (usize, usize)> = BTreeMap::new();
    for (slot, shape) in slots.iter().enumerate() {
        let of = facts.shapes.get(*shape);
        let labels = if slot == 0 { &of.labels } else { &tests[slot].wanted.labels };
        for label in labels {
            if let Some(Position::Field(index) | Position::Tag(index)) = of.position(*label) {
                from.insert(*label, (slot, index));
            }
        }
    }
    let labels: Vec<LabelId> = from.keys().copied().collect();
    let (shape, of) = facts.shapes.shape(&labels);
    let sources: Vec<(usize, usize)> = from.into_values().collect();
    let (fields, tags) = sources.split_at(of.fields);
    MergeStep { shape, fields: fields.into(), tags: tags.into() }
}
