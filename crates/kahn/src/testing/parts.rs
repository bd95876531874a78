//! Runs a network with several numbers of parts that share its work, and compares.
//!
//! | compared | what |
//! |---|---|
//! | runs with one number of parts | all that [`Schedules::verify_with`] compares: histories, failures, endings, results |
//! | numbers of parts | results, for the networks have other channels |
//! | … if these differ | messages of channels that are there in both and belong to no part, to tell where it began |

use super::schedule::Schedules;
use super::verify::{Ran, Runs, Verified, VerifyError};
use crate::Network;
use std::fmt;

impl Schedules {
    /// Verifies a network for several numbers of parts that share its work, and compares the results over
    /// all; calls `each` after each run.
    ///
    /// For each number, all that [`verify_with`](Self::verify_with) compares is compared. Between
    /// two numbers it is the result alone, for the networks have other channels.
    ///
    /// # Examples
    ///
    /// Memory that is used again, and influences results:
    ///
    /// ```
    /// use kahn::testing::{Schedules, VerifyError};
    ///
    /// let error = Schedules::new().workers([1, 2]).verify_parts(
    ///     [1, 2, 3],
    ///     |network, parts| {
    ///         let numbers = network.source("numbers", 0..10_u64);
    ///         let odd = network.parallel_map_with("odd", numbers, parts, || 0, |seen, n| {
    ///             *seen += 1;
    ///             n + *seen
    ///         });
    ///         network.collect("all", odd)
    ///     },
    ///     |all| all.take(),
    ///     |_progress| {},
    /// )
    /// .expect_err("the result depends on what a memory has seen");
    /// assert!(matches!(&error, VerifyError::Parts { first, other, .. } if first.0 == 1 && other.0 == 2));
    /// assert!(error.to_string().contains("message 2 on channel `odd gather`"), "{error}");
    /// ```
    ///
    /// # Errors
    /// As for [`verify`](Self::verify), and [`VerifyError::Parts`] if two results differ.
    ///
    /// # Panics
    /// As for [`verify`](Self::verify).
    pub fn verify_parts<'env, R, A: PartialEq + fmt::Debug>(
        &self,
        parts: impl IntoIterator<Item = usize>,
        build: impl Fn(&mut Network<'env>, usize) -> R,
        result: impl Fn(R) -> A,
        mut each: impl FnMut(Ran<'_>),
    ) -> Result<Verified<A>, VerifyError> {
        let numbers: Vec<_> = parts.into_iter().collect();
        let of = self.list().len() * numbers.len();
        let mut done = 0;
        let mut first: Option<(usize, Runs<A>)> = None;
        for parts in numbers {
            let build = |network: &mut Network<'env>| build(network, parts);
            let runs = self.runs(Some(parts), build, &result, |_, schedule| {
                done += 1;
                each(Ran { done, of, schedule });
            })?;
            let Some((number, expected)) = &mut first else {
                first = Some((parts, runs));
                continue;
            };
            if !expected.run.is_cut() && !runs.run.is_cut() && expected.result != runs.result {
                return Err(VerifyError::Parts {
                    first: (*number, format!("{:?}", expected.result)),
                    other: (parts, format!("{:?}", runs.result)),
                    mismatch: expected.run.first_unlike(&runs.run).map(Box::new),
                });
            }
            expected.cut.extend(runs.cut);
        }
        let (_, runs) = first.ok_or(VerifyError::NoSchedule)?;
        Ok(runs.verified(of))
    }
}
