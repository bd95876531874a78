//! A rank with one worker and one core, whose worker speaks with the other ranks: when it turns its driver, what it is
//! woken by, and what goes on while a process holds it.

use kahn::ranks::{Arrival, Batch, Driver, Links, Local, Reason, Shape};
use kahn::{Channel, Network, Options, ProcessEnd, Report, testing};
use kahn_engine::WorkerCore;
use kahn_net::{Event, NetError, OneRank, Placement, Ran, Transport};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// More runs than there are cores: each has one.
const RUNS: usize = 1 << 20;

fn options() -> Options {
    Options::new().workers(1).cores_shared_by(RUNS)
}

/// What was done, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Run,
    Send,
    Turn,
    Wait,
    Leave,
}

/// Links to a rank on which `far` runs, and their driver, which write down what is done. There is always room.
#[derive(Default)]
struct Noted {
    done: Mutex<Vec<Did>>,
    has_done: Condvar,
    local: Mutex<Option<Arc<dyn Local>>>,
    has_woken: Mutex<bool>,
    woken: Condvar,
    /// Its first wait ends the run; if not, another thread does.
    ends: bool,
}

impl Noted {
    fn note(&self, did: Did) {
        self.done.lock().push(did);
        self.has_done.notify_all();
    }

    /// Waits until its worker waits.
    fn await_wait(&self) {
        let has_not = |done: &mut Vec<Did>| !done.contains(&Did::Wait);
        self.has_done.wait_while(&mut self.done.lock(), has_not);
    }

    fn end(&self) {
        let local = self.local.lock().clone();
        local.expect("it has begun").end(Reason::Elsewhere);
    }
}

impl Driver for Noted {
    fn turn(&self) {
        let is_none = WorkerCore::with_current(|worker| worker.is_none());
        assert!(is_none, "what it does comes from outside of all workers");
        self.note(Did::Turn);
    }

    fn wait(&self, most: Option<Duration>) {
        assert_eq!(most, None, "nothing else runs");
        self.note(Did::Wait);
        if self.ends {
            return self.end();
        }
        let mut has_woken = self.has_woken.lock();
        self.woken.wait_while(&mut has_woken, |has_woken| !*has_woken);
        *has_woken = false;
    }

    fn wake(&self) {
        *self.has_woken.lock() = true;
        self.woken.notify_all();
    }

    fn leave(&self) {
        self.note(Did::Leave);
    }
}

/// The links of a rank, with their driver.
struct WithDriver(Arc<Noted>);

impl Links for WithDriver {
    fn places(&self, shape: &Shape) -> Result<Vec<usize>, String> {
        Ok(shape.processes.iter().map(|one| usize::from(one.name.as_str() == "far")).collect())
    }
    fn rank(&self) -> usize {
        0
    }
    fn begins(&self, local: Arc<dyn Local>) {
        *self.0.local.lock() = Some(local);
    }
    fn poll_room(&self, _: usize, _: &mut Context<'_>) -> Poll<u64> {
        Poll::Ready(1)
    }
    fn sends(&self, _: usize, messages: &mut Batch) -> u64 {
        messages.clear();
        self.0.note(Did::Send);
        1
    }
    fn closes(&self, _: usize, _: bool) {}
    fn poll_next(&self, _: usize, _: &mut Batch, _: &mut Context<'_>) -> Poll<Arrival> {
        Poll::Pending
    }
    fn takes(&self, _: usize, _: u64) {}
    fn departs(&self, _: usize) {}
    fn refuses(&self, _: usize, _: String) {}
    fn may_rest(&self) {}
    fn driver(&self) -> Option<Arc<dyn Driver>> {
        Some(Arc::<Noted>::clone(&self.0))
    }
}

