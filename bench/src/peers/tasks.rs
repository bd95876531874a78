//! Executors of tasks, and channels for tasks.

use crate::measure::Figure;
use anyhow::{Result, anyhow};
use async_executor::StaticExecutor;
use futures_lite::future;
use std::future::Future;

/// A workload for tasks.
pub(crate) trait TaskProgram {
    /// Runs and measures it.
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>>;
}

/// What runs tasks.
pub(crate) trait Executor: 'static {
    /// Runs a task and all that it starts, on so many threads.
    fn run<F>(workers: usize, root: F) -> Result<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// A task that was started.
    type Task<T: Send + 'static>: Send + 'static;

    /// Starts a task from within one.
    fn spawn<F>(task: F) -> Self::Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// Waits for its end.
    fn join<T: Send + 'static>(task: Self::Task<T>) -> impl Future<Output = T> + Send;
}

/// Waits for the end of all.
pub(crate) async fn join_all<E: Executor, T: Send + 'static>(tasks: Vec<E::Task<T>>) -> Vec<T> {
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(E::join(task).await);
    }
    results
}

/// Bounded channels for tasks.
pub(crate) trait Wire: 'static {
    type Sender<T: Message>: Send + 'static;
    type Receiver<T: Message>: Send + 'static;

    /// Makes a channel.
    fn bounded<T: Message>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>);

    /// Sends; says whether there is still a receiver.
    fn send<T: Message>(to: &mut Self::Sender<T>, message: T) -> impl Future<Output = bool> + Send;

    /// Receives, until the end.
    fn recv<T: Message>(from: &mut Self::Receiver<T>) -> impl Future<Output = Option<T>> + Send;
}

/// What goes over channels.
pub(crate) trait Message: Send + Sync + 'static {}

impl<T: Send + Sync + 'static> Message for T {}

/// tokio; its runtime for one thread if there is to be one.
pub(crate) struct Tokio;

impl Executor for Tokio {
    fn run<F>(workers: usize, root: F) -> Result<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        if workers == 1 {
            return Ok(tokio::runtime::Builder::new_current_thread().build()?.block_on(root));
        }
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).build()?;
        // Started, not blocked on: so that the root runs on a worker as well.
        Ok(runtime.block_on(runtime.spawn(root))?)
    }

    type Task<T: Send + 'static> = tokio::task::JoinHandle<T>;

    fn spawn<F>(task: F) -> Self::Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        tokio::spawn(task)
    }

    async fn join<T: Send + 'static>(task: Self::Task<T>) -> T {
        task.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }
}

/// async-executor, the executor of smol.
pub(crate) struct Smol;

static SMOL: StaticExecutor = StaticExecutor::new();

impl Executor for Smol {
    fn run<F>(workers: usize, root: F) -> Result<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (running, ended) = async_channel::bounded::<()>(1);
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..workers)
                .map(|_| {
                    let ended = ended.clone();
                    scope.spawn(move || future::block_on(SMOL.run(ended.recv())))
                })
                .collect();
            let result = future::block_on(SMOL.run(root));
            drop(running);
            for other in others {
                let _closed = other.join().map_err(|_| anyhow!("a thread panicked"))?;
            }
            Ok(result)
        })
    }

    type Task<T: Send + 'static> = async_executor::Task<T>;

    fn spawn<F>(task: F) -> Self::Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        SMOL.spawn(task)
    }

    async fn join<T: Send + 'static>(task: Self::Task<T>) -> T {
        task.await
    }
}

/// The channel of tokio.
pub(crate) struct TokioMpsc;

impl Wire for TokioMpsc {
    type Sender<T: Message> = tokio::sync::mpsc::Sender<T>;
    type Receiver<T: Message> = tokio::sync::mpsc::Receiver<T>;

    fn bounded<T: Message>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        tokio::sync::mpsc::channel(capacity)
    }

    async fn send<T: Message>(to: &mut Self::Sender<T>, message: T) -> bool {
        to.send(message).await.is_ok()
    }

    async fn recv<T: Message>(from: &mut Self::Receiver<T>) -> Option<T> {
        from.recv().await
    }
}

/// kanal.
pub(crate) struct Kanal;

impl Wire for Kanal {
    type Sender<T: Message> = kanal::AsyncSender<T>;
    type Receiver<T: Message> = kanal::AsyncReceiver<T>;

    fn bounded<T: Message>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        kanal::bounded_async(capacity)
    }

    async fn send<T: Message>(to: &mut Self::Sender<T>, message: T) -> bool {
        to.send(message).await.is_ok()
    }

    async fn recv<T: Message>(from: &mut Self::Receiver<T>) -> Option<T> {
        from.recv().await.ok()
    }
}

/// async-channel, the channel of smol.
pub(crate) struct AsyncChannel;

impl Wire for AsyncChannel {
    type Sender<T: Message> = async_channel::Sender<T>;
    type Receiver<T: Message> = async_channel::Receiver<T>;

    fn bounded<T: Message>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        async_channel::bounded(capacity)
    }

    async fn send<T: Message>(to: &mut Self::Sender<T>, message: T) -> bool {
        to.send(message).await.is_ok()
    }

    async fn recv<T: Message>(from: &mut Self::Receiver<T>) -> Option<T> {
        from.recv().await.ok()
    }
}
