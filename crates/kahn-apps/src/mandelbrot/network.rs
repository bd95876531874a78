//! The film as processes: a farmer, workers, a harvester.

use std::collections::VecDeque;

use kahn_csp::{
    self as csp, Gone, Guard as _, OneOf3, Options, Receiver, Report, RunError, Sender, Shared,
};

use super::frame::{Frame, Keep, Open};
use super::kernel::{Line, Row, Zoom, colour_and_sign};
use super::{Film, Yield};

/// How many frames the harvester has rows of at most, and so how long its ring is.
const RING: usize = 8;

/// How far ahead of the lowest frame that is not complete the highest may be for another to begin.
const AHEAD: u32 = 4;

/// What the farmer sends: for each row its frame, its number and the job, each by itself.
enum Job {
    Frame(u32),
    Row(u32),
    Compute(Row),
    /// There are no more: for one worker.
    End,
}

/// What a worker sends: for each row its frame, its number and what came of the job.
enum Harvest {
    Frame(u32),
    Row(u32),
    Pixels { bytes: Vec<u8>, sum: u64 },
}

/// What was sent does not follow on what was sent before: an error in this file.
const OUT_OF_TURN: &str = "a row has three messages, one after the other";

/// Computes a row, and gives way after each pixel.
///
/// What it has of the row is little and stands together, in what the future captures: a hundred processes take
/// turns with it, and what they all look at is to fit the core's first cache.
fn compute_giving_way(line: Line, width: u32) -> impl Future<Output = (Vec<u8>, u64)> {
    let (mut column, mut sum) = (0, 0);
    let mut bytes = Vec::with_capacity(2 * width as usize);
    async move {
        while column < width {
            let count = line.pixel(column, width);
            bytes.extend(colour_and_sign(count));
            sum += u64::from(count);
            column += 1;
            csp::yield_now().await;
        }
        (bytes, sum)
    }
}

async fn tell<T: Send>(to: &mut Sender<T>, message: T) -> Result<(), Gone> {
    to.send(message).await.map_err(|unsent| unsent.why)
}

impl Film {
    /// Runs the processes; returns the frames in order.
    ///
    /// `watch` is called by the harvester for each frame.
    ///
    /// # Errors
    ///
    /// Returns why the run did not finish.
    ///
    /// # Panics
    ///
    /// Panics if there are no workers.
    pub fn network(
        self,
        options: Options,
        workers: usize,
        yields: Yield,
        keep: Keep,
        watch: impl FnMut() + Send,
    ) -> Result<(Vec<Frame>, Report), RunError> {
        assert!(workers > 0, "somebody has to compute");
        let run = csp::run(options, async move |scope| {
            let (jobs, theirs) = csp::channel("jobs");
            let (results, harvest) = csp::channel("results");
            let (tick, ticks) = csp::channel("tick");
            let (tock, tocks) = csp::channel("tock");
            let (kill, killed) = csp::channel("kill");
            let theirs = Shared::new("jobs", theirs);
            let results = Shared::new("results", results);
            for worker in 0..workers {
                let worker_name = format!("worker {worker}");
                scope.spawn(worker_name, self.work(theirs.clone(), results.clone(), yields));
            }
            drop((theirs, results));
            let harvester = self.harvest(harvest, (ticks, tock), killed, keep, watch);
            let harvester = scope.fork("harvester", harvester);
            scope.spawn("farmer", self.farm(jobs, (tick, tocks), kill, workers));
            harvester.join().await
        })?;
        let frames = run.result.ok().and_then(Result::ok);
        Ok((frames.expect("a harvester that has finished has its frames"), run.report))
    }

