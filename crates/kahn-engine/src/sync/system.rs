//! What depends on the machine: the cycle counter, the number of cores, pinning.
//!
//! Each has a portable fallback, so nothing else in the crate names a platform.

use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Returns how many threads the machine runs at once; 1 if it does not tell.
pub fn cores() -> usize {
    #[cfg(loom)]
    return super::modelled::cores();
    #[cfg(not(loom))]
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns another number each time. Not by an atomic of a model: it is no part of any protocol.
pub fn next_number() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Relaxed) + 1
}

/// A place for one more thread, taken while it lives.
#[derive(Debug)]
pub struct ThreadPlace(());

static PLACES_TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Where the threads of one run come from.
#[derive(Debug)]
pub struct ThreadDoor {
    /// How many it may have yet; for tests, which have the system refuse them.
    left: AtomicUsize,
}

impl Default for ThreadDoor {
    fn default() -> Self {
        Self::with(usize::MAX)
    }
}

impl ThreadDoor {
    /// One that lets so many threads in.
    pub fn with(threads: usize) -> Self {
        Self { left: AtomicUsize::new(threads) }
    }

    /// Takes a place for a thread.
    ///
    /// # Errors
    /// Returns an error where the standard library would end the program: it does if there is no
    /// memory area left for what each thread needs besides its stack.
    pub fn enter(&self) -> io::Result<ThreadPlace> {
        #[cfg(loom)]
        if !super::modelled::take_thread() {
            return Err(io::Error::other("the model has no more threads"));
        }
        // Relaxed: counts, and nothing else hangs on them.
        if self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
            return Err(io::Error::other("the run may have no more"));
        }
        let most = most_threads();
        if PLACES_TAKEN.fetch_add(1, Relaxed) >= most {
            PLACES_TAKEN.fetch_sub(1, Relaxed);
            return Err(io::Error::other(format!("vm.max_map_count leaves room for {most}")));
        }
        Ok(ThreadPlace(()))
    }

    /// What was refused, by which limit, and what to do.
    pub fn explain(error: &io::Error) -> String {
        format!(
            "the system refused a thread: {error}; its limits are `ulimit -u`, the `pids.max` of the \
             control group and `sysctl vm.max_map_count`: raise the one that was reached, or let the \
             run have fewer threads (async processes need none)"
        )
    }
}

impl Drop for ThreadPlace {
    fn drop(&mut self) {
        PLACES_TAKEN.fetch_sub(1, Relaxed);
    }
}

/// Linux keeps four memory areas for a thread: its stack and the one for signals, and a guard for
/// each. Some are left to the rest of the program.
fn most_threads() -> usize {
    const OTHER_AREAS: usize = 1024;
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    let found = FOUND.load(Relaxed);
    if found > 0 {
        return found;
    }
    let areas = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let areas = areas.and_then(|text| text.trim().parse::<usize>().ok());
    let most = areas.map_or(usize::MAX, |areas| (areas.saturating_sub(OTHER_AREAS) / 4).max(1));
    FOUND.store(most, Relaxed);
    most
}

/// A clock for measuring: cheap ticks, converted to time when asked.
pub mod clock {
    use kahn_report::observe::Tick;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::{Duration, Instant};

    #[expect(clippy::disallowed_methods, reason = "accounting measures; nothing decides by it")]
    fn now() -> Instant {
        Instant::now()
    }

    fn origin() -> (Instant, u64) {
        // Not a `OnceLock`: the thread sanitizer does not see into the standard library's.
        static ORIGIN: parking_lot::Mutex<Option<(Instant, u64)>> = parking_lot::Mutex::new(None);
        *ORIGIN.lock().get_or_insert_with(both)
    }

    /// Reads both clocks at one moment: a thread that is interrupted between the two reads again.
    fn both() -> (Instant, u64) {
        /// Much more than a read takes, and much less than being put aside.
        const CLOSE: u64 = 1000;
        let read = || {
            let before = raw();
            let instant = now();
            (raw().saturating_sub(before), (instant, before))
        };
        let mut best = read();
        for _ in 0..3 {
            if best.0 < CLOSE {
                break;
            }
            best = std::cmp::min_by_key(best, read(), |&(apart, _)| apart);
        }
        best.1
    }

