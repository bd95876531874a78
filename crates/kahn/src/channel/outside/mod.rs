//! Ends for what is no process: ordinary threads, tasks of other executors.

mod party;

pub use party::{Ended, Party};

use super::closing;
use super::language::Worker;
use super::ports::Ports;
use super::raw::{ChannelRef, End};
use super::{Receiver, Sender};
use kahn_engine::sync::Arc;
use party::Operation;
use std::fmt;

/// Ports whose ends can be given to an outside party.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let numbers = vec![network.source("a", 0..3_u32), network.source("b", 3..6)];
/// // Vectors and tuples of ends are such ports as well.
/// let numbers = network.outside("driver", numbers);
/// let driver = std::thread::spawn(move || {
///     let mut sum = 0;
///     for mut numbers in numbers {
///         while let Ok(Some(n)) = numbers.recv_blocking() {
///             sum += n;
///         }
///     }
///     sum
/// });
/// network.run()?;
/// assert_eq!(driver.join().expect("it does not panic"), 15);
/// # Ok::<(), kahn::RunError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given to a party outside",
    label = "this is no end of a channel",
    note = "a party outside has ends of channels, alone or in tuples; its thread has all else anyway"
)]
pub trait OutsidePorts: Ports {
    /// The same ends in the hands of a party.
    type Outside;

    /// Gives the ends to a party; called by [`Network::outside`](crate::Network::outside).
    ///
    /// # Examples
    ///
    /// See [`Party`].
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..3_u32);
    /// // It is called here, with the party of this name.
    /// let mut numbers = network.outside("driver", numbers);
    /// let driver = std::thread::spawn(move || numbers.recv_blocking());
    /// network.run()?;
    /// assert_eq!(driver.join().expect("it does not panic"), Ok(Some(0)));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    fn into_outside(self, party: &Arc<Party>) -> Self::Outside;
}

/// The sending end of a channel in the hands of an outside party.
///
/// A message is copied into the channel: no slot is [reserved](Sender::reserve) here, for a party
/// holds its ends only within an operation. Send a large one in a box.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel("numbers");
/// let sum = network.fold("sum", numbers, 0, |sum, n: u32| sum + n);
/// let mut out = network.outside("driver", out);
/// let driver = std::thread::spawn(move || (1..=4).try_for_each(|n| out.send_blocking(n)));
/// network.run()?;
/// assert_eq!(driver.join().expect("it does not panic"), Ok(()));
/// assert_eq!(sum.take(), Some(10));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub struct OutsideSender<T: Send> {
    // `Some` until dropped, but of a party that is stood in for; before `party`, which keeps its memory.
    sender: Option<Sender<T>>,
    party: Arc<Party>,
}

/// The receiving end of a channel in the hands of an outside party.
///
/// A message is copied out of the channel: nothing is received [in place](Receiver::recv_in_place)
/// here, for a party holds its ends only within an operation. Receive a large one in a box.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 1..=4_u32);
/// let mut numbers = network.outside("driver", numbers);
/// let driver = std::thread::spawn(move || {
///     let mut all = Vec::new();
///     while let Some(n) = numbers.recv_blocking()? {
///         all.push(n);
///     }
///     Ok::<_, kahn::Ended>(all)
/// });
/// network.run()?;
/// assert_eq!(driver.join().expect("it does not panic"), Ok(vec![1, 2, 3, 4]));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub struct OutsideReceiver<T: Send> {
    receiver: Option<Receiver<T>>,
    party: Arc<Party>,
}

impl<T: Send> fmt::Debug for OutsideSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutsideSender").field(&self.sender).finish()
    }
}

impl<T: Send> fmt::Debug for OutsideReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutsideReceiver").field(&self.receiver).finish()
    }
}

impl<T: Send> OutsideSender<T> {
    /// Sends a message, holding the thread while the channel is full.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Ended, Network};
    ///
    /// let mut network = Network::new();
    /// let (out, words) = network.channel("words");
    /// let all = network.collect("all", words);
    /// let mut out = network.outside("driver", out);
    /// let driver = std::thread::spawn(move || {
    ///     out.send_blocking("hello")?;
    ///     out.send_blocking("world")
    /// });
    /// network.run()?;
    /// assert_eq!(driver.join().expect("it does not panic"), Ok::<(), Ended>(()));
    /// assert_eq!(all.take(), Some(vec!["hello", "world"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Errors
    /// [`Ended::Run`] if the run ended; the message is dropped.
    pub fn send_blocking(&mut self, message: T) -> Result<(), Ended> {
        let Some(sender) = self.sender.as_mut() else { return Err(Ended::Run) };
        let mut message = Some(message);
        let sent = self.party.block(End::Sender, sender.channel(), |worker| {
            if let Some(message) = message.take() {
                sender.write(message, Some(worker));
            }
        });
        sent.map(|_| message.iter().for_each(|message| sender.channel().discards(message)))
    }

