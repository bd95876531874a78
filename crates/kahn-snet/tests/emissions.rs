//! What a box emits is a stream: it goes on while the box runs, and the box waits for what takes it.

mod common;

use common::{numbers, program};
use std::collections::BTreeMap;
use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use kahn_snet::Program;
use kahn_snet::boxes::{BoxError, Boxes, Emitter, Tag};
use kahn_snet::record::{ReadError, Record, WriteError};
use kahn_snet::runtime::{
    Concurrency, Options, Ready, Report, RunError, Runtime, Sink, Source, run,
};
use parking_lot::{Condvar, Mutex};

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

/// How long one run may take: far longer than any does on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

/// Runs `check` for a program in every way; fails, and names the way, if one does not end within [`LIMIT`].
fn in_every_way(source: &str, check: impl Fn(&Program, &Options) + Send + Sync + 'static) {
    let (program, check) = (Arc::new(program(source)), Arc::new(check));
    for options in ways() {
        let (program, check) = (Arc::clone(&program), Arc::clone(&check));
        let what = format!("{options:?}");
        within(&what, move || check(&program, &options));
    }
}

/// Runs `run` on a thread of its own. Nothing ends a run that waits for ever: if it takes too long, the thread
/// is left behind until the program ends, and the test fails.
#[expect(clippy::disallowed_methods, reason = "a thread that outlives the test, if it must")]
fn within(what: &str, run: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel::<()>();
    let runner = thread::spawn(move || {
        run();
        drop(done);
    });
    // The sender goes when the run has returned, or panicked.
    let ended = is_done.recv_timeout(LIMIT);
    assert_ne!(ended, Err(mpsc::RecvTimeoutError::Timeout), "not done after {LIMIT:?}: {what}");
    if let Err(panic) = runner.join() {
        std::panic::resume_unwind(panic);
    }
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

/// What is to be called when a record was emitted; and how far what was emitted was ahead of what was written, at most.
fn counts_ahead(
    written: &Arc<AtomicUsize>,
) -> (impl Fn() + Send + Sync + 'static, Arc<AtomicUsize>) {
    let most = Arc::new(AtomicUsize::new(0));
    let (seen, ahead, all) = (Arc::clone(written), Arc::clone(&most), AtomicUsize::new(0));
    let is_emitted = move || {
        let emitted = all.fetch_add(1, Ordering::SeqCst) + 1;
        ahead.fetch_max(emitted.saturating_sub(seen.load(Ordering::SeqCst)), Ordering::SeqCst);
    };
    (is_emitted, most)
}

/// A box that emits so many records, and how far it was ahead of what was written, at most.
fn adds_count(boxes: &mut Boxes, count: i64, written: &Arc<AtomicUsize>) -> Arc<AtomicUsize> {
    let (is_emitted, most) = counts_ahead(written);
    let emits = move |_: Tag, out: &mut Emitter<'_>| {
        for i in 0..count {
            out.emit(1, (Tag(i),))?;
            is_emitted();
        }
        Ok(())
    };
    boxes.add("count", emits).expect("it fits");
    most
}

#[test]
fn what_a_box_emits_goes_on_while_it_runs_and_the_box_waits_when_it_is_too_much() {
    let source = "
        box count ((<n>) -> (<i>)); box pass ((<i>) -> (<i>));
        net main connect count .. [{<i>} -> {<i>, <c=2>}] .. pass
            .. ([{<i>, <c>} -> {<i>, <c=c - 1>}] * {<c>} if <c <= 0>) .. pass;";
    in_every_way(source, |program, options| {
        let written = Arc::new(AtomicUsize::new(0));
        let mut boxes = Boxes::of(program);
        let most = adds_count(&mut boxes, 20_000, &written);
        let pass = |i: Tag, out: &mut Emitter<'_>| {
            // A while longer than the box before takes for one.
            (0..100).for_each(|_| hint::spin_loop());
            out.emit(1, (i,))
        };
        boxes.add("pass", pass).expect("it fits");
        let mut sink = Written(Arc::clone(&written), usize::MAX);
        outcome(program, &boxes, options, 1, &mut sink).expect("it runs");
        assert_eq!(written.load(Ordering::SeqCst), 20_000, "{options:?}");
        let most = most.load(Ordering::SeqCst);
        assert!(most < 8_000, "{most} were inside at once: {options:?}");
    });
}

/// Lets others run until it is over, for so long at most: beside other programs one yield may take milliseconds.
#[expect(clippy::disallowed_methods, reason = "it is how long, and nothing of what comes out")]
fn yields_until(patience: Duration, is_over: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_over() && began.elapsed() < patience {
        thread::yield_now();
    }
}

