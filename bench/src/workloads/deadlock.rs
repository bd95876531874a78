//! What it costs to find rings of waits, and to grow channels out of them.
//!
//! No peer takes part: with bounded channels the networks that must grow would hang there.

use super::{on, per_message};
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, time};
use anyhow::Result;
use kahn::{Channel, Detection, Network, Options};

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let one = Grow { pairs: 1, messages: settings.size(1_000_000, 50_000), capacity: 1 };
    let local = Grow { pairs: 1000, messages: 100, capacity: 1 };
    [one, one.with_room(), local, local.with_room()].map(Grow::contest).into()
}

/// With every growth by one and all rings still there, this many messages take half a gigabyte.
const MOST_CENTRAL: usize = 10_000;

/// Pairs of processes. One sends all messages of the first channel, then those of the second; the
/// other receives them in the opposite order: so the first channel must hold them all.
///
/// ```text
///   write ──── first ───► read
///         └─── second ──►
/// ```
#[derive(Clone, Copy)]
struct Grow {
    pairs: usize,
    messages: usize,
    capacity: usize,
}

impl Grow {
    /// The same with as much room as is needed from the start.
    fn with_room(mut self) -> Self {
        self.capacity = self.messages;
        self
    }

    fn contest(self) -> Contest {
        let Self { pairs, messages, capacity } = self;
        let params = format!("{pairs} x {messages} messages out of order, capacity {capacity}");
        let has_room = capacity == messages;
        let mut contest = Contest::new(params, "kahn", move |workers| self.ours(on(workers)));
        if has_room {
            let off = move |workers| self.ours(on(workers).detection(Detection::Off));
            contest = contest.with("kahn-undetected", off);
        }
        if has_room || messages <= MOST_CENTRAL {
            let central = move |workers| self.ours(on(workers).detection(Detection::Central));
            contest = contest.with("kahn-central", central);
        }
        contest.with_floor()
    }

    fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let mut network = Network::new();
        let capacity = u32::try_from(self.capacity)?;
        for pair in 0..self.pairs {
            let channel =
                |name: &str| Channel::<u64>::named(format!("{name} {pair}")).capacity(capacity);
            let (first_out, first) = network.channel_with(channel("first"));
            let (second_out, second) = network.channel_with(channel("second"));
            let outs = (first_out, second_out);
            network.process(format!("write {pair}"), outs, async move |(mut first, mut second)| {
                for n in 0..self.messages as u64 {
                    first.send(n).await;
                }
                for n in 0..self.messages as u64 {
                    second.send(n).await;
                }
            });
            let ins = (first, second);
            network.process(format!("read {pair}"), ins, async move |(mut first, mut second)| {
                while second.recv().await.is_some() {}
                while first.recv().await.is_some() {}
            });
        }
        let (time, report) = time(|| network.run_with(options));
        per_message(time, &report?, 2 * self.pairs * self.messages)
    }
}
