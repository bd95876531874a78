//! Every measurement in a process of its own.
//!
//! The program starts itself again with the hidden command `measure`, which measures one entry once
//! and prints its figures. So no measurement inherits the heap, the threads or the settings of
//! another: only the first run in a process shows what memory costs, and some runtimes can be set up
//! only once. The process is pinned to as many cores as there are workers; foreign programs inherit
//! that.

use crate::contest::Settings;
use crate::measure::Figure;
use crate::workloads::WORKLOADS;
use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek, SeekFrom};
use std::process::{Command, Stdio};

/// How long a measurement may take: what takes longer hangs.
const PATIENCE: Timespec = Timespec { tv_sec: 180, tv_nsec: 0 };

/// What to measure: one entry of one contest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) workload: String,
    pub(crate) contest: usize,
    pub(crate) runtime: String,
    pub(crate) workers: usize,
    pub(crate) settings: Settings,
}

impl Order {
    /// Has a new process measure it.
    pub(crate) fn carry_out(&self) -> Result<Vec<Figure>> {
        let program = std::env::current_exe().context("this program is not to be found")?;
        let order = serde_json::to_string(self)?;
        let mut command = Command::new(program);
        command.arg("measure").arg(order);
        let text = output(&mut command)?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Measures it in this process.
    pub(crate) fn measure(&self) -> Result<Vec<Figure>> {
        let workload = WORKLOADS.iter().find(|entry| entry.name == self.workload);
        let contests = workload.map(|workload| (workload.contests)(&self.settings));
        let contest = contests.and_then(|contests| contests.into_iter().nth(self.contest));
        let entries = contest.map(|contest| contest.entries).unwrap_or_default();
        let Some(entry) = entries.into_iter().find(|entry| entry.runtime == self.runtime) else {
            bail!("there is nothing to measure for {self:?}");
        };
        pin(self.workers);
        (entry.measure)(self.workers)
    }
}

/// Restricts this process to as many cores as there are workers, where the system can.
fn pin(workers: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut chosen = CpuSet::new();
    (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).take(workers).for_each(|cpu| {
        chosen.set(cpu);
    });
    let _unpinned_is_noisier_but_not_wrong = sched_setaffinity(None, &chosen);
}

/// Runs a command to its end and gives what it prints; one that hangs is ended.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A file, not a pipe: nobody reads it meanwhile.
    let mut complaints = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(complaints.try_clone()?);
    let mut child = command.spawn().with_context(|| format!("`{name}` cannot be started"))?;
    let Some(mut out) = child.stdout.take() else { bail!("`{name}` has no output") };
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if poll(&mut [PollFd::new(&out, PollFlags::IN)], Some(&PATIENCE))? == 0 {
            child.kill()?;
            child.wait()?;
            bail!("`{name}` did not answer for {} s", PATIENCE.tv_sec);
        }
        match out.read(&mut buffer)? {
            0 => break,
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    let status = child.wait()?;
    if !status.success() {
        let mut text = String::new();
        complaints.seek(SeekFrom::Start(0))?;
        complaints.read_to_string(&mut text)?;
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        bail!("`{name}`: {status}: {first}");
    }
    Ok(String::from_utf8(bytes)?)
}
