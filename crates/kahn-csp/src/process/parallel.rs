//! Structured parallelism: several processes at once, and waiting for all of them.

use crate::network::error::Failed;
use crate::process::forked::Forked;
use crate::process::scope::{Process, Scope};
use crate::sharing::barrier::Barrier;
use kahn_engine::task::ProcessResult;
use kahn_report::Name;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// Processes that [`Scope::par`] runs side by side: a tuple, an array or a vector of [branches](Branch).
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let squares = [1_u32, 2, 3].map(|n| async move { n * n });
///     scope.par(squares).await
/// })?;
/// assert_eq!(run.result, Ok(vec![1, 4, 9]));
/// # Ok::<(), csp::RunError>(())
/// ```
pub trait Parallel<'env>: ForkAll<'env> {}

impl<'env, P: ForkAll<'env>> Parallel<'env> for P {}

/// What [`Scope::par`] asks of them. Outside of the crate it has no name.
pub trait ForkAll<'env> {
    /// Their results.
    type Outputs: Send;
    /// The handles of all of them.
    type Handles: Send;

    /// Creates all of them.
    #[track_caller]
    fn fork(self, scope: Scope<'env>) -> Self::Handles;

    /// Waits for all of them.
    fn join(handles: Self::Handles) -> impl Future<Output = Result<Self::Outputs, Failed>> + Send;
}

/// What a branch of [`Scope::par`] may be: a future, or a [`Process`] that
/// [runs](Process::runs) one.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let named = csp::Process::named("left").runs(async { 1 });
///     scope.par((named, async { 2 })).await
/// })?;
/// assert_eq!(run.result, Ok((1, 2)));
/// # Ok::<(), csp::RunError>(())
/// ```
pub trait Branch<'env>: IntoParts<'env> {}

impl<'env, B: IntoParts<'env>> Branch<'env> for B {}

/// What [`Scope::par`] asks of a branch. Outside of the crate it has no name.
pub trait IntoParts<'env> {
    /// Its result.
    type Output: Send;
    /// Its code.
    type Code: Future<Output = Self::Output> + Send + 'env;

    /// What it is to be, if that was said, and its code.
    fn into_parts(self) -> (Option<Process>, Self::Code);
}

impl<'env, F: Future<Output: Send> + Send + 'env> IntoParts<'env> for F {
    type Output = F::Output;
    type Code = F;

    fn into_parts(self) -> (Option<Process>, F) {
        (None, self)
    }
}

/// A process with its code; made by [`Process::runs`].
#[derive(Clone, Debug)]
#[must_use = "a branch runs in `Scope::par`"]
pub struct Runs<F> {
    process: Process,
    code: F,
}

impl<'env, F: Future<Output: Send> + Send + 'env> IntoParts<'env> for Runs<F> {
    type Output = F::Output;
    type Code = F;

    fn into_parts(self) -> (Option<Process>, F) {
        (Some(self.process), self.code)
    }
}

impl Process {
    /// Gives the process its code: a branch of [`Scope::par`] with a name, a priority and a place of
    /// its own, which makes that occam's `PRI PAR`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Priority, Process};
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (mut out, mut orders) = csp::channel::<u32>("orders");
    ///     let urgent = Process::named("controller").priority(Priority::Urgent);
    ///     let both = scope.par((
    ///         urgent.runs(async move { orders.recv().await }),
    ///         async move { out.send(7).await.is_ok() },
    ///     ));
    ///     both.await
    /// })?;
    /// assert_eq!(run.result, Ok((Ok(7), true)));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// Source: occam's `PRI PAR`; CCSP section 1.1, `SetPriority`.
    pub fn runs<F>(self, code: F) -> Runs<F> {
        Runs { process: self, code }
    }
}

#[track_caller]
fn fork<'env, B: Branch<'env>>(
    scope: Scope<'env>,
    branch: B,
    name: &'static str,
) -> Forked<B::Output> {
    let (process, code) = branch.into_parts();
    scope.fork(process.unwrap_or_else(|| Process::named(name)), code)
}

impl<'env> Scope<'env> {
    /// Runs processes side by side and waits for all of them: occam's `PAR`.
    ///
    /// # Errors
    /// The first that [`Failed`], in the order in which they are written, after all have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (mut out, mut numbers) = csp::channel::<u32>("numbers");
    ///     let both = scope.par((
    ///         async move { out.send(6).await.is_ok() },
    ///         async move { numbers.recv().await.map(|n| n * 7) },
    ///     ));
    ///     both.await
    /// })?;
    /// assert_eq!(run.result, Ok((true, Ok(42))));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// A vector is a replicated `PAR`:
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     scope.par((0..4_u32).map(|n| async move { n * n }).collect::<Vec<_>>()).await
    /// })?;
    /// assert_eq!(run.result, Ok(vec![0, 1, 4, 9]));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    #[track_caller]
    pub fn par<P: Parallel<'env>>(
        &self,
        processes: P,
    ) -> impl Future<Output = Result<P::Outputs, Failed>> + Send + use<'env, P> {
        P::join(processes.fork(*self))
    }

    /// Makes a scope of forks, which can be waited for together: occam's `FORKING`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (out, mut squares) = csp::channel::<u32>("squares");
    ///     let out = csp::Shared::new("squares", out);
    ///     scope.spawn("parent", async move {
    ///         let forks = scope.forks("workers");
    ///         for n in 1..=3 {
    ///             let out = out.clone();
    ///             forks.spawn("worker", async move { out.claim().await.send(n * n).await });
    ///         }
    ///         // All workers have ended when this returns.
    ///         forks.join().await;
    ///         out.claim().await.send(0).await
    ///     });
    ///     let mut all = Vec::new();
    ///     while let Ok(square) = squares.recv().await {
    ///         all.push(square);
    ///     }
    ///     all
    /// })?;
    /// assert_eq!(run.result.iter().sum::<u32>(), 14);
    /// assert_eq!(run.result.last(), Some(&0));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn forks(&self, name: impl Into<Name>) -> Forks<'env> {
        Forks { scope: PhantomData, barrier: Barrier::of_forks(name.into()) }
    }
}

