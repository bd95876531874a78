//! Two observers of one run.

use crate::Report;
use crate::acts::{Act, Graph};
use crate::log::Log;
use crate::look::Sampled;
use crate::observe::{Link, Observer, Rest, Slice, Tick, Wants};
use crate::subject::Subject;
use crate::written::WrittenForms;
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
/// use kahn_report::observe::{Observer, Subject, Wants};
/// use std::ops::Range;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Received(AtomicU64);
///
/// impl Observer for Received {
///     fn wants(&self) -> Wants {
///         Wants { messages: true, ..Wants::NOTHING }
///     }
///
///     fn received(&self, _channel: Subject<'_>, messages: Range<u64>) {
///         self.0.fetch_add(messages.end - messages.start, Ordering::Relaxed);
///     }
/// }
///
/// let (one, other) = (Arc::new(Received::default()), Arc::new(Received::default()));
/// let both = Both::new(Arc::clone(&one) as _, Arc::clone(&other) as _);
/// assert!(both.wants().messages && !both.wants().schedule);
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
    wants: Wants,
}

impl fmt::Debug for Wanting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl Wanting {
    fn new(observer: Arc<dyn Observer>) -> Self {
        Self { wants: observer.wants(), observer }
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
    /// assert!(!three.wants().acts);
    /// ```
    pub fn new(first: Arc<dyn Observer>, second: Arc<dyn Observer>) -> Self {
        Self([first, second].map(Wanting::new))
    }

    /// Tells those that want it.
    fn tell(&self, wants: impl Fn(Wants) -> bool, tell: impl Fn(&dyn Observer)) {
        self.0.iter().filter(|one| wants(one.wants)).for_each(|one| tell(&*one.observer));
    }
}

impl Observer for Both {
    fn runs(&self, process: Subject<'_>, worker: Option<usize>, at: u64) {
        self.tell(|wants| wants.schedule, |one| one.runs(process, worker, at));
    }

    fn rests(&self, process: Subject<'_>, worker: Option<usize>, slice: Slice, rest: Rest<'_>) {
        self.tell(|wants| wants.schedule, |one| one.rests(process, worker, slice, rest));
    }

    fn wakes(&self, process: Subject<'_>, rest: Rest<'_>, by: Option<Subject<'_>>) {
        self.tell(|wants| wants.schedule, |one| one.wakes(process, rest, by));
    }

    fn dropped(&self, process: Subject<'_>) {
        self.tell(|wants| wants.schedule, |one| one.dropped(process));
    }

    fn sent(&self, channel: Subject<'_>, messages: Range<u64>) {
        self.tell(|wants| wants.messages, |one| one.sent(channel, messages.clone()));
    }

    fn received(&self, channel: Subject<'_>, messages: Range<u64>) {
        self.tell(|wants| wants.messages, |one| one.received(channel, messages.clone()));
    }

    fn ends(&self, tick: Tick) {
        self.tell(|_| true, |one| one.ends(tick));
    }

    fn reports(&self, report: &Report) -> Vec<String> {
        self.0.iter().flat_map(|one| one.observer.reports(report)).collect()
    }

    fn log(&self) -> Option<Arc<dyn Log>> {
        self.0.iter().find_map(|one| one.observer.log())
    }

    fn wants(&self) -> Wants {
        self.0.iter().fold(Wants::NOTHING, |wants, one| wants | one.wants)
    }

    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        self.0.iter().try_for_each(|one| one.observer.starts(graph))
    }

    fn begins(
        &self,
        run: &Arc<dyn Sampled>,
        stop: &Arc<dyn Fn() + Send + Sync>,
    ) -> Result<(), String> {
        self.0.iter().try_for_each(|one| one.observer.begins(run, stop))
    }

    fn links(&self, link: Link<'_>) {
        self.tell(|_| true, |one| one.links(link));
    }

    fn acts(&self, process: Subject<'_>, act: Act<'_>) {
        self.tell(|wants| wants.acts, |one| one.acts(process, act.clone()));
    }

    fn saves_each(&self) -> Option<u64> {
        self.0.iter().filter_map(|one| one.observer.saves_each()).min()
    }

    fn writes(
        &self,
        process: Subject<'_>,
        channel: Subject<'_>,
        messages: Range<u64>,
        written: Option<WrittenForms<'_>>,
    ) {
        self.tell(
            |wants| wants.contents,
            |one| one.writes(process, channel, messages.clone(), written.clone()),
        );
    }

    fn left(&self, channel: Subject<'_>, number: u64, message: Option<&[u8]>) {
        self.tell(|wants| wants.contents, |one| one.left(channel, number, message));
    }
}
