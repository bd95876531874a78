//! Requests: threads and tasks outside ask, and each awaits its own answer.
//!
//! ```text
//!   Requests ─┐  ask                                      answer k to question k
//!   Requests ─┼──────► desk ─► one process ─► questions …… answers ─► the same process
//!   Requests ─┘                                                          └─► the caller
//! ```
//!
//! The process has two tasks: one waits at the desk and sends questions, the other receives answers. Both
//! always come back to that, so no ring of waits goes through them that growth could not free.
//!
//! | a request is | where | and then |
//! |---|---|---|
//! | asked | in the queue of the desk, with its reply | the first task moves the reply to the pending ones, and sends the question |
//! | pending | in the order of the questions | the next answer completes the first |
//! | without an answer | either queue, if the task that would go on with it is dropped or has ended | completed with an error |
//! | given up | the reply alone, whose future was dropped | its answer is received and dropped |
//!
//! All of it stands under the lock of the desk but the state of a reply, which has its own. A reply is completed
//! once: by the thread that takes it out of its queue.

use super::core::{Core, ProcessPlan, Role};
use super::making::{Making, is_ending};
use super::{Channel, Network, Process};
use crate::channel::{Ended, Receiver, Sender};
use kahn_engine::sync::{Arc, Mutex, Parker};
use kahn_report::Name;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::task::{Context, Poll, Wake, Waker};

/// Asks a network from outside, and awaits the answer; made by
/// [`Network::requests`](crate::Network::requests).
///
/// Clones may be given to any threads and tasks. The run goes on until all are dropped.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let (requests, questions, answers) = network.requests::<u32, u32>("service", 8);
/// network.process("double", (questions, answers), async |(mut questions, mut answers)| {
///     while let Some(n) = questions.recv().await {
///         answers.send(2 * n).await;
///     }
/// });
/// let users: Vec<_> = (0..3)
///     .map(|n| {
///         let requests = requests.clone();
///         std::thread::spawn(move || requests.ask_blocking(n))
///     })
///     .collect();
/// drop(requests);
/// network.run()?;
/// let answers = users.into_iter().map(|user| user.join().expect("it does not panic"));
/// assert_eq!(answers.collect::<Vec<_>>(), [Ok(0), Ok(2), Ok(4)]);
/// # Ok::<(), kahn::RunError>(())
/// ```
pub struct Requests<Q, A> {
    open: Arc<Open<Q, A>>,
}

impl<Q, A> Clone for Requests<Q, A> {
    fn clone(&self) -> Self {
        Self { open: Arc::clone(&self.open) }
    }
}

impl<Q, A> fmt::Debug for Requests<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").finish_non_exhaustive()
    }
}

/// Closes the desk when no more questions can come.
struct Open<Q, A>(Arc<Desk<Q, A>>);

impl<Q, A> Drop for Open<Q, A> {
    fn drop(&mut self) {
        self.0.close();
    }
}

enum State<A> {
    Waits(Option<Waker>),
    Done(Result<A, Ended>),
    Taken,
}

struct Reply<A>(Mutex<State<A>>);

impl<A> Reply<A> {
    fn complete(&self, answer: Result<A, Ended>) {
        let before = mem::replace(&mut *self.0.lock(), State::Done(answer));
        if let State::Waits(Some(waker)) = before {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<Result<A, Ended>> {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, State::Taken) {
            State::Done(answer) => Poll::Ready(answer),
            State::Waits(_) => {
                *state = State::Waits(Some(waker.clone()));
                Poll::Pending
            }
            State::Taken => unreachable!("it is not polled any more"),
        }
    }
}

struct Queues<Q, A> {
    asked: VecDeque<(Q, Arc<Reply<A>>)>,
    pending: VecDeque<Arc<Reply<A>>>,
    /// Of the task that waits for questions.
    waker: Option<Waker>,
    is_closed: bool,
}

struct Desk<Q, A>(Mutex<Queues<Q, A>>);

impl<Q, A> Desk<Q, A> {
    fn ask(&self, question: Q) -> Result<Arc<Reply<A>>, Ended> {
        let mut queues = self.0.lock();
        if queues.is_closed {
            drop(queues);
            drop(question);
            return Err(Ended::Run);
        }
        let reply = Arc::new(Reply(Mutex::new(State::Waits(None))));
        queues.asked.push_back((question, Arc::clone(&reply)));
        let waker = queues.waker.take();
        drop(queues);
        // Not under the lock: it makes a process ready.
        waker.into_iter().for_each(Waker::wake);
        Ok(reply)
    }

