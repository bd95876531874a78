//! Boxes that are Rust closures: what they are given, in which order, and how they fail.

mod common;

use common::{numbers, program};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kahn_snet::Program;
use kahn_snet::boxes::{BoxError, Boxes, Emitter, Field, Tag};
use kahn_snet::record::{Record, Value};
use kahn_snet::runtime::{Concurrency, Failure, Options, Ready, Report, RunError, run};
use parking_lot::{Condvar, Mutex};

fn outcome(
    program: &Program,
    boxes: &Boxes,
    options: &Options,
    input: impl Iterator<Item = Record> + Send,
) -> Result<(Vec<Record>, Report), RunError> {
    let mut output = Vec::new();
    let net = program.net(None).expect("a net");
    let report = run(program, net, boxes, options, Ready(input), &mut output)?;
    Ok((output, report))
}

fn workers(workers: usize) -> Options {
    Options { workers, ..Options::default() }
}

fn tags(records: &[Record], name: &str) -> Vec<i64> {
    records.iter().map(|record| record.tags[name]).collect()
}

#[test]
fn outputs_come_in_the_order_of_the_inputs_however_long_a_call_takes() {
    let program = program("box work ((<n>) -> (<n>)); net main connect work .. work;");
    let mut boxes = Boxes::of(&program);
    let work = |n: Tag, out: &mut Emitter<'_>| {
        for _ in 0..(n.0 * 7919 % 50) * 200 {
            std::hint::spin_loop();
        }
        out.emit(1, (n,))
    };
    boxes.add("work", work).expect("it fits");
    for count in [1, 2, 8] {
        let (output, _) =
            outcome(&program, &boxes, &workers(count), numbers(500)).expect("it runs");
        assert_eq!(tags(&output, "n"), (0..500).collect::<Vec<_>>(), "{count} workers");
    }
}

#[test]
fn calls_of_a_box_overlap_up_to_its_limit() {
    let program = program("box meet ((<n>) -> (<n>)); net main connect meet;");
    // Every call waits until two are there: with a limit of one, none would ever return.
    let there = Arc::new((Mutex::new(0), Condvar::new()));
    let most = Arc::new(AtomicUsize::new(0));
    let mut boxes = Boxes::of(&program);
    let (inside, seen) = (Arc::clone(&there), Arc::clone(&most));
    let meet = move |n: Tag, out: &mut Emitter<'_>| {
        let (count, changed) = &*inside;
        let mut count = count.lock();
        *count += 1;
        seen.fetch_max(*count, Ordering::Relaxed);
        changed.notify_all();
        while *count < 2 {
            changed.wait(&mut count);
        }
        out.emit(1, (n,))
    };
    boxes.add("meet", meet).expect("it fits");
    let (output, _) = outcome(&program, &boxes, &workers(2), numbers(2)).expect("it runs");
    assert_eq!(tags(&output, "n"), [0, 1]);
    assert_eq!(most.load(Ordering::Relaxed), 2);
}

#[test]
fn a_limit_of_one_lets_one_call_run_at_a_time() {
    let program = program("box alone ((<n>) -> (<n>)); net main connect alone;");
    let running = Arc::new(AtomicUsize::new(0));
    let mut boxes = Boxes::of(&program);
    let alone = move |n: Tag, out: &mut Emitter<'_>| {
        assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two calls at once");
        for _ in 0..500 {
            std::hint::spin_loop();
        }
        running.fetch_sub(1, Ordering::SeqCst);
        out.emit(1, (n,))
    };
    boxes.add("alone", alone).expect("it fits");
    let named = BTreeMap::from([("alone".to_owned(), 1)]);
    let concurrency = Concurrency { default: Some(4), named };
    let options = Options { workers: 4, concurrency, ..Options::default() };
    let (output, _) = outcome(&program, &boxes, &options, numbers(300)).expect("it runs");
    assert_eq!(output.len(), 300);
}

