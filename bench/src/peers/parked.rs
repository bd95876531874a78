//! A bounded channel: rtrb's ring, whose ends sleep when they must wait.
//!
//! rtrb has no waiting of its own. Each end tries for a moment, then raises its flag, looks once
//! more and parks. The other end looks at the flag after each operation: store, fence, load on both
//! sides, so that one of the two sees the other.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// What sleeps: an OS thread or a coroutine.
pub(crate) trait Sleeper: Send + Sync + 'static {
    /// How often a full or empty ring is looked at before sleeping.
    const TRIES: u32;
    fn current() -> Self;
    fn park();
    fn unpark(&self);
}

impl Sleeper for std::thread::Thread {
    const TRIES: u32 = 100;

    fn current() -> Self {
        std::thread::current()
    }

    fn park() {
        std::thread::park();
    }

    fn unpark(&self) {
        Self::unpark(self);
    }
}

impl Sleeper for may::coroutine::Coroutine {
    // Another coroutine can use the time.
    const TRIES: u32 = 0;

    fn current() -> Self {
        may::coroutine::current()
    }

    fn park() {
        may::coroutine::park();
    }

    fn unpark(&self) {
        Self::unpark(self);
    }
}

/// One end, as the other sees it.
struct End<S> {
    waits: AtomicBool,
    sleeper: OnceLock<S>,
}

impl<S: Sleeper> End<S> {
    fn new() -> Self {
        Self { waits: AtomicBool::new(false), sleeper: OnceLock::new() }
    }

    /// Tries until it works.
    fn attempt<R>(&self, mut operation: impl FnMut() -> Option<R>) -> R {
        for _ in 0..=S::TRIES {
            if let Some(result) = operation() {
                return result;
            }
            std::hint::spin_loop();
        }
        self.sleeper.get_or_init(S::current);
        loop {
            self.waits.store(true, Ordering::Relaxed);
            // Pairs with the fence in `wake`: the flag is seen there, or the operation works here.
            fence(Ordering::SeqCst);
            if let Some(result) = operation() {
                self.waits.store(false, Ordering::Relaxed);
                return result;
            }
            S::park();
        }
    }

    /// Wakes this end if it sleeps.
    fn wake(&self) {
        // Pairs with the fence in `attempt`.
        fence(Ordering::SeqCst);
        if self.waits.load(Ordering::Relaxed)
            && self.waits.swap(false, Ordering::Relaxed)
            && let Some(sleeper) = self.sleeper.get()
        {
            sleeper.unpark();
        }
    }
}

struct Ends<S> {
    sender: End<S>,
    receiver: End<S>,
}

/// Makes a channel. One for no message has a slot all the same, but a sender waits until its
/// message is taken: they meet.
pub(crate) fn bounded<T, S: Sleeper>(capacity: usize) -> (Sender<T, S>, Receiver<T, S>) {
    let (producer, consumer) = rtrb::RingBuffer::new(capacity.max(1));
    let ends = Arc::new(Ends { sender: End::new(), receiver: End::new() });
    let meets = capacity == 0;
    let sender = Sender { producer: Some(producer), meets, ends: Arc::clone(&ends) };
    (sender, Receiver { consumer: Some(consumer), ends })
}

/// Sends.
pub(crate) struct Sender<T, S: Sleeper> {
    producer: Option<rtrb::Producer<T>>,
    meets: bool,
    ends: Arc<Ends<S>>,
}

impl<T, S: Sleeper> Sender<T, S> {
    /// Sends; says whether there is still a receiver.
    pub(crate) fn send(&mut self, message: T) -> bool {
        let Some(producer) = &mut self.producer else { return false };
        let mut message = Some(message);
        let sent = self.ends.sender.attempt(|| match producer.push(message.take()?) {
            Ok(()) => Some(true),
            Err(_) if producer.is_abandoned() => Some(false),
            Err(rtrb::PushError::Full(back)) => {
                message = Some(back);
                None
            }
        });
        self.ends.receiver.wake();
        if sent && self.meets {
            return self.ends.sender.attempt(|| match producer.slots() {
                0 => producer.is_abandoned().then_some(false),
                _ => Some(true),
            });
        }
        sent
    }

    /// Sends all, as many at a time as there is room for. For plain values.
    pub(crate) fn send_all(&mut self, messages: &[T])
    where
        T: Copy,
    {
        let Some(producer) = &mut self.producer else { return };
        let mut left = messages;
        while !left.is_empty() && !producer.is_abandoned() {
            let sent = self.ends.sender.attempt(|| {
                let count = producer.slots().min(left.len());
                if count == 0 {
                    return producer.is_abandoned().then_some(0);
                }
                let chunk = producer.write_chunk_uninit(count).ok()?;
                Some(chunk.fill_from_iter(left.iter().copied()))
            });
            self.ends.receiver.wake();
            left = &left[sent..];
        }
    }
}

impl<T, S: Sleeper> Drop for Sender<T, S> {
    fn drop(&mut self) {
        drop(self.producer.take());
        self.ends.receiver.wake();
    }
}

/// Receives.
pub(crate) struct Receiver<T, S: Sleeper> {
    consumer: Option<rtrb::Consumer<T>>,
    ends: Arc<Ends<S>>,
}

impl<T, S: Sleeper> Receiver<T, S> {
    /// Receives, until the end.
    pub(crate) fn recv(&mut self) -> Option<T> {
        let consumer = self.consumer.as_mut()?;
        let received = self.ends.receiver.attempt(|| {
            let abandoned = consumer.is_abandoned();
            match consumer.pop() {
                Ok(message) => Some(Some(message)),
                Err(_) => abandoned.then_some(None),
            }
        });
        self.ends.sender.wake();
        received
    }

    /// Receives what is there, one message at least; gives how many, none at the end.
    pub(crate) fn recv_many(&mut self, into: &mut Vec<T>, most: usize) -> usize {
        let Some(consumer) = &mut self.consumer else { return 0 };
        let count = self.ends.receiver.attempt(|| {
            let abandoned = consumer.is_abandoned();
            let count = consumer.slots().min(most);
            if count == 0 {
                return abandoned.then_some(0);
            }
            let chunk = consumer.read_chunk(count).ok()?;
            into.extend(chunk);
            Some(count)
        });
        self.ends.sender.wake();
        count
    }
}

impl<T, S: Sleeper> Drop for Receiver<T, S> {
    fn drop(&mut self) {
        drop(self.consumer.take());
        self.ends.sender.wake();
    }
}
