//! Which claims, barriers and buckets there are: for a thread that looks at a running network.
//!
//! A process leaves behind where it waits ([`Place`](crate::wait::place::Place)), and that is read while
//! others run. By then the process may be elsewhere, and the place gone. A channel is type-stable
//! memory (see `channel::blocks`); the others are not, so they are entered here when they are made and
//! struck out before they go. A thread that looks holds the registry meanwhile: what stands in it is
//! there, and of the kind that is entered with it. It may be another place of that kind at the same
//! address, so the thread makes sure, behind the gate, that the process waits there.

#[cfg(not(loom))]
pub(crate) use list::Registry;

#[cfg(not(loom))]
mod list {
    use kahn_engine::sync::StaticMutex;
    use std::any::TypeId;
    use std::collections::BTreeMap;
    use std::ptr;

    /// The places of one network, by their addresses.
    #[derive(Debug)]
    pub(crate) struct Registry(StaticMutex<BTreeMap<usize, TypeId>>);

    impl Registry {
        pub(crate) fn new() -> Self {
            Self(StaticMutex::new(BTreeMap::new()))
        }

        /// Enters a place, which stays where it is.
        pub(crate) fn add<P: 'static>(&self, place: &P) {
            self.0.lock().insert(ptr::from_ref(place).addr(), TypeId::of::<P>());
        }

        /// Strikes a place out, before it goes.
        pub(crate) fn remove<P: 'static>(&self, place: &P) {
            self.0.lock().remove(&ptr::from_ref(place).addr());
        }

        /// Looks at a place, if it is still there.
        pub(crate) fn look<P: 'static, R>(
            &self,
            place: *const P,
            look: impl FnOnce(&P) -> R,
        ) -> Option<R> {
            let entered = self.0.lock();
            let is_there = entered.get(&place.addr()) == Some(&TypeId::of::<P>());
            // SAFETY: a place of this type stands there, and is struck out before it goes; we hold
            // the registry meanwhile.
            is_there.then(|| look(unsafe { &*place }))
        }
    }
}

/// In a model no other thread looks.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Registry;

#[cfg(loom)]
impl Registry {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn add<P: 'static>(&self, _place: &P) {}

    pub(crate) fn remove<P: 'static>(&self, _place: &P) {}

    pub(crate) fn look<P: 'static, R>(
        &self,
        _place: *const P,
        _look: impl FnOnce(&P) -> R,
    ) -> Option<R> {
        None
    }
}
