//! Type-stable memory: blocks that are recycled, never returned while the pool lives.
//!
//! A detector may follow a pointer to a process or a channel that has just ended. That is sound
//! because the block behind it keeps its type: what is read may be stale, and the second look at
//! the words finds that out, but it is never memory of another type. See `deadlock`.
//!
//! ```text
//!   chunk  │ owner · size · which are free │ block │ block │ block │ …      at a multiple of CHUNK
//! ```
//!
//! Blocks of one size share a chunk, and a chunk knows which of them are in use: so the pool is the
//! table of what there is as well, and a block pays one bit for it. The chunk of a block is found
//! from the block's address, and with it the owner of the pool: no block has a pointer to that.

use crate::sync::system::have_pages;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ops::Range;
use std::ptr::NonNull;

/// A chunk starts at a multiple of this, and is no larger unless one block is.
const CHUNK: usize = 64 * 1024;
/// Every block starts on a cache line.
const LINE: usize = 64;
/// What inverses are scaled by.
const INVERSE_OF: usize = 1 << 16;
const _: () = assert!(CHUNK / LINE < INVERSE_OF, "or an inverse is not exact enough");
/// Blocks of the first chunk of a size, for most networks are small.
const FEW: usize = 4;
/// The smallest block has three lines.
const SMALLEST: usize = 3 * LINE;
const WORDS: usize = (CHUNK / SMALLEST).div_ceil(64);
/// The most chunks that are asked of the system at once.
const MOST_AT_ONCE: usize = 16;
/// So many chunks of a size get their pages as they are touched, for a network may need no more.
const MOST_PAGE_BY_PAGE: usize = 4;
/// Chunks that are looked through for a few blocks in use.
const MOST_LOOKED_AT: usize = 64;

/// Blocks by size, in multiples of a cache line.
#[derive(Debug, Default)]
pub struct BlockPool {
    /// Few, so they are searched from the first.
    classes: Vec<Class>,
    /// The place of the class of which a block was taken last.
    latest: usize,
    memory: Memory,
    /// Where the last few blocks ended: class, chunk, block.
    place: (usize, usize, usize),
}

/// What the system gave.
///
/// It is asked for several chunks at once, for each time costs a page beside an aligned start.
#[derive(Debug, Default)]
struct Memory {
    all: Vec<(NonNull<u8>, Layout)>,
    /// The first chunk that is free, and how many there are from it on.
    spare: Option<(NonNull<u8>, usize)>,
    at_once: usize,
}

#[derive(Debug)]
struct Class {
    size: usize,
    chunks: Vec<NonNull<Chunk>>,
    /// Those with a block that is not in use.
    with_room: Vec<NonNull<Chunk>>,
}

/// The head of a chunk.
#[repr(C)]
struct Chunk {
    owner: *const (),
    size: usize,
    blocks: usize,
    /// By which a distance in lines is divided by the lines of a block; see [`Chunk::index_of`].
    inverse: usize,
    // Any thread reads what is above at any time; only the pool's holder looks at the line below.
    room: Room,
}

#[derive(Default)]
#[repr(C, align(64))]
struct Room {
    /// The blocks from this one on were never used.
    fresh: Cell<usize>,
    in_use: Cell<usize>,
    /// A bit for each block that was used and is not in use.
    free: [Cell<u64>; WORDS],
}

/// What [`BlockPool::take`] hands out.
#[derive(Debug)]
pub struct Block {
    /// Where it begins.
    pub start: NonNull<u8>,
    /// Whether the block was used before: its header is then alive, and may be being read.
    pub recycled: bool,
}

// SAFETY: the pointers are to memory that the pool alone owns and hands out.
unsafe impl Send for BlockPool {}

impl BlockPool {
    /// Takes a block of at least `size` bytes, aligned to a cache line; `owner` is what
    /// [`owner_of`](Self::owner_of) tells.
    pub fn take(&mut self, size: usize, owner: *const ()) -> Block {
        let size = size.next_multiple_of(LINE).max(SMALLEST);
        if self.classes.get(self.latest).is_none_or(|class| class.size != size) {
            self.latest = self.class_of(size);
        }
        let class = &mut self.classes[self.latest];
        let chunk =
            class.with_room.last().copied().unwrap_or_else(|| class.grow(&mut self.memory, owner));
        // SAFETY: chunks live as long as the pool.
        let head = unsafe { chunk.as_ref() };
        let (index, recycled) = head.take();
        if head.room.in_use.get() == head.blocks {
            class.with_room.pop();
        }
        Block { start: Chunk::block(chunk, size, index), recycled }
    }

