//! What the system and the processor count of a program, where they tell: system calls, and misses of the TLB for
//! instructions.
//!
//! A counter that there is not, as those of the processor in most virtual machines, or that this user may not read, is
//! left out: what it would have counted is then not measured.

/// How often the program called the system.
pub(crate) const SYSTEM_CALLS: &str = "system calls";

/// How often the processor looked for the address of instructions in vain.
pub(crate) const TLB_MISSES: &str = "instruction TLB misses";

#[cfg(target_os = "linux")]
pub(crate) use linux::Counters;
#[cfg(not(target_os = "linux"))]
pub(crate) use nowhere::Counters;

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs, io};

    use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Event, Tracepoint};
    use perf_event::{Builder, Counter};

    use super::{SYSTEM_CALLS, TLB_MISSES};
    use crate::experiment::Measured;

    /// Counters of the calling thread and of all that are started by it from now on.
    pub(crate) struct Counters(Vec<(&'static str, Counter)>);

    impl Counters {
        pub(crate) fn begin() -> Self {
            let misses =
                Cache { which: CacheId::ITLB, operation: CacheOp::READ, result: CacheResult::MISS };
            let calls = system_calls().and_then(begun).map(|counter| (SYSTEM_CALLS, counter));
            let misses = begun(misses).map(|counter| (TLB_MISSES, counter));
            Self([calls, misses].into_iter().filter_map(Result::ok).collect())
        }

        /// Adds what was counted, threads that have ended included.
        pub(crate) fn end(self, measured: Measured) -> Measured {
            self.0.into_iter().fold(measured, |measured, (what, mut counter)| {
                match counter.read() {
                    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
                    Ok(count) => measured.and(what, count as f64),
                    Err(_) => measured,
                }
            })
        }
    }

    fn begun(event: impl Event) -> io::Result<Counter> {
        // Inherited by the threads to come, with what they do in the system.
        let mut counter = Builder::new(event).inherit(true).include_kernel().build()?;
        counter.enable()?;
        Ok(counter)
    }

    /// The place in the system through which every call comes.
    fn system_calls() -> io::Result<Tracepoint> {
        let folders = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
        let read =
            |folder| fs::read_to_string(format!("{folder}/events/raw_syscalls/sys_enter/id"));
        let text = read(folders[0]).or_else(|_| read(folders[1]))?;
        let id = text.trim().parse();
        id.map(Tracepoint::with_id)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

#[cfg(not(target_os = "linux"))]
mod nowhere {
    use crate::experiment::Measured;

    /// Nothing is counted here.
    pub(crate) struct Counters;

    impl Counters {
        pub(crate) fn begin() -> Self {
            Self
        }

        #[expect(clippy::unused_self, reason = "elsewhere it has counters")]
        pub(crate) fn end(self, measured: Measured) -> Measured {
            measured
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::experiment::Measured;

    /// Where there is a counter of system calls, it counts those of a thread that has ended, and not those of before.
    #[test]
    fn system_calls_of_threads_are_counted_where_the_system_tells() {
        let call = || (0..1000).for_each(|_| assert!(std::fs::metadata("/").is_ok()));
        let count = |work: &(dyn Fn() + Sync)| {
            let counters = Counters::begin();
            thread::scope(|scope| scope.spawn(work).join().expect("it does not panic"));
            counters.end(Measured::default()).0.get(SYSTEM_CALLS).copied()
        };
        call();
        let (few, many) = (count(&|| ()), count(&call));
        assert_eq!(few.is_some(), many.is_some());
        if let (Some(few), Some(many)) = (few, many) {
            assert!(few < 500.0, "a thread alone: {few}");
            assert!((1000.0..1500.0).contains(&many), "1000 calls more: {many}");
        }
    }
}
