//! What a policy says it promises, beside the laws that the engine keeps under every policy.
//!
//! `docs/policies.md` has the laws in words; `testing::check` holds a policy to what it promises.

/// How long a ready process waits under a policy, among those of its urgency.
///
/// `n` is the number of processes that were ready before it, in the queue where it stands.
///
/// # Examples
///
/// ```
/// use kahn::policy::{SHARED, STEALING, Waiting};
///
/// assert_eq!(SHARED.promises().waiting, Waiting::Turn);
/// assert_eq!(STEALING.promises().waiting, Waiting::Dispatches(64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// For this many dispatches times `n + 1` at most.
    Dispatches(u64),
    /// For `n` dispatches.
    Turn,
    /// As long as it pleases the policy: that it is dispatched at all is all that is checked.
    Eventually,
}

impl Waiting {
    /// Returns the dispatches that a process waits for at most with so many before it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::Waiting;
    ///
    /// assert_eq!(Waiting::Dispatches(64).most(1), 128);
    /// assert_eq!(Waiting::Turn.most(1), 2);
    /// ```
    #[must_use]
    pub const fn most(self, before: u64) -> u64 {
        match self {
            Self::Dispatches(each) => each * (before + 1),
            Self::Turn => before + 1,
            Self::Eventually => u64::MAX,
        }
    }
}

/// The scheduling laws that a policy promises to keep.
///
/// # Examples
///
/// ```
/// use kahn::policy::{Promises, SEQUENTIAL, Waiting};
///
/// let promises = Promises { yields: true, ..Promises::waiting(Waiting::Turn) };
/// assert_eq!(Promises { open_loops: true, ..promises }, SEQUENTIAL.promises());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// How long a ready process waits.
    pub waiting: Waiting,
    /// Makers that no process waits for, and which wait or yield after `m` children, leave at most
    /// `256 + 64 m` ready processes each.
    pub open_loops: bool,
    /// A tree of forks of depth `d` keeps at most `64 d` ready processes a worker, or a fiftieth of
    /// its leaves if that is more.
    pub forks: bool,
    /// What is ready in the queues of a worker that is inside one poll runs elsewhere.
    pub work_is_found: bool,
    /// All that were ready run before a process that has given way with `yield_now`.
    pub yields: bool,
}

impl Promises {
    /// Promises nothing but that a process is dispatched at all.
    pub const NONE: Self = Self::waiting(Waiting::Eventually);

    /// Promises how long a process waits, and nothing else.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{Promises, Waiting};
    ///
    /// let promises = Promises::waiting(Waiting::Dispatches(64));
    /// assert!(!promises.forks && promises.waiting.most(0) == 64);
    /// ```
    pub const fn waiting(waiting: Waiting) -> Self {
        Self { waiting, open_loops: false, forks: false, work_is_found: false, yields: false }
    }
}
