//! The memory of a channel: a ring of slots, and larger rings linked behind it.
//!
//! Message `n` lies in slot `n & mask`. When the sender is told to grow, it links a larger ring
//! behind the full one and goes on there; the receiver empties the old one, follows the link and
//! frees it. Nothing is copied and nothing is locked:
//!
//! ```text
//!   old ring          │ r ············ w │ full, `switch_at` = w
//!      └─ next ──►    new ring           │ w ····· free ···················· │
//! ```
//!
//! | field | written by | when |
//! |---|---|---|
//! | `next` | the sender, once | before it publishes a message of the new ring |
//! | `then` | the resolver, under its lock: the capacity to grow to | while the sender is parked on this ring |
//! | `then` | the sender, once: the end of `switch_at` | before `next` |
//! | a slot | the sender, until it publishes; then the receiver, until it publishes | |
//!
//! Most rings are small, so the head is: of `switch_at` it has the lower half. Whoever asks for it
//! has come as far as the ring at least, and a ring has at most 2^30 slots, so that is enough.

use crate::sync::{AtomicPtr, AtomicU32, Ordering::*, panics};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::type_name;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

/// The head of a ring; its slots follow.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Ring {
    next: AtomicPtr<Ring>,
    capacity: u32,
    then: AtomicU32,
    /// One for each slot: a model sees by them who touches a slot, and when.
    #[cfg(loom)]
    touched: Box<[loom::cell::UnsafeCell<()>]>,
}

type SmallSlot = u64;

/// A ring of one slot for a small message, which is part of its channel.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct SmallRing {
    head: Ring,
    slot: UnsafeCell<MaybeUninit<SmallSlot>>,
}

