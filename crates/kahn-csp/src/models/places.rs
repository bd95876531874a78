//! Claims, barriers and joining.

use super::{Driven, check};
use crate::process::yielding::yield_now;
use crate::sharing::barrier::Barrier;
use crate::sharing::claim::Shared;
use kahn_engine::sync::Cell;
use kahn_report::Ending;

#[test]
fn a_claim_goes_from_hand_to_hand() {
    check(2, || {
        let mut model = Driven::new(2);
        // loom watches the cell: two at once would fail the model.
        let shared = Shared::in_network(&model.core.common, "cell".into(), Cell::new(0));
        for worker in 0..2 {
            let shared = shared.clone();
            let _ = model.process(worker, "client".into(), async move {
                for _ in 0..2 - worker {
                    let claim = shared.claim().await;
                    assert_eq!(claim.get(), 0, "another has it");
                    claim.set(1);
                    // The one that was woken may run on this worker meanwhile.
                    yield_now().await;
                    claim.set(0);
                }
            });
        }
        model.run();
        model.all_ended();
    });
}

#[test]
fn phases_never_overlap() {
    check(3, || {
        let mut model = Driven::new(2);
        let phases = kahn_engine::sync::Arc::new([Cell::new(0), Cell::new(0)]);
        let barriers = Barrier::for_model(&model.core.common, 2);
        for (worker, mut barrier) in barriers.into_iter().enumerate() {
            let cells = Phases(phases.clone());
            let _ = model.process(worker, "process".into(), async move {
                // Each writes its own cell, and after the barrier reads the other's.
                cells.get(worker).set(1);
                barrier.sync().await;
                assert_eq!(cells.get(1 - worker).get(), 1);
                barrier.sync().await;
                cells.get(worker).set(2);
            });
        }
        model.run();
        model.all_ended();
    });
}

struct Phases(kahn_engine::sync::Arc<[Cell<u32>; 2]>);

// SAFETY: the barrier orders the accesses; loom checks that.
unsafe impl Send for Phases {}

impl Phases {
    fn get(&self, index: usize) -> &Cell<u32> {
        &self.0[index]
    }
}

#[test]
fn whoever_resigns_lets_the_others_go() {
    check(3, || {
        let mut model = Driven::new(2);
        let mut barriers = Barrier::for_model(&model.core.common, 2).into_iter();
        let (mut stays, leaves) = (barriers.next().expect("two"), barriers.next().expect("two"));
        let _ = model.process(0, "stays".into(), async move { stays.sync().await });
        let _ = model.process(1, "leaves".into(), async move { drop(leaves) });
        model.run();
        model.all_ended();
    });
}

#[test]
fn the_joiner_gets_the_result() {
    check(3, || {
        let mut model = Driven::new(2);
        let child = model.process(0, "child".into(), async { Box::new(5) });
        let parent = model.process(1, "parent".into(), async move { child.join().await });
        model.run();
        model.all_ended();
        assert_eq!(model.result(parent).map(|n| *n).ok(), Some(5));
    });
}

/// A process fails while its handle is given up.
#[test]
fn a_failure_is_told_once_whenever_the_handle_goes() {
    check(3, || {
        let mut model = Driven::new(2);
        let child = model.process(0, "child".into(), async {
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        let _ = model.process(1, "holder".into(), async move { drop(child) });
        model.run();
        let records = model.core.scheduler.take_records();
        let failed =
            records.iter().filter(|record| matches!(record.ending, Some(Ending::Failed(_))));
        assert_eq!(failed.count() + model.core.unheard.lock().len(), 1);
    });
}
