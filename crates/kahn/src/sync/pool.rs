//! Type-stable memory: blocks that are recycled, never returned while the pool lives.
//!
//! A detector may follow a pointer to a process or a channel that has just ended. That is sound
//! because the block behind it keeps its type: what is read may be stale, and the second look at
//! the words finds that out, but it is never somebody else's memory. See `deadlock`.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Blocks of the same size are cut from chunks of about this many bytes.
const CHUNK_BYTES: usize = 64 * 1024;
/// Every block starts on a cache line.
const ALIGN: usize = 64;

/// Blocks by size class, in multiples of a cache line.
#[derive(Debug, Default)]
pub(crate) struct BlockPool {
    /// Few, so they are searched from the first.
    classes: Vec<Class>,
}

#[derive(Debug)]
struct Class {
    size: usize,
    free: Vec<NonNull<u8>>,
    chunks: Vec<(NonNull<u8>, Layout)>,
    /// The part of the newest chunk that was never handed out: next block, blocks left.
    fresh: Option<(NonNull<u8>, usize)>,
}

/// What [`BlockPool::take`] hands out.
pub(crate) struct Block {
    pub(crate) start: NonNull<u8>,
    /// Whether the block was used before: its header is then alive, and may be being read.
    pub(crate) recycled: bool,
}

// SAFETY: the pointers are to memory that the pool alone owns and hands out.
unsafe impl Send for BlockPool {}

impl BlockPool {
    /// The size of the blocks that serve a request of `size` bytes.
    pub(crate) fn class(size: usize) -> usize {
        size.next_multiple_of(ALIGN).max(ALIGN)
    }

    fn of_class(&mut self, size: usize) -> &mut Class {
        let known = self.classes.iter().position(|class| class.size == size);
        let place = known.unwrap_or_else(|| {
            let class = Class { size, free: Vec::new(), chunks: Vec::new(), fresh: None };
            self.classes.push(class);
            self.classes.len() - 1
        });
        &mut self.classes[place]
    }

    /// Takes a block of at least `size` bytes, aligned to a cache line.
    pub(crate) fn take(&mut self, size: usize) -> Block {
        let size = Self::class(size);
        let class = self.of_class(size);
        if let Some(start) = class.free.pop() {
            return Block { start, recycled: true };
        }
        let (start, left) = class.fresh.unwrap_or_else(|| {
            // The first chunk of a class is small, for most networks are.
            let per_chunk = if class.chunks.is_empty() { 4 } else { (CHUNK_BYTES / size).max(1) };
            let layout = Layout::from_size_align(size * per_chunk, ALIGN)
                .expect("a chunk of blocks fits into the address space");
            // SAFETY: the layout is not empty: `size` is at least a cache line.
            let start = unsafe { alloc(layout) };
            let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
            class.chunks.push((start, layout));
            (start, per_chunk)
        });
        class.fresh = (left > 1).then(|| {
            // SAFETY: `left > 1`, so the next block lies in the same chunk.
            (unsafe { start.add(size) }, left - 1)
        });
        Block { start, recycled: false }
    }

    /// Takes back a block of `size` bytes, as it was asked for.
    pub(crate) fn give(&mut self, start: NonNull<u8>, size: usize) {
        self.of_class(Self::class(size)).free.push(start);
    }
}

impl Drop for BlockPool {
    fn drop(&mut self) {
        for class in &self.classes {
            for &(start, layout) in &class.chunks {
                // SAFETY: allocated by `take` with this layout, and freed only here.
                unsafe { dealloc(start.as_ptr(), layout) };
            }
        }
    }
}