#[test]
fn a_box_may_emit_any_number_of_records_and_what_it_did_not_take_is_passed_on() {
    let program = program("box count ((<n>) -> (<i>) | ()); net main connect count;");
    let mut boxes = Boxes::of(&program);
    let count = |n: Tag, out: &mut Emitter<'_>| {
        for i in 0..n.0 {
            out.emit(1, (Tag(i),))?;
        }
        out.emit(2, ())
    };
    boxes.add("count", count).expect("it fits");
    let input = [5000, 0, 2].map(|n| Record::new().tag("n", n).tag("id", n).field("a", "x"));
    for workers in [1, 3].map(workers) {
        let (output, _) =
            outcome(&program, &boxes, &workers, input.clone().into_iter()).expect("it runs");
        assert_eq!(output.len(), 5001 + 1 + 3);
        assert_eq!(output[4999], Record::new().field("a", "x").tag("id", 5000).tag("i", 4999));
        assert_eq!(output[5000], Record::new().field("a", "x").tag("id", 5000));
        assert_eq!(output[5001], Record::new().field("a", "x").tag("id", 0));
    }
}

#[test]
fn values_of_rusts_own_flow_from_box_to_box() {
    let program = program(
        "box make ((<n>) -> (m)); box sum ((m) -> (<total>)); net main connect make .. sum;",
    );
    let mut boxes = Boxes::of(&program);
    let make = |n: Tag, out: &mut Emitter<'_>| {
        out.emit(1, (Value::opaque((0..n.0).collect::<Vec<i64>>()),))
    };
    boxes.add("make", make).expect("it fits");
    let sum = |m: Field<Vec<i64>>, out: &mut Emitter<'_>| out.emit(1, (Tag(m.0.iter().sum()),));
    boxes.add("sum", sum).expect("it fits");
    let (output, _) = outcome(&program, &boxes, &workers(2), numbers(5)).expect("it runs");
    assert_eq!(tags(&output, "total"), [0, 0, 1, 3, 6]);
}

