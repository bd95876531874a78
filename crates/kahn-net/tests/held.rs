//! What a rank does by links that are written for the test: about its chains of waits when it is asked, and with messages
//! that go together.

use kahn::ranks::{Arrival, Batch, Chain, CutEnd, Links, Local, Reason, Shape};
use kahn::{Channel, Network, Options, Receiver, Sender};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

/// The other rank: it sends as much as there is room for on channel 0, nothing else, and receives nothing.
#[derive(Default)]
struct Other {
    local: Mutex<Option<Arc<dyn Local>>>,
    has_begun: Condvar,
    departed: Mutex<Vec<usize>>,
}

impl Other {
    fn local(&self) -> Arc<dyn Local> {
        let mut local = self.local.lock();
        while local.is_none() {
            self.has_begun.wait(&mut local);
        }
        Arc::clone(local.as_ref().expect("it has begun"))
    }

    fn has_departed(&self, channel: usize) -> bool {
        self.departed.lock().contains(&channel)
    }
}

impl Links for Other {
    fn places(&self, shape: &Shape) -> Result<Vec<usize>, String> {
        Ok(shape.processes.iter().map(|one| usize::from(one.name.as_str() == "far")).collect())
    }
    fn rank(&self) -> usize {
        0
    }
    fn begins(&self, local: Arc<dyn Local>) {
        *self.local.lock() = Some(local);
        self.has_begun.notify_all();
    }
    fn poll_room(&self, _: usize, _: &mut Context<'_>) -> Poll<u64> {
        Poll::Pending
    }
    fn sends(&self, _: usize, _: &mut Batch) -> u64 {
        0
    }
    fn closes(&self, _: usize, _: bool) {}
    fn poll_next(&self, channel: usize, into: &mut Batch, _: &mut Context<'_>) -> Poll<Arrival> {
        if channel != 0 {
            return Poll::Pending;
        }
        into.push(&[5]);
        Poll::Ready(Arrival::Messages)
    }
    fn takes(&self, _: usize, _: u64) {}
    fn departs(&self, channel: usize) {
        self.departed.lock().push(channel);
    }
    fn refuses(&self, _: usize, _: String) {}
    fn may_rest(&self) {}
}

type Ends = (Receiver<u64>, Receiver<u64>, Sender<u64>);

/// Runs what `build` makes of channels 0 and 1, from the other rank, and channel 2, to it; and meanwhile the test.
fn beside(
    build: impl FnOnce(&mut Network<'static>, Ends),
    test: impl FnOnce(&Other, &dyn Local) + Send,
) {
    let other = Arc::<Other>::default();
    let links: Arc<dyn Links> = Arc::<Other>::clone(&other);
    let mut network = Network::new();
    let mut wired =
        |name: &'static str| network.channel_with(Channel::<u64>::named(name).wire().capacity(1));
    let (to_first, first) = wired("first");
    let (to_second, second) = wired("second");
    let (out, from_here) = wired("out");
    build(&mut network, (first, second, out));
    let far = (to_first, to_second, from_here);
    network.process("far", far, async |_| {});
    thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let local = other.local();
            test(&other, &*local);
            local.end(Reason::Elsewhere);
        });
        network.run_on_rank(Options::new().workers(2), &links).expect("it runs");
        beside.join().expect("it does not panic");
    });
}

/// The one chain here, when there is one and `is_so`.
fn chain(local: &dyn Local, is_so: impl Fn(&Chain) -> bool) -> Chain {
    loop {
        if let [chain] = &local.chains()[..]
            && is_so(chain)
        {
            return chain.clone();
        }
        thread::yield_now();
    }
}

fn end(channel: usize, is_sender: bool) -> CutEnd {
    CutEnd { channel, is_sender }
}

/// Has workers look for what is to be done, for so long that they would have done it.
#[expect(clippy::disallowed_methods, reason = "it is how long, and nothing of what comes out")]
fn lets_look(local: &dyn Local) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(50) {
        local.rest();
        thread::yield_now();
    }
}

/// It takes nothing from the first channel, for nothing comes on the second.
fn waits_for_second(network: &mut Network<'static>, ends: Ends) {
    network.process("here", ends, async |(mut first, mut second, mut out)| {
        while let (Some(n), Some(more)) = (second.recv().await, first.recv().await) {
            out.send(n + more).await;
        }
    });
}

#[test]
fn what_is_held_is_not_pruned_before_it_is_released() {
    beside(waits_for_second, |other, local| {
        let chain = chain(local, |_| true);
        assert_eq!((chain.from, chain.to), (end(0, false), end(1, false)));
        assert_eq!(chain.smallest, None);
        assert_eq!(local.hold(std::slice::from_ref(&chain)), [true]);
        // Nothing observes it any more.
        local.reader_left(2);
        lets_look(local);
        assert!(!other.has_departed(1), "it was pruned");
        assert_eq!(local.chains(), [chain]);
        local.release();
        while !other.has_departed(1) {
            thread::yield_now();
        }
    });
}

#[test]
fn what_waits_for_good_takes_nothing_more_when_it_is_released() {
    beside(waits_for_second, |other, local| {
        let chain = chain(local, |_| true);
        assert_eq!(local.hold(std::slice::from_ref(&chain)), [true]);
        local.is_dead_on(&chain);
        lets_look(local);
        assert!(!other.has_departed(0) && local.chains().is_empty());
        local.release();
        while !other.has_departed(0) {
            thread::yield_now();
        }
    });
}

