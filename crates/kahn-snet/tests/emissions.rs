//! What a box emits is a stream: it goes on while the box runs, and the box waits for who takes it.

mod common;

use common::{numbers, program};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kahn_snet::Program;
use kahn_snet::boxes::{Boxes, Emitter, Tag};
use kahn_snet::record::{Record, WriteError};
use kahn_snet::runtime::{Concurrency, Options, Ready, Report, RunError, Runtime, Sink, run};

/// Every runtime, with one worker, two and seven, and one call of a box at once, or three.
fn ways() -> Vec<Options> {
    let mut all = Vec::new();
    for runtime in [Runtime::Front, Runtime::Network { policy: None }] {
        for workers in [1, 2, 7] {
            for limit in [1, 3] {
                let concurrency = Concurrency { default: Some(limit), named: BTreeMap::new() };
                let runtime = runtime.clone();
                all.push(Options { runtime, workers, concurrency, ..Options::default() });
            }
        }
    }
    all
}

fn outcome(
    program: &Program,
    boxes: &Boxes,
    options: &Options,
    input: i64,
    sink: &mut dyn Sink,
) -> Result<Report, RunError> {
    let net = program.net(None).expect("a net");
    run(program, net, boxes, options, Ready(numbers(input)), sink)
}

/// Counts what was written, and takes no more than so many.
struct Written(Arc<AtomicUsize>, usize);

impl Sink for Written {
    fn write(&mut self, _: Record) -> Result<(), WriteError> {
        if self.0.fetch_add(1, Ordering::SeqCst) < self.1 {
            return Ok(());
        }
        Err(WriteError::Output(std::io::Error::other("enough")))
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        Ok(())
    }
}

/// A box that emits so many records, and how far it was ahead of what was written, at most.
fn adds_count(boxes: &mut Boxes, count: i64, written: &Arc<AtomicUsize>) -> Arc<AtomicUsize> {
    let most = Arc::new(AtomicUsize::new(0));
    let (seen, ahead) = (Arc::clone(written), Arc::clone(&most));
    let begun = AtomicUsize::new(0);
    let emits = move |_: Tag, out: &mut Emitter<'_>| {
        for i in 0..count {
            out.emit(1, (Tag(i),))?;
            let emitted = begun.fetch_add(1, Ordering::SeqCst) + 1;
            ahead.fetch_max(emitted.saturating_sub(seen.load(Ordering::SeqCst)), Ordering::SeqCst);
        }
        Ok(())
    };
    boxes.add("count", emits).expect("it fits");
    most
}

#[test]
fn what_a_box_emits_goes_on_while_it_runs_and_the_box_waits_when_it_is_too_much() {
    let program = program(
        "box count ((<n>) -> (<i>)); box pass ((<i>) -> (<i>));
         net main connect count .. [{<i>} -> {<i>, <c=2>}] .. pass
            .. ([{<i>, <c>} -> {<i>, <c=c - 1>}] * {<c>} if <c <= 0>) .. pass;",
    );
    for options in ways() {
        let written = Arc::new(AtomicUsize::new(0));
        let mut boxes = Boxes::of(&program);
        let most = adds_count(&mut boxes, 20_000, &written);
        let pass = |i: Tag, out: &mut Emitter<'_>| {
            std::thread::yield_now();
            out.emit(1, (i,))
        };
        boxes.add("pass", pass).expect("it fits");
        let mut sink = Written(Arc::clone(&written), usize::MAX);
        outcome(&program, &boxes, &options, 1, &mut sink).expect("it runs");
        assert_eq!(written.load(Ordering::SeqCst), 20_000, "{options:?}");
        let most = most.load(Ordering::SeqCst);
        assert!(most < 8_000, "{most} were inside at once: {options:?}");
    }
}

#[test]
fn in_a_network_a_box_waits_where_branches_come_together_in_any_order() {
    let program = program(
        "box count ((<n>) -> (<i>)); box pass ((<i>) -> (<i>));
         net main connect count .. ([{<i>} -> {<i>}] | [{<i>, <other>} -> {<i>}]) .. pass;",
    );
    // A call of `front` that is ahead goes on when a worker has nothing else to do.
    for options in ways().into_iter().filter(|way| way.runtime != Runtime::Front) {
        let written = Arc::new(AtomicUsize::new(0));
        let mut boxes = Boxes::of(&program);
        let most = adds_count(&mut boxes, 20_000, &written);
        // It takes nothing for so long that a box that does not wait would have emitted all.
        let ahead = Arc::clone(&most);
        let pass = move |i: Tag, out: &mut Emitter<'_>| {
            let mut patience = if i.0 == 0 { 100_000 } else { 0 };
            while patience > 0 && ahead.load(Ordering::SeqCst) < 10_000 {
                std::thread::yield_now();
                patience -= 1;
            }
            out.emit(1, (i,))
        };
        boxes.add("pass", pass).expect("it fits");
        let mut sink = Written(Arc::clone(&written), usize::MAX);
        outcome(&program, &boxes, &options, 1, &mut sink).expect("it runs");
        let most = most.load(Ordering::SeqCst);
        assert!(most < 8_000, "{most} were inside at once: {options:?}");
    }
}

#[test]
fn a_box_that_emits_without_end_is_ended_by_who_takes_no_more() {
    let program = program(
        "box count ((<n>) -> (<i>));
         net main connect count .. [{<i>} -> if <i >= 0> then {<i>} else ];",
    );
    for options in ways() {
        let written = Arc::new(AtomicUsize::new(0));
        let mut boxes = Boxes::of(&program);
        let most = adds_count(&mut boxes, i64::MAX, &written);
        let mut sink = Written(Arc::clone(&written), 30_000);
        // Several records, so that calls come behind others that never end.
        let ran = outcome(&program, &boxes, &options, 5, &mut sink);
        assert!(ran.expect_err("it ends").to_string().contains("enough"), "{options:?}");
        let most = most.load(Ordering::SeqCst);
        assert!(most < 25_000, "{most} were inside at once: {options:?}");
    }
}

#[test]
fn calls_that_wait_keep_the_order_of_every_doubled_combinator() {
    let program = program(
        "box count ((<n>) -> (<n>, <i>)); box tell ((<n>, <i>) -> (<n>, <i>));
         net main connect ((count .. (tell || ([{<n>, <i>} -> {<n>, <i>}] .. tell))) !! <n>)
            .. ([{<n>, <i>} -> {<n>, <i>, <done>}] ** {<done>}) .. tell;",
    );
    let wanted: Vec<(i64, i64)> = (0..4).flat_map(|n| (0..6_000).map(move |i| (n, i))).collect();
    for options in ways() {
        let mut boxes = Boxes::of(&program);
        let count = |n: Tag, out: &mut Emitter<'_>| {
            (0..6_000).try_for_each(|i| out.emit(1, (Tag(n.0), Tag(i))))
        };
        boxes.add("count", count).expect("it fits");
        let tell = |n: Tag, i: Tag, out: &mut Emitter<'_>| out.emit(1, (n, i));
        boxes.add("tell", tell).expect("it fits");
        let mut output: Vec<Record> = Vec::new();
        outcome(&program, &boxes, &options, 4, &mut output).expect("it runs");
        let found: Vec<_> =
            output.iter().map(|record| (record.tags["n"], record.tags["i"])).collect();
        assert!(found == wanted, "another order: {options:?}");
    }
}
