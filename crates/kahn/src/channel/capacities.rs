//! What capacity a channel begins with: its own, or what the run's options say.

/// What the run's options say of capacities.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Capacities {
    /// That of every channel, instead of its own.
    pub(crate) all: Option<u32>,
    /// The largest that a channel begins with.
    pub(crate) most: Option<u32>,
}

impl Capacities {
    /// The capacity of a channel that was made with this one.
    pub(super) fn of(self, own: u32) -> u32 {
        let wanted = self.all.unwrap_or(own);
        self.most.map_or(wanted, |most| wanted.min(most))
    }
}
