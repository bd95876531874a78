//! The process that iterates: it splits the input of a round, merges the output, and decides.
//!
//! ```text
//!      ┌──────────► map ─┬─► reduce ──┐      Figure 5 of the paper. The processes of the job
//!   iterate        ...   ╳            │      stay from round to round; the end of a round is said
//!      └▲─────────► map ─┴─► reduce ──┤      in the streams, which end only when the answer is
//!       └─────────────────────────────┘      there.
//! ```

use std::fmt::Display;
use std::ops::ControlFlow;

use kahn::{Channel, Network, Receiver};

use crate::merge::Merging;
use crate::split::deal;
use crate::{Parts, Split};

/// What is said after a round: the items of the next one, or the answer.
///
/// Implemented for [`ControlFlow`], and for a `Result` of it whose error is the failure of the
/// process.
///
/// # Examples
///
/// Halves numbers until all are small:
///
/// ```
/// use kahn::Network;
/// use kahn_mapreduce::{Job, Split};
/// use std::ops::ControlFlow::{Break, Continue};
///
/// let halve = Job::new("halve", |n: u32, out| out.emit(n / 2, ()), |_n, _, out| out.emit(()));
/// let mut network = Network::new();
/// let answer = Split::new("again", 2).iterate(
///     &mut network,
///     vec![40, 41, 100],
///     |network, parts| halve.on(network, parts),
///     |results| {
///         let numbers: Vec<_> = results.into_iter().map(|(n, ())| n).collect();
///         // A `ControlFlow` is a step: go on with these items, or answer.
///         if numbers.iter().all(|n| *n < 10) { Break(numbers) } else { Continue(numbers) }
///     },
/// );
/// let answer = network.collect("answer", answer);
/// network.run()?;
/// assert_eq!(answer.take(), Some(vec![vec![2, 6]]));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub trait Step {
    /// An item of the next round.
    type Item;
    /// What the iteration was for.
    type Answer;

    /// Turns it into a control flow, or the text of an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_mapreduce::Step;
    /// use std::ops::ControlFlow;
    ///
    /// let answer: ControlFlow<u32, Vec<char>> = ControlFlow::Break(42);
    /// assert_eq!(answer.into_step(), Ok(ControlFlow::Break(42)));
    /// let failed: Result<ControlFlow<u32, Vec<char>>, &str> = Err("no answer");
    /// assert_eq!(failed.into_step(), Err("no answer".to_owned()));
    /// ```
    ///
    /// # Errors
    /// Returns the text of the error that it is.
    fn into_step(self) -> Result<ControlFlow<Self::Answer, Vec<Self::Item>>, String>;
}

impl<A, T> Step for ControlFlow<A, Vec<T>> {
    type Item = T;
    type Answer = A;

    fn into_step(self) -> Result<ControlFlow<A, Vec<T>>, String> {
        Ok(self)
    }
}

impl<A, T, E: Display> Step for Result<ControlFlow<A, Vec<T>>, E> {
    type Item = T;
    type Answer = A;

    fn into_step(self) -> Result<ControlFlow<A, Vec<T>>, String> {
        self.map_err(|error| error.to_string())
    }
}

impl<'env, T: Send + 'env> Split<'env, T> {
    /// Repeats what `body` makes, until `next` has the answer, which comes as the only message.
    ///
    /// `body` makes a job, or several in a chain, on the parts it gets. The items of `first` are dealt
    /// out to it; `next` gets the results of a round, merged and sorted by key, and says the items
    /// of the next round or the answer. The processes of the body are made once and stay.
    ///
    /// # Examples
    ///
    /// How far each person is from `ann`: a round goes one step from those that were reached last.
    ///
    /// ```
    /// use std::ops::ControlFlow::{Break, Continue};
    /// use std::collections::BTreeMap;
    ///
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let knows = BTreeMap::from([("ann", vec!["bob", "cid"]), ("bob", vec!["cid", "dan"])]);
    /// let step = Job::new(
    ///     "step",
    ///     |(name, steps): (&str, u32), out| {
    ///         knows.get(name).into_iter().flatten().for_each(|other| out.emit(*other, steps + 1));
    ///     },
    ///     |_name, steps, out| out.emit(steps.min()),
    /// );
    ///
    /// let mut network = Network::new();
    /// let mut reached = BTreeMap::from([("ann", 0)]);
    /// let answer = Split::new("walk", 2).batch(1).iterate(
    ///     &mut network,
    ///     vec![("ann", 0)],
    ///     |network, parts| step.on(network, parts),
    ///     move |results| {
    ///         let mut new: Vec<_> =
    ///             results.into_iter().flat_map(|(name, steps)| Some((name, steps?))).collect();
    ///         new.retain(|(name, _)| !reached.contains_key(name));
    ///         reached.extend(new.iter().copied());
    ///         if new.is_empty() { Break(reached.clone()) } else { Continue(new) }
    ///     },
    /// );
    /// let answer = network.collect("answer", answer);
    /// network.run()?;
    /// let reached = BTreeMap::from([("ann", 0), ("bob", 1), ("cid", 1), ("dan", 2)]);
    /// assert_eq!(answer.take(), Some(vec![reached]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// Source: Vrba et al. 2009, section 5.2 and figure 5.
    pub fn iterate<K, W, S>(
        self,
        network: &mut Network<'env>,
        first: Vec<T>,
        body: impl FnOnce(&mut Network<'env>, Parts<T>) -> Parts<(K, W)>,
        mut next: impl FnMut(Vec<(K, W)>) -> S + Send + 'env,
    ) -> Receiver<S::Answer>
    where
        K: Ord + Send + 'env,
        W: Send + 'env,
        S: Step<Item = T, Answer: Send + 'env>,
    {
        let (outs, parts) = self.channels(network);
        let results = body(network, parts);
        let (answer_out, answer) = network.channel_with(Channel::named(self.name.clone()));
        let ports = (outs, results, answer_out);
        network.process(self.name, ports, async move |(mut outs, results, mut answer)| {
            let mut results = Merging::new(results.into_receivers());
            let mut items = first;
            loop {
                deal(&mut outs, items, self.batch).await;
                if !results.begin_round().await {
                    return Err("what is iterated has ended before its answer".to_owned());
                }
                let mut round = Vec::new();
                while let Some(record) = results.next().await {
                    round.push(record);
                }
                match next(round).into_step()? {
                    ControlFlow::Continue(more) => items = more,
                    ControlFlow::Break(found) => {
                        answer.send(found).await;
                        return Ok(());
                    }
                }
            }
        });
        answer
    }
}