/// A scope of forks; made by [`Scope::forks`].
///
/// A clone may be given to a process that is to fork in the same scope: the scope is not over
/// before all clones are dropped.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let forks = scope.forks("tree");
///     let theirs = forks.clone();
///     forks.spawn("parent", async move { theirs.spawn("child", async {}) });
///     forks.join().await;
/// })?;
/// assert_eq!(run.report.processes.len(), 3);
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Clone)]
pub struct Forks<'env> {
    scope: PhantomData<Scope<'env>>,
    /// Every fork is enrolled, and resigns at its end; the waiter comes last.
    barrier: Barrier,
}

impl fmt::Debug for Forks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Forks").field(&self.barrier).finish()
    }
}

impl<'env> Forks<'env> {
    /// Creates a process in this scope. See [`Scope::spawn`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let forks = scope.forks("workers");
    ///     for _ in 0..3 {
    ///         forks.spawn("worker", async {});
    ///     }
    ///     forks.join().await;
    /// })?;
    /// assert_eq!(run.report.processes.len(), 4);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    #[track_caller]
    pub fn spawn<F>(&self, process: impl Into<Process>, code: F)
    where
        F: Future<Output: ProcessResult> + Send + 'env,
    {
        let enrols = self.barrier.enrols_forks();
        Scope::<'env>::spawn_for(process.into(), Location::caller(), |fork| {
            let enrolled = enrols(fork);
            async move {
                let result = code.await;
                drop(enrolled);
                result
            }
        });
    }

    /// Waits until every process of this scope has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (count, forks) = (AtomicU32::new(0), scope.forks("workers"));
    ///     let count = std::sync::Arc::new(count);
    ///     for _ in 0..3 {
    ///         let count = std::sync::Arc::clone(&count);
    ///         forks.spawn("worker", async move { drop(count.fetch_add(1, Relaxed)) });
    ///     }
    ///     forks.join().await;
    ///     count.load(Relaxed)
    /// })?;
    /// assert_eq!(run.result, 3);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub async fn join(mut self) {
        self.barrier.sync().await;
    }
}

macro_rules! parallel {
    ($($process:ident $handle:ident $output:ident $place:tt),+) => {
        impl<'env, $($process),+> ForkAll<'env> for ($($process,)+)
        where
            $($process: Branch<'env>),+
        {
            type Outputs = ($($process::Output,)+);
            type Handles = ($(Forked<$process::Output>,)+);

            #[track_caller]
            fn fork(self, scope: Scope<'env>) -> Self::Handles {
                ($(fork(scope, self.$place, concat!("par ", stringify!($place))),)+)
            }

            async fn join(handles: Self::Handles) -> Result<Self::Outputs, Failed> {
                let ($($handle,)+) = handles;
                $(let $output = $handle.join().await;)+
                Ok(($($output?,)+))
            }
        }
    };
}

parallel!(A a x 0);
parallel!(A a x 0, B b y 1);
parallel!(A a x 0, B b y 1, C c z 2);
parallel!(A a x 0, B b y 1, C c z 2, D d u 3);
parallel!(A a x 0, B b y 1, C c z 2, D d u 3, E e v 4);
parallel!(A a x 0, B b y 1, C c z 2, D d u 3, E e v 4, F f w 5);

async fn join_all<R: Send>(handles: Vec<Forked<R>>) -> Result<Vec<R>, Failed> {
    let mut results = Vec::with_capacity(handles.len());
    for handle in handles {
        results.push(handle.join().await);
    }
    results.into_iter().collect()
}

impl<'env, F: Branch<'env>> ForkAll<'env> for Vec<F> {
    type Outputs = Vec<F::Output>;
    type Handles = Vec<Forked<F::Output>>;

    #[track_caller]
    fn fork(self, scope: Scope<'env>) -> Self::Handles {
        // Not a closure: the caller is the user's.
        let mut handles = Vec::with_capacity(self.len());
        for branch in self {
            handles.push(fork(scope, branch, "par"));
        }
        handles
    }

    fn join(handles: Self::Handles) -> impl Future<Output = Result<Self::Outputs, Failed>> + Send {
        join_all(handles)
    }
}

impl<'env, F, const N: usize> ForkAll<'env> for [F; N]
where
    F: Branch<'env>,
{
    type Outputs = Vec<F::Output>;
    type Handles = Vec<Forked<F::Output>>;

    #[track_caller]
    fn fork(self, scope: Scope<'env>) -> Self::Handles {
        // Not a closure: the caller is the user's.
        let mut handles = Vec::with_capacity(self.len());
        for branch in self {
            handles.push(fork(scope, branch, "par"));
        }
        handles
    }

    fn join(handles: Self::Handles) -> impl Future<Output = Result<Self::Outputs, Failed>> + Send {
        join_all(handles)
    }
}
