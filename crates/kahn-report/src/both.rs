//! Two observers of one run.

use crate::acts::{Act, Graph};
use crate::log::Log;
use crate::observe::{Observer, Rest, Slice, Tick};
use crate::subject::Subject;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Two observers as one: each is told what it wants to know, the first one first. A run has one log: that of the first
/// that has one.
///
/// # Examples
///
/// ```
/// use kahn_report::Both;
/// use kahn_report::observe::{Observer, Subject};
/// use std::ops::Range;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Received(AtomicU64);
///
/// impl Observer for Received {
///     fn wants_schedule(&self) -> bool {
///         false
///     }
///
///     fn received(&self, _channel: Subject<'_>, messages: Range<u64>) {
///         self.0.fetch_add(messages.end - messages.start, Ordering::Relaxed);
///     }
/// }
///
/// let (one, other) = (Arc::new(Received::default()), Arc::new(Received::default()));
/// let both = Both::new(Arc::clone(&one) as _, Arc::clone(&other) as _);
/// assert!(both.wants_messages() && !both.wants_schedule());
/// # let name = kahn_report::Name::from("numbers");
/// # let numbers = Subject::new(&name, kahn_report::Identity::fixed(0));
/// both.received(numbers, 0..3);
/// assert_eq!([one, other].map(|each| each.0.load(Ordering::Relaxed)), [3, 3]);
/// ```
#[derive(Debug)]
pub struct Both([Wanting; 2]);

/// An observer, and what it wants to know.
struct Wanting {
    observer: Arc<dyn Observer>,
    messages: bool,
    schedule: bool,
    acts: bool,
    contents: bool,
}

impl fmt::Debug for Wanting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl Wanting {
    fn new(observer: Arc<dyn Observer>) -> Self {
        Self {
            messages: observer.wants_messages(),
            schedule: observer.wants_schedule(),
            acts: observer.wants_acts(),
            contents: observer.wants_contents(),
            observer,
        }
    }
}

impl Both {
    /// Makes one of two, each of which is asked here what it wants.
    ///
    /// # Examples
    ///
    /// See [`Both`].
    ///
    /// ```
    /// use kahn_report::Both;
    /// use kahn_report::observe::Observer;
    /// use std::sync::Arc;
    ///
    /// struct Nothing;
    /// impl Observer for Nothing {}
    ///
    /// let two = Arc::new(Both::new(Arc::new(Nothing), Arc::new(Nothing)));
    /// let three = Both::new(two, Arc::new(Nothing));
    /// assert!(!three.wants_acts());
    /// ```
    pub fn new(first: Arc<dyn Observer>, second: Arc<dyn Observer>) -> Self {
        Self([first, second].map(Wanting::new))
    }

    /// Tells those that want it.
    fn tell(&self, wants: impl Fn(&Wanting) -> bool, tell: impl Fn(&dyn Observer)) {
        self.0.iter().filter(|one| wants(one)).for_each(|one| tell(&*one.observer));
    }
}

impl Observer for Both {
    fn runs(&self, process: Subject<'_>, worker: Option<usize>, at: u64) {
        self.tell(|one| one.schedule, |one| one.runs(process, worker, at));
    }

    fn rests(&self, process: Subject<'_>, worker: Option<usize>, slice: Slice, rest: Rest<'_>) {
        self.tell(|one| one.schedule, |one| one.rests(process, worker, slice, rest));
    }

    fn wakes(&self, process: Subject<'_>, rest: Rest<'_>, by: Option<Subject<'_>>) {
        self.tell(|one| one.schedule, |one| one.wakes(process, rest, by));
    }

    fn dropped(&self, process: Subject<'_>) {
        self.tell(|one| one.schedule, |one| one.dropped(process));
    }

    fn sent(&self, channel: Subject<'_>, messages: Range<u64>) {
        self.tell(|one| one.messages, |one| one.sent(channel, messages.clone()));
    }

    fn received(&self, channel: Subject<'_>, messages: Range<u64>) {
        self.tell(|one| one.messages, |one| one.received(channel, messages.clone()));
    }

    fn ends(&self, tick: Tick) {
        self.tell(|_| true, |one| one.ends(tick));
    }

    fn log(&self) -> Option<Arc<dyn Log>> {
        self.0.iter().find_map(|one| one.observer.log())
    }

    fn wants_messages(&self) -> bool {
        self.0.iter().any(|one| one.messages)
    }

    fn wants_schedule(&self) -> bool {
        self.0.iter().any(|one| one.schedule)
    }

    fn wants_acts(&self) -> bool {
        self.0.iter().any(|one| one.acts)
    }

    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        let mut wanting = self.0.iter().filter(|one| one.acts);
        wanting.try_for_each(|one| one.observer.starts(graph))
    }

    fn acts(&self, process: Subject<'_>, act: Act<'_>) {
        self.tell(|one| one.acts, |one| one.acts(process, act.clone()));
    }

    fn wants_contents(&self) -> bool {
        self.0.iter().any(|one| one.contents)
    }

    fn writes(
        &self,
        process: Subject<'_>,
        channel: Subject<'_>,
        number: u64,
        message: Option<&[u8]>,
    ) {
        self.tell(|one| one.contents, |one| one.writes(process, channel, number, message));
    }

    fn left(&self, channel: Subject<'_>, number: u64, message: Option<&[u8]>) {
        self.tell(|one| one.contents, |one| one.left(channel, number, message));
    }
}