    /// The place of the class of this size, which is made if there is none.
    #[inline(never)]
    fn class_of(&mut self, size: usize) -> usize {
        let known = self.classes.iter().position(|class| class.size == size);
        known.unwrap_or_else(|| {
            self.classes.push(Class { size, chunks: Vec::new(), with_room: Vec::new() });
            self.classes.len() - 1
        })
    }

    /// Takes back a block.
    ///
    /// # Safety
    /// It was taken from this pool, and was not given back since.
    pub unsafe fn give(&mut self, start: NonNull<u8>) {
        let chunk = Chunk::of(start);
        // SAFETY: the block is the pool's, and so is its chunk.
        let head = unsafe { chunk.as_ref() };
        let index = head.index_of(start.addr().get() - chunk.addr().get() - size_of::<Chunk>());
        debug_assert!(head.is_in_use(index), "a block is given back once");
        if head.room.in_use.get() == head.blocks
            && let Some(class) = self.classes.iter_mut().find(|class| class.size == head.size)
        {
            class.with_room.push(chunk);
        }
        head.room.in_use.update(|count| count - 1);
        head.room.free[index / 64].update(|free| free | 1 << (index % 64));
    }

    /// The owner of the pool that a block was taken from.
    ///
    /// # Safety
    /// The block is that of a pool which is alive.
    pub unsafe fn owner_of(start: NonNull<u8>) -> *const () {
        // SAFETY: said by the caller; the owner is written before the first block is handed out.
        unsafe { (*Chunk::of(start).as_ptr()).owner }
    }

    /// All blocks in use, the same order in every run that takes and gives the same.
    pub fn in_use(&self) -> impl Iterator<Item = NonNull<u8>> {
        self.chunks().flat_map(|(chunk, head)| head.blocks_in_use(chunk))
    }

    fn chunks(&self) -> impl Iterator<Item = (NonNull<Chunk>, &Chunk)> {
        let chunks = self.classes.iter().flat_map(|class| &class.chunks);
        // SAFETY: the pool is borrowed, so no other thread touches a head.
        chunks.map(|&chunk| (chunk, unsafe { &*chunk.as_ptr() }))
    }

    /// How many blocks are in use.
    pub fn len(&self) -> usize {
        self.chunks().map(|(_, head)| head.room.in_use.get()).sum()
    }

    /// Whether no block is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The blocks in use that have these places in the order of [`in_use`](Self::in_use). Chunks before
    /// them are counted, and not looked through.
    pub fn part(&self, places: Range<usize>) -> impl Iterator<Item = NonNull<u8>> {
        let (mut chunks, mut before) = (self.chunks().peekable(), places.start);
        while let Some((_, head)) = chunks.next_if(|(_, head)| head.room.in_use.get() <= before) {
            before -= head.room.in_use.get();
        }
        chunks.flat_map(|(chunk, head)| head.blocks_in_use(chunk)).skip(before).take(places.len())
    }

    /// The next few blocks in use after those of the last call, round and round.
    pub fn next_few(&mut self, count: usize) -> Vec<NonNull<u8>> {
        let mut few = Vec::new();
        let (mut class, mut chunk, mut index) = self.place;
        for _ in 0..MOST_LOOKED_AT {
            let Some(of_size) = self.classes.get(class) else {
                // All were seen; the next call starts anew.
                (class, chunk, index) = (0, 0, 0);
                break;
            };
            let Some(&at) = of_size.chunks.get(chunk) else {
                (class, chunk, index) = (class + 1, 0, 0);
                continue;
            };
            // SAFETY: as in `in_use`.
            let head = unsafe { &*at.as_ptr() };
            while head.room.in_use.get() > 0 && index < head.room.fresh.get() && few.len() < count {
                if head.is_in_use(index) {
                    few.push(Chunk::block(at, head.size, index));
                }
                index += 1;
            }
            if few.len() == count {
                break;
            }
            (chunk, index) = (chunk + 1, 0);
        }
        self.place = (class, chunk, index);
        few
    }
}

