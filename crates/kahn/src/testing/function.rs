//! One process as a function from histories to histories.

use super::watchdog::within;
use crate::process::Output;
use crate::{Network, Options, Ports, ProcessResult, Receiver, RunError, Sender};
use std::time::Duration;

/// How long one process may run in a test.
const LIMIT: Duration = Duration::from_secs(60);

/// Histories that [`run_process`] feeds to a process, or gets from it.
///
/// | history | as input | as output |
/// |---|---|---|
/// | `Vec<T>` | `Receiver<T>` | `Sender<T>` |
/// | a tuple or an array of histories | the same of receivers | the same of senders |
/// | `()` | no input | no output |
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, Sender, testing::run_process};
///
/// type Ports = ((Receiver<u32>, Receiver<u32>), Sender<u32>);
///
/// // A pair of histories as the input, and one as the output.
/// let sums: Vec<u32> = run_process(
///     (vec![1, 2], vec![10, 20]),
///     async |((mut a, mut b), mut out): Ports| {
///         while let (Some(a), Some(b)) = (a.recv().await, b.recv().await) {
///             out.send(a + b).await;
///         }
///     },
/// );
/// assert_eq!(sums, [11, 22]);
/// ```
pub trait Histories<'env>: Sized {
    /// The ports by which a process receives these histories.
    type Receivers: Ports + 'env;
    /// The ports by which a process sends such histories.
    type Senders: Ports + 'env;
    /// Where they stand after the run.
    type Sent;

    /// Makes processes that send these histories.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, testing::Histories};
    ///
    /// let mut network = Network::new();
    /// let [a, b] = [vec![1_u32], vec![2]].feed(&mut network, "input".to_owned());
    /// assert_eq!((a.name().as_str(), b.name().as_str()), ("input 0", "input 1"));
    /// let both = network.gather("both", vec![a, b]);
    /// let all = network.collect("all", both);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 2]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    fn feed(self, network: &mut Network<'env>, name: String) -> Self::Receivers;

    /// Makes processes that receive such histories.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, testing::Histories};
    ///
    /// let mut network = Network::new();
    /// let (out, sent) = Vec::<u32>::gather(&mut network, "output".to_owned());
    /// network.process("count", out, async |mut out| out.send_all(1..=3).await);
    /// network.run()?;
    /// assert_eq!(Vec::take(sent), [1, 2, 3]);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    fn gather(network: &mut Network<'env>, name: String) -> (Self::Senders, Self::Sent);

    /// Takes them after the run; empty where it was not finished.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, testing::Histories};
    ///
    /// let mut network = Network::new();
    /// let (out, sent) = <[Vec<u32>; 2]>::gather(&mut network, "output".to_owned());
    /// network.process("leave", out, async |_outs| {});
    /// network.run()?;
    /// assert_eq!(<[Vec<u32>; 2]>::take(sent), [const { Vec::<u32>::new() }; 2]);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    fn take(sent: Self::Sent) -> Self;
}

impl<'env> Histories<'env> for () {
    type Receivers = ();
    type Senders = ();
    type Sent = ();

    fn feed(self, _network: &mut Network<'env>, _name: String) {}

    fn gather(_network: &mut Network<'env>, _name: String) -> ((), ()) {
        ((), ())
    }

    fn take(_sent: ()) {}
}

impl<'env, T: Send + 'env> Histories<'env> for Vec<T> {
    type Receivers = Receiver<T>;
    type Senders = Sender<T>;
    type Sent = Output<Self>;

    fn feed(self, network: &mut Network<'env>, name: String) -> Receiver<T> {
        network.source(name, self)
    }

    fn gather(network: &mut Network<'env>, name: String) -> (Sender<T>, Output<Self>) {
        let (sender, receiver) = network.channel(name.clone());
        (sender, network.collect(name, receiver))
    }

    fn take(sent: Output<Self>) -> Self {
        sent.take().unwrap_or_default()
    }
}

impl<'env, H: Histories<'env>, const N: usize> Histories<'env> for [H; N] {
    type Receivers = [H::Receivers; N];
    type Senders = [H::Senders; N];
    type Sent = [H::Sent; N];

    fn feed(self, network: &mut Network<'env>, name: String) -> Self::Receivers {
        let mut index = 0..N;
        self.map(|history| history.feed(network, numbered(&name, index.next())))
    }

    fn gather(network: &mut Network<'env>, name: String) -> (Self::Senders, Self::Sent) {
        let mut sent = Vec::with_capacity(N);
        let senders = std::array::from_fn(|index| {
            let (senders, more) = H::gather(network, numbered(&name, Some(index)));
            sent.push(more);
            senders
        });
        let mut sent = sent.into_iter();
        (senders, std::array::from_fn(|_| sent.next().expect("one for each of the array")))
    }

    fn take(sent: Self::Sent) -> Self {
        sent.map(H::take)
    }
}

fn numbered(name: &str, index: Option<usize>) -> String {
    index.map_or_else(|| name.to_owned(), |index| format!("{name} {index}"))
}