/// The reason why a box with this function fails.
fn failure(
    function: impl Fn(Value, &mut Emitter<'_>) -> Result<(), BoxError> + Send + Sync + 'static,
) -> String {
    let program = program("net main { box f ((a) -> (b) | (<t>)); } connect f;");
    let mut boxes = Boxes::of(&program);
    boxes.add("f", function).expect("it fits");
    let input = std::iter::once(Record::new().field("a", 1));
    match outcome(&program, &boxes, &workers(2), input) {
        Err(RunError::Failed(failure)) => match *failure {
            Failure::Box { path, record, reason } => {
                assert_eq!((path.as_str(), record.as_str()), ("main/f", r#"{"fields":{"a":1}}"#));
                reason
            }
            other => panic!("another failure: {other}"),
        },
        other => panic!("no failure: {other:?}"),
    }
}

#[test]
fn a_box_that_does_wrong_ends_the_run_with_its_name_and_record() {
    assert_eq!(failure(|_, _| Err("no luck".into())), "no luck");
    assert_eq!(failure(|_, _| panic!("at the disco")), "it panicked: at the disco");
    assert_eq!(
        failure(|a, out| out.emit(3, (a,))),
        "it emits output tuple 3, but its signature has 2"
    );
    assert_eq!(failure(|_, out| out.emit(1, ())), "it emits 0 values as (b)");
    assert_eq!(failure(|a, out| out.emit(2, (a,))), "it emits a field as `<t>` of (<t>)");
}

#[test]
fn a_closure_that_takes_something_else_is_refused_when_it_is_added() {
    let program = program("box f ((a, <t>) -> (b)); net main connect f;");
    let mut boxes = Boxes::of(&program);
    let error = boxes.add("f", |_: Tag, _: Value, _: &mut Emitter<'_>| Ok(())).unwrap_err();
    let wanted = "box `f` takes (field, tag), but its function takes (tag, field)";
    assert_eq!(error.to_string(), wanted);
    let error = boxes.add("g", |_: &mut Emitter<'_>| Ok(())).unwrap_err();
    assert_eq!(error.to_string(), "the program has no box `g`; it has `f`");
    let error = outcome(&program, &boxes, &workers(1), numbers(0)).unwrap_err();
    assert_eq!(error.to_string(), "no function for box `f`");
}

#[test]
fn collected_replicas_leave_nothing_behind() {
    let program = program(
        "net main connect ([| {<sum>}, {<n>} |] .. (step | [])) * {<out>};
         net step connect [{<sum>, <n>} -> {<sum=sum + n>}; {<out=sum>}];",
    );
    let input = || std::iter::once(Record::new().tag("sum", 0)).chain(numbers(5000));
    for workers in [1, 2] {
        let options = Options { workers, ..Options::default() };
        let boxes = Boxes::of(&program);
        let (output, report) = outcome(&program, &boxes, &options, input()).expect("it runs");
        assert_eq!(output.len(), 5000);
        // Those of the last batches may be there still: how many depends on how far one worker is
        // ahead of the other, and not on the number of records.
        assert!(report.instances < 1000, "{} frames are left of 5000", report.instances);
        let options = Options { collect: false, ..options };
        let short = std::iter::once(Record::new().tag("sum", 0)).chain(numbers(100));
        let (kept, report) = outcome(&program, &boxes, &options, short).expect("it runs");
        assert_eq!(kept[..], output[..100]);
        assert!(report.instances > 100);
    }
}

/// Counts what is in the program.
struct Counting(Arc<AtomicUsize>);
impl kahn_snet::runtime::Sink for Counting {
    fn write(&mut self, _: Record) -> Result<(), kahn_snet::record::WriteError> {
        self.0.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), kahn_snet::record::WriteError> {
        Ok(())
    }
}

#[test]
fn input_is_admitted_only_as_it_is_worked_off() {
    let program = program("net main connect [{<n>} -> {<n=n + 1>}] * {<n>} if <n >= 0>;");
    let (live, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, seen) = (Arc::clone(&live), Arc::clone(&most));
    let input = (0..20_000).map(move |n| {
        let now = counted.fetch_add(1, Ordering::SeqCst) + 1;
        seen.fetch_max(now, Ordering::SeqCst);
        Record::new().tag("n", -(n % 20))
    });
    let net = program.net(None).expect("a net");
    let boxes = Boxes::of(&program);
    let mut sink = Counting(live);
    run(&program, net, &boxes, &workers(1), Ready(input), &mut sink).expect("it runs");
    let most = most.load(Ordering::SeqCst);
    assert!(most <= 64, "{most} records were inside at once");
}

/// Waits, before the second record, until the first was shown.
struct Patient {
    given: i64,
    shown: Arc<(Mutex<usize>, Condvar)>,
}

impl kahn_snet::runtime::Source for Patient {
    fn next(&mut self) -> Option<Result<Record, kahn_snet::record::ReadError>> {
        if self.given == 1 {
            let (shown, changed) = &*self.shown;
            let mut shown = shown.lock();
            let long = std::time::Duration::from_secs(20);
            while *shown == 0 {
                assert!(!changed.wait_for(&mut shown, long).timed_out(), "nothing was shown");
            }
        }
        self.given += 1;
        (self.given < 3).then(|| Ok(Record::new().tag("n", self.given)))
    }

    fn is_ready(&self) -> bool {
        self.given != 1
    }
}

/// Shows records when it is flushed, not before.
struct Held {
    written: usize,
    shown: Arc<(Mutex<usize>, Condvar)>,
}

impl kahn_snet::runtime::Sink for Held {
    fn write(&mut self, _: Record) -> Result<(), kahn_snet::record::WriteError> {
        self.written += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), kahn_snet::record::WriteError> {
        *self.shown.0.lock() = self.written;
        self.shown.1.notify_all();
        Ok(())
    }
}

#[test]
fn what_is_done_is_shown_while_input_is_waited_for() {
    let program = program("net main connect [{<n>} -> {<n=n + 1>}];");
    let net = program.net(None).expect("a net");
    for count in [1, 2, 4] {
        let shown = Arc::new((Mutex::new(0), Condvar::new()));
        let source = Patient { given: 0, shown: Arc::clone(&shown) };
        let mut sink = Held { written: 0, shown };
        let boxes = Boxes::of(&program);
        run(&program, net, &boxes, &workers(count), source, &mut sink).expect("it runs");
        assert_eq!(sink.written, 2);
    }
}
