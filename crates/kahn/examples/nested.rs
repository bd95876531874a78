//! A network inside a process of another.
//!
//! ```text
//!   lists ──► outer ┌───────────────────────────────┐ ──sums──► the result
//!                   │ items ──► square ──► sum      │
//!                   └───────────────────────────────┘ one inner network for each list
//! ```
//!
//! An async process that ran a network with `run` would hold its worker, so that is refused.
//! `run_async` runs it on threads of its own, and the process waits for it like for anything else.
//! A failure inside is an error that the process may return: then it is its own.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, Options, RunError};

async fn sum_of_squares(list: Vec<u64>) -> Result<u64, RunError> {
    let mut inner = Network::new();
    let items = inner.source("items", list);
    let (squares_out, squares) = inner.channel::<u64>("squares");
    inner.process("square", (items, squares_out), async |(mut items, mut squares)| {
        while let Some(n) = items.recv().await {
            squares.send(n * n).await;
        }
    });
    let sum = inner.fold("sum", squares, 0, |sum, n| sum + n);
    inner.run_async(Options::new().workers(1)).await?;
    Ok(sum.take().unwrap_or(0))
}

fn sums(lists: Vec<Vec<u64>>) -> Result<Vec<u64>, RunError> {
    let mut outer = Network::new();
    let lists = outer.source("lists", lists);
    let (sums_out, sums) = outer.channel("sums");
    outer.process("outer", (lists, sums_out), async |(mut lists, mut sums)| {
        while let Some(list) = lists.recv().await {
            sums.send(sum_of_squares(list).await?).await;
        }
        Ok::<(), RunError>(())
    });
    let all = outer.collect("all", sums);
    outer.run()?;
    Ok(all.take().unwrap_or_default())
}

fn main() -> Result<(), RunError> {
    let lists = vec![vec![1, 2, 3], vec![], vec![10, 20]];
    println!("{lists:?} have the sums of squares {:?}", sums(lists.clone())?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_has_its_network() {
        let sums = sums(vec![vec![1, 2, 3], vec![], vec![10, 20]]);
        assert_eq!(sums.expect("no network fails"), [14, 0, 500]);
    }

    #[test]
    fn run_is_refused_where_it_would_hold_a_worker() {
        let mut outer = Network::new();
        outer.process("outer", (), async |()| Network::new().run().map(|_report| ()));
        let error = outer.run().expect_err("`run` would hold the worker");
        assert!(error.to_string().contains("use `run_async().await`"), "{error}");
    }
}