macro_rules! tuples_of_histories {
    ($(($($history:ident $index:tt),+)),*) => {$(
        impl<'env, $($history: Histories<'env>),+> Histories<'env> for ($($history,)+) {
            type Receivers = ($($history::Receivers,)+);
            type Senders = ($($history::Senders,)+);
            type Sent = ($($history::Sent,)+);

            fn feed(self, network: &mut Network<'env>, name: String) -> Self::Receivers {
                ($(self.$index.feed(network, format!("{name} {}", $index)),)+)
            }

            fn gather(network: &mut Network<'env>, name: String) -> (Self::Senders, Self::Sent) {
                let both = ($($history::gather(network, format!("{name} {}", $index)),)+);
                (($(both.$index.0,)+), ($(both.$index.1,)+))
            }

            fn take(sent: Self::Sent) -> Self {
                ($($history::take(sent.$index),)+)
            }
        }
    )*};
}

tuples_of_histories!((A 0), (A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, D 3));

/// Runs one process as a function from histories to histories.
///
/// The process gets a pair of ports: what receives `inputs`, and what sends the result. The type of
/// the result says how many outputs there are. Every operation of the process waits once, so that
/// misuse shows.
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, Sender, testing::run_process};
///
/// async fn double((mut numbers, mut out): (Receiver<u32>, Sender<u32>)) {
///     while let Some(n) = numbers.recv().await {
///         out.send(2 * n).await;
///     }
/// }
///
/// let doubled: Vec<u32> = run_process(vec![1, 2, 3], double);
/// assert_eq!(doubled, [2, 4, 6]);
/// ```
///
/// Two inputs of different types, and two outputs. A closure names the types of its ports:
///
/// ```
/// # use kahn::{Receiver, Sender, testing::run_process};
/// type Inputs = (Receiver<bool>, Receiver<char>);
/// type Outputs = [Sender<char>; 2];
///
/// let [yes, no]: [Vec<char>; 2] = run_process(
///     (vec![true, false, true], vec!['a', 'b', 'c']),
///     async |((mut which, mut letters), [mut yes, mut no]): (Inputs, Outputs)| {
///         while let (Some(is), Some(letter)) = (which.recv().await, letters.recv().await) {
///             if is { yes.send(letter).await } else { no.send(letter).await }
///         }
///     },
/// );
/// assert_eq!((yes, no), (vec!['a', 'c'], vec!['b']));
/// ```
///
/// The processes of the [library](crate::process) can be run in this way too:
///
/// ```
/// use kahn::{process, testing::run_process};
///
/// let sorted: Vec<u32> = run_process([vec![1, 4], vec![2, 3]], |(inputs, out)| {
///     process::merge_sorted((inputs.into(), out))
/// });
/// assert_eq!(sorted, [1, 2, 3, 4]);
/// ```
///
/// # Panics
/// Panics if the process fails, misuses an end, waits for what never comes, or does not end within
/// a minute; see [`within`].
#[track_caller]
pub fn run_process<'env, I, O, F, R, E>(inputs: I, process: F) -> O
where
    I: Histories<'env>,
    O: Histories<'env>,
    F: FnOnce((I::Receivers, O::Senders)) -> R + Send + 'env,
    R: Future<Output = E> + Send + 'env,
    E: ProcessResult + 'env,
{
    try_run_process(inputs, process).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs one process as [`run_process`] does, for tests of processes that fail.
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, RunError, Sender, testing::try_run_process};
/// use std::num::ParseIntError;
///
/// type Ports = (Receiver<&'static str>, Sender<u32>);
///
/// async fn parse((mut texts, mut numbers): Ports) -> Result<(), ParseIntError> {
///     while let Some(text) = texts.recv().await {
///         numbers.send(text.parse()?).await;
///     }
///     Ok(())
/// }
///
/// let parsed: Result<Vec<u32>, RunError> = try_run_process(vec!["1", "two"], parse);
/// assert!(parsed.is_err_and(|error| error.to_string().contains("invalid digit")));
/// ```
///
/// # Errors
/// As for [`Network::run`]: the process failed, misused an end, or waits for what never comes.
///
/// # Panics
/// Panics if the process does not end within a minute; see [`within`].
#[track_caller]
pub fn try_run_process<'env, I, O, F, R, E>(inputs: I, process: F) -> Result<O, RunError>
where
    I: Histories<'env>,
    O: Histories<'env>,
    F: FnOnce((I::Receivers, O::Senders)) -> R + Send + 'env,
    R: Future<Output = E> + Send + 'env,
    E: ProcessResult + 'env,
{
    let mut network = Network::new();
    let receivers = inputs.feed(&mut network, "input".to_owned());
    let (senders, sent) = O::gather(&mut network, "output".to_owned());
    network.process("process", (receivers, senders), process);
    within(LIMIT, |watchdog| {
        watchdog.watch(&network);
        network.run_with(Options::new().policy(crate::policy::SEEDED))
    })?;
    Ok(O::take(sent))
}