    /// Sends a message, waiting while the channel is full. The operation may be dropped; the
    /// message is then not sent.
    ///
    /// # Examples
    ///
    /// A task of another executor:
    ///
    /// ```
    /// use kahn::{Ended, Network};
    ///
    /// let mut network = Network::new();
    /// let (out, words) = network.channel("words");
    /// let all = network.collect("all", words);
    /// let mut out = network.outside("driver", out);
    /// let driver = std::thread::spawn(move || {
    ///     futures_executor::block_on(async {
    ///         out.send("hello").await?;
    ///         out.send("world").await
    ///     })
    /// });
    /// network.run()?;
    /// assert_eq!(driver.join().expect("it does not panic"), Ok::<(), Ended>(()));
    /// assert_eq!(all.take(), Some(vec!["hello", "world"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Errors
    /// [`Ended::Run`] if the run ended; the message is dropped.
    pub async fn send(&mut self, message: T) -> Result<(), Ended> {
        let Some(sender) = self.sender.as_mut() else { return Err(Ended::Run) };
        let channel = sender.channel();
        let mut message = Some(message);
        let go = |worker: &Worker| {
            if let Some(message) = message.take() {
                sender.write(message, Some(worker));
            }
        };
        let sent = Operation::new(&self.party, End::Sender, channel, go).await;
        sent.map(|_| message.iter().for_each(|message| channel.discards(message)))
    }
}

impl<T: Send> OutsideReceiver<T> {
    /// Receives the next message, holding the thread until there is one; `None` at the end of the
    /// stream.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let words = network.source("words", ["hello"]);
    /// let mut words = network.outside("driver", words);
    /// let driver = std::thread::spawn(move || (words.recv_blocking(), words.recv_blocking()));
    /// network.run()?;
    /// assert_eq!(driver.join().expect("it does not panic"), (Ok(Some("hello")), Ok(None)));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Errors
    /// [`Ended::Run`] if the run ended, [`Ended::Sender`] if the process that sends has failed.
    pub fn recv_blocking(&mut self) -> Result<Option<T>, Ended> {
        let Some(receiver) = self.receiver.as_mut() else { return Err(Ended::Run) };
        self.party.block(End::Receiver, receiver.channel(), |worker| receiver.read(Some(worker)))
    }

    /// Receives the next message, waiting until there is one; `None` at the end of the stream. The
    /// operation may be dropped; no message is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let words = network.source("words", ["hello"]);
    /// let mut words = network.outside("driver", words);
    /// let driver = std::thread::spawn(move || {
    ///     futures_executor::block_on(async { (words.recv().await, words.recv().await) })
    /// });
    /// network.run()?;
    /// assert_eq!(driver.join().expect("it does not panic"), (Ok(Some("hello")), Ok(None)));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Errors
    /// [`Ended::Run`] if the run ended, [`Ended::Sender`] if the process that sends has failed.
    pub async fn recv(&mut self) -> Result<Option<T>, Ended> {
        let Some(receiver) = self.receiver.as_mut() else { return Err(Ended::Run) };
        let channel = receiver.channel();
        let go = |worker: &Worker| receiver.read(Some(worker));
        Operation::new(&self.party, End::Receiver, channel, go).await
    }
}

impl<T: Send> Drop for OutsideSender<T> {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            self.party.give_up(Kept(sender.into_channel(), End::Sender));
        }
    }
}

impl<T: Send> Drop for OutsideReceiver<T> {
    fn drop(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            self.party.give_up(Kept(receiver.into_channel(), End::Receiver));
        }
    }
}

/// An end that a party gives up: dropped like any other, but that nothing counts on it any more.
#[derive(Debug)]
struct Kept(ChannelRef, End);

impl Drop for Kept {
    fn drop(&mut self) {
        closing::give_up(self.0, self.1);
    }
}

/// A party may live longer than what messages are written beside.
fn refuse_borrowing(channel: ChannelRef) {
    let borrows = channel.is_written_beside();
    assert!(
        !borrows,
        "channel `{}` is for processes: its messages are written beside what is borrowed",
        channel.name()
    );
}

impl<T: Send> OutsidePorts for Sender<T> {
    type Outside = OutsideSender<T>;

    fn into_outside(self, party: &Arc<Party>) -> OutsideSender<T> {
        refuse_borrowing(self.channel());
        if party.is_stood_in_for() {
            self.into_channel();
            return OutsideSender { sender: None, party: Arc::clone(party) };
        }
        self.channel().table().end_kept();
        OutsideSender { sender: Some(self), party: Arc::clone(party) }
    }
}

impl<T: Send> OutsidePorts for Receiver<T> {
    type Outside = OutsideReceiver<T>;

    fn into_outside(self, party: &Arc<Party>) -> OutsideReceiver<T> {
        refuse_borrowing(self.channel());
        if party.is_stood_in_for() {
            self.into_channel();
            return OutsideReceiver { receiver: None, party: Arc::clone(party) };
        }
        self.channel().table().end_kept();
        OutsideReceiver { receiver: Some(self), party: Arc::clone(party) }
    }
}

impl<P: OutsidePorts> OutsidePorts for Vec<P> {
    type Outside = Vec<P::Outside>;

    fn into_outside(self, party: &Arc<Party>) -> Self::Outside {
        self.into_iter().map(|port| port.into_outside(party)).collect()
    }
}

macro_rules! tuples_outside {
    ($(($($name:ident),+)),*) => {$(
        impl<$($name: OutsidePorts),+> OutsidePorts for ($($name,)+) {
            type Outside = ($($name::Outside,)+);

            fn into_outside(self, party: &Arc<Party>) -> Self::Outside {
                #[expect(non_snake_case, reason = "one name for a type and its value")]
                let ($($name,)+) = self;
                ($($name.into_outside(party),)+)
            }
        }
    )*};
}

tuples_outside!((A), (A, B), (A, B, C), (A, B, C, D));
