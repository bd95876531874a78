//! In turn, with more than one message a turn.

use crate::network::making::Making;
use crate::{Channel, Network, Receiver};
use std::collections::VecDeque;

impl<'env, M: Making> Network<'env, M> {
    /// Deals the messages out in turn, `weights[i]` of them in a row to the channel called `name i`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=7_u32);
    /// let mut parts = network.scatter_weighted("part", numbers, &[2, 1]);
    /// let ones = network.collect("ones", parts.remove(1));
    /// let twos = network.collect("twos", parts.remove(0));
    /// network.run()?;
    /// assert_eq!((twos.take(), ones.take()), (Some(vec![1, 2, 4, 5, 7]), Some(vec![3, 6])));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if there are no weights or one is 0, or if `items` belongs to another network.
    #[doc(alias = "round robin")]
    pub fn scatter_weighted<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        weights: &[usize],
    ) -> Vec<Receiver<T>> {
        assert!(!weights.contains(&0), "of each turn, every output gets a message at least");
        let weights = weights.to_vec();
        self.fan(name, items, weights.len(), |(mut items, mut outs)| async move {
            for turn in (0..outs.len()).cycle() {
                for _ in 0..weights[turn] {
                    let Some(item) = items.recv().await else { return };
                    outs[turn].send(item).await;
                }
            }
        })
    }

    /// Takes messages of each input in turn, `weights[i]` in a row of input `i`, until all have ended. An
    /// input that has ended is left out.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let letters = network.source("letters", "abcd".chars());
    /// let digits = network.source("digits", "12".chars());
    /// let both = network.gather_weighted("both", vec![letters, digits], &[2, 1]);
    /// let all = network.collect("all", both);
    /// network.run()?;
    /// assert_eq!(all.take(), Some("ab1cd2".chars().collect()));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if there is not a weight for each input or one is 0, or if one of the inputs belongs to
    /// another network.
    #[doc(alias = "round robin")]
    pub fn gather_weighted<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        inputs: Vec<Receiver<T>>,
        weights: &[usize],
    ) -> Receiver<T> {
        assert_eq!(inputs.len(), weights.len(), "each input has a weight");
        assert!(!weights.contains(&0), "of each turn, every input gives a message at least");
        let weights = weights.to_vec();
        self.stage(name, inputs, |(inputs, mut out)| async move {
            let mut inputs: VecDeque<_> = inputs.into_iter().zip(weights).collect();
            'turns: while let Some((mut input, weight)) = inputs.pop_front() {
                for _ in 0..weight {
                    let Some(item) = input.recv().await else { continue 'turns };
                    out.send(item).await;
                }
                inputs.push_back((input, weight));
            }
        })
    }
}