    /// The next question; none if no more can come.
    fn next(&self, context: &Context<'_>) -> Poll<Option<Q>> {
        let mut queues = self.0.lock();
        match queues.asked.pop_front() {
            Some((question, reply)) => {
                queues.pending.push_back(reply);
                Poll::Ready(Some(question))
            }
            None if queues.is_closed => Poll::Ready(None),
            None => {
                queues.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn answer(&self, answer: A) {
        let reply = self.0.lock().pending.pop_front();
        reply.expect("an answer to each question, and no more").complete(Ok(answer));
    }

    /// No question may come from now on.
    fn close(&self) {
        let waker = {
            let mut queues = self.0.lock();
            queues.is_closed = true;
            queues.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Nothing that was asked is sent any more.
    fn give_up_asked(&self) {
        self.close();
        let asked = mem::take(&mut self.0.lock().asked);
        for (_question, reply) in asked {
            reply.complete(Err(Ended::Run));
        }
    }

    /// Nothing is answered any more.
    fn give_up(&self) {
        self.give_up_asked();
        let pending = mem::take(&mut self.0.lock().pending);
        for reply in pending {
            reply.complete(Err(Ended::Run));
        }
    }
}

/// What the task has that sends questions.
struct Asks<Q, A>(Arc<Desk<Q, A>>);

impl<Q, A> Drop for Asks<Q, A> {
    fn drop(&mut self) {
        self.0.give_up_asked();
    }
}

/// What the task has that receives answers.
struct Answers<Q, A>(Arc<Desk<Q, A>>);

impl<Q, A> Drop for Answers<Q, A> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Wakes a thread.
struct Unparks(Parker);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl<Q: Send, A: Send> Requests<Q, A> {
    /// Asks, and awaits the answer. For tasks of any executor.
    ///
    /// A future that is dropped gives the request up; if the question was asked, its answer is
    /// dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_executor::block_on;
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (requests, questions, answers) = network.requests::<u32, u32>("service", 8);
    /// network.process("count on", (questions, answers), async |(mut questions, mut answers)| {
    ///     while let Some(n) = questions.recv().await {
    ///         answers.send(n + 1).await;
    ///     }
    /// });
    /// let user = std::thread::spawn(move || block_on(async {
    ///     let first = requests.ask(1).await?;
    ///     requests.ask(first).await
    /// }));
    /// network.run()?;
    /// assert_eq!(user.join().expect("it does not panic"), Ok(3));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Errors
    /// [`Ended::Run`] if nothing will answer: the run has ended, or what answers has failed or left.
    pub async fn ask(&self, question: Q) -> Result<A, Ended> {
        let reply = self.open.0.ask(question)?;
        poll_fn(|context| reply.poll(context.waker())).await
    }

    /// Asks, and waits for the answer in the calling thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Ended, Network};
    ///
    /// let mut network = Network::new();
    /// let (requests, questions, answers) = network.requests::<u32, u32>("service", 8);
    /// network.process("leave", (questions, answers), async |(mut questions, answers)| {
    ///     let _unanswered = questions.recv().await;
    ///     drop(answers);
    /// });
    /// let user = std::thread::spawn(move || requests.ask_blocking(1));
    /// network.run()?;
    /// assert_eq!(user.join().expect("it does not panic"), Err(Ended::Run));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    pub fn ask_blocking(&self, question: Q) -> Result<A, Ended> {
        let reply = self.open.0.ask(question)?;
        let unparks = Arc::new(Unparks(Parker::new()));
        let waker = Waker::from(Arc::clone(&unparks));
        loop {
            match reply.poll(&waker) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => unparks.0.park(),
            }
        }
    }
}

impl<'env, M: Making> Network<'env, M> {
    /// Lets any number of threads and tasks outside ask this network: the questions, and where their answers go.
    ///
    /// The answer to question *k* is message *k* of the answers: what stands between may be a
    /// [`map`](Self::map), an [`ordered_map`](Self::ordered_map), or whatever keeps the order and answers each question
    /// once. `capacity` is that of the two channels.
    ///
    /// All that ask are one process in the network, so the order in which questions come is *from outside*:
    /// the report says so, and [`testing::verify`](crate::testing::verify) refuses the network, for two runs
    /// may differ. What is answered to which question still depends on the questions and their order alone.
    ///
    /// A process that creates has it as well: a service may begin while the network runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (requests, questions, answers) = network.requests("service", 8);
    /// let lengths = network.ordered_map("measure", questions, 4, 16, |text: String| text.len());
    /// network.process("answer", (lengths, answers), kahn::process::forward);
    /// let user = std::thread::spawn(move || requests.ask_blocking("to be".to_owned()));
    /// let report = network.run()?;
    /// assert_eq!(user.join().expect("it does not panic"), Ok(5));
    /// assert!(report.warnings[0].starts_with("order from outside"));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `capacity` is 0.
    pub fn requests<Q: Send + 'env, A: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        capacity: u32,
    ) -> (Requests<Q, A>, Receiver<Q>, Sender<A>) {
        let name = name.into();
        let questions = Channel::named(format!("{name} questions")).capacity(capacity);
        let answers = Channel::named(format!("{name} answers")).capacity(capacity);
        self.requests_with(name, questions, answers)
    }

    /// Does the same over channels that are described, such as those with a written form: a recording holds the
    /// questions in the order in which they came, and a replay asks them without those that asked.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    ///
    /// let mut network = Network::new();
    /// let questions = Channel::named("words").wire_with(
    ///     |word: &String, bytes| bytes.extend_from_slice(word.as_bytes()),
    ///     |bytes| Ok(String::from_utf8(bytes.to_vec())?),
    /// );
    /// let (requests, words, answers) = network.requests_with("service", questions, "lengths");
    /// network.process("measure", (words, answers), async |(mut words, mut answers)| {
    ///     while let Some(word) = words.recv().await {
    ///         answers.send(word.len()).await;
    ///     }
    /// });
    /// let user = std::thread::spawn(move || requests.ask_blocking("to be".to_owned()));
    /// network.run()?;
    /// assert_eq!(user.join().expect("it does not panic"), Ok(5));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn requests_with<Q: Send + 'env, A: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        questions: impl Into<Channel<Q>>,
        answers: impl Into<Channel<A>>,
    ) -> (Requests<Q, A>, Receiver<Q>, Sender<A>) {
        let (ask, questions) = self.channel_with(questions.into());
        let (answers, answered) = self.channel_with(answers.into());
        let desk = Arc::new(Desk(Mutex::new(Queues {
            asked: VecDeque::new(),
            pending: VecDeque::new(),
            waker: None,
            is_closed: false,
        })));
        let asks = Asks(Arc::clone(&desk));
        let send_on = async move |mut ask: Sender<Q>| {
            // Whole, so that it is dropped with the process.
            let asks = asks;
            while let Some(question) = poll_fn(|context| asks.0.next(context)).await {
                ask.send(question).await;
            }
        };
        let answers_to = Answers(Arc::clone(&desk));
        let give_back = async move |mut answered: Receiver<A>| {
            let answers_to = answers_to;
            while let Some(answer) = answered.recv().await {
                answers_to.0.answer(answer);
            }
        };
        let name = self.called(name.into());
        self.made.part().with(|core, by| {
            if is_ending(by) {
                return;
            }
            let identity = core.next_identity(by);
            let part = |role| ProcessPlan { role, ..Process::named(name.clone()).effects().plan() };
            core.process(part(Role::First(identity)), ask, send_on, by);
            core.process(part(Role::Part(identity)), answered, give_back, by);
            core.order_is_from_outside(name);
        });
        (Requests { open: Arc::new(Open(desk)) }, questions, answers)
    }
}

impl Core {
    /// A process brings messages in an order that the network does not determine.
    fn order_is_from_outside(&self, process: Name) {
        self.from_outside.lock().push(process);
    }
}
