//! Which claims, barriers and buckets there are: for whoever looks at a running network.
//!
//! A process leaves behind where it waits ([`Place`](super::wait::Place)), and that is read while
//! others run. By then the process may be elsewhere, and the place gone. A channel is type-stable
//! memory (see `memory`); the others are not, so they are noted here when they are made and struck
//! out before they go. Who looks holds the list meanwhile: what stands in it is there, and of the
//! kind that is noted with it. It may be another place of that kind at the same address, so whoever
//! looks makes sure, behind the gate, that the process waits there.

// In a model nobody looks from outside.
#[cfg(loom)]
pub(super) fn add<P: 'static>(_place: &P) {}

#[cfg(loom)]
pub(super) fn remove<P: 'static>(_place: &P) {}

#[cfg(loom)]
pub(super) fn look<P: 'static, R>(_place: *const P, _look: impl FnOnce(&P) -> R) -> Option<R> {
    None
}

#[cfg(not(loom))]
pub(super) use list::{add, look, remove};

#[cfg(not(loom))]
mod list {
    use kahn_engine::sync::StaticMutex;
    use std::any::TypeId;
    use std::collections::BTreeMap;
    use std::ptr;

    /// By their addresses.
    static KNOWN: StaticMutex<BTreeMap<usize, TypeId>> = StaticMutex::new(BTreeMap::new());

    /// Notes a place, which stays where it is.
    pub(crate) fn add<P: 'static>(place: &P) {
        KNOWN.lock().insert(ptr::from_ref(place).addr(), TypeId::of::<P>());
    }

    /// Strikes a place out, before it goes.
    pub(crate) fn remove<P: 'static>(place: &P) {
        KNOWN.lock().remove(&ptr::from_ref(place).addr());
    }

    /// Looks at a place, if it is still there.
    pub(crate) fn look<P: 'static, R>(place: *const P, look: impl FnOnce(&P) -> R) -> Option<R> {
        let known = KNOWN.lock();
        let is_there = known.get(&place.addr()) == Some(&TypeId::of::<P>());
        // SAFETY: a place of this type stands there, and is struck out before it goes; we hold the
        // list meanwhile.
        is_there.then(|| look(unsafe { &*place }))
    }
}
