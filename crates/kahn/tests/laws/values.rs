//! Processes that return: a value that can be taken, an error that is kept.

use crate::schedules::{count, everywhere};
use kahn::testing::Schedules;
use kahn::{Network, RunError};
use std::error::Error;
use std::fmt;
use std::num::ParseIntError;

/// An error with a cause, which does not tell of it.
#[derive(Debug)]
struct BadLine(ParseIntError);

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bad line")
    }
}

impl Error for BadLine {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// A parser, of what a source sends, that fails at the third text.
fn parser(network: &mut Network<'static>) {
    let texts = network.source("texts", ["1", "2", "three"]);
    let (out, numbers) = network.channel("numbers");
    let _count = network.try_process("parse", (texts, out), async |(mut texts, mut out)| {
        let mut count = 0;
        while let Some(text) = texts.recv().await {
            out.send(text.parse::<u32>().map_err(BadLine)?).await;
            count += 1;
        }
        Ok(count)
    });
    network.for_each("read", numbers, |_| {});
}

#[test]
fn the_error_of_a_process_is_kept_with_its_causes() {
    everywhere(|schedule| {
        let mut network = Network::new();
        parser(&mut network);
        let report = schedule.run(network);
        let failure = &report.failures[0];
        assert_eq!(failure.message, "bad line: invalid digit found in string");
        assert!(matches!(failure.error(), Some(error) if error.is::<BadLine>()));
        let error = RunError::Ended(Box::new(report.clone()));
        assert!(matches!(error.source(), Some(error) if error.is::<BadLine>()));
        assert!(error.downcast_ref::<ParseIntError>().is_some(), "a cause of it");
        assert!(error.downcast_ref::<std::io::Error>().is_none());
        let told = "process `parse` failed: bad line: invalid digit found in string";
        assert!(error.to_string().starts_with(told), "{error}");
        assert!(!report.to_json().contains("BadLine"), "it is no data");
    });
}

#[test]
fn failures_are_compared_by_what_they_tell() {
    let verified = Schedules::new().verify(parser).expect("the same in every schedule");
    assert_eq!(verified.report.failures.len(), 1);
    let calls = std::sync::atomic::AtomicU32::new(0);
    let error = Schedules::new().verify(|network: &mut Network<'_>| {
        let call = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let _never = network
            .try_process("count", (), async move |()| Err::<(), _>(format!("call {call}").into()));
    });
    assert!(error.expect_err("each run fails with another text").to_string().contains("call 1"));
}

#[test]
fn a_value_that_can_be_taken_is_there_in_every_run() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 100);
        let (out, copies) = network.channel("copies");
        let sum = network.compute("add up", (numbers, out), async |(mut numbers, mut out)| {
            let mut sum = 0;
            while let Some(n) = numbers.recv().await {
                sum += n;
                out.send(n).await;
            }
            sum
        });
        network.process("leave", copies, async |_copies| {});
        schedule.run(network);
        assert_eq!(sum.take(), Some((0..100).sum()), "it was not pruned");
    });
}

#[test]
fn a_process_that_fails_has_no_value() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let none = network.try_process("fail", (), async |()| {
            if true {
                Err("no luck")?;
            }
            Ok(1)
        });
        assert_eq!(schedule.run(network).failures[0].message, "no luck");
        assert_eq!(none.take(), None);
    });
}

/// An error whose destructor panics.
#[derive(Debug)]
struct Sore;

impl fmt::Display for Sore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sore")
    }
}

impl Error for Sore {}

impl Drop for Sore {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("in the destructor of an error"));
    }
}

#[test]
fn an_error_whose_destructor_panics_is_the_failure_of_its_process_alone() {
    everywhere(|schedule| {
        let mut network = Network::new();
        network.process("sore", (), async |()| Err::<(), _>(Sore));
        let report = schedule.run(network);
        assert_eq!(report.failures[0].message, "sore");
        drop(report);
    });
}
