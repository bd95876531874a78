//! The pipeline with the forms that take many messages at a time: ours beside peers that have such.

use super::super::on;
use super::{Bench, Small};
use crate::contest::Contest;
use crate::measure::{Figure, now};
use crate::peers::{Blocking, Executor, Rtrb, Tokio, TokioMpsc, Wire, join, join_all};
use anyhow::Result;
use kahn::{Network, Options};
use kahn_apps::Compare;
use kahn_apps::pipeline::{Message, Pipeline, pass, sum};

/// Half a capacity at a time.
pub(super) fn contest(params: &str, bench: Bench<Small>) -> Contest {
    let params = format!("{params}, in batches of {}", bench.batch());
    Contest::new(params, "kahn-batch", move |workers| bench.ours_in_batches(on(workers)))
        .with("tokio-mpsc-batch", move |workers| bench.tokio_in_batches(workers))
        .with("threads-rtrb-batch", move |_| bench.smaller(4).rtrb_in_batches())
        .with_floor()
}

impl Bench<Small> {
    fn batch(self) -> usize {
        self.room() / 2
    }

    fn ours_in_batches(self, options: Options) -> Result<Vec<Figure>> {
        let mut network = Network::new();
        let checksum =
            self.shape.network_in_batches::<Small>(&mut network, Compare::Numbers, self.batch());
        self.run(options, network, checksum)
    }

    /// Gives the messages of a batch.
    fn numbered(from: u64, count: usize) -> impl Iterator<Item = Small> {
        (from..from + count as u64).map(|number| Small::new(number, 1))
    }

    /// Says how many messages the source sends at a time if so many are sent.
    fn next_batch(self, sent: u64) -> usize {
        let left = self.shape.messages - sent;
        usize::try_from(left).unwrap_or(usize::MAX).min(self.batch())
    }

    fn tokio_in_batches(self, workers: usize) -> Result<Vec<Figure>> {
        let Pipeline { stages, messages, work, .. } = self.shape;
        let (time, checksum) = Tokio::run(workers, async move {
            let since = now();
            let (out, mut last) = TokioMpsc::bounded::<Small>(self.room());
            let source = Tokio::spawn(async move {
                let mut sent = 0;
                while sent < messages {
                    let count = self.next_batch(sent);
                    let Ok(permits) = out.reserve_many(count).await else { break };
                    for (permit, message) in permits.zip(Self::numbered(sent, count)) {
                        permit.send(message);
                    }
                    sent += count as u64;
                }
            });
            let mut tasks = vec![source];
            for number in 1..=stages {
                let (right, next) = TokioMpsc::bounded::<Small>(self.room());
                let mut left = last;
                tasks.push(Tokio::spawn(async move {
                    let mut batch = Vec::with_capacity(self.batch());
                    while left.recv_many(&mut batch, self.batch()).await > 0 {
                        let Ok(permits) = right.reserve_many(batch.len()).await else { break };
                        for (permit, mut message) in permits.zip(batch.drain(..)) {
                            pass(&mut message, number, work);
                            permit.send(message);
                        }
                    }
                }));
                last = next;
            }
            let sink = Tokio::spawn(async move {
                let mut all = 0;
                let mut batch = Vec::with_capacity(self.batch());
                while last.recv_many(&mut batch, self.batch()).await > 0 {
                    all = batch.drain(..).fold(all, |all, mut message| sum(all, &mut message));
                }
                all
            });
            let checksum = Tokio::join(sink).await;
            join_all::<Tokio, _>(tasks).await;
            (since.elapsed(), checksum)
        })?;
        self.figures(time, checksum)
    }

    fn rtrb_in_batches(self) -> Result<Vec<Figure>> {
        let Pipeline { stages, messages, work, .. } = self.shape;
        let since = now();
        let (mut out, mut last) = Rtrb::bounded::<Small>(self.room());
        let source = Rtrb::spawn(move || {
            let mut batch = Vec::with_capacity(self.batch());
            let mut made = 0;
            while made < messages {
                batch.extend(Self::numbered(made, self.next_batch(made)));
                made += batch.len() as u64;
                out.send_all(&batch);
                batch.clear();
            }
        })?;
        let mut threads = vec![source];
        for number in 1..=stages {
            let (mut right, next) = Rtrb::bounded::<Small>(self.room());
            let mut left = last;
            threads.push(Rtrb::spawn(move || {
                let mut batch = Vec::with_capacity(self.batch());
                while left.recv_many(&mut batch, self.batch()) > 0 {
                    for message in &mut batch {
                        pass(message, number, work);
                    }
                    right.send_all(&batch);
                    batch.clear();
                }
            })?);
            last = next;
        }
        let sink = Rtrb::spawn(move || {
            let mut all = 0;
            let mut batch = Vec::with_capacity(self.batch());
            while last.recv_many(&mut batch, self.batch()) > 0 {
                all = batch.drain(..).fold(all, |all, mut message| sum(all, &mut message));
            }
            all
        })?;
        let checksum = join::<Rtrb, u64>(sink)?;
        for thread in threads {
            join::<Rtrb, ()>(thread)?;
        }
        self.figures(since.elapsed(), checksum)
    }
}
