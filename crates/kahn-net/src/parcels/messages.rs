//! What [`Parcels`](super::Parcels) go through: a library that carries whole messages.

/// Carries whole messages between ranks, in order between each two; its functions are called by one thread, and none
/// of them waits.
///
/// # Examples
///
/// The one rank of a run, to which nothing comes:
///
/// ```
/// use kahn_net::{Messages, Parcels, Sizes};
///
/// struct Alone;
///
/// impl Messages for Alone {
///     type Sending = ();
///     type Room = ();
///     type Barrier = ();
///     fn ranks(&self) -> usize {
///         1
///     }
///     fn send(&mut self, _to: usize, _message: Vec<u8>) {}
///     fn is_sent(&mut self, _sending: &mut ()) -> Option<Vec<u8>> {
///         Some(Vec::new())
///     }
///     fn receive(&mut self, _memory: Vec<u8>, _most: usize) {}
///     fn has_come(&mut self, _room: &mut ()) -> Option<(usize, Vec<u8>)> {
///         None
///     }
///     fn cancel(&mut self, _room: ()) {}
///     fn barrier(&mut self) {}
///     fn is_passed(&mut self, _barrier: &mut ()) -> bool {
///         true
///     }
/// }
///
/// let mut parcels = Parcels::of(Alone, Sizes::default());
/// assert_eq!(parcels.receive(&mut [Vec::new()]), None);
/// assert!(parcels.end_run().is_over);
/// ```
pub trait Messages {
    /// A message on its way.
    type Sending;
    /// Room for what comes next from any rank.
    type Room;
    /// Where all ranks come to.
    type Barrier;

    /// Returns how many ranks there are.
    fn ranks(&self) -> usize;

    /// Begins to send a message.
    fn send(&mut self, to: usize, message: Vec<u8>) -> Self::Sending;

    /// Returns the memory of a message, if that is sent; it is not asked again then.
    fn is_sent(&mut self, sending: &mut Self::Sending) -> Option<Vec<u8>>;

    /// Gives memory for one message of at most so many bytes; what is in it is forgotten. What comes fills rooms in the
    /// order in which they were given.
    fn receive(&mut self, memory: Vec<u8>, most: usize) -> Self::Room;

    /// Returns what has come, and the rank that sent it; it is not asked again then.
    fn has_come(&mut self, room: &mut Self::Room) -> Option<(usize, Vec<u8>)>;

    /// Takes room back to which nothing has come.
    fn cancel(&mut self, room: Self::Room);

    /// Comes to the barrier.
    fn barrier(&mut self) -> Self::Barrier;

    /// Tells whether all ranks have come to it; it is not asked again then.
    fn is_passed(&mut self, barrier: &mut Self::Barrier) -> bool;
}
