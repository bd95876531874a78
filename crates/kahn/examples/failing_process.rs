//! A process that fails, and what the failure does to the others.
//!
//! ```text
//!                 ┌──texts──► parse ──numbers──► sum
//!   rows ──► tee ─┤
//!                 └──copies──► count
//! ```
//!
//! `parse` returns an error at the third row. What it has sent before still arrives; then `sum`
//! reaches the failure mark and ends with it, for half a sum must not look like a whole one. `count`
//! has nothing to do with it and runs to its end. The report names the same processes in every run.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, Report, RunError};
use std::num::ParseIntError;

/// Returns the sum and the number of rows, as far as they are known, and how the run ended.
fn sum_and_count(rows: &[&str]) -> (Option<i64>, Option<u32>, Result<Report, RunError>) {
    let mut network = Network::new();
    let (texts_out, texts) = network.channel::<&str>("texts");
    let (copies_out, copies) = network.channel::<&str>("copies");
    let (numbers_out, numbers) = network.channel::<i64>("numbers");

    network.process("tee", (texts_out, copies_out), async |(mut texts, mut copies)| {
        for row in rows {
            texts.send(*row).await;
            copies.send(*row).await;
        }
    });
    network.process("parse", (texts, numbers_out), async |(mut texts, mut numbers)| {
        while let Some(text) = texts.recv().await {
            numbers.send(text.parse::<i64>()?).await;
        }
        Ok::<(), ParseIntError>(())
    });
    let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    let count = network.fold("count", copies, 0, |count, _row| count + 1);
    let result = network.run();
    (sum.take(), count.take(), result)
}

fn main() {
    let (sum, count, result) = sum_and_count(&["10", "20", "thirty", "40"]);
    println!("sum {sum:?}, count {count:?}\n");
    match result {
        Ok(report) => println!("{report}"),
        Err(error) => println!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kahn::{Name, Summary};

    #[test]
    fn a_failure_ends_what_depends_on_it_and_nothing_else() {
        let (sum, count, result) = sum_and_count(&["10", "20", "thirty", "40"]);
        assert_eq!(sum, None, "half a sum is none");
        assert_eq!(count, Some(4));
        let error = result.expect_err("`parse` fails");
        let report = error.report().expect("it ran");
        assert_eq!(report.outcome, Summary::Failed);
        assert_eq!(report.failures[0].process.as_str(), "parse");
        assert_eq!(report.failures[0].ended_with_it, [Name::from("sum")]);
    }

    #[test]
    fn without_a_bad_row_both_are_there() {
        let (sum, count, result) = sum_and_count(&["10", "20"]);
        result.expect("all rows are numbers");
        assert_eq!((sum, count), (Some(30), Some(2)));
    }
}
