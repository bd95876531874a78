//! Word count of `kahn-apps`, and the same for peers: the frequent words of a large text first.
//!
//! All but one count with the tables of `kahn-apps`; the last is what one would begin with. Texts
//! have many and few different words, because that decides what is fast: with many the misses of the
//! tables are the cost.

use super::on;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, nanoseconds, time};
use anyhow::{Context as _, Result, anyhow, ensure};
use hashbrown::HashMap;
use kahn::{Network, Options};
use kahn_apps::wordcount::{Counts, Entry, WordCount, write_line};
use kahn_apps::{Compare, Program as _, zipf};
use memmap2::Mmap;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::cmp::Reverse;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Different words, and what a text with them is called.
const VOCABULARIES: [(u32, &str); 2] = [(260_000, "260 000 words"), (20_000, "20 000 words")];

/// The processes of a stage; what the command takes.
const PARTS: usize = 8;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let megabytes = settings.size(100, 5);
    let contest = |(vocabulary, words): (u32, &str)| {
        let text = path(settings, vocabulary);
        let params = format!("{megabytes} MB, {words}");
        let with = |program: fn(&Path, usize) -> Result<f64>| {
            let text = text.clone();
            move |workers| Ok(vec![Figure::new("time of a run", "ms", program(&text, workers)?)])
        };
        let same = Contest::new(format!("{params}, same tables"), "kahn", with(ours))
            .with("kahn-mapreduce", with(mapreduce))
            .with("rayon", with(on_rayon))
            .with("threads", with(on_threads))
            .with_floor();
        let shipped = Contest::new(format!("{params}, as shipped"), "kahn", with(ours))
            .with("rayon-hashbrown", with(as_one_begins))
            .with_floor();
        [same, shipped]
    };
    VOCABULARIES.into_iter().flat_map(contest).collect()
}

fn path(settings: &Settings, vocabulary: u32) -> PathBuf {
    settings.inputs.join(format!("words-{vocabulary}.txt"))
}

/// Writes the texts.
pub(super) fn prepare(settings: &Settings) -> Result<()> {
    for (vocabulary, _) in VOCABULARIES {
        let mut file = BufWriter::new(File::create(path(settings, vocabulary))?);
        let bytes = settings.size(100, 5) * 1_000_000;
        zipf::write_text(bytes, vocabulary, 1, &mut file)?;
        file.flush()?;
    }
    Ok(())
}

fn milliseconds<R>(run: impl FnOnce() -> Result<R>) -> Result<(f64, R)> {
    let (time, result) = time(run);
    Ok((nanoseconds(time) / 1e6, result?))
}

fn ours(text: &Path, workers: usize) -> Result<f64> {
    run_network(text, on(workers), false)
}

fn mapreduce(text: &Path, workers: usize) -> Result<f64> {
    run_network(text, on(workers), true)
}

fn run_network(text: &Path, options: Options, as_job: bool) -> Result<f64> {
    let (time, lines) = milliseconds(|| network(text, options, as_job))?;
    ensure!(!lines.is_empty(), "there are words");
    Ok(time)
}

/// Gives the result as it would be written.
fn network(text: &Path, options: Options, as_job: bool) -> Result<Vec<u8>> {
    let program = WordCount::open(&[text.to_owned()], PARTS)?;
    let mut network = Network::new();
    let pending = if as_job {
        program.mapreduce(&mut network, Compare::Numbers)?
    } else {
        program.build(&mut network, Compare::Numbers)
    };
    network.run_with(options)?;
    let answer = pending().context("there is no result")?;
    let mut lines = Vec::new();
    (answer.lines)(&mut lines)?;
    Ok(lines)
}

/// The same bytes for peers.
fn lines(ranked: &[Entry<'_>]) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    for entry in ranked {
        write_line(&mut lines, entry)?;
    }
    Ok(lines)
}

fn pool(workers: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(workers).build()?)
}

fn on_rayon(text: &Path, workers: usize) -> Result<f64> {
    let pool = pool(workers)?;
    Ok(milliseconds(|| pool.install(|| rayon(text, workers)))?.0)
}

