//! Where meetings live: blocks that are recycled and never returned.
//!
//! A look at a running network follows the pointer that a process left behind when it waited. By
//! then the channel may be gone; the block behind the pointer is a meeting still, perhaps of
//! another channel, and its gate says who waits there. So the look finds out, and never reads
//! memory of another type. The blocks belong to the program and not to a network, for an end may
//! outlive the run that it was made in.

use super::meeting::{Label, Meeting};
#[cfg(not(loom))]
use crate::graph::Name;
use std::ptr::NonNull;

/// Blocks that are made at once.
#[cfg(not(loom))]
const CHUNK: usize = 64;

#[cfg(not(loom))]
struct Free(Vec<NonNull<Meeting>>);

// SAFETY: what stands in the list is used by nobody.
#[cfg(not(loom))]
unsafe impl Send for Free {}

#[cfg(not(loom))]
static FREE: crate::sync::StaticMutex<Free> = crate::sync::StaticMutex::new(Free(Vec::new()));

/// Makes a meeting, in a block that may have been one before.
#[cfg(not(loom))]
pub(super) fn make(network: u32, label: Label) -> NonNull<Meeting> {
    let mut free = FREE.lock();
    if free.0.is_empty() {
        let fresh = || Meeting::new(0, Label::Name(Name::from("")));
        let chunk: Box<[Meeting]> = std::iter::repeat_with(fresh).take(CHUNK).collect();
        free.0.extend(Box::leak(chunk).iter_mut().map(NonNull::from));
    }
    let place = free.0.pop().expect("filled just now");
    drop(free);
    // SAFETY: a meeting stands there, and nobody uses it but looks that go through its gate.
    unsafe { place.as_ref() }.begin(network, label);
    place
}

/// Takes back the block of a meeting whose ends are both gone; its name or its buffer is left.
#[cfg(not(loom))]
pub(super) fn give_back(place: NonNull<Meeting>) -> Label {
    // SAFETY: as above.
    let label = unsafe { place.as_ref() }.end();
    FREE.lock().0.push(place);
    label
}

/// Makes a meeting. In a model nobody looks from outside.
#[cfg(loom)]
pub(super) fn make(network: u32, label: Label) -> NonNull<Meeting> {
    NonNull::from(Box::leak(Box::new(Meeting::new(network, label))))
}

/// Frees a meeting whose ends are both gone; its name or its buffer is left.
#[cfg(loom)]
pub(super) fn give_back(place: NonNull<Meeting>) -> Label {
    // SAFETY: leaked by `make`, and both ends are gone.
    unsafe { Box::from_raw(place.as_ptr()) }.end()
}
