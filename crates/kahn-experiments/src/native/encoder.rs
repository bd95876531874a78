//! The process graph of an H.264 encoder on threads that wait in POSIX message queues.
//!
//! Every queue holds one message. That is enough: in each round a stage takes one message from each
//! input and sends one to each output, so every cycle of waits has a message or a place in it.

use std::thread::{self, Scope};

use kahn_apps::h264_graph::{Encoder, StageShape};
use kahn_apps::work::Work;

use super::limits::{no_thread, room_for};
use super::queue::{LEAST_MESSAGE, QueueReceiver, QueueSender, queue};
use crate::experiment::{Measured, Outcome, Refused};
use crate::measure::Clock;

/// The ends of a stage.
#[derive(Default)]
struct Stage {
    /// Each with whether it gives the frame before.
    inputs: Vec<(QueueReceiver, bool)>,
    outputs: Vec<QueueSender>,
    workers: Vec<(QueueSender, QueueReceiver)>,
}

/// What a thread runs.
type Body = Box<dyn FnOnce() + Send>;

/// Runs the graph with a thread for each process.
pub(crate) fn thread_encoder(encoder: &Encoder) -> Outcome {
    let clock = Clock::start();
    match bodies(encoder).and_then(|bodies| thread::scope(|scope| start(scope, bodies))) {
        Ok(()) => Outcome::Measured(Measured::seconds(clock.seconds())),
        Err(refused) => Outcome::Refused(refused),
    }
}

/// Joins the stages by queues.
fn bodies(encoder: &Encoder) -> Result<Vec<Body>, Refused> {
    let shapes = encoder.stages();
    let mut stages: Vec<Stage> = shapes.iter().map(|_| Stage::default()).collect();
    let mut bodies: Vec<Body> = Vec::new();
    for (place, shape) in shapes.iter().enumerate() {
        for (from, before) in &shape.inputs {
            let (sender, receiver) = queue(1, LEAST_MESSAGE)?;
            stages[*from].outputs.push(sender);
            stages[place].inputs.push((receiver, *before));
        }
        if shape.divided {
            let count = u64::from(encoder.workers);
            for worker in 0..count {
                let ((task, tasks), (reply, replies)) =
                    (queue(1, LEAST_MESSAGE)?, queue(1, LEAST_MESSAGE)?);
                let part = shape.work.between(worker, worker + 1, count);
                stages[place].workers.push((task, replies));
                let frames = encoder.frames;
                bodies.push(Box::new(move || work(tasks, reply, part, frames)));
            }
        }
    }
    for (stage, shape) in stages.into_iter().zip(shapes) {
        let frames = encoder.frames;
        bodies.push(Box::new(move || run(stage, &shape, frames)));
    }
    Ok(bodies)
}

/// Starts them all. If the system has not enough threads, those that have started would wait for
/// ever: so none begins before all are there.
fn start<'scope>(scope: &'scope Scope<'scope, '_>, bodies: Vec<Body>) -> Result<(), Refused> {
    room_for(bodies.len())?;
    let mut ready = Vec::with_capacity(bodies.len());
    for body in bodies {
        let (begin, begun) = std::sync::mpsc::channel::<()>();
        // A small stack, so that memory is not what limits their number.
        let thread = thread::Builder::new().stack_size(128 * 1024);
        let started = thread.spawn_scoped(scope, move || {
            if begun.recv().is_ok() {
                body();
            }
        });
        if let Err(error) = started {
            return Err(no_thread(&error.to_string()));
        }
        ready.push(begin);
    }
    for begin in ready {
        // Its thread waits for nothing else.
        let _ = begin.send(());
    }
    Ok(())
}

/// A stage: a frame from each input, its work, a frame to each output.
fn run(mut stage: Stage, shape: &StageShape, frames: u64) {
    for frame in 0..frames {
        for (input, before) in &mut stage.inputs {
            if frame > 0 || !*before {
                input.recv();
            }
        }
        if shape.divided {
            for (task, _) in &mut stage.workers {
                task.send(frame);
            }
            for (_, reply) in &mut stage.workers {
                reply.recv();
            }
        } else {
            shape.work.spend(frame);
        }
        for output in &mut stage.outputs {
            output.send(frame);
        }
    }
}

/// A worker of a stage that divides its work.
fn work(mut tasks: QueueReceiver, mut reply: QueueSender, part: Work, frames: u64) {
    for _ in 0..frames {
        let frame = tasks.recv();
        part.spend(frame);
        reply.send(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_frames_pass_the_graph() {
        for (frames, workers) in [(0, 1), (1, 1), (7, 3)] {
            let encoder = Encoder { frames, workers, work: Work::iterations(1000) };
            match thread_encoder(&encoder) {
                Outcome::Measured(measured) => assert!(measured.0["seconds"] > 0.0),
                Outcome::Refused(refused) => assert!(!refused.limit.is_empty()),
            }
        }
    }
}
