//! Creating processes: detached, forked and joined, in parallel.

use crate::language::running;
use crate::network::core::Core;
use crate::process::create::{create, create_detached};
use crate::process::forked::Forked;
use crate::process::placement::Priority;
use kahn_engine::TaskRef;
use kahn_engine::task::ProcessResult;
use kahn_report::{BoxError, Name};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What creates processes, in a network of communicating ones.
///
/// Every process may have it: it is a word of nothing, copied to where it is needed. Processes may
/// borrow what outlives the run, that is `'env`.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Options};
///
/// let words = String::from("to be or not");
/// let run = csp::run(Options::new(), async |scope| {
///     let (mut out, mut lengths) = csp::channel("lengths");
///     scope.spawn("measure", async move {
///         for word in words.split(' ') {
///             out.send(word.len()).await?;
///         }
///         Ok::<(), csp::Unsent<usize>>(())
///     });
///     let mut all = Vec::new();
///     while let Ok(length) = lengths.recv().await {
///         all.push(length);
///     }
///     all
/// })?;
/// assert_eq!(run.result, [2, 2, 2, 3]);
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Scope<'env> {
    /// Invariant: what processes borrow must outlive the run, no more and no less.
    borrows: PhantomData<fn(&'env ()) -> &'env ()>,
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scope")
    }
}

/// What a process is to be: its name, where and how urgently it runs, whether it can be killed.
///
/// A name alone will do: it turns into one.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Options};
///
/// let run = csp::run(Options::new(), async |scope| {
///     let ticker = csp::Process::named("ticker").killable();
///     let ticker = scope.fork(ticker, async {
///         loop {
///             csp::yield_now().await;
///         }
///     });
///     ticker.kill();
///     ticker.join().await
/// })?;
/// assert!(run.result.is_err());
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a process is made by `Scope::spawn` and `Scope::fork`"]
pub struct Process {
    pub(crate) name: Name,
    pub(crate) worker: Option<u32>,
    pub(crate) killable: bool,
    pub(crate) priority: Option<Priority>,
}

impl Process {
    /// Names a process.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let child = scope.fork(csp::Process::named("child"), async { if true { panic!("no") } });
    ///     child.join().await.map_err(|failed| failed.process.to_string())
    /// })?;
    /// assert_eq!(run.result, Err("child".to_owned()));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn named(name: impl Into<Name>) -> Self {
        Self { name: name.into(), worker: None, killable: false, priority: None }
    }

    /// Lets the process run on one worker only, counted from 0; round again if there are fewer. Its
    /// children do likewise unless told otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new().workers(2), async |scope| {
    ///     let child = csp::Process::named("child").worker(1);
    ///     scope.fork(child, async { csp::affinity() }).join().await
    /// })?;
    /// assert_eq!(run.result, Ok(Some(1)));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn worker(mut self, worker: u32) -> Self {
        self.worker = Some(worker);
        self
    }

    /// Sets how urgent the process is. See [`Priority`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Priority, Process};
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let urgent = Process::named("urgent").priority(Priority::Urgent);
    ///     scope.fork(urgent, async { csp::priority() }).join().await
    /// })?;
    /// assert_eq!(run.result, Ok(Priority::Urgent));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Allows [`Forked::kill`]. A process that may be killed wherever it waits pays a little for
    /// each wait.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let listener = csp::Process::named("listener").killable();
    ///     let listener = scope.fork(listener, std::future::pending::<()>());
    ///     listener.kill();
    ///     listener.join().await.is_err()
    /// })?;
    /// assert!(run.result);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn killable(mut self) -> Self {
        self.killable = true;
        self
    }
}

impl From<&'static str> for Process {
    fn from(name: &'static str) -> Self {
        Self::named(name)
    }
}

impl From<String> for Process {
    fn from(name: String) -> Self {
        Self::named(name)
    }
}

impl From<Name> for Process {
    fn from(name: Name) -> Self {
        Self::named(name)
    }
}

impl<'env> Scope<'env> {
    pub(crate) fn new() -> Self {
        Self { borrows: PhantomData }
    }

    /// Creates a process that runs by itself. The run ends when all processes have.
    ///
    /// The code may return nothing or a result; an error is a failure of the run, and so is a
    /// panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (mut out, mut squares) = csp::channel::<u32>("squares");
    ///     scope.spawn("squares", async move {
    ///         for n in 1..=3 {
    ///             out.send(n * n).await?;
    ///         }
    ///         Ok::<(), csp::Unsent<u32>>(())
    ///     });
    ///     let mut sum = 0;
    ///     while let Ok(square) = squares.recv().await {
    ///         sum += square;
    ///     }
    ///     sum
    /// })?;
    /// assert_eq!(run.result, 1 + 4 + 9);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    ///
    /// Source: CCSP section 1.1, `ProcStart`.
    #[track_caller]
    pub fn spawn<F>(&self, process: impl Into<Process>, code: F)
    where
        F: Future<Output: ProcessResult> + Send + 'env,
    {
        Self::spawn_for(process.into(), Location::caller(), |_| code);
    }

    /// Creates a process whose code is made for it.
    #[inline]
    pub(super) fn spawn_for<F>(
        process: Process,
        site: &'static Location<'static>,
        code: impl FnOnce(TaskRef) -> F,
    ) where
        F: Future<Output: ProcessResult> + Send + 'env,
    {
        let (worker, task) = running::maker("a process");
        let code = |task| Checked { code: code(task) };
        create_detached(Core::of_worker(worker), process, site, (task, worker), code);
    }

    /// Creates a process whose result is to be had.
    ///
    /// Dropping the handle lets it run by itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let words = scope.fork("count", async { "to be or not".split(' ').count() });
    ///     words.join().await
    /// })?;
    /// assert_eq!(run.result, Ok(4));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    #[track_caller]
    pub fn fork<F>(&self, process: impl Into<Process>, code: F) -> Forked<F::Output>
    where
        F: Future<Output: Send> + Send + 'env,
    {
        let site = Location::caller();
        let (worker, task) = running::maker("a process");
        create(Core::of_worker(worker), process.into(), site, Some((task, worker)), code)
    }
}

/// Turns a process's error into its failure.
struct Checked<F> {
    code: F,
}

impl<F: Future<Output: ProcessResult>> Future for Checked<F> {
    type Output = Option<BoxError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the code is pinned with us, and nothing moves it.
        let code = unsafe { self.map_unchecked_mut(|this| &mut this.code) };
        code.poll(context).map(ProcessResult::into_error)
    }
}