/// A box that hands on what it gets, but stands at the first until so many more were emitted than written, or for so
/// long that they would have been.
fn adds_pass_that_stands(
    boxes: &mut Boxes,
    ahead: &Arc<AtomicUsize>,
    enough: usize,
    patience: Duration,
) {
    let ahead = Arc::clone(ahead);
    let pass = move |i: Tag, out: &mut Emitter<'_>| {
        if i.0 == 0 {
            yields_until(patience, || ahead.load(Ordering::SeqCst) >= enough);
        }
        out.emit(1, (i,))
    };
    boxes.add("pass", pass).expect("it fits");
}

/// How far a box that emits 20 000 records was ahead of what was written, at most, where `pass` takes nothing for
/// so long that a box that does not wait would have emitted all.
fn most_before_one_that_stands(program: &Program, options: &Options) -> usize {
    let written = Arc::new(AtomicUsize::new(0));
    let mut boxes = Boxes::of(program);
    let most = adds_count(&mut boxes, 20_000, &written);
    adds_pass_that_stands(&mut boxes, &most, 10_000, Duration::from_millis(30));
    let mut sink = Written(Arc::clone(&written), usize::MAX);
    outcome(program, &boxes, options, 1, &mut sink).expect("it runs");
    assert_eq!(written.load(Ordering::SeqCst), 20_000, "{options:?}");
    most.load(Ordering::SeqCst)
}

#[test]
fn a_box_waits_where_one_behind_it_stands() {
    // Where branches come together, behind calls of a box that run at once, and in every order.
    for behind in [
        "([{<i>} -> {<i>}] | [{<i>, <other>} -> {<i>}]) .. pass",
        "pass",
        "([{<i>} -> if <i == 0> then {<i>, <first>} else {<i>}]
            .. (([{<first>} -> {}] .. pass) || [{<i>} -> {<i>}]))",
        "([{<i>} -> {<i>, <c=1>}] .. ([{<i>, <c>} -> {<i>, <c=c - 1>}] .. pass) ** {<c>} if <c <= 0>)",
    ] {
        let source = format!(
            "box count ((<n>) -> (<i>)); box pass ((<i>) -> (<i>)); net main connect count .. {behind};",
        );
        in_every_way(&source, move |program, options| {
            let most = most_before_one_that_stands(program, options);
            assert!(most < 8_000, "{most} were inside at once: {behind}: {options:?}");
        });
    }
}

#[test]
fn boxes_in_a_row_that_emit_much_keep_few_records_before_each() {
    let source = "
        box count ((<n>) -> (<i>)); box tens ((<i>) -> (<i>)); box pass ((<i>) -> (<i>));
        net main connect count .. tens .. tens .. pass;";
    in_every_way(source, |program, options| {
        if !matches!(options.runtime, Runtime::Front) {
            return;
        }
        let written = Arc::new(AtomicUsize::new(0));
        let mut boxes = Boxes::of(program);
        adds_count(&mut boxes, 3_000, &written);
        let tens = |i: Tag, out: &mut Emitter<'_>| {
            (0..10).try_for_each(|k| out.emit(1, (Tag(10 * i.0 + k),)))
        };
        boxes.add("tens", tens).expect("it fits");
        boxes.add("pass", |i: Tag, out: &mut Emitter<'_>| out.emit(1, (i,))).expect("it fits");
        let mut sink = Written(Arc::clone(&written), usize::MAX);
        let report = outcome(program, &boxes, options, 1, &mut sink).expect("it runs");
        assert_eq!(written.load(Ordering::SeqCst), 300_000, "{options:?}");
        // Several workers, or calls, are ahead of each other while no call is far ahead.
        if options.workers > 1 || options.concurrency.default != Some(1) {
            return;
        }
        for component in report.components {
            // 30 000 and 300 000 wait if no call is held up. Calls that the system keeps from running
            // are away, and others take their place: so the bound is far above that of an idle machine.
            let (name, waited) = (component.name, component.waited);
            assert!(waited < 15_000, "{waited} waited before {name}: {options:?}");
        }
    });
}