    /// Reads the cycle counter: about 10 ns, no system call.
    #[cfg(target_arch = "x86_64")]
    fn raw() -> u64 {
        // SAFETY: every x86-64 processor has the instruction; it reads a counter, nothing else.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn raw() -> u64 {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        let start = *START.get_or_init(now);
        u64::try_from(now().duration_since(start).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Reads the clock, in ticks.
    pub fn ticks() -> u64 {
        raw()
    }

    /// Reads how long the calling thread has run on a processor, in nanoseconds: about 400 ns, a
    /// system call. `None` where the system has no such clock.
    pub fn of_this_thread() -> Option<u64> {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            let (seconds, rest) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
            Some(seconds.ok()? * 1_000_000_000 + rest.ok()?)
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        None
    }

    /// Starts the measurement that [`to_duration`] is calibrated by.
    pub fn start() {
        origin();
    }

    /// Returns the time since the first call of [`start`], by the system's clock that only grows.
    pub fn nanoseconds() -> u64 {
        u64::try_from(origin().0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long a tick is, by what the counter did since [`start`]: never twice quite the same.
    pub fn tick() -> Tick {
        Tick::of_nanoseconds(seconds_of_a_tick() * 1e9)
    }

    /// Has a tick be as long as it is found to be now, in all that is told from now on: for what is written before a run
    /// is over. Returns how long that is.
    pub fn keep() -> Tick {
        let found = measured();
        Tick::of_nanoseconds(*KEPT.lock().get_or_insert(found) * 1e9)
    }

    /// Seconds of a tick, if it is kept.
    static KEPT: parking_lot::Mutex<Option<f64>> = parking_lot::Mutex::new(None);

    fn seconds_of_a_tick() -> f64 {
        let kept = *KEPT.lock();
        kept.unwrap_or_else(measured)
    }

    /// Seconds of a tick, by what the counter did since [`start`].
    fn measured() -> f64 {
        /// The first thread that asks waits for so long: over less, reading two clocks one after the other
        /// is an error that counts.
        const LEAST: Duration = Duration::from_micros(20);
        let (first, at_first) = origin();
        let (elapsed, passed) = loop {
            let (last, at_last) = both();
            let elapsed = last.duration_since(first);
            if elapsed >= LEAST {
                break (elapsed, at_last.saturating_sub(at_first));
            }
            std::hint::spin_loop();
        };
        #[expect(clippy::cast_precision_loss, reason = "a ratio of two clocks")]
        let seconds = elapsed.as_secs_f64() / passed.max(1) as f64;
        ROUGH.store((1.0 / seconds).to_bits(), Relaxed);
        seconds
    }

    /// The bits of how many ticks a second had when that was measured last; 0 before.
    static ROUGH: AtomicU64 = AtomicU64::new(0);

    /// Returns how many ticks are about so long, to some per cent: for decisions, which read one word for it
    /// where [`from_duration`] reads two clocks under a lock.
    #[inline]
    pub fn about(time: Duration) -> u64 {
        let rough = f64::from_bits(ROUGH.load(Relaxed));
        ticks_in(time, if rough > 0.0 { rough } else { 1.0 / measured() })
    }

    /// Converts ticks to time.
    pub fn to_duration(ticks: u64) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "times of a report are rounded anyway")]
        Duration::from_secs_f64(seconds_of_a_tick() * ticks as f64)
    }

    /// Converts time to ticks.
    pub fn from_duration(time: Duration) -> u64 {
        ticks_in(time, 1.0 / seconds_of_a_tick())
    }

    #[inline]
    fn ticks_in(time: Duration, a_second: f64) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "neither is negative, and what is too much becomes the most"
        )]
        let ticks = (time.as_secs_f64() * a_second) as u64;
        ticks
    }
}

/// Two fences of different weight, of which one thread passes the light one often and another the
/// heavy one seldom: whichever comes first, the thread that comes second sees what the first did before.
pub mod fences {
    #[cfg(all(target_os = "linux", not(miri), not(loom)))]
    use std::sync::atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    };

    #[cfg(all(target_os = "linux", not(miri), not(loom)))]
    static ARE_THERE: AtomicBool = AtomicBool::new(false);

    /// Whether there are such fences by now. In a model both are of one weight.
    ///
    /// The first call in a program asks for them. That takes the system no time if the program has but this
    /// thread; otherwise it waits some 10 ms for all cores, so a thread of its own asks, and until
    /// it is answered there are none.
    #[cfg(any(loom, all(target_os = "linux", not(miri))))]
    #[inline]
    pub fn are_there() -> bool {
        #[cfg(loom)]
        return true;
        #[cfg(not(loom))]
        {
            // Acquire pairs with the Release of the thread that was answered.
            ARE_THERE.load(Acquire) || ask()
        }
    }

    #[cfg(all(target_os = "linux", not(miri), not(loom)))]
    #[cold]
    fn ask() -> bool {
        use rustix::thread::{MembarrierCommand, membarrier};
        static ARE_ASKED_FOR: AtomicBool = AtomicBool::new(false);
        // Relaxed: it decides which thread asks, and nothing else.
        if ARE_ASKED_FOR.load(Relaxed) || ARE_ASKED_FOR.swap(true, Relaxed) {
            return false;
        }
        let register = || {
            let are_there = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
            ARE_THERE.store(are_there, Release);
            are_there
        };
        if has_one_thread() {
            return register();
        }
        if let Ok(place) = super::ThreadDoor::default().enter() {
            // If the system refuses the thread, there are no fences in this program.
            let _ = std::thread::Builder::new().name("kahn fences".to_owned()).spawn(move || {
                register();
                drop(place);
            });
        }
        false
    }

    /// Whether the program has but the calling thread, as far as the system tells.
    #[cfg(all(target_os = "linux", not(miri), not(loom)))]
    fn has_one_thread() -> bool {
        use std::os::unix::fs::MetadataExt;
        // A folder for each, beside itself and its parent.
        std::fs::metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() == 3)
    }

    /// Whether there are such fences.
    #[cfg(not(any(loom, all(target_os = "linux", not(miri)))))]
    pub fn are_there() -> bool {
        false
    }

    /// The light one.
    #[inline(always)]
    pub fn light() {
        #[cfg(loom)]
        super::super::fence(super::super::Ordering::SeqCst);
        #[cfg(not(loom))]
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// The heavy one.
    ///
    /// # Panics
    /// Panics where [`are_there`] has not said that there is one.
    pub fn heavy() {
        #[cfg(loom)]
        super::super::fence(super::super::Ordering::SeqCst);
        #[cfg(all(target_os = "linux", not(miri), not(loom)))]
        {
            use rustix::thread::{MembarrierCommand, membarrier};
            membarrier(MembarrierCommand::PrivateExpedited).expect("it was registered");
        }
    }
}