impl Class {
    #[cold]
    #[inline(never)]
    fn grow(&mut self, memory: &mut Memory, owner: *const ()) -> NonNull<Chunk> {
        let most = ((CHUNK - size_of::<Chunk>()) / self.size).max(1);
        let blocks = if self.chunks.is_empty() { most.min(FEW) } else { most };
        let bytes = self.size.saturating_mul(blocks).saturating_add(size_of::<Chunk>());
        let chunk = memory.chunk(bytes, !self.chunks.is_empty());
        // Not those of a block larger than a chunk: it need never touch them all.
        if self.chunks.len() >= MOST_PAGE_BY_PAGE && bytes <= CHUNK {
            have_pages(chunk, bytes);
        }
        let chunk = chunk.cast();
        let inverse = INVERSE_OF.div_ceil(self.size / LINE);
        let head = Chunk { owner, size: self.size, blocks, inverse, room: Room::default() };
        // SAFETY: that memory is not used yet; it has room for a head and its alignment.
        unsafe { chunk.write(head) };
        self.chunks.push(chunk);
        self.with_room.push(chunk);
        chunk
    }
}

impl Memory {
    /// Memory for a chunk of so many bytes; `more`: others will follow.
    fn chunk(&mut self, bytes: usize, more: bool) -> NonNull<u8> {
        if !more || bytes > CHUNK {
            return self.ask(bytes);
        }
        let (chunk, left) = self.spare.take().unwrap_or_else(|| {
            self.at_once = (self.at_once * 2).clamp(1, MOST_AT_ONCE);
            (self.ask(self.at_once * CHUNK), self.at_once)
        });
        if left > 1 {
            // SAFETY: one more chunk at least lies behind it.
            self.spare = Some((unsafe { chunk.add(CHUNK) }, left - 1));
        }
        chunk
    }

    fn ask(&mut self, bytes: usize) -> NonNull<u8> {
        let layout = Layout::from_size_align(bytes, CHUNK)
            .expect("a chunk of blocks fits into the address space");
        // SAFETY: the layout is not empty: it has a head.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        self.all.push((start, layout));
        start
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for &(start, layout) in &self.all {
            // SAFETY: allocated by `ask` with this layout, and freed only here.
            unsafe { dealloc(start.as_ptr(), layout) };
        }
    }
}

impl Chunk {
    /// The chunk of a block.
    fn of(block: NonNull<u8>) -> NonNull<Self> {
        // Chunks are aligned, and blocks start within the first `CHUNK` bytes.
        let start = block.as_ptr().map_addr(|address| address & !(CHUNK - 1));
        // SAFETY: no chunk is the first of the address space, so this is not null.
        unsafe { NonNull::new_unchecked(start) }.cast()
    }

    /// The number of the block that begins so far behind the head: a division, without the time that
    /// one takes. The distance is a multiple of the size and less than `CHUNK`: what the inverse is too
    /// large by, less than one, does not add up to `INVERSE_OF` over so few lines.
    fn index_of(&self, distance: usize) -> usize {
        distance / LINE * self.inverse / INVERSE_OF
    }

    fn block(chunk: NonNull<Self>, size: usize, index: usize) -> NonNull<u8> {
        // SAFETY: there are more than `index` blocks of that size in the chunk.
        unsafe { chunk.cast::<u8>().byte_add(size_of::<Self>() + index * size) }
    }

    /// Takes the first block that was used before, else one that never was.
    fn take(&self) -> (usize, bool) {
        let Room { fresh, in_use, free } = &self.room;
        in_use.set(in_use.get() + 1);
        if in_use.get() <= fresh.get()
            && let Some(word) = free.iter().position(|word| word.get() != 0)
        {
            let bits = free[word].get();
            free[word].set(bits & (bits - 1));
            return (word * 64 + bits.trailing_zeros() as usize, true);
        }
        fresh.set(fresh.get() + 1);
        (fresh.get() - 1, false)
    }