    /// Makes the jobs, frame by frame, as soon as there is room for the frame.
    async fn farm(
        self,
        mut jobs: Sender<Job>,
        (mut tick, mut tock): (Sender<u32>, Receiver<()>),
        mut kill: Sender<()>,
        workers: usize,
    ) -> Result<(), Gone> {
        let mut zoom = Zoom::default();
        for frame in 0..self.frames {
            tell(&mut tick, frame).await?;
            tock.recv().await?;
            for row in 0..self.height {
                tell(&mut jobs, Job::Frame(frame)).await?;
                tell(&mut jobs, Job::Row(row)).await?;
                tell(&mut jobs, Job::Compute(self.row(row, zoom))).await?;
            }
            zoom.nearer();
        }
        for _ in 0..workers {
            tell(&mut jobs, Job::End).await?;
        }
        // The worker that takes the last has delivered all before.
        tell(&mut kill, ()).await
    }

    async fn work(
        self,
        jobs: Shared<Receiver<Job>>,
        results: Shared<Sender<Harvest>>,
        yields: Yield,
    ) -> Result<(), Gone> {
        loop {
            let (frame, row, job) = {
                let mut jobs = jobs.claim().await;
                let frame = match jobs.recv().await? {
                    Job::Frame(frame) => frame,
                    Job::End => return Ok(()),
                    Job::Row(_) | Job::Compute(_) => unreachable!("{OUT_OF_TURN}"),
                };
                let Job::Row(row) = jobs.recv().await? else { unreachable!("{OUT_OF_TURN}") };
                let Job::Compute(job) = jobs.recv().await? else { unreachable!("{OUT_OF_TURN}") };
                (frame, row, job)
            };
            let (bytes, sum) = match yields {
                Yield::Pixel => compute_giving_way(job.line(), self.width).await,
                Yield::Row => {
                    csp::yield_now().await;
                    job.compute(self.width)
                }
                Yield::Never => job.compute(self.width),
            };
            let mut results = results.claim().await;
            tell(&mut results, Harvest::Frame(frame)).await?;
            tell(&mut results, Harvest::Row(row)).await?;
            tell(&mut results, Harvest::Pixels { bytes, sum }).await?;
        }
    }

    /// Puts rows together to frames.
    async fn harvest(
        self,
        mut results: Receiver<Harvest>,
        (mut tick, mut tock): (Receiver<u32>, Sender<()>),
        mut kill: Receiver<()>,
        keep: Keep,
        mut watch: impl FnMut() + Send,
    ) -> Result<Vec<Frame>, Gone> {
        let mut done: Vec<Frame> = Vec::new();
        // The frames from the lowest that is not complete on.
        let mut ring: VecDeque<Open> = VecDeque::with_capacity(RING);
        let mut fair = csp::Fair::new();
        // When the last worker has left, nothing is to be heard there, and `kill` is to come.
        let mut has_workers = true;
        loop {
            // The highest is at most four ahead; before the first frame there is none.
            let has_room = ring.len() <= AHEAD as usize + 1;
            let result = results.recv().when(has_workers);
            let choice = (result, tick.recv().when(has_room), kill.recv());
            match fair.alt(choice).await {
                OneOf3::First(Err(_left)) => has_workers = false,
                OneOf3::First(Ok(first)) => {
                    let Harvest::Frame(frame) = first else { unreachable!("{OUT_OF_TURN}") };
                    let Harvest::Row(row) = results.recv().await? else {
                        unreachable!("{OUT_OF_TURN}")
                    };
                    let Harvest::Pixels { bytes, sum } = results.recv().await? else {
                        unreachable!("{OUT_OF_TURN}")
                    };
                    let lowest = done.len();
                    ring[frame as usize - lowest].put(row, bytes, sum);
                    while let Some(open) = ring.pop_front_if(|open| open.is_complete()) {
                        done.push(open.close(keep));
                        watch();
                    }
                }
                OneOf3::Second(frame) => {
                    ring.push_back(Open::new(frame?, self.height));
                    tell(&mut tock, ()).await?;
                }
                OneOf3::Third(order) => {
                    order?;
                    return Ok(done);
                }
            }
        }
    }
}
