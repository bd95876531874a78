//! The slots of a channel, one of which each message takes.
//!
//! A channel begins with one *segment*: slots in a row. Most have a power of two of them, and
//! message `n` lies in slot `n & mask` of a side's row. Those that have grown, and those whose
//! capacity is no power of two, have slots in several rows; see [`super::growth`], which moves the
//! row of a side from one to the next. The way of a message is the same in both.
//!
//! Slots are allocated one by one: a capacity of 65 takes 65.

use kahn_engine::sync::panics;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::type_name;
use std::mem::{MaybeUninit, needs_drop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// The place of one message.
#[repr(C)]
struct Place<T> {
    message: MaybeUninit<T>,
    /// A model sees by it which thread touches a slot, and when.
    #[cfg(loom)]
    touched: loom::cell::UnsafeCell<()>,
}

/// A place for a small message, which is part of its channel.
pub(crate) type SmallSlot = u64;

/// A place for a message that is given to its receiver, in the header of that (`given`).
pub(super) type Hand = MaybeUninit<u64>;

/// Whether messages of a type may be given.
pub(super) const fn can_be_given<T>() -> bool {
    size_of::<T>() <= size_of::<Hand>()
        && align_of::<T>() <= align_of::<Hand>()
        && !needs_drop::<T>()
}

/// What is known of a message type when the type itself is forgotten.
#[derive(Debug)]
pub(crate) struct MessageType {
    pub(crate) name: fn() -> &'static str,
    pub(crate) size: usize,
    /// Bytes from a slot to the next.
    pub(super) stride: usize,
    /// A message fits into a [`SmallSlot`].
    pub(crate) is_small: bool,
    /// Whether dropping a message does something.
    pub(super) owns: bool,
    pub(super) new_segment: fn(u32) -> *mut u8,
    /// Frees a segment of so many slots, which are all empty.
    pub(super) free_segment: unsafe fn(*mut u8, u32),
    /// Drops the message in this slot.
    pub(super) drop_message: unsafe fn(*mut u8),
}

/// Gives each type of message its [`MessageType`].
pub(crate) struct TypeOf<T>(std::marker::PhantomData<T>);

impl<T> TypeOf<T> {
    pub(crate) const TYPE: MessageType = MessageType {
        name: type_name::<T>,
        size: size_of::<T>(),
        stride: size_of::<Place<T>>(),
        // A model sees allocated slots only.
        is_small: size_of::<Place<T>>() <= size_of::<SmallSlot>()
            && align_of::<T>() <= align_of::<SmallSlot>(),
        owns: needs_drop::<T>(),
        new_segment: new_segment::<T>,
        free_segment: free_segment::<T>,
        drop_message: drop_message::<T>,
    };
}

/// The most slots a channel can have.
pub(crate) const MOST_SLOTS: u32 = 1 << 30;

/// The slot of a message, by its number, in the row of a side; see [`super::raw::Side`].
///
/// # Safety
/// The row is that of a channel with messages of this type, and has a slot for this one.
#[inline]
pub(super) unsafe fn slot<T>(row: *mut u8, mask: u32, number: u64) -> *mut MaybeUninit<T> {
    #[expect(clippy::cast_possible_truncation, reason = "masked to 32 bits")]
    let index = (number as u32 & mask) as usize;
    // Wrapping, for a row may begin where it has no slots: see `growth`.
    let place = row.cast::<Place<T>>().wrapping_add(index);
    #[cfg(loom)]
    {
        // SAFETY: said by the caller.
        let place = unsafe { &*place };
        place.touched.with_mut(|_| ());
    }
    place.cast()
}

fn new_segment<T>(slots: u32) -> *mut u8 {
    let layout = Layout::array::<Place<T>>(slots as usize).expect("a segment fits into memory");
    if layout.size() == 0 {
        return ptr::without_provenance_mut(layout.align());
    }
    // SAFETY: it is not empty.
    let block = unsafe { alloc(layout) };
    if block.is_null() {
        handle_alloc_error(layout);
    }
    #[cfg(loom)]
    for index in 0..slots as usize {
        // SAFETY: within the block, which is ours.
        let place = unsafe { &mut *block.cast::<Place<T>>().add(index) };
        // SAFETY: as above.
        unsafe { ptr::write(&raw mut place.touched, loom::cell::UnsafeCell::new(())) };
    }
    block
}

unsafe fn free_segment<T>(segment: *mut u8, slots: u32) {
    let layout = Layout::array::<Place<T>>(slots as usize).expect("as when it was made");
    #[cfg(loom)]
    for index in 0..slots as usize {
        // SAFETY: written by `new_segment`, and not used any more.
        unsafe { ptr::drop_in_place(&raw mut (*segment.cast::<Place<T>>().add(index)).touched) };
    }
    if layout.size() > 0 {
        // SAFETY: made by `new_segment::<T>` with as many slots, and not used any more.
        unsafe { dealloc(segment, layout) };
    }
}

unsafe fn drop_message<T>(slot: *mut u8) {
    // A message whose destructor panics is lost like any other; there is no process to tell.
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller says that the slot is full, and gives it up.
        unsafe { slot.cast::<T>().drop_in_place() };
    }));
    if let Err(payload) = dropped {
        panics::discard(payload);
    }
}

