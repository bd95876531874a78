//! The ring as communicating processes: a message is nowhere but in the hands of a process.
//!
//! A sender waits until the next process receives. So each process has one token at most, and with
//! as many tokens as processes all of them wait to send: a deadlock, which no room can cure, for
//! there is none to be had.

use kahn_csp::{self as csp, Options, Receiver, Report, Run, RunError, Sender};

use super::{Moment, Ring};

impl Ring {
    /// Runs the ring with channels in which sender and receiver meet; returns the total.
    ///
    /// `watch` is called by the root as it goes on; a benchmark takes the time there.
    ///
    /// ```
    /// use kahn_csp::Options;
    /// use kahn_apps::ring::Ring;
    ///
    /// let ring = Ring { processes: 10, tokens: 9, cycles: 7 };
    /// let (total, _report) = ring.rendezvous(Options::new().workers(2), |_moment| {})?;
    /// assert_eq!(Some(total), ring.total());
    ///
    /// // Nobody can receive any more.
    /// let ring = Ring { tokens: 10, ..ring };
    /// let stuck = ring.rendezvous(Options::new(), |_moment| {}).expect_err("all of them send");
    /// assert!(stuck.to_string().contains("`element 3`"));
    /// # Ok::<(), kahn_csp::RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the explanation of the deadlock, if there are as many tokens as processes.
    ///
    /// # Panics
    ///
    /// Panics if there are no processes or no tokens.
    pub fn rendezvous(
        self,
        options: Options,
        watch: impl FnMut(Moment) + Send,
    ) -> Result<(u64, Report), RunError> {
        assert!(self.processes > 0 && self.tokens > 0, "a ring has a process and a token");
        let run = csp::run(options, async move |scope| {
            let (first, mut left) = csp::channel::<u64>("from root");
            for element in 1..self.processes {
                let (right, next) = csp::channel::<u64>(format!("from {element}"));
                scope.spawn(format!("element {element}"), pass_on(left, right));
                left = next;
            }
            scope.fork("root", self.meet(left, first, watch)).join().await
        })?;
        let Run { result, report, .. } = run;
        let total = result.ok().flatten().expect("a ring that has finished has a total");
        Ok((total, report))
    }

    /// The root: `None` if the ring is broken, because the run is being ended.
    async fn meet(
        self,
        mut left: Receiver<u64>,
        mut right: Sender<u64>,
        mut watch: impl FnMut(Moment) + Send,
    ) -> Option<u64> {
        right.send(1).await.ok()?;
        let mut token = left.recv().await.ok()?;
        watch(Moment::Start);
        let mut sum = 0;
        if self.tokens == 1 {
            for _ in 0..self.cycles {
                right.send(token + 1).await.ok()?;
                token = left.recv().await.ok()?;
                watch(Moment::Cycle);
            }
            sum = token;
        } else {
            for token in 1..=u64::from(self.tokens) {
                right.send(token).await.ok()?;
            }
            for _ in 0..self.cycles {
                for _ in 0..self.tokens {
                    let token = left.recv().await.ok()?;
                    right.send(token + 1).await.ok()?;
                }
                watch(Moment::Cycle);
            }
            for _ in 0..self.tokens {
                sum += left.recv().await.ok()?;
            }
        }
        watch(Moment::End);
        right.send(0).await.ok()?;
        left.recv().await.ok()?;
        Some(sum)
    }
}

/// An element: passes tokens on, and ends with the 0 behind them.
async fn pass_on(mut left: Receiver<u64>, mut right: Sender<u64>) {
    while let Ok(token) = left.recv().await {
        let next = if token == 0 { 0 } else { token + 1 };
        if right.send(next).await.is_err() || token == 0 {
            return;
        }
    }
}