    fn blocks_in_use(&self, chunk: NonNull<Self>) -> impl Iterator<Item = NonNull<u8>> {
        let fresh = if self.room.in_use.get() > 0 { self.room.fresh.get() } else { 0 };
        let used = (0..fresh).filter(|&index| self.is_in_use(index));
        used.map(move |index| Self::block(chunk, self.size, index))
    }

    fn is_in_use(&self, index: usize) -> bool {
        let Room { fresh, free, .. } = &self.room;
        index < fresh.get() && free[index / 64].get() & (1 << (index % 64)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::ptr;

    /// Takes blocks of two sizes until chunks are full, gives every third back and takes it again.
    #[test]
    fn what_is_in_use_is_what_was_taken_and_not_given_back() {
        let owner = 7_u64;
        let owner = ptr::from_ref(&owner).cast();
        let mut pool = BlockPool::default();
        let mut taken: BTreeSet<_> = (0..3000)
            .map(|number| {
                let block = pool.take(if number % 2 == 0 { 192 } else { 300 }, owner);
                assert!(!block.recycled);
                block.start
            })
            .collect();
        assert_eq!(taken.len(), 3000, "no block is handed out twice");
        assert_eq!(pool.in_use().collect::<BTreeSet<_>>(), taken);
        let given: Vec<_> = taken.iter().copied().step_by(3).collect();
        for &block in &given {
            taken.remove(&block);
            // SAFETY: taken above.
            unsafe { pool.give(block) };
        }
        assert_eq!(pool.in_use().collect::<BTreeSet<_>>(), taken);
        for _ in 0..given.len() {
            let block = pool.take(192, owner);
            // SAFETY: the pool is alive.
            assert_eq!(unsafe { BlockPool::owner_of(block.start) }, owner);
            assert!(taken.insert(block.start), "it was not in use");
        }
        assert_eq!(pool.in_use().count(), 3000);
    }

    #[test]
    fn blocks_of_sizes_that_are_taken_in_turn_do_not_overlap() {
        let mut pool = BlockPool::default();
        let sizes = [1000, 200, 5000, 200, 1000];
        let mut taken: Vec<_> = (0..500)
            .map(|number| sizes[number % sizes.len()])
            .map(|size| (pool.take(size, ptr::null()).start.addr().get(), size))
            .collect();
        taken.sort_unstable();
        assert!(taken.is_sorted_by(|&(start, size), &(next, _)| start + size <= next));
    }

    #[test]
    fn a_block_may_be_larger_than_a_chunk() {
        let mut pool = BlockPool::default();
        let blocks = [0; 3].map(|_| pool.take(3 * CHUNK, ptr::null()).start);
        assert_eq!(pool.in_use().collect::<Vec<_>>(), blocks);
        // SAFETY: taken above.
        unsafe { pool.give(blocks[1]) };
        assert!(pool.take(3 * CHUNK, ptr::null()).recycled);
    }

    #[test]
    fn every_part_is_that_of_all_that_is_in_use() {
        let mut pool = BlockPool::default();
        let blocks: Vec<_> = (0..1000)
            .map(|number| pool.take(if number % 3 == 0 { 128 } else { 300 }, ptr::null()).start)
            .collect();
        for block in blocks.iter().step_by(7) {
            // SAFETY: taken above.
            unsafe { pool.give(*block) };
        }
        let all: Vec<_> = pool.in_use().collect();
        assert_eq!(pool.len(), all.len());
        for first in (0..=all.len() + 2).step_by(11) {
            for many in [0, 1, 5, 400, 2000] {
                let part: Vec<_> = pool.part(first..first + many).collect();
                let expected: Vec<_> = all.iter().skip(first).take(many).copied().collect();
                assert_eq!(part, expected, "{many} from {first} on");
            }
        }
    }

    #[test]
    fn a_few_at_a_time_come_round() {
        let mut pool = BlockPool::default();
        let blocks: Vec<_> = (0..1000).map(|_| pool.take(128, ptr::null()).start).collect();
        let mut seen = BTreeSet::new();
        for _ in 0..12 {
            seen.extend(pool.next_few(100));
        }
        assert_eq!(seen, blocks.into_iter().collect());
    }
}