/// Puts a message into its slot.
///
/// # Safety
/// As for [`slot`]; and the slot is empty and the caller's.
#[inline]
pub(super) unsafe fn put<T>(row: *mut u8, mask: u32, number: u64, message: T) {
    // SAFETY: said by the caller.
    let slot = unsafe { slot::<T>(row, mask, number) };
    // SAFETY: said by the caller.
    unsafe { slot.write(MaybeUninit::new(message)) };
}

/// Takes a message out of its slot.
///
/// # Safety
/// As for [`slot`]; and the slot is full and the caller's.
#[inline]
pub(super) unsafe fn take<T>(row: *mut u8, mask: u32, number: u64) -> T {
    // SAFETY: said by the caller.
    let slot = unsafe { slot::<T>(row, mask, number) };
    // SAFETY: said by the caller.
    unsafe { slot.cast::<T>().read() }
}

/// The runs of slots that `count` messages from `number` on take: one, or two where the row comes
/// round between them. Each as a pointer to its first slot, the messages before it, and its length.
///
/// # Safety
/// As for [`slot`], for each of the messages.
#[cfg(not(loom))]
#[inline]
unsafe fn runs<T>(
    row: *mut u8,
    mask: u32,
    number: u64,
    count: usize,
) -> [(*mut MaybeUninit<T>, usize, usize); 2] {
    #[expect(clippy::cast_possible_truncation, reason = "masked to 32 bits")]
    let index = (number as u32 & mask) as usize;
    let first = count.min(mask as usize + 1 - index);
    // SAFETY: said by the caller.
    let from = unsafe { slot::<T>(row, mask, number) };
    // The second run begins where the row does; the pointer is not followed if there is none.
    [(from, 0, first), (row.cast(), first, count - first)]
}

/// Puts messages into their slots.
///
/// # Safety
/// As for [`put`], for each of `count` slots; `messages` are as many, and given up.
#[inline]
pub(super) unsafe fn put_many<T>(
    row: *mut u8,
    mask: u32,
    number: u64,
    messages: *const T,
    count: usize,
) {
    #[cfg(loom)]
    for message in 0..count {
        // SAFETY: said by the caller.
        unsafe { put(row, mask, number + message as u64, messages.add(message).read()) };
    }
    #[cfg(not(loom))]
    // SAFETY: said by the caller.
    for (slots, before, length) in unsafe { runs::<T>(row, mask, number, count) } {
        if length > 0 {
            // SAFETY: said by the caller: both are as long as the run, and do not overlap.
            unsafe {
                ptr::copy_nonoverlapping(messages.wrapping_add(before), slots.cast::<T>(), length);
            };
        }
    }
}

/// Takes messages out of their slots.
///
/// # Safety
/// As for [`take`], for each of `count` slots; `into` has room for as many.
#[inline]
pub(super) unsafe fn take_many<T>(
    row: *mut u8,
    mask: u32,
    number: u64,
    into: *mut T,
    count: usize,
) {
    #[cfg(loom)]
    for message in 0..count {
        // SAFETY: said by the caller.
        unsafe { into.add(message).write(take(row, mask, number + message as u64)) };
    }
    #[cfg(not(loom))]
    // SAFETY: said by the caller.
    for (slots, before, length) in unsafe { runs::<T>(row, mask, number, count) } {
        if length > 0 {
            // SAFETY: said by the caller: both are as long as the run, and do not overlap.
            unsafe {
                ptr::copy_nonoverlapping(slots.cast::<T>(), into.wrapping_add(before), length);
            };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

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
