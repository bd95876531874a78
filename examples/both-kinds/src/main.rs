//! A program of both kinds: communicating processes take requests as they come, a Kahn network
//! computes the answers.
//!
//! ```text
//!   client 0 ─┐                                                         ┌─► client 0
//!   client 1 ─┼─claim─► front ──questions──► square ──answers──► back ──┼─► client 1
//!   client 2 ─┘         communicating   │    a network     │     comm.  └─► client 2
//!                       processes       └── outside ends ──┘
//! ```
//!
//! Which client comes first is a choice, so it is made by processes that may choose. What the network
//! computes of the requests depends on their order alone. The two kinds meet at the network's *outside
//! ends*, which any future may wait for: neither crate knows the other.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, Report};
use kahn_csp::{self as csp, Failed, Run};

/// A client, and what it asks or is told.
type Message = (usize, u64);

/// Has each client ask for the squares of 1 to `requests`; returns their sums.
fn serve(clients: usize, requests: u64) -> Result<Run<Served>, csp::RunError> {
    let mut network = Network::new();
    let (questions_out, questions) = network.channel::<Message>("questions");
    let (answers_out, answers) = network.channel::<Message>("answers");
    network.process("square", (questions, answers_out), async |(mut questions, mut answers)| {
        while let Some((client, n)) = questions.recv().await {
            answers.send((client, n * n)).await;
        }
    });
    let mut questions = network.outside("front", questions_out);
    let mut answers = network.outside("back", answers);
    let network = network.run_async(kahn::Options::new());

    csp::run(csp::Options::new(), async |scope| {
        let (ask, mut asked) = csp::channel::<Message>("requests");
        let ask = csp::Shared::new("requests", ask);
        let mut replies = Vec::new();
        let mut handles = Vec::new();
        for client in 0..clients {
            let (reply, mut replied) = csp::channel::<u64>(format!("replies {client}"));
            replies.push(reply);
            let ask = ask.clone();
            handles.push(scope.fork(format!("client {client}"), async move {
                let mut sum = 0;
                for n in 1..=requests {
                    ask.claim().await.send((client, n)).await.ok()?;
                    sum += replied.recv().await.ok()?;
                }
                Some(sum)
            }));
        }
        drop(ask);
        // Dropping the outside end when all clients are done ends the network's input.
        scope.spawn("front", async move {
            while let Ok(request) = asked.recv().await {
                questions.send(request).await?;
            }
            Ok::<(), kahn::Ended>(())
        });
        scope.spawn("back", async move {
            while let Some((client, square)) = answers.recv().await? {
                // A client that has left does not want its answer.
                let _ = replies[client].send(square).await;
            }
            Ok::<(), kahn::Ended>(())
        });
        let report = network.await;
        let mut sums = Vec::new();
        for handle in handles {
            sums.push(handle.join().await?.unwrap_or_default());
        }
        Ok((sums, report))
    })
}

/// The sums of the clients, and the report of the network.
type Served = Result<(Vec<u64>, Result<Report, kahn::RunError>), Failed>;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let run = serve(3, 10)?;
    let (sums, network) = run.result?;
    println!("{sums:?}\n\n{}\n{}", network?, run.report);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_gets_its_own_answers_whichever_comes_first() {
        let run = serve(5, 100).expect("it ends well");
        let (sums, network) = run.result.expect("no client fails");
        assert_eq!(sums, [338_350; 5]);
        let network = network.expect("the network ends when its input does");
        assert_eq!(network.messages(), 1000);
        assert!(run.report.chooses && !network.chooses);
    }
}
