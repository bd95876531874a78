//! A network beside tasks of another executor.
//!
//! ```text
//!   task `ask` ──questions──► square ──answers──► task `hear`
//!   (another executor)      (the network)      (another executor)
//! ```
//!
//! The tasks are *outside parties*: they have ends of the network's channels, and their operations
//! return a result, for a network may end before they do. While the network runs on its own
//! threads, `run_async` is a future like any other. Waits through the outside are part of the
//! picture: a ring through a party grows like any other, and a party never gets a verdict, since it
//! may change its mind.
//!
//! A task awaits `run_async`; it must not call `run`, which would hold the thread that the executor
//! runs it on until the network has ended, and the other tasks of that thread with it.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use futures_executor::block_on;
use futures_util::future::try_join3;
use kahn::{Ended, Network, Options, OutsideReceiver, OutsideSender, Report, RunError};

/// What can go wrong here: the network, or an operation of a task outside it.
#[derive(Debug, thiserror::Error)]
enum Wrong {
    #[error(transparent)]
    Network(#[from] RunError),
    #[error(transparent)]
    Operation(#[from] Ended),
}

async fn ask(mut questions: OutsideSender<u64>, count: u64) -> Result<(), Wrong> {
    for n in 1..=count {
        questions.send(n).await?;
    }
    Ok(())
}

async fn hear(mut answers: OutsideReceiver<u64>) -> Result<Vec<u64>, Wrong> {
    let mut heard = Vec::new();
    while let Some(answer) = answers.recv().await? {
        heard.push(answer);
    }
    Ok(heard)
}

async fn squares(count: u64) -> Result<(Vec<u64>, Report), Wrong> {
    let mut network = Network::new();
    let (questions_out, questions) = network.channel::<u64>("questions");
    let (answers_out, answers) = network.channel::<u64>("answers");
    network.process("square", (questions, answers_out), async |(mut questions, mut answers)| {
        while let Some(n) = questions.recv().await {
            answers.send(n * n).await;
        }
    });
    // Two tasks that may wait at the same time are two parties.
    let questions = network.outside("ask", questions_out);
    let answers = network.outside("hear", answers);

    let network = async { Ok(network.run_async(Options::new()).await?) };
    let (report, (), heard) = try_join3(network, ask(questions, count), hear(answers)).await?;
    Ok((heard, report))
}

fn main() -> Result<(), Wrong> {
    let (heard, report) = block_on(squares(10))?;
    println!("{heard:?}\n\n{report}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_another_executor_feed_and_drain_a_network() {
        let (heard, report) = block_on(squares(1000)).expect("nobody leaves early");
        assert_eq!(heard, (1..=1000).map(|n| n * n).collect::<Vec<_>>());
        assert_eq!(report.messages(), 2000);
    }
}