#[test]
fn calls_that_each_emit_little_wait_before_they_begin_where_a_box_behind_them_stands() {
    let source = "
        box count ((<n>) -> (<i>)); box tens ((<i>) -> (<i>)); box pass ((<i>) -> (<i>));
        net main connect count .. tens .. tens .. pass;";
    in_every_way(source, |program, options| {
        let written = Arc::new(AtomicUsize::new(0));
        let mut boxes = Boxes::of(program);
        let seen = Arc::clone(&written);
        let count = move |_: Tag, out: &mut Emitter<'_>| {
            (0..600).try_for_each(|i| out.emit(1, (Tag(i),)))?;
            // What waits somewhere holds up others as long as one call is long.
            yields_until(Duration::from_secs(3), || seen.load(Ordering::SeqCst) > 0);
            Ok(())
        };
        boxes.add("count", count).expect("it fits");
        // What both emit is counted: the first of them a tenth.
        let (is_emitted, most) = counts_ahead(&written);
        let tens = move |i: Tag, out: &mut Emitter<'_>| {
            for k in 0..10 {
                out.emit(1, (Tag(10 * i.0 + k),))?;
                is_emitted();
            }
            Ok(())
        };
        boxes.add("tens", tens).expect("it fits");
        adds_pass_that_stands(&mut boxes, &most, 60_000, Duration::from_millis(300));
        let mut sink = Written(Arc::clone(&written), usize::MAX);
        outcome(program, &boxes, options, 1, &mut sink).expect("it runs");
        assert_eq!(written.load(Ordering::SeqCst), 60_000, "{options:?}");
        let most = most.load(Ordering::SeqCst);
        assert!(most < 50_000, "{most} were emitted: {options:?}");
    });
}

/// Counts what was written, for those that wait until it was.
#[derive(Default)]
struct Counted {
    written: Mutex<i64>,
    changed: Condvar,
}

impl Counted {
    /// Waits until so many were written; fails if that takes absurdly long.
    fn wait_for(&self, count: i64) -> Result<(), BoxError> {
        let mut written = self.written.lock();
        let patience = Duration::from_secs(60);
        let waited =
            self.changed.wait_while_for(&mut written, |written| *written < count, patience);
        if waited.timed_out() {
            return Err(BoxError::new(format!("{} of {count} came out", *written)));
        }
        Ok(())
    }
}

struct Shown(Arc<Counted>);

impl Sink for Shown {
    fn write(&mut self, _: Record) -> Result<(), WriteError> {
        *self.0.written.lock() += 1;
        self.0.changed.notify_all();
        Ok(())
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        Ok(())
    }
}

#[test]
fn a_box_may_wait_until_what_it_has_emitted_is_out() {
    let source = "
        box ask ((<n>) -> (<i>)); box pass ((<i>) -> (<i>));
        net main connect ask .. ([{<i>} -> {<i>, <done>}] ** {<done>}) .. pass;";
    in_every_way(source, |program, options| {
        let shown = Arc::new(Counted::default());
        let mut boxes = Boxes::of(program);
        let seen = Arc::clone(&shown);
        let ask = move |_: Tag, out: &mut Emitter<'_>| {
            let mut emitted = 0;
            for count in [1, 1, 2, 70, 600, 3] {
                (emitted..emitted + count).try_for_each(|i| out.emit(1, (Tag(i),)))?;
                emitted += count;
                seen.wait_for(emitted)?;
            }
            Ok(())
        };
        boxes.add("ask", ask).expect("it fits");
        let seen = Arc::clone(&shown);
        let pass = move |i: Tag, out: &mut Emitter<'_>| {
            out.emit(1, (Tag(i.0),))?;
            if i.0 % 100 == 1 { seen.wait_for(i.0 + 1) } else { Ok(()) }
        };
        boxes.add("pass", pass).expect("it fits");
        let mut sink = Shown(Arc::clone(&shown));
        let ran = outcome(program, &boxes, options, 1, &mut sink);
        ran.unwrap_or_else(|error| panic!("{error}: {options:?}"));
        assert_eq!(*shown.written.lock(), 677, "{options:?}");
    });
}

#[test]
fn a_box_that_waits_for_what_is_behind_it_holds_up_only_what_is_before_it() {
    let source = "
        box count ((<n>) -> (<i>)); box ask ((<i>) -> (<i>)); box pass ((<i>) -> (<i>));
        net main connect count .. ask .. pass;";
    in_every_way(source, |program, options| {
        let shown = Arc::new(Counted::default());
        let mut boxes = Boxes::of(program);
        let count =
            |_: Tag, out: &mut Emitter<'_>| (0..20_000).try_for_each(|i| out.emit(1, (Tag(i),)));
        boxes.add("count", count).expect("it fits");
        let seen = Arc::clone(&shown);
        // Many records wait for it meanwhile.
        let ask = move |i: Tag, out: &mut Emitter<'_>| {
            out.emit(1, (Tag(i.0),))?;
            if i.0 > 0 {
                return Ok(());
            }
            (1..600).try_for_each(|_| out.emit(1, (Tag(0),)))?;
            seen.wait_for(600)
        };
        boxes.add("ask", ask).expect("it fits");
        boxes.add("pass", |i: Tag, out: &mut Emitter<'_>| out.emit(1, (i,))).expect("it fits");
        let mut sink = Shown(Arc::clone(&shown));
        let ran = outcome(program, &boxes, options, 1, &mut sink);
        ran.unwrap_or_else(|error| panic!("{error}: {options:?}"));
        assert_eq!(*shown.written.lock(), 20_599, "{options:?}");
    });
}

