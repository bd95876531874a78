//! A root that hands parts out to workers in turn, and gets them back in order.

use kahn::ranks::Beside;
use kahn::{Digest, Network, Process, Receiver, Sender};

use crate::Compare;
use crate::slot::{Giver, Slot};

/// How many parts a worker has at a time: one to do, and one to go on with.
const AT_A_TIME: usize = 2;

/// Writes the network: part *k*, counted from 0, is changed by worker *k* mod `workers`.
///
/// On several ranks parts are written beside `beside`. `change` gets the number of the part besides. The results are in the slot after the run, in the
/// order of the parts.
pub(super) fn in_turn<'env, I, O, S>(
    network: &mut Network<'env>,
    (compare, beside): (Compare, S),
    workers: usize,
    parts: impl IntoIterator<Item = I, IntoIter: Send> + Send + 'env,
    change: impl Fn(usize, I) -> O + Clone + Send + 'env,
) -> Slot<Vec<O>>
where
    I: Send + Digest + Beside<S> + 'env,
    O: Send + Digest + Beside<S> + 'env,
    S: Copy + Send + Sync + 'env,
{
    let (mut tasks, mut replies) = (Vec::with_capacity(workers), Vec::with_capacity(workers));
    for number in 0..workers {
        let part = compare.named(format!("part {number}"));
        let (task, given) = compare.beside(network, part, beside);
        let done = compare.named(format!("done {number}"));
        let (done, reply) = compare.beside(network, done, beside);
        let change = change.clone();
        let ports = (given, done);
        network.process(format!("worker {number}"), ports, async move |(given, done)| {
            let numbers = (number..).step_by(workers);
            work(numbers, given, done, change).await;
        });
        tasks.push(task);
        replies.push(reply);
    }
    let (giver, results) = Slot::new();
    let process = Process::named("root").keeps_result();
    network.process_with(process, (tasks, replies), async move |(tasks, replies)| {
        root(parts, tasks, replies, giver).await;
    });
    results
}

async fn root<I: Send, O: Send>(
    parts: impl IntoIterator<Item = I>,
    mut tasks: Vec<Sender<I>>,
    mut replies: Vec<Receiver<O>>,
    results: Giver<Vec<O>>,
) {
    let workers = tasks.len();
    let (mut sent, mut all) = (0, Vec::new());
    for part in parts {
        if sent >= AT_A_TIME * workers {
            let Some(reply) = replies[sent % workers].recv().await else { return };
            all.push(reply);
        }
        tasks[sent % workers].send(part).await;
        sent += 1;
    }
    while all.len() < sent {
        let Some(reply) = replies[all.len() % workers].recv().await else { return };
        all.push(reply);
    }
    results.give(all);
}

async fn work<I: Send, O: Send>(
    mut numbers: impl Iterator<Item = usize>,
    mut given: Receiver<I>,
    mut done: Sender<O>,
    change: impl Fn(usize, I) -> O,
) {
    while let (Some(part), Some(number)) = (given.recv().await, numbers.next()) {
        done.send(change(number, part)).await;
    }
}
