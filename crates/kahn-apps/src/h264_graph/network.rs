//! The encoder's graph as it runs: a process for each row of the table, and the workers.

use kahn::{Network, Process, Receiver, Sender};

use super::Encoder;
use super::stages::{BLACK, Frame, Part, Row, STAGES, Stage};
use crate::Compare;
use crate::checksum::mix;
use crate::slot::{Giver, Slot};

impl Encoder {
    /// Writes the processes and channels; the checksum of the coded stream is in the slot after the
    /// run.
    ///
    /// `watch` is called with the number of each frame that is coded, counted from 0.
    ///
    /// # Panics
    ///
    /// Panics if there are no workers.
    pub fn network<'env>(
        self,
        network: &mut Network<'env>,
        compare: Compare,
        watch: impl FnMut(u64) + Send + 'env,
    ) -> Slot<u64> {
        assert!(self.workers > 0, "a divided stage has a worker");
        let mut readers: Vec<(&str, Sender<u64>)> = Vec::new();
        let mut inputs: Vec<Vec<Receiver<u64>>> = Vec::new();
        for row in STAGES {
            let channels = row.inputs.iter().map(|input| {
                let (from, channel) = match input {
                    Frame::This(from) => (from, compare.carried(format!("{from} to {}", row.name))),
                    Frame::Last(from) => {
                        let name = format!("{from} to {}", row.name);
                        (from, compare.carried(name).initial([BLACK]))
                    }
                };
                let (sender, receiver) = network.channel_with(channel);
                readers.push((*from, sender));
                receiver
            });
            inputs.push(channels.collect());
        }
        let (giver, checksum) = Slot::new();
        let mut end = Some((watch, giver));
        for ((number, row), inputs) in STAGES.iter().enumerate().zip(inputs) {
            let stage = Stage::new(number, row, self.work);
            let outputs = readers.extract_if(.., |(from, _)| *from == row.name);
            let outputs: Vec<_> = outputs.map(|(_, sender)| sender).collect();
            match row.part {
                Part::Source => {
                    network.process(row.name, outputs, async move |outputs| {
                        source(self.frames, stage, outputs).await;
                    });
                }
                Part::Fork => {
                    network.process(row.name, (inputs, outputs), async |(inputs, outputs)| {
                        each(inputs, outputs, |frames| frames[0]).await;
                    });
                }
                Part::Alone => {
                    network.process(row.name, (inputs, outputs), async move |(inputs, outputs)| {
                        each(inputs, outputs, |frames| stage.run(frames)).await;
                    });
                }
                Part::Divided => self.divided(network, compare, (row, stage), (inputs, outputs)),
                Part::Sink => {
                    let Some((watch, giver)) = end.take() else { continue };
                    let process = Process::named(row.name).keeps_result();
                    network.process_with(process, inputs, async move |inputs| {
                        sink(stage, inputs, watch, giver).await;
                    });
                }
            }
        }
        checksum
    }

    /// Writes a stage that has workers of its own.
    fn divided(
        self,
        network: &mut Network<'_>,
        compare: Compare,
        (row, stage): (&Row, Stage),
        (inputs, outputs): (Vec<Receiver<u64>>, Vec<Sender<u64>>),
    ) {
        let (mut tasks, mut replies) = (Vec::new(), Vec::new());
        for worker in 0..self.workers {
            let name = |what| format!("{} {what} {worker}", row.name);
            let (task, given) = compare.carried_channel(network, name("task"));
            let (done, reply) = compare.carried_channel(network, name("reply"));
            let ports = (given, done);
            network.process(name("worker"), ports, async move |(given, done)| {
                let work = |frames: &[u64]| stage.macroblocks(frames[0], worker, self.workers);
                each(vec![given], vec![done], work).await;
            });
            tasks.push(task);
            replies.push(reply);
        }
        let ports = (inputs, outputs, (tasks, replies));
        network.process(row.name, ports, async move |(inputs, outputs, workers)| {
            divide(stage, inputs, outputs, workers).await;
        });
    }
}

/// Gives the frames.
async fn source(frames: u64, stage: Stage, mut outputs: Vec<Sender<u64>>) {
    for number in 0..frames {
        send_all(&mut outputs, stage.run(&[number])).await;
    }
}

/// Takes a frame of each input, and sends what `make` makes of them to each output.
async fn each(
    mut inputs: Vec<Receiver<u64>>,
    mut outputs: Vec<Sender<u64>>,
    make: impl Fn(&[u64]) -> u64,
) {
    let mut frames = Vec::with_capacity(inputs.len());
    while gather(&mut inputs, &mut frames).await {
        send_all(&mut outputs, make(&frames)).await;
    }
    drain(inputs, outputs).await;
}

/// The same, with workers that each make a part.
async fn divide(
    stage: Stage,
    mut inputs: Vec<Receiver<u64>>,
    mut outputs: Vec<Sender<u64>>,
    (mut tasks, mut replies): (Vec<Sender<u64>>, Vec<Receiver<u64>>),
) {
    let mut frames = Vec::with_capacity(inputs.len());
    while gather(&mut inputs, &mut frames).await {
        send_all(&mut tasks, stage.begin(&frames)).await;
        let mut frame = 0;
        for reply in &mut replies {
            let Some(part) = reply.recv().await else { return };
            frame ^= part;
        }
        send_all(&mut outputs, frame).await;
    }
    drop(tasks);
    drain(inputs, outputs).await;
}

/// Takes the coded frames.
async fn sink(
    stage: Stage,
    mut inputs: Vec<Receiver<u64>>,
    mut watch: impl FnMut(u64),
    checksum: Giver<u64>,
) {
    let (mut sum, mut number) = (0, 0);
    let mut frames = Vec::with_capacity(inputs.len());
    while gather(&mut inputs, &mut frames).await {
        sum = mix(sum, stage.run(&frames));
        watch(number);
        number += 1;
    }
    checksum.give(sum);
}

/// Takes a frame of each input; `false` at the end of one of them.
async fn gather(inputs: &mut [Receiver<u64>], frames: &mut Vec<u64>) -> bool {
    frames.clear();
    for input in inputs {
        let Some(frame) = input.recv().await else { return false };
        frames.push(frame);
    }
    true
}

async fn send_all(outputs: &mut [Sender<u64>], frame: u64) {
    for output in outputs {
        output.send(frame).await;
    }
}

/// Ends the outputs, and then takes what is left on the inputs: the last frame comes back once more,
/// and one that left before could be a reason to prune those that send it.
async fn drain(inputs: Vec<Receiver<u64>>, outputs: Vec<Sender<u64>>) {
    drop(outputs);
    for mut input in inputs {
        while input.recv().await.is_some() {}
    }
}