#[test]
fn a_full_channel_grows_on_the_chain_that_stands_and_on_no_other() {
    let sends = |network: &mut Network<'static>, (first, second, out): Ends| {
        network.process("here", (first, second, out), async |(first, second, mut out)| {
            out.send_all(0..).await;
            drop((first, second));
        });
    };
    beside(sends, |_, local| {
        let capacity = |chain: &Chain| chain.smallest.map(|full| full.capacity);
        let one = chain(local, |_| true);
        assert_eq!((one.from, one.to, capacity(&one)), (end(0, false), end(2, true), Some(1)));
        assert_eq!(local.hold(std::slice::from_ref(&one)), [true]);
        assert!(local.grow_on(&one));
        local.release();
        let two = chain(local, |chain| capacity(chain) > Some(1));
        // It is over, so nothing is done about it.
        assert_eq!(local.hold(std::slice::from_ref(&one)), [false]);
        assert!(local.grow_on(&one));
        lets_look(local);
        assert_eq!(local.chains(), [two]);
    });
}

/// A rank that takes or sends a hundred numbers, on channel 0, and keeps what it is told of that.
struct Hundred {
    /// How many may go at once.
    room: u64,
    /// What it sends, at once.
    messages: Mutex<Batch>,
    sent: Mutex<Vec<Batch>>,
    taken: Mutex<Vec<u64>>,
    has_closed: Mutex<bool>,
    has_departed: Mutex<bool>,
}

impl Hundred {
    fn new(room: u64) -> Arc<Self> {
        let mut messages = Batch::new();
        (0..100).for_each(|number| messages.push(&[number]));
        Arc::new(Self {
            room,
            messages: Mutex::new(messages),
            sent: Mutex::default(),
            taken: Mutex::default(),
            has_closed: Mutex::default(),
            has_departed: Mutex::default(),
        })
    }
}

impl Links for Hundred {
    fn places(&self, shape: &Shape) -> Result<Vec<usize>, String> {
        Ok(shape.processes.iter().map(|one| usize::from(one.name.as_str() == "far")).collect())
    }
    fn rank(&self) -> usize {
        0
    }
    fn begins(&self, _: Arc<dyn Local>) {}
    fn poll_room(&self, _: usize, _: &mut Context<'_>) -> Poll<u64> {
        Poll::Ready(self.room)
    }
    fn sends(&self, _: usize, messages: &mut Batch) -> u64 {
        self.sent.lock().push(std::mem::take(messages));
        self.room
    }
    fn closes(&self, _: usize, has_failed: bool) {
        assert!(!has_failed);
        *self.has_closed.lock() = true;
    }
    fn poll_next(&self, _: usize, into: &mut Batch, _: &mut Context<'_>) -> Poll<Arrival> {
        assert!(into.is_empty(), "what came before is in the channel");
        *into = std::mem::take(&mut *self.messages.lock());
        Poll::Ready(if into.is_empty() { Arrival::End } else { Arrival::Messages })
    }
    fn takes(&self, _: usize, messages: u64) {
        self.taken.lock().push(messages);
    }
    fn departs(&self, _: usize) {
        *self.has_departed.lock() = true;
    }
    fn refuses(&self, _: usize, why: String) {
        panic!("{why}");
    }
    fn may_rest(&self) {}
}

/// Runs a network with one channel on one worker.
fn run(
    links: &Arc<Hundred>,
    capacity: u32,
    build: fn(&mut Network<'static>, Sender<u8>, Receiver<u8>),
) {
    let mut network = Network::new();
    let channel = Channel::named("numbers").wire().capacity(capacity);
    let (out, numbers) = network.channel_with(channel);
    build(&mut network, out, numbers);
    let links: Arc<dyn Links> = Arc::<Hundred>::clone(links);
    network.run_on_rank(Options::new().workers(1), &links).expect("it runs");
}

#[test]
fn what_is_in_a_channel_goes_together_as_far_as_there_is_room() {
    for (room, capacity, at_once) in [(u64::MAX, 64, 32), (10, 64, 10), (1, 64, 1), (10, 1, 1)] {
        let links = Hundred::new(room);
        run(&links, capacity, |network, out, numbers| {
            network.process("here", out, async |mut out| out.send_all(0..100).await);
            network.process("far", numbers, async |_| {});
        });
        assert!(*links.has_closed.lock());
        let mut all = Vec::new();
        let mut largest = 0;
        for mut batch in links.sent.lock().drain(..) {
            largest = largest.max(batch.len());
            while let Some(message) = batch.pop() {
                all.extend_from_slice(message);
            }
        }
        assert!(all.into_iter().eq(0..100), "numbers are lost, or in another order");
        assert_eq!(largest, at_once, "room for {room}, capacity {capacity}");
    }
}

#[test]
fn what_comes_together_is_sent_on_as_far_as_there_is_room_and_told_of() {
    for (capacity, at_once) in [(200, 100), (64, 32), (8, 4), (1, 1)] {
        let links = Hundred::new(0);
        run(&links, capacity, |network, out, numbers| {
            network.process("far", out, async |_| {});
            network.process("here", numbers, async |mut numbers| {
                for number in 0..100 {
                    assert_eq!(numbers.recv().await, Some(number));
                }
                assert_eq!(numbers.recv().await, None);
            });
        });
        let taken = links.taken.lock();
        assert_eq!(taken.iter().sum::<u64>(), 100);
        assert_eq!(taken.iter().max(), Some(&at_once), "capacity {capacity}");
        assert!(!*links.has_departed.lock());
    }
}

#[test]
fn a_reader_that_leaves_before_all_has_come_is_told_of() {
    let links = Hundred::new(0);
    run(&links, 4, |network, out, numbers| {
        network.process("far", out, async |_| {});
        network.process("here", numbers, async |mut numbers| {
            assert_eq!(numbers.recv().await, Some(0));
        });
    });
    assert!(*links.has_departed.lock());
    assert!(links.taken.lock().iter().sum::<u64>() < 100);
}
