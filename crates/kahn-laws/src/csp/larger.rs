//! Flows of messages through communicating processes, too large to enumerate.
//!
//! ```text
//!   sources ──► merges: alternations over their inputs ──► one that counts
//! ```
//!
//! Each message carries its source and its number. All come, once, in the order of their source.

use crate::draw::{Choice, Draw};
use kahn_csp::{self as csp, Options, RunError};

static BUFFER: Choice =
    Choice { name: "buffer of a larger flow", answers: &[("none", 3), ("1", 1), ("some", 1)] };
static MERGE: Choice = Choice {
    name: "merge of a larger flow",
    answers: &[("alt", 2), ("pri", 2), ("fair", 2), ("a shared end", 2), ("any", 1)],
};
static FULL: Choice =
    Choice { name: "inputs full before a fair merge", answers: &[("no", 2), ("yes", 1)] };

/// The questions of this generator.
pub(super) static CHOICES: &[&Choice] = &[&BUFFER, &MERGE, &FULL];

/// How messages of some sources come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merge {
    Alt,
    Pri,
    Fair,
    Shared,
    Any,
}

/// A tree of merges.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Of each merge, how, and how many sources.
    merges: Vec<(Merge, usize)>,
    /// The messages of each source.
    messages: u64,
    buffer: usize,
    /// A fair merge whose inputs are full before it begins takes them in turn: `check_turns`.
    full: bool,
}

type Message = (usize, u64);
type Broken = (&'static str, String);

impl Flow {
    pub(super) fn draw(draw: &mut Draw) -> Self {
        let merges = (0..draw.between(1, 5)).map(|_| {
            let merge = match draw.pick(&MERGE) {
                "alt" => Merge::Alt,
                "pri" => Merge::Pri,
                "fair" => Merge::Fair,
                "any" => Merge::Any,
                _ => Merge::Shared,
            };
            (merge, draw.between(1, 6))
        });
        Self {
            merges: merges.collect(),
            messages: draw.between(1, 40) as u64,
            buffer: match draw.pick(&BUFFER) {
                "none" => 0,
                "1" => 1,
                _ => draw.between(2, 9),
            },
            full: draw.yes(&FULL),
        }
    }

    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for at in 0..self.merges.len() {
            if self.merges.len() > 1 {
                let mut less = self.clone();
                less.merges.remove(at);
                all.push(less);
            }
            if self.merges[at].1 > 1 {
                let mut less = self.clone();
                less.merges[at].1 -= 1;
                all.push(less);
            }
        }
        if self.messages > 1 {
            all.push(Self { messages: self.messages / 2, ..self.clone() });
        }
        all
    }

    /// Runs it, and returns the messages that came.
    pub(super) fn run(&self, options: Options) -> Result<u64, Broken> {
        if self.full {
            return self.check_turns(options);
        }
        let run = csp::run(options, async |scope| {
            let (out, mut all) = self.channel("all");
            let out = csp::Shared::new("all", out);
            let mut source = 0;
            for &(merge, sources) in &self.merges {
                self.start(scope, merge, source..source + sources, out.clone());
                source += sources;
            }
            drop(out);
            let mut next = vec![0; source];
            let mut wrong = None;
            while let Ok((from, number)) = all.recv().await {
                if next[from] != number {
                    wrong.get_or_insert(format!("source {from}: {number}, not {}", next[from]));
                }
                next[from] = number + 1;
            }
            (next, wrong)
        });
        let (next, wrong) = run.map_err(failed)?.result;
        if let Some(wrong) = wrong {
            return Err(("nothing is lost, doubled or reordered", wrong));
        }
        if next.iter().any(|count| *count != self.messages) {
            let what = format!("{} messages of each source, and {next:?} came", self.messages);
            return Err(("nothing is lost, doubled or reordered", what));
        }
        Ok(next.iter().sum())
    }

    fn channel(&self, name: &'static str) -> (csp::Sender<Message>, csp::Receiver<Message>) {
        if self.buffer == 0 { csp::channel(name) } else { csp::buffered(name, self.buffer) }
    }

    fn start<'env>(
        &'env self,
        scope: csp::Scope<'env>,
        merge: Merge,
        sources: std::ops::Range<usize>,
        out: csp::Shared<csp::Sender<Message>>,
    ) {
        let messages = self.messages;
        if merge == Merge::Shared {
            for source in sources {
                let out = out.clone();
                scope.spawn("source", async move {
                    for number in 0..messages {
                        // The one that counts is there until all have ended.
                        let _ = out.claim().await.send((source, number)).await;
                    }
                });
            }
            return;
        }
        let mut inputs = Vec::new();
        for source in sources {
            let (mut sender, receiver) = self.channel("source");
            inputs.push(receiver);
            scope.spawn("source", async move {
                for number in 0..messages {
                    let _ = sender.send((source, number)).await;
                }
            });
        }
        scope.spawn("merge", async move {
            let mut fair = csp::Fair::new();
            while !inputs.is_empty() {
                let (at, message) = if merge == Merge::Any {
                    csp::alt(csp::any(&mut inputs)).await
                } else {
                    let guards: Vec<_> = inputs.iter_mut().map(csp::Receiver::recv).collect();
                    match merge {
                        Merge::Pri => csp::pri(guards).await,
                        Merge::Fair => fair.alt(guards).await,
                        _ => csp::alt(guards).await,
                    }
                };
                match message {
                    Ok(message) => drop(out.claim().await.send(message).await),
                    Err(_) => drop(inputs.remove(at)),
                }
            }
        });
    }

    /// Bounded waiting: of inputs that are ready always, a fair merge takes each in its turn.
    fn check_turns(&self, options: Options) -> Result<u64, Broken> {
        let inputs: usize = self.merges.iter().map(|(_, sources)| sources).sum();
        let rounds = self.messages;
        let run = csp::run(options, async |_| {
            let mut receivers = Vec::new();
            // Held, for a closed channel is ready as well, and once too often.
            let mut senders = Vec::new();
            for input in 0..inputs {
                let room = usize::try_from(rounds).unwrap_or(1);
                let (mut sender, receiver) = csp::buffered::<Message>("input", room);
                for number in 0..rounds {
                    let _ = sender.send((input, number)).await;
                }
                receivers.push(receiver);
                senders.push(sender);
            }
            let mut fair = csp::Fair::new();
            let mut order = Vec::new();
            for _ in 0..rounds * inputs as u64 {
                let guards: Vec<_> = receivers.iter_mut().map(csp::Receiver::recv).collect();
                if let (_, Ok(message)) = fair.alt(guards).await {
                    order.push(message);
                }
            }
            order
        });
        let order = run.map_err(failed)?.result;
        let turns = (0..rounds).flat_map(|number| (0..inputs).map(move |input| (input, number)));
        if order.iter().copied().ne(turns) {
            return Err(("a fair merge takes each in its turn", format!("{order:?}")));
        }
        Ok(order.len() as u64)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: RunError) -> Broken {
    ("a flow comes to its end", error.to_string())
}