/// Runs what `build` makes of a channel to `far`; what was done.
fn noted(
    noted: Noted,
    options: &Options,
    build: impl FnOnce(&mut Network<'static>, kahn::Sender<u64>, Arc<Noted>),
) -> Vec<Did> {
    let noted = Arc::new(noted);
    let links: Arc<dyn Links> = Arc::new(WithDriver(Arc::clone(&noted)));
    let mut network = Network::new();
    let (out, far) = network.channel_with(Channel::<u64>::named("out").wire());
    build(&mut network, out, Arc::clone(&noted));
    network.process("far", far, async |mut far| while far.recv().await.is_some() {});
    network.run_on_rank(options.clone(), &links).expect("it runs");
    std::mem::take(&mut noted.done.lock())
}

/// A process that sends one message and yields so often.
fn sends_and_yields(
    times: u32,
) -> impl FnOnce(&mut Network<'static>, kahn::Sender<u64>, Arc<Noted>) {
    move |network, out, noted| {
        network.process("sends", out, async move |mut out| {
            out.send(1).await;
            for _ in 0..times {
                noted.note(Did::Run);
                kahn::yield_now().await;
            }
        });
    }
}

#[test]
fn what_is_sent_goes_before_the_next_process_runs() {
    let done = noted(Noted { ends: true, ..Noted::default() }, &options(), sends_and_yields(20));
    let sent = done.iter().position(|did| *did == Did::Send).expect("it is sent");
    assert_eq!(done[sent + 1], Did::Turn, "{done:?}");
    assert_eq!(done.last(), Some(&Did::Leave), "{done:?}");
}

#[test]
fn a_worker_that_always_has_something_to_run_turns_its_driver_in_passing() {
    let done = noted(Noted { ends: true, ..Noted::default() }, &options(), sends_and_yields(1000));
    let last = done.iter().rposition(|did| *did == Did::Run).expect("it runs");
    let turns = done[..last].iter().filter(|did| **did == Did::Turn).count();
    assert!(turns >= 10, "{turns} turns");
}

#[test]
fn a_worker_that_has_nothing_to_run_turns_its_driver_and_waits_there_until_it_is_woken() {
    let run = |_: &_| {
        let noted_by = Arc::<Mutex<Option<Arc<Noted>>>>::default();
        let (waker, wakers) = std::sync::mpsc::channel::<Waker>();
        thread::scope(|scope| {
            let kept = Arc::clone(&noted_by);
            scope.spawn(move || {
                let waker = wakers.recv().expect("it waits");
                let noted = kept.lock().clone().expect("it is kept before");
                noted.await_wait();
                waker.wake();
            });
            noted(Noted::default(), &options(), |network, out, noted| {
                *noted_by.lock() = Some(noted);
                network.process("waits", out, async move |out| {
                    let mut is_first = true;
                    poll_fn(|context| {
                        if std::mem::replace(&mut is_first, false) {
                            waker.send(context.waker().clone()).expect("there is a thread");
                            return Poll::Pending;
                        }
                        Poll::Ready(())
                    })
                    .await;
                    drop(out);
                });
            })
        })
    };
    let done = testing::within(Duration::from_secs(60), run);
    let first = done.iter().position(|did| *did == Did::Wait).expect("it waits");
    assert_eq!(done[first - 1], Did::Turn, "{done:?}");
}

/// Where there is more than one worker, or a core to spare, a thread of its own speaks with the other ranks.
#[test]
fn a_worker_that_is_not_the_only_one_turns_nothing() {
    let many = options().workers(2);
    let done = testing::within(Duration::from_secs(60), |_: &_| {
        noted(Noted::default(), &many, |network, out, noted| {
            network.blocking("ends", out, move |out| {
                drop(out);
                noted.end();
            });
        })
    });
    assert_eq!(done, [], "no worker drives");
}

/// What has come to each rank, in order.
struct Pipes {
    rank: usize,
    all: Arc<Vec<Pipe>>,
    /// How often it may look yet before it panics, if it does.
    looks_left: Option<u32>,
}

#[derive(Default)]
struct Pipe {
    state: Mutex<PipeState>,
    bell: Condvar,
}

#[derive(Default)]
struct PipeState {
    queue: VecDeque<(usize, Vec<u8>)>,
    lost: Option<usize>,
    has_rung: bool,
}

impl Pipe {
    fn ring(&self) {
        self.state.lock().has_rung = true;
        self.bell.notify_one();
    }
}

impl Transport for Pipes {
    fn send(&mut self, to: usize, bytes: &mut Vec<u8>) {
        self.all[to].state.lock().queue.push_back((self.rank, std::mem::take(bytes)));
        self.all[to].ring();
    }

    fn receive(&mut self, into: &mut [Vec<u8>]) -> Event {
        if let Some(left) = &mut self.looks_left {
            *left = left.checked_sub(1).expect("a defect of the transport");
        }
        let mut state = self.all[self.rank].state.lock();
        if let Some((from, bytes)) = state.queue.pop_front() {
            into[from].extend(bytes);
            return Event::Bytes(from);
        }
        state.lost.take().map_or(Event::Nothing, Event::Lost)
    }

    fn wait(&mut self, most: Duration) {
        let pipe = &self.all[self.rank];
        let mut state = pipe.state.lock();
        if !state.has_rung {
            pipe.bell.wait_for(&mut state, most);
        }
        state.has_rung = false;
    }

    /// Nothing that should ring is made good by a look.
    fn longest_wait(&self) -> Duration {
        Duration::from_secs(3600)
    }
}

/// The others would wait for it.
impl Drop for Pipes {
    fn drop(&mut self) {
        if thread::panicking() || self.looks_left == Some(0) {
            for pipe in self.all.iter() {
                pipe.state.lock().lost = Some(self.rank);
                pipe.ring();
            }
        }
    }
}

type Told<R> = Vec<Result<Option<Ran<R>>, NetError>>;

/// Runs a network on so many ranks whose workers speak with the others; `looks` is how often the first looks for what has
/// come before its transport panics, if it does. What each returns, and whether its exchange has panicked.
fn on_ranks<R: Send>(
    ranks: usize,
    looks: Option<u32>,
    build: impl Fn(&mut Network<'static>) -> R + Sync,
) -> (Told<R>, Vec<bool>) {
    let all = Arc::new((0..ranks).map(|_| Pipe::default()).collect::<Vec<_>>());
    thread::scope(|scope| {
        let begin = |rank: usize| {
            let bell = Arc::clone(&all);
            let (one, exchange) =
                OneRank::of(rank, ranks, Placement::new(), move || bell[rank].ring());
            let looks_left = looks.filter(|_| rank == 0);
            let pipes = Pipes { rank, all: Arc::clone(&all), looks_left };
            let exchange = scope.spawn(move || drop(exchange.run(pipes)));
            let one = one.worker_drives().cores_shared_by(RUNS);
            let build = &build;
            (exchange, scope.spawn(move || one.run(&options().capacity(1), build)))
        };
        let begun: Vec<_> = (0..ranks).map(begin).collect();
        let join =
            |(exchange, one): (
                thread::ScopedJoinHandle<'_, ()>,
                thread::ScopedJoinHandle<'_, _>,
            )| { (one.join().expect("it does not panic"), exchange.join().is_err()) };
        begun.into_iter().map(join).unzip()
    })
}

fn report(told: &Told<()>) -> &Report {
    &told[0].as_ref().expect("it runs").as_ref().expect("rank 0 tells").report
}

fn wired(name: &'static str) -> Channel<u64> {
    Channel::named(name).wire()
}

/// On rank 0 a process holds the only worker, until a ring of the others has grown at which rank 0 has to decide.
#[test]
fn the_others_go_on_while_a_process_holds_the_worker_that_speaks_with_them() {
    type Released = (Mutex<bool>, Condvar);
    static RELEASED: Released = (Mutex::new(false), Condvar::new());
    let run = |_: &_| {
        on_ranks(3, None, |network| {
            let (begin, begins) = network.channel_with(wired("begin"));
            let (begins_too, begun) = network.channel_with(wired("begun"));
            let (there, from_a) = network.channel_with(wired("there"));
            let (back, from_b) = network.channel_with(wired("back"));
            let on_rank = |name: &'static str, rank| kahn::Process::named(name).rank(rank);
            // Each sends more than there is room for before it receives one.
            network.process_with(on_rank("a", 1), (begin, begun, there, from_b), async |ports| {
                let (mut begin, mut begun, mut there, mut from_b) = ports;
                // By the last of them, the worker of rank 0 has waited for one.
                for n in 0..20 {
                    begin.send(n).await;
                    assert_eq!(begun.recv().await, Some(n));
                }
                begin.send(20).await;
                for n in 0..20 {
                    there.send(n).await;
                }
                while from_b.recv().await.is_some() {}
                *RELEASED.0.lock() = true;
                RELEASED.1.notify_all();
                begin.send(21).await;
            });
            network.process_with(
                on_rank("b", 2),
                (from_a, back),
                async |(mut from_a, mut back)| {
                    for n in 0..20 {
                        back.send(n).await;
                    }
                    drop(back);
                    while from_a.recv().await.is_some() {}
                },
            );
            let ports = (begins, begins_too);
            let holds = on_rank("holds", 0).effects();
            network.process_with(holds, ports, async |(mut begins, mut back)| {
                for n in 0..20 {
                    assert_eq!(begins.recv().await, Some(n));
                    back.send(n).await;
                }
                assert_eq!(begins.recv().await, Some(20));
                RELEASED.1.wait_while(&mut RELEASED.0.lock(), |is_released| !*is_released);
                assert_eq!(begins.recv().await, Some(21));
            });
        })
    };
    let (told, _) = testing::within(Duration::from_secs(60), run);
    let report = report(&told);
    let holds = report.processes.iter().find(|one| one.name.as_str() == "holds");
    assert_eq!(holds.map(|one| &one.ending), Some(&ProcessEnd::Finished), "{report}");
    assert!(!report.grown.is_empty(), "{report}");
}

/// What is pruned by a turn is seen by the worker that turns, which sleeps otherwise, for there is more to run elsewhere.
#[test]
fn what_is_marked_in_a_loop_that_is_turned_by_its_worker_wakes_it() {
    static IS_PRUNED: AtomicBool = AtomicBool::new(false);
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            IS_PRUNED.store(true, SeqCst);
        }
    }
    let run = |_: &_| {
        on_ranks(2, None, |network| {
            let (asks, asked) = network.channel_with(wired("asked"));
            let (answers, answered) = network.channel_with(wired("answered"));
            let (never, waited_for) = network.channel_with(wired("never"));
            let (done, seen) = network.channel_with(wired("done"));
            let (left, seen_first) = network.channel_with(wired("left"));
            let on_rank = |name: &'static str, rank| kahn::Process::named(name).rank(rank);
            let ports = (asked, answers);
            network.process_with(on_rank("answers", 0), ports, async |(mut asked, mut answers)| {
                answers.send(0).await;
                asked.recv().await;
            });
            let ports = (answered, left);
            network.process_with(on_rank("leaves", 1), ports, async |(mut answered, _left)| {
                assert_eq!(answered.recv().await, Some(0));
                for _ in 0..1000 {
                    kahn::yield_now().await;
                }
            });
            let ports = (waited_for, asks);
            network.process_with(on_rank("asks", 1), ports, async |(mut waited_for, _asks)| {
                let _guard = Guard;
                waited_for.recv().await;
            });
            network.process_with(on_rank("runs", 1), (never, done), async |(_never, _done)| {
                while !IS_PRUNED.load(SeqCst) {
                    kahn::yield_now().await;
                }
            });
            let ports = (seen_first, seen);
            network.process_with(on_rank("sees", 0), ports, async |(mut first, mut seen)| {
                assert_eq!((first.recv().await, seen.recv().await), (None, None));
            });
        })
    };
    let (told, _) = testing::within(Duration::from_secs(60), run);
    let report = report(&told);
    let ends = |name: &str| {
        let one = report.processes.iter().find(|one| one.name.as_str() == name);
        one.map(|one| one.ending.clone())
    };
    assert_eq!(ends("answers"), Some(ProcessEnd::Pruned), "{report}");
    assert_eq!(ends("runs"), Some(ProcessEnd::Finished), "{report}");
}

/// A panic of the transport is one of the exchange, whichever thread had it turn; and the run is over on all ranks.
#[test]
fn a_transport_that_panics_does_so_on_the_thread_of_its_exchange() {
    let run = |_: &_| {
        on_ranks(2, Some(400), |network| {
            let (there, comes) = network.channel_with(wired("there"));
            let (back, from) = network.channel_with(wired("back"));
            network.process("asks", (there, from), async |(mut there, mut from)| {
                for n in 0_u64.. {
                    there.send(n).await;
                    assert_eq!(from.recv().await, Some(n));
                }
            });
            network.process("echoes", (comes, back), async |(mut comes, mut back)| {
                while let Some(n) = comes.recv().await {
                    back.send(n).await;
                }
            });
        })
    };
    let (told, have_panicked) = testing::within(Duration::from_secs(60), run);
    assert!(matches!(told[0], Err(NetError::Lost { rank: 0, .. })), "{told:?}");
    assert_eq!(have_panicked, [true, false]);
}