impl SmallRing {
    pub(crate) fn new() -> Self {
        Self { head: Ring::new(1), slot: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// The ring, whose slot is where those of others are.
    pub(crate) fn as_ptr(&self) -> *mut Ring {
        // Of the whole, for who gets it reaches the slot by it.
        ptr::from_ref(self).cast::<Ring>().cast_mut()
    }

    /// The ring, empty and with none behind it. Nobody uses it.
    pub(crate) fn restart(&self) -> *mut Ring {
        // Relaxed: nobody uses it.
        self.head.next.store(ptr::null_mut(), Relaxed);
        self.head.then.store(0, Relaxed);
        self.as_ptr()
    }
}

/// What is known of a message type when the type itself is forgotten.
#[derive(Debug)]
pub(crate) struct MessageType {
    pub(crate) name: fn() -> &'static str,
    pub(crate) size: usize,
    /// A message fits into the slot of a [`SmallRing`].
    pub(crate) is_small: bool,
    pub(crate) new_ring: fn(u32) -> *mut Ring,
    /// Frees a ring whose slots are all empty.
    pub(crate) free_ring: unsafe fn(*mut Ring),
    /// Drops the message in the slot of this number.
    pub(crate) drop_message: unsafe fn(*mut Ring, u64),
    /// Moves the messages of these numbers from one ring to another.
    pub(crate) move_messages: unsafe fn(*mut Ring, *mut Ring, Range<u64>),
}

/// Gives each type of message its [`MessageType`].
pub(crate) struct TypeOf<T>(std::marker::PhantomData<T>);

impl<T> TypeOf<T> {
    pub(crate) const TYPE: MessageType = MessageType {
        name: type_name::<T>,
        size: size_of::<T>(),
        is_small: size_of::<T>() <= size_of::<SmallSlot>()
            && align_of::<T>() <= align_of::<SmallSlot>(),
        new_ring: new_ring::<T>,
        free_ring: free_ring::<T>,
        drop_message: drop_message::<T>,
        move_messages: move_messages::<T>,
    };
}

/// The most slots a ring can have.
pub(crate) const MOST_SLOTS: u32 = 1 << 30;

impl Ring {
    fn new(capacity: u32) -> Self {
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
            capacity,
            then: AtomicU32::new(0),
            #[cfg(loom)]
            touched: (0..slots_of(capacity)).map(|_| loom::cell::UnsafeCell::new(())).collect(),
        }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity.into()
    }

    /// The number that selects a slot from a message's number.
    pub(crate) fn mask(&self) -> u32 {
        self.capacity.next_power_of_two() - 1
    }

    /// Sender: links `new` behind this ring; messages from `at` on are there.
    pub(crate) fn link(&self, new: *mut Self, at: u64) {
        self.then.store(lower_half(at), Relaxed);
        // Release pairs with the Acquire in `following`. (The word that is published later would
        // order it too.)
        self.next.store(new, Release);
    }

    /// Whether there is a ring after this one.
    #[inline]
    pub(crate) fn is_followed(&self) -> bool {
        // Relaxed: the word that showed a message orders it; `following` acquires what it reads.
        !self.next.load(Relaxed).is_null()
    }

    /// The ring after this one and the first message in it, if there is one; asked by who has come
    /// to message `at`, which is in this ring or is that one.
    pub(crate) fn following(&self, at: u64) -> Option<(NonNull<Self>, u64)> {
        let next = NonNull::new(self.next.load(Acquire))?;
        let left = self.then.load(Relaxed).wrapping_sub(lower_half(at));
        Some((next, at + u64::from(left)))
    }

    /// Resolver: tells the parked sender to grow.
    pub(crate) fn ask_to_grow(&self, capacity: u32) {
        // Relaxed: handed over with the process when the resolver clears its PARKED bit.
        self.then.store(capacity, Relaxed);
    }

    /// Sender: how large the resolver wants the channel, if larger than it is.
    pub(crate) fn asked_to_grow(&self) -> Option<u32> {
        debug_assert!(!self.is_followed(), "asked by the sender of its own ring");
        let asked = self.then.load(Relaxed);
        (asked > self.capacity).then_some(asked)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn lower_half(number: u64) -> u32 {
    number as u32
}

fn layout<T>(slots: usize) -> (Layout, usize) {
    let slots = Layout::array::<T>(slots).expect("a ring fits into the address space");
    let (layout, offset) =
        Layout::new::<Ring>().extend(slots).expect("a ring fits into the address space");
    (layout.pad_to_align(), offset)
}

fn slots_of(capacity: u32) -> usize {
    capacity.next_power_of_two() as usize
}

fn new_ring<T>(capacity: u32) -> *mut Ring {
    let (layout, _) = layout::<T>(slots_of(capacity));
    // SAFETY: the layout holds at least the head, so it is not empty.
    let block = unsafe { alloc(layout) };
    #[expect(clippy::cast_ptr_alignment, reason = "the layout is that of a head and its slots")]
    let ring = block.cast::<Ring>();
    if ring.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: freshly allocated with room for the head and its alignment.
    unsafe { ring.write(Ring::new(capacity)) };
    ring
}

unsafe fn free_ring<T>(ring: *mut Ring) {
    // SAFETY: the caller gives a ring made by `new_ring::<T>`, which nobody uses any more.
    let capacity = unsafe { (*ring).capacity };
    let (layout, _) = layout::<T>(slots_of(capacity));
    // Nothing to drop, but for what a model adds.
    // SAFETY: written by `new_ring`, and nobody uses it any more.
    unsafe { ring.drop_in_place() };
    // SAFETY: allocated with this layout.
    unsafe { dealloc(ring.cast(), layout) };
}

/// The slot of a message, by its number.
///
/// # Safety
/// `ring` was made by `new_ring::<T>`, or is a small ring and `T` is small; `mask` is its mask.
#[inline]
pub(super) unsafe fn slot<T>(ring: *mut Ring, mask: u32, number: u64) -> *mut MaybeUninit<T> {
    let offset = const { size_of::<Ring>().next_multiple_of(align_of::<T>()) };
    #[expect(clippy::cast_possible_truncation, reason = "masked to 32 bits")]
    let index = (number as u32 & mask) as usize;
    #[cfg(loom)]
    {
        // SAFETY: said by the caller.
        let touched = unsafe { &(*ring).touched };
        touched[index].with_mut(|_| ());
    }
    // SAFETY: `new_ring` and `SmallRing` laid the slots out at this offset, and the mask keeps within them.
    let slots = unsafe { ring.byte_add(offset) }.cast::<MaybeUninit<T>>();
    // SAFETY: as above.
    unsafe { slots.add(index) }
}

/// Puts a message into its slot.
///
/// # Safety
/// As for [`slot`]; and the slot is empty and the caller's.
#[inline]
pub(super) unsafe fn put<T>(ring: *mut Ring, mask: u32, number: u64, message: T) {
    // SAFETY: said by the caller.
    let slot = unsafe { slot::<T>(ring, mask, number) };
    // SAFETY: said by the caller.
    unsafe { slot.write(MaybeUninit::new(message)) };
}

/// Takes a message out of its slot.
///
/// # Safety
/// As for [`slot`]; and the slot is full and the caller's.
#[inline]
pub(super) unsafe fn take<T>(ring: *mut Ring, mask: u32, number: u64) -> T {
    // SAFETY: said by the caller.
    let slot = unsafe { slot::<T>(ring, mask, number) };
    // SAFETY: said by the caller.
    unsafe { slot.cast::<T>().read() }
}

/// The runs of slots that `count` messages from `number` on take: one, or two where the ring ends
/// between them. Each as a pointer to its first slot, the messages before it, and its length.
///
/// # Safety
/// As for [`slot`]; and the ring has at least `count` slots.
#[inline]
unsafe fn runs<T>(
    ring: *mut Ring,
    mask: u32,
    number: u64,
    count: usize,
) -> [(*mut MaybeUninit<T>, usize, usize); 2] {
    #[expect(clippy::cast_possible_truncation, reason = "masked to 32 bits")]
    let index = (number as u32 & mask) as usize;
    let first = count.min(mask as usize + 1 - index);
    #[cfg(loom)]
    for message in 1..count as u64 {
        // SAFETY: said by the caller.
        unsafe { slot::<T>(ring, mask, number + message) };
    }
    // SAFETY: said by the caller.
    let from = unsafe { slot::<T>(ring, mask, number) };
    // SAFETY: as above; the second run begins with the first slot of the ring.
    let start = unsafe { from.sub(index) };
    [(from, 0, first), (start, first, count - first)]
}

/// Puts messages into their slots.
///
/// # Safety
/// As for [`put`], for each of `count` slots; `messages` are as many, and given up.
#[inline]
pub(super) unsafe fn put_many<T>(
    ring: *mut Ring,
    mask: u32,
    number: u64,
    messages: *const T,
    count: usize,
) {
    // SAFETY: said by the caller.
    for (slots, before, length) in unsafe { runs::<T>(ring, mask, number, count) } {
        // SAFETY: said by the caller: both are as long as the run, and do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(messages.wrapping_add(before), slots.cast::<T>(), length);
        };
    }
}

/// Takes messages out of their slots.
///
/// # Safety
/// As for [`take`], for each of `count` slots; `into` has room for as many.
#[inline]
pub(super) unsafe fn take_many<T>(
    ring: *mut Ring,
    mask: u32,
    number: u64,
    into: *mut T,
    count: usize,
) {
    // SAFETY: said by the caller.
    for (slots, before, length) in unsafe { runs::<T>(ring, mask, number, count) } {
        // SAFETY: said by the caller: both are as long as the run, and do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(slots.cast::<T>(), into.wrapping_add(before), length);
        };
    }
}

unsafe fn move_messages<T>(from: *mut Ring, to: *mut Ring, numbers: Range<u64>) {
    // SAFETY: the caller gives rings of this type.
    let from_mask = unsafe { (*from).mask() };
    // SAFETY: as above.
    let to_mask = unsafe { (*to).mask() };
    for number in numbers {
        // SAFETY: as above.
        let source = unsafe { slot::<T>(from, from_mask, number) };
        // SAFETY: as above.
        let target = unsafe { slot::<T>(to, to_mask, number) };
        // SAFETY: the caller says that the one slot is full and the other free.
        unsafe { ptr::copy_nonoverlapping(source, target, 1) };
    }
}

unsafe fn drop_message<T>(ring: *mut Ring, number: u64) {
    // SAFETY: the caller gives a ring of this type.
    let mask = unsafe { (*ring).mask() };
    // SAFETY: as above.
    let slot = unsafe { slot::<T>(ring, mask, number) };
    // A message whose destructor panics is lost like any other; nobody is there to be told.
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller says that the slot is full, and gives it up.
        unsafe { slot.cast::<T>().drop_in_place() };
    }));
    if let Err(payload) = dropped {
        panics::discard(payload);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::mem;

    #[test]
    fn slots_lie_where_the_layout_puts_them() {
        #[repr(align(64))]
        struct Wide(#[expect(dead_code, reason = "only its address counts")] u8);
        fn check<T>() {
            assert_eq!(layout::<T>(4).1, size_of::<Ring>().next_multiple_of(align_of::<T>()));
        }
        check::<u8>();
        check::<u64>();
        check::<()>();
        check::<u128>();
        check::<Wide>();
        let offset = size_of::<Ring>().next_multiple_of(align_of::<SmallSlot>());
        assert_eq!(mem::offset_of!(SmallRing, slot), offset);
        assert_eq!(Ring::new(1).mask(), 0, "of one slot");
    }

    #[test]
    fn small_messages_are_those_that_fit() {
        fn is_small<T>() -> bool {
            TypeOf::<T>::TYPE.is_small
        }
        assert!(is_small::<u64>() && is_small::<()>());
        assert!(is_small::<Box<u128>>() && is_small::<[u8; 8]>());
        assert!(!is_small::<[u8; 9]>() && !is_small::<u128>());
        assert!(!is_small::<[u128; 0]>(), "its slot begins elsewhere");
    }
}
