//! Creating a process: its block, its header, its body.

use crate::language::csp::{Csp, Worker};
use crate::language::header::{Spawned, own};
use crate::network::core::Core;
use crate::process::body::{self, End, Join, Type};
use crate::process::forked::Forked;
use crate::process::placement::{self, Priority};
use crate::process::scope::Process;
use kahn_engine::sync::{Access, Arc, Cell};
use kahn_engine::task::{BodyType, Info, Plan, Task};
use kahn_engine::{Kind, Table, TaskRef};
use kahn_report::BoxError;
use std::panic::Location;
use std::ptr::NonNull;

/// Creates a process with a handle.
pub(crate) fn create<F>(
    core: &Core,
    process: Process,
    site: &'static Location<'static>,
    by: Option<(TaskRef, &Worker)>,
    code: F,
) -> Forked<F::Output>
where
    F: Future<Output: Send> + Send,
{
    if body::fits::<F>() {
        create_forked(core, process, site, by, code)
    } else {
        create_forked(core, process, site, by, Box::pin(code))
    }
}

fn create_forked<F>(
    core: &Core,
    process: Process,
    site: &'static Location<'static>,
    by: Option<(TaskRef, &Worker)>,
    code: F,
) -> Forked<F::Output>
where
    F: Future<Output: Send> + Send,
{
    let types = &const { Type::<F, End<F::Output>, Join>::FORKED };
    let take: unsafe fn(NonNull<Task>) -> _ = body::take_result::<F, F::Output>;
    let access = by.map_or(Access::SHARED, |(_, worker)| worker.access());
    let task = core.scheduler.enlist_new(access, |table| {
        let task = make(core, table, process, by, types);
        let spawned = Spawned { site, draw: Cell::new(0) };
        let place = body::place::<Join, F, End<F::Output>>;
        // SAFETY: the block was made for this type of body, a moment ago.
        unsafe { place(task.non_null(), spawned, Join::new(), code) };
        task.add_references(1, access);
        task
    });
    begin(task, by.map(|(_, worker)| worker));
    Forked::new(task, Arc::clone(&core.common), take)
}

/// Creates a process that runs by itself. `code` makes its code for the process, which is not alive yet, with the table
/// of processes locked: it may go behind a gate, and may not panic.
pub(super) fn create_detached<F>(
    core: &Core,
    process: Process,
    site: &'static Location<'static>,
    by: (TaskRef, &Worker),
    code: impl FnOnce(TaskRef) -> F,
) where
    F: Future<Output = Option<BoxError>> + Send,
{
    if !body::fits::<F>() {
        return create_detached_boxed(core, process, site, by, |task| Box::pin(code(task)));
    }
    create_detached_boxed(core, process, site, by, code);
}

fn create_detached_boxed<F>(
    core: &Core,
    process: Process,
    site: &'static Location<'static>,
    by: (TaskRef, &Worker),
    code: impl FnOnce(TaskRef) -> F,
) where
    F: Future<Output = Option<BoxError>> + Send,
{
    let types = &const { Type::<F, (), ()>::DETACHED };
    let task = core.scheduler.enlist_new(by.1.access(), |table| {
        let task = make(core, table, process, Some(by), types);
        let spawned = Spawned { site, draw: Cell::new(0) };
        // SAFETY: the block was made for this type of body, a moment ago.
        unsafe { body::place::<(), F, ()>(task.non_null(), spawned, (), code(task)) };
        task
    });
    begin(task, Some(by.1));
}

fn make(
    core: &Core,
    table: &mut Table,
    process: Process,
    by: Option<(TaskRef, &Worker)>,
    types: &'static BodyType,
) -> TaskRef {
    let parent = by.map(|(task, _)| task);
    let settings = core.scheduler.settings();
    let task = table.make::<Csp>(core.scheduler.host(), Some(types), |table| {
        let identity = parent.map_or_else(|| table.next_fixed(), TaskRef::next_child);
        Plan {
            info: Info { name: process.name, identity },
            kind: if settings.threads { Kind::Threaded } else { Kind::Pooled },
            attributes: 0,
            pinned: process.worker.or_else(|| parent.and_then(|parent| parent.pinned())),
        }
    });
    let inherited = || parent.map_or(0, |parent| parent.notes() & own::URGENCY);
    let urgency = process.priority.map_or_else(inherited, Priority::notes);
    let where_it_runs = task.pinned().map_or(0, |_| placement::pinned_notes(&core.scheduler));
    let killable = if process.killable { own::KILLABLE } else { 0 };
    let stays = if process.killable || settings.threads { own::STAYS } else { 0 };
    let waits = if settings.wait_once { own::WAIT_ONCE } else { 0 };
    task.note(urgency | where_it_runs | killable | stays | waits);
    task
}

fn begin(task: TaskRef, by: Option<&Worker>) {
    if let Some(worker) = by {
        worker.has_made_one();
        // SAFETY: it was made a moment ago, and is started once.
        worker.start(unsafe { task.claim() });
    }
}