/// Some tables a thread, parts of all tables in parallel, a parallel sort.
fn rayon(text: &Path, workers: usize) -> Result<Vec<u8>> {
    let program = WordCount::open(&[text.to_owned()], PARTS)?;
    let chunks: Vec<&[u8]> = program.chunks().collect();
    let share = chunks.len().div_ceil(2 * workers).max(1);
    let tables: Vec<Vec<Vec<Entry<'_>>>> = chunks
        .par_chunks(share)
        .map(|chunks| {
            let mut counts = Counts::default();
            for chunk in chunks {
                counts.add_text(chunk);
            }
            counts.into_parts(PARTS)
        })
        .collect();
    let ranked: Vec<Vec<Entry<'_>>> = (0..PARTS)
        .into_par_iter()
        .map(|part| {
            let mut counts = Counts::default();
            tables.iter().flat_map(|table| &table[part]).for_each(|entry| counts.add(*entry));
            counts.into_ranked()
        })
        .collect();
    let mut ranked = ranked.concat();
    ranked.par_sort_by_key(Entry::rank);
    lines(&ranked)
}

fn on_threads(text: &Path, workers: usize) -> Result<f64> {
    Ok(milliseconds(|| threads(text, workers))?.0)
}

/// A table a thread, which takes chunks as long as there are some; then a part a thread.
fn threads(text: &Path, workers: usize) -> Result<Vec<u8>> {
    let program = WordCount::open(&[text.to_owned()], PARTS)?;
    let chunks: Vec<&[u8]> = program.chunks().collect();
    let next = AtomicUsize::new(0);
    let tables = in_parallel(workers, |_| {
        let mut counts = Counts::default();
        while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
            counts.add_text(chunk);
        }
        counts.into_parts(workers)
    })?;
    let ranked = in_parallel(workers, |part| {
        let mut counts = Counts::default();
        tables.iter().flat_map(|table| &table[part]).for_each(|entry| counts.add(*entry));
        counts.into_ranked()
    })?;
    let mut ranked = ranked.concat();
    // The sort finds the sorted runs and merges them.
    ranked.sort_by_key(Entry::rank);
    lines(&ranked)
}

/// Runs a function on so many threads, and gives the results in order.
fn in_parallel<R: Send>(workers: usize, code: impl Fn(usize) -> R + Sync) -> Result<Vec<R>> {
    thread::scope(|scope| {
        let code = &code;
        let others: Vec<_> = (1..workers).map(|number| scope.spawn(move || code(number))).collect();
        let mut results = vec![code(0)];
        for other in others {
            results.push(other.join().map_err(|_| anyhow!("a thread panicked"))?);
        }
        Ok(results)
    })
}

fn as_one_begins(text: &Path, workers: usize) -> Result<f64> {
    let pool = pool(workers)?;
    Ok(milliseconds(|| pool.install(|| rayon_and_hashbrown(text)))?.0)
}

/// Split, fold and reduce with a map from words to numbers.
fn rayon_and_hashbrown(text: &Path) -> Result<Vec<u8>> {
    // SAFETY: the file is this program's own, and nobody writes to it meanwhile.
    let text = unsafe { Mmap::map(&File::open(text)?) }?;
    let counts = text
        .par_split(|byte| !byte.is_ascii_alphabetic())
        .filter(|word| !word.is_empty())
        .fold(HashMap::<Vec<u8>, u64>::new, |mut counts, word| {
            *counts.entry(word.to_ascii_uppercase()).or_insert(0) += 1;
            counts
        })
        .reduce(HashMap::new, |mut all, mut counts| {
            if all.len() < counts.len() {
                std::mem::swap(&mut all, &mut counts);
            }
            for (word, count) in counts {
                *all.entry(word).or_insert(0) += count;
            }
            all
        });
    let mut ranked: Vec<(Vec<u8>, u64)> = counts.into_iter().collect();
    ranked.par_sort_unstable_by(|(a, few), (b, many)| {
        (Reverse(few), a.as_slice()).cmp(&(Reverse(many), b.as_slice()))
    });
    let mut lines = Vec::new();
    for (word, count) in &ranked {
        lines.extend_from_slice(word);
        writeln!(lines, "\t{count}")?;
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_programs_write_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let mut file = File::create(&path).unwrap();
        zipf::write_text(600_000, 500, 3, &mut file).unwrap();
        let expected = network(&path, Options::new().workers(2), false).unwrap();
        assert!(expected.len() > 1000);
        assert_eq!(network(&path, Options::new().workers(1), true).unwrap(), expected);
        assert_eq!(threads(&path, 3).unwrap(), expected);
        assert_eq!(rayon(&path, 2).unwrap(), expected);
        assert_eq!(rayon_and_hashbrown(&path).unwrap(), expected);
    }
}
