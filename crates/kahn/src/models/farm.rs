//! The ordered farm: intake, outlet and helpers, on two workers.
//!
//! What is made ready goes to a queue that both workers take from, so a helper runs beside the intake that
//! gives it jobs, beside the outlet that waits for their results, and beside another helper. A job or a
//! wake-up that is lost is a process that has not ended. Bounds: two items, one helper or two.

use super::{Driven, check};
use crate::{BoxError, Channel, Network, Receiver};
use kahn_engine::TaskRef;
use kahn_engine::model::Own;
use kahn_engine::sync::{Arc, Ordering::*, thread};

type Result = std::result::Result<u32, BoxError>;

/// Which parts begin on the other worker.
#[derive(Clone, Copy)]
enum There {
    /// The intake: it works beside the outlet.
    Intake,
    /// None: helpers work beside both.
    Helpers,
}

/// Runs a farm of so many helpers and such a window to its end; what its reader gives back, and how that, the
/// intake and the outlet have ended.
fn run<R>(
    there: There,
    (n, window): (usize, usize),
    items: [u32; 2],
    f: impl Fn(u32) -> Result + Send + Sync + 'static,
    read: impl FnOnce(Receiver<u32>) -> R + Send + 'static,
) -> (Option<Vec<u32>>, [String; 3])
where
    R: Future<Output = Vec<u32>> + Send + 'static,
{
    let mut network = Network::new();
    let (out, received) = network.channel_with(Channel::named("items").capacity(2).initial(items));
    // They are all.
    network.process("from", out, async |_out| {});
    let made = network.try_ordered_map("map", received, n, window, f);
    let read = network.compute("to", made, read);
    let model = Driven { core: Arc::clone(network.core()) };
    let tasks = model.core.scheduler.table.lock().all();
    let named = |name: &str| -> Vec<TaskRef> {
        let tasks = tasks.iter().copied();
        tasks.filter(|task| task.info().name.as_str() == name).collect()
    };
    let [intake, outlet] = named("map")[..] else { panic!("a farm has two parts") };
    let (from, to) = (named("from")[0], named("to")[0]);
    model.ready_under(Own::passing_on());
    let begin = match there {
        There::Intake => [vec![to, outlet], vec![from, intake]],
        There::Helpers => [vec![from, to, outlet, intake], vec![]],
    };
    let [here, there] = begin;
    let other = {
        let core = Arc::clone(&model.core);
        thread::spawn(move || {
            Driven::work(&core, 1, there);
            Driven::work_for_others(&core, 1);
        })
    };
    Driven::work(&model.core, 0, here);
    Driven::work_for_others(&model.core, 0);
    other.join().expect("the other worker does not panic");
    let records = model.core.scheduler.take_records();
    let ending = |name: &str| -> Vec<String> {
        let records = records.iter().filter(|record| record.name.as_str() == name);
        records.map(|record| format!("{:?}", record.ending)).collect()
    };
    let [intake, outlet] = &ending("map")[..] else { panic!("a farm has two parts") };
    let endings = [ending("to").remove(0), intake.clone(), outlet.clone()];
    assert_eq!(model.core.scheduler.live.load(Relaxed), 0, "a process is left: {endings:?}");
    (read.take(), endings)
}

fn all_is_made(there: There, shape: (usize, usize)) {
    let (made, endings) = run(
        there,
        shape,
        [1, 2],
        |n| Ok(10 * n),
        async |mut made| {
            let mut all = Vec::new();
            while let Some(n) = made.recv().await {
                all.push(n);
            }
            all
        },
    );
    assert_eq!(made, Some(vec![10, 20]));
    assert_eq!(endings, ["Some(Finished)"; 3]);
}

#[test]
fn a_helper_makes_all_in_order() {
    check(2, || all_is_made(There::Intake, (1, 2)));
}

#[test]
fn a_job_is_handed_out_while_a_helper_ends() {
    check(1, || all_is_made(There::Helpers, (1, 1)));
}

#[test]
fn two_helpers_make_all_in_order() {
    check(2, || all_is_made(There::Intake, (2, 2)));
}

#[test]
fn a_window_of_one_moves_on() {
    check(2, || all_is_made(There::Intake, (2, 1)));
}

#[test]
fn a_reader_that_leaves_ends_every_part() {
    check(2, || {
        let (made, endings) = run(
            There::Intake,
            (1, 2),
            [1, 2],
            |n| Ok(10 * n),
            async |mut made| made.recv().await.into_iter().collect(),
        );
        assert_eq!(made, Some(vec![10]));
        assert_eq!(endings[0], "Some(Finished)");
        for ending in &endings[1..] {
            assert!(["Some(Finished)", "Some(Pruned)"].contains(&&**ending), "{endings:?}");
        }
    });
}

#[test]
fn a_failure_ends_every_part() {
    check(2, || {
        let (made, [reader, _, outlet]) = run(
            There::Intake,
            (2, 2),
            [1, 2],
            |n| if n == 1 { Err("no".into()) } else { Ok(n) },
            async |mut made| made.recv().await.into_iter().collect(),
        );
        assert_eq!(made, None);
        assert!(reader.starts_with("Some(FailedBy"), "{reader}");
        assert!(outlet.starts_with("Some(Failed("), "{outlet}");
    });
}
