//! What a rank does about its chains of waits when it is asked, by links that are written for the test.

use kahn::ranks::{Arrival, Chain, CutEnd, Links, Local, Reason, Shape};
use kahn::{Channel, Network, Options, Receiver, Sender};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

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
    fn poll_room(&self, _: usize, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
    fn sends(&self, _: usize, _: &[u8]) {}
    fn closes(&self, _: usize, _: bool) {}
    fn poll_next(&self, channel: usize, into: &mut Vec<u8>, _: &mut Context<'_>) -> Poll<Arrival> {
        if channel != 0 {
            return Poll::Pending;
        }
        into.push(5);
        Poll::Ready(Arrival::Message)
    }
    fn takes(&self, _: usize) {}
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

/// Has workers look for what is to be done, so often that they would have done it.
fn lets_look(local: &dyn Local) {
    for _ in 0..500 {
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
