//! What an observer is told of: a process or a channel, by its name and a number.

use crate::Name;
use crate::identity::Identity;

/// A process or a channel that an observer is told of.
///
/// # Examples
///
/// ```
/// use kahn::observe::{Observer, Subject};
/// use kahn::{Network, Options};
/// use std::collections::BTreeSet;
/// use std::sync::{Arc, Mutex};
///
/// /// The numbers of the processes that ran.
/// #[derive(Default)]
/// struct Ran(Mutex<BTreeSet<u64>>);
///
/// impl Observer for Ran {
///     fn runs(&self, process: Subject<'_>, _worker: Option<usize>, _at: u64) {
///         self.0.lock().expect("no other thread panics").insert(process.id);
///     }
/// }
///
/// let ran = || {
///     let ran = Arc::new(Ran::default());
///     let mut network = Network::new();
///     network.process("one", (), async |()| {});
///     network.process("two", (), async |()| {});
///     network.run_with(Options::new().observer(Arc::clone(&ran)))?;
///     Ok::<_, kahn::RunError>(ran.0.lock().expect("no other thread panics").clone())
/// };
/// let numbers = ran()?;
/// assert_eq!(numbers.len(), 2);
/// // The same in every run.
/// assert_eq!(numbers, ran()?);
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its name; several may have the same.
    pub name: &'a Name,
    /// A number that hardly any other process of the run has, or any other channel; the same in every run.
    pub id: u64,
    /// Tells apart the parts of one process that are there at the same time, such as the helpers of an
    /// ordered farm; not the same in every run. 0 for a channel.
    pub part: u64,
}

impl<'a> Subject<'a> {
    /// Makes one of a process or a channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::observe::Subject;
    /// use kahn_report::{Identity, Name};
    ///
    /// let name = Name::from("decode");
    /// let decode = Subject::new(&name, Identity::fixed(3));
    /// assert_eq!(decode.id, Subject::new(&name, Identity::fixed(3)).id);
    /// ```
    pub fn new(name: &'a Name, identity: Identity) -> Self {
        Self { name, id: identity.digest() as u64, part: 0 }
    }
}
