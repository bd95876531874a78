//! What stands under *before* in `docs/frictions.md`: it needs nothing that came later, and still compiles.

use super::member;
use kahn::{Channel, Network, OutsideSender, Receiver, Report, RunError, process};
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::num::ParseIntError;
use std::path::Path;
use std::sync::{Arc, mpsc};

const BLOCK: usize = 128 << 10;

pub fn sum(lines: &[&str]) -> Result<Option<i64>, RunError> {
    let mut network = Network::new();
    let lines = network.source("lines", lines);
    let (out, sums) = network.channel("sums");
    network.process("add up", (lines, out), async |(mut lines, mut out)| {
        let mut sum = 0;
        while let Some(line) = lines.recv().await {
            sum += line.parse::<i64>()?;
        }
        out.send(sum).await;
        Ok::<(), ParseIntError>(())
    });
    let sum = network.fold("sum", sums, 0, |_, sum| sum);
    network.run()?;
    Ok(sum.take())
}

pub fn compress(from: &Path, to: &Path) -> Result<Report, RunError> {
    let part = to.with_extension("part");
    let mut network = Network::new();
    let (out, blocks) = network.channel("read");
    network.blocking("read", out, |mut out| {
        let file = File::open(from)?;
        loop {
            let mut block = Vec::new();
            if (&file).take(BLOCK as u64).read_to_end(&mut block)? == 0 {
                return Ok::<(), io::Error>(());
            }
            out.send_blocking(block);
        }
    });
    let members = network.parallel_map("compress", blocks, 8, |block: Vec<u8>| member(&block));
    network.blocking("write", members, |mut members| {
        let mut file = BufWriter::new(File::create(&part)?);
        file.write_all(&member(b"")?)?;
        while let Some(member) = members.recv_blocking() {
            file.write_all(&member?)?;
        }
        file.into_inner()?.sync_all()?;
        fs::rename(&part, to)
    });
    network.run()
}

pub fn most_asked_for(
    log: impl Read + Send,
    path: fn(&str) -> String,
) -> Result<Vec<(usize, Reverse<String>)>, RunError> {
    let mut network = Network::new();
    let (out, lines) = network.channel("lines");
    network.blocking("read", out, |mut out| {
        for line in BufReader::new(log).lines() {
            out.send_blocking(line?);
        }
        Ok::<(), io::Error>(())
    });
    let hits = network.fold("hits", lines, BTreeMap::new(), |mut hits, line: String| {
        *hits.entry(path(&line)).or_insert(0) += 1;
        hits
    });
    network.run()?;
    let hits = hits.take().unwrap_or_default();
    let mut top: Vec<_> = hits.into_iter().map(|(path, hits)| (hits, Reverse(path))).collect();
    top.sort_by(|a, b| b.cmp(a));
    top.truncate(10);
    Ok(top)
}

#[derive(Clone)]
pub struct Requests {
    questions: Arc<Mutex<OutsideSender<String>>>,
    waiting: mpsc::Sender<mpsc::SyncSender<String>>,
}

impl Requests {
    pub fn ask(&self, line: String) -> io::Result<String> {
        let (answer, answered) = mpsc::sync_channel(1);
        let mut questions = self.questions.lock();
        self.waiting.send(answer).map_err(io::Error::other)?;
        questions.send_blocking(line).map_err(io::Error::other)?;
        drop(questions);
        answered.recv().map_err(io::Error::other)
    }
}

pub fn service() -> (Network<'static>, Requests) {
    let mut network = Network::new();
    let (questions, lines) = network.channel("questions");
    let questions = Arc::new(Mutex::new(network.outside("connections", questions)));
    let reversed = network.parallel_map("reverse", lines, 4, |line: String| {
        line.chars().rev().chain(['\n']).collect::<String>()
    });
    let (waiting, asked) = mpsc::channel::<mpsc::SyncSender<String>>();
    network.blocking("answer", reversed, move |mut answers| {
        while let (Some(answer), Ok(asker)) = (answers.recv_blocking(), asked.recv()) {
            // One that has left meanwhile hears nothing.
            let _ = asker.send(answer);
        }
    });
    (network, Requests { questions, waiting })
}

pub fn squares_of_odd(
    network: &mut Network<'_>,
    part: &str,
    numbers: Receiver<u64>,
) -> Receiver<u64> {
    let odd = Channel::named(format!("{part}/odd")).capacity(2);
    let (out, odd) = network.channel_with(odd);
    network.process(format!("{part}/odd"), (numbers, out), async |(numbers, out)| {
        process::filter((numbers, out), |n| n % 2 == 1).await;
    });
    network.map(format!("{part}/square"), odd, |n| n * n)
}

pub fn in_turn<'env>(
    network: &mut Network<'env>,
    items: Receiver<usize>,
    f: impl Fn(usize) -> usize + Clone + Send + 'env,
) -> Receiver<usize> {
    network.parallel_map("compute", items, 2, f)
}
