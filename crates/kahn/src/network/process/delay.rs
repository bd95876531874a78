//! A stream that goes on as it is, or begins with other messages.

use crate::network::making::Making;
use crate::{Channel, Network, Receiver, Sender};

/// Sends each message on; the code of [`Network::delay`].
///
/// What `stream.forward(sink)` does with the ends as a `Stream` and a `Sink`.
///
/// # Examples
///
/// ```
/// use kahn::{Network, process};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..3_u32);
/// let (out, again) = network.channel("again");
/// network.process("forward", (numbers, out), process::forward);
/// let all = network.collect("all", again);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec![0, 1, 2]));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub async fn forward<T: Send>((mut items, mut out): (Receiver<T>, Sender<T>)) {
    while let Some(item) = items.recv().await {
        out.send(item).await;
    }
}

impl<'env, M: Making> Network<'env, M> {
    /// Sends the messages of `first`, then those of the stream.
    ///
    /// The first ones are initial messages of the channel: they are there before anything runs. The
    /// process that follows is [`forward`].
    ///
    /// # Examples
    ///
    /// Each number with the one before it:
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", [1, 4, 9_u32]);
    /// let mut copies = network.tee("copy", numbers, 2);
    /// let before = network.delay("before", copies.remove(1), [0]);
    /// let pairs = network.zip("pairs", before, copies.remove(0));
    /// let all = network.collect("all", pairs);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![(0, 1), (1, 4), (4, 9)]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    #[doc(alias = "feedback")]
    pub fn delay<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        first: impl IntoIterator<Item = T>,
    ) -> Receiver<T> {
        self.stage(name.into().initial(first), items, forward)
    }

    /// Makes a loop: `body` gets what goes round, beginning with the messages of `first`, and returns what
    /// is to go round again, and a result.
    ///
    /// It ends when what goes round ends; or when all is over that could see what it makes, through others
    /// perhaps, as [`run`](Network::run) says. On [several ranks](crate::ranks) a loop that leads over them ends only when
    /// what goes round does.
    ///
    /// # Examples
    ///
    /// Powers of two, each made of the one before it:
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let powers = network.feedback("around", [1_u64], |network, around| {
    ///     let mut copies = network.tee("copy", around, 2);
    ///     let powers = copies.remove(0);
    ///     let doubled = network.map("double", copies.remove(0), |n| n.wrapping_mul(2));
    ///     (doubled, powers)
    /// });
    /// let few = network.take("few", powers, 5);
    /// let all = network.collect("all", few);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 2, 4, 8, 16]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if what `body` returns belongs to another network.
    #[doc(alias = "loop")]
    pub fn feedback<T: Send + 'env, R>(
        &mut self,
        name: impl Into<Channel<T>>,
        first: impl IntoIterator<Item = T>,
        body: impl FnOnce(&mut Self, Receiver<T>) -> (Receiver<T>, R),
    ) -> R {
        let mut channel = name.into().initial(first);
        let process = channel.writer();
        let (back, around) = self.channel_with(channel);
        let (again, result) = body(self, around);
        self.process_with(process, (again, back), forward);
        result
    }

    /// Sends the messages of the first input, then those of the second, and so on.
    ///
    /// What writes an input that is not read yet waits when its channel is full.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let head = network.source("head", ["name"]);
    /// let body = network.source("body", ["ann", "bob"]);
    /// let lines = network.chain("lines", vec![head, body]);
    /// let all = network.collect("all", lines);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["name", "ann", "bob"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if one of the inputs belongs to another network.
    #[doc(alias = "concat")]
    pub fn chain<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        inputs: Vec<Receiver<T>>,
    ) -> Receiver<T> {
        self.stage(name, inputs, |(inputs, mut out)| async move {
            for mut input in inputs {
                while let Some(item) = input.recv().await {
                    out.send(item).await;
                }
            }
        })
    }
}