#[cfg(target_os = "linux")]
thread_local! {
    /// The cores that a pinned thread had before.
    static BEFORE: std::cell::Cell<Option<rustix::thread::CpuSet>> = const { std::cell::Cell::new(None) };
}

/// A thread that keeps to one core; when this is dropped, on that thread, it has those again that it had before.
#[derive(Debug)]
#[must_use = "the thread is released when this is dropped"]
pub struct Pinned {
    /// What another pin of this thread remembers, within which this is.
    #[cfg(target_os = "linux")]
    outer: Option<rustix::thread::CpuSet>,
    /// It is of this thread.
    _here: PhantomData<*const ()>,
}

/// Pins the calling thread to one of its cores, the one with this number modulo how many there are; gives `None` and does
/// nothing where the system has no such call.
pub fn pin_to_core(number: usize) -> Option<Pinned> {
    #[cfg(target_os = "linux")]
    {
        let all = rustix::thread::sched_getaffinity(None).ok()?;
        let is_ours = |core: &usize| all.is_set(*core);
        let cores: Vec<_> = (0..rustix::thread::CpuSet::MAX_CPU).filter(is_ours).collect();
        let mut one = rustix::thread::CpuSet::new();
        one.set(*cores.get(number % cores.len().max(1))?);
        // One that is refused costs speed and nothing else.
        rustix::thread::sched_setaffinity(None, &one).ok()?;
        Some(Pinned { outer: BEFORE.replace(Some(all)), _here: PhantomData })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = number;
        None
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(before) = BEFORE.replace(self.outer) {
            let _ = rustix::thread::sched_setaffinity(None, &before);
        }
    }
}

/// Makes of what a new thread is to do the same on all cores: a thread begins on those of the one that starts it,
/// which may be pinned.
pub fn unpinned<R>(work: impl FnOnce() -> R) -> impl FnOnce() -> R {
    #[cfg(target_os = "linux")]
    let before = BEFORE.get();
    move || {
        #[cfg(target_os = "linux")]
        if let Some(before) = before {
            let _ = rustix::thread::sched_setaffinity(None, &before);
        }
        work()
    }
}

/// Has the system give the pages of this memory at once, where each would be asked for when it is
/// first touched; does nothing where the system has no such call. What is written there stays.
pub fn have_pages(memory: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let advice = rustix::mm::Advice::LinuxPopulateWrite;
        // A system too old for it, or without so much memory, says so and changes nothing.
        // SAFETY: the advice gives pages where there are none, and nothing else.
        let _ = unsafe { rustix::mm::madvise(memory.as_ptr().cast(), bytes, advice) };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (memory, bytes);
}

#[cfg(all(test, target_os = "linux", not(any(loom, miri))))]
mod tests {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::thread;

    fn cores_of(set: &CpuSet) -> Vec<usize> {
        (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
    }

    fn ours() -> Vec<usize> {
        cores_of(&sched_getaffinity(None).expect("the system tells"))
    }

    fn on_a_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
        thread::scope(|scope| scope.spawn(work).join().expect("it runs"))
    }

    #[test]
    fn a_thread_is_pinned_to_one_of_its_cores_and_then_has_all_again() {
        // As in a program that was started on one core, and not the first.
        let last = *ours().last().expect("there is one");
        let bound = move || {
            let mut one = CpuSet::new();
            one.set(last);
            sched_setaffinity(None, &one).expect("it is ours");
            let _pinned = pin_to_core(0);
            ours()
        };
        assert_eq!(on_a_thread(bound), [last]);
        let all = ours();
        for number in 0..2 * all.len() {
            let pinned = pin_to_core(number);
            assert_eq!(ours(), [all[number % all.len()]]);
            // As of a run within another.
            drop(pin_to_core(0));
            assert_eq!(on_a_thread(unpinned(ours)), all);
            drop(pinned);
            assert_eq!(ours(), all);
        }
    }
}