/// A record, and its end when two were written: a program that asks, and goes on when it was answered.
struct Answers {
    shown: Arc<Counted>,
    is_first: bool,
    /// Whether something waits for the end.
    is_awaited: Arc<AtomicBool>,
    comes: Arc<AtomicBool>,
}

impl Source for Answers {
    fn next(&mut self) -> Option<Result<Record, ReadError>> {
        if std::mem::take(&mut self.is_first) {
            return numbers(1).next().map(Ok);
        }
        self.is_awaited.store(true, Ordering::SeqCst);
        self.comes.fetch_and(self.shown.wait_for(2).is_ok(), Ordering::SeqCst);
        None
    }

    fn is_ready(&self) -> bool {
        self.is_first || *self.shown.written.lock() >= 2
    }
}

#[test]
fn the_only_worker_does_not_wait_for_input_that_waits_for_a_box() {
    let source = "box ask ((<n>) -> (<i>)); net main connect ask;";
    in_every_way(source, |program, options| {
        let shown = Arc::new(Counted::default());
        let mut boxes = Boxes::of(program);
        let (seen, is_awaited) = (Arc::clone(&shown), Arc::new(AtomicBool::new(false)));
        let is_read = Arc::clone(&is_awaited);
        let ask = move |_: Tag, out: &mut Emitter<'_>| {
            out.emit(1, (Tag(0),))?;
            seen.wait_for(1)?;
            // Long enough for what would wait for the end of the input, now that there is nothing else to do.
            yields_until(Duration::from_millis(30), || is_read.load(Ordering::SeqCst));
            out.emit(1, (Tag(1),))
        };
        boxes.add("ask", ask).expect("it fits");
        let comes = Arc::new(AtomicBool::new(true));
        let answers = Answers {
            shown: Arc::clone(&shown),
            is_first: true,
            is_awaited,
            comes: Arc::clone(&comes),
        };
        let net = program.net(None).expect("a net");
        let ran = run(program, net, &boxes, options, answers, &mut Shown(Arc::clone(&shown)));
        ran.unwrap_or_else(|error| panic!("{error}: {options:?}"));
        assert!(comes.load(Ordering::SeqCst), "the source waited in vain: {options:?}");
        assert_eq!(*shown.written.lock(), 2, "{options:?}");
    });
}

#[test]
fn a_box_that_emits_without_end_is_ended_by_what_takes_no_more() {
    let source = "
        box count ((<n>) -> (<i>));
        net main connect count .. [{<i>} -> if <i >= 0> then {<i>} else ];";
    in_every_way(source, |program, options| {
        let written = Arc::new(AtomicUsize::new(0));
        let mut boxes = Boxes::of(program);
        let most = adds_count(&mut boxes, i64::MAX, &written);
        let mut sink = Written(Arc::clone(&written), 30_000);
        // Several records, so that calls come behind others that never end.
        let ran = outcome(program, &boxes, options, 5, &mut sink);
        assert!(ran.expect_err("it ends").to_string().contains("enough"), "{options:?}");
        let most = most.load(Ordering::SeqCst);
        assert!(most < 25_000, "{most} were inside at once: {options:?}");
    });
}

#[test]
fn calls_that_wait_keep_the_order_of_every_doubled_combinator() {
    let source = "
        box count ((<n>) -> (<n>, <i>)); box tell ((<n>, <i>) -> (<n>, <i>));
        net main connect ((count .. (tell || ([{<n>, <i>} -> {<n>, <i>}] .. tell))) !! <n>)
            .. ([{<n>, <i>} -> {<n>, <i>, <done>}] ** {<done>}) .. tell;";
    let wanted: Vec<(i64, i64)> = (0..4).flat_map(|n| (0..6_000).map(move |i| (n, i))).collect();
    in_every_way(source, move |program, options| {
        let mut boxes = Boxes::of(program);
        let count = |n: Tag, out: &mut Emitter<'_>| {
            (0..6_000).try_for_each(|i| out.emit(1, (Tag(n.0), Tag(i))))
        };
        boxes.add("count", count).expect("it fits");
        let tell = |n: Tag, i: Tag, out: &mut Emitter<'_>| out.emit(1, (n, i));
        boxes.add("tell", tell).expect("it fits");
        let mut output: Vec<Record> = Vec::new();
        outcome(program, &boxes, options, 4, &mut output).expect("it runs");
        let found: Vec<_> =
            output.iter().map(|record| (record.tags["n"], record.tags["i"])).collect();
        assert!(found == wanted, "another order: {options:?}");
    });
}
