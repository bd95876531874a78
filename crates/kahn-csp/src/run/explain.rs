//! Which process waits for what, which can never go on, and what would probably help.
//!
//! *Which can never go on.* A process that runs, or waits for a time or for something outside, may do
//! anything. One that waits may go on if in one of its [ways](Way) all that are needed may. What
//! is left when no more can be said to go on is stuck: none of it can go on before another of
//! them does. This rests on what can be known: an end of a channel is taken to be with the process
//! that used it last, and one that was not used with any process that may go on.
//!
//! *While others run* everything is looked at twice. Of what both looks agree on, all was so at the
//! moment between them; and what is stuck stays so.

use crate::language::header::spawned_of;
use crate::network::core::Core;
use crate::run::inspect::{Inspection, Seen, Way};
use kahn_engine::sync::Ordering::Relaxed;
use kahn_engine::{Kind, TaskRef};
use kahn_report::{Activity, Explanation, RingMember, Waiting};
use std::collections::BTreeSet;

/// Which processes can never go on, by their numbers, and the rings among them.
#[derive(Debug, Default)]
pub(crate) struct Stuck {
    pub(crate) processes: BTreeSet<u64>,
    pub(crate) rings: Vec<Vec<RingMember>>,
}

/// Finds the processes that can never go on, among `most` at most: it takes a time that grows with their number.
pub(crate) fn find_stuck(core: &Core, most: usize) -> Stuck {
    // Relaxed: if it changes meanwhile the look takes a little longer.
    if core.scheduler.live.load(Relaxed) > most {
        return Stuck::default();
    }
    let table = core.scheduler.table.lock();
    let (seen, stuck) = look_twice(core, table.all());
    let number = |seen: &Seen| seen.task.info().identity.digest() as u64;
    let are_stuck = seen.iter().zip(&stuck).filter(|(_, is_stuck)| **is_stuck);
    Stuck {
        processes: are_stuck.map(|(seen, _)| number(seen)).collect(),
        rings: rings(&seen, &stuck),
    }
}

/// Looks at every process that has not ended.
pub(crate) fn explain(core: &Core) -> Explanation {
    let table = core.scheduler.table.lock();
    let (seen, stuck) = look_twice(core, table.all());
    let rings = rings(&seen, &stuck);
    let waiting = seen.into_iter().zip(&stuck).map(|(seen, &is_stuck)| {
        // A second look that finds it elsewhere is told as it is: it was moving.
        Waiting { is_stuck, ..told(core, seen.task, seen.activity) }
    });
    let mut explanation =
        Explanation { waiting: waiting.collect(), rings, ..Explanation::default() };
    explanation.remedies = remedies(&explanation);
    explanation
}

/// What was seen of the processes that have not ended, in the order of their identities, and which of them can
/// never go on. The table is locked.
fn look_twice(core: &Core, mut alive: Vec<TaskRef>) -> (Vec<Seen>, Vec<bool>) {
    alive.sort_unstable();
    let running = core.scheduler.running();
    let look = Inspection { alive: &alive, running: &running, common: &core.common };
    let mut processes = alive.clone();
    processes.retain(|task| !task.has_ended());
    processes.sort_by_key(|task| task.info().identity);
    let earlier: Vec<_> = processes.iter().map(|&task| look.at(task)).collect();
    let running = core.scheduler.running();
    let look = Inspection { alive: &alive, running: &running, common: &core.common };
    let mut seen: Vec<_> = processes.iter().map(|&task| look.at(task)).collect();
    for (now, earlier) in seen.iter_mut().zip(&earlier) {
        if !now.still_holds(earlier) {
            now.ways = None;
        }
    }
    let stuck = stuck(&seen);
    (seen, stuck)
}

/// What is told of a process.
pub(crate) fn told(core: &Core, task: TaskRef, activity: Activity) -> Waiting {
    Waiting {
        process: task.info().name.clone(),
        activity,
        kind: match task.created_as() {
            Kind::Pooled => "process",
            Kind::Threaded => "blocking",
            Kind::Outside => "outside",
        },
        is_stuck: false,
        created_at: core.places.then(|| spawned_of(task).site.to_string()),
    }
}

/// Where a process stands among those that were looked at.
fn place_of(seen: &[Seen], task: TaskRef) -> Option<usize> {
    let identity = task.info().identity;
    seen.binary_search_by_key(&identity, |seen| seen.task.info().identity).ok()
}

/// Which processes can never go on. See above.
fn stuck(seen: &[Seen]) -> Vec<bool> {
    let mut goes_on: Vec<_> = seen.iter().map(|seen| seen.ways.is_none()).collect();
    let any_goes_on = goes_on.contains(&true);
    // For each process those that wait for it; and how many each process's ways still lack.
    let mut waits_for: Vec<Vec<(usize, usize)>> = vec![Vec::new(); seen.len()];
    let mut lacks: Vec<Vec<usize>> = Vec::with_capacity(seen.len());
    let mut ready: Vec<_> = (0..seen.len()).filter(|&place| goes_on[place]).collect();
    for (place, process) in seen.iter().enumerate() {
        let ways = process.ways.as_deref().unwrap_or_default();
        let lacking = ways.iter().enumerate().map(|(number, way)| {
            let mut lacking = 0;
            for need in &way.needs {
                match need.and_then(|task| place_of(seen, task)) {
                    Some(needed) => waits_for[needed].push((place, number)),
                    // An unknown process may come, as long as any goes on.
                    None if any_goes_on => continue,
                    None => {}
                }
                lacking += 1;
            }
            lacking
        });
        let lacking: Vec<_> = lacking.collect();
        if lacking.contains(&0) && !goes_on[place] {
            goes_on[place] = true;
            ready.push(place);
        }
        lacks.push(lacking);
    }
    while let Some(place) = ready.pop() {
        for (waiter, number) in std::mem::take(&mut waits_for[place]) {
            lacks[waiter][number] -= 1;
            if lacks[waiter][number] == 0 && !goes_on[waiter] {
                goes_on[waiter] = true;
                ready.push(waiter);
            }
        }
    }
    goes_on.into_iter().map(|goes_on| !goes_on).collect()
}

/// Which process one that is stuck waits for, and how: the first that is stuck as well.
fn next<'a>(seen: &'a [Seen], stuck: &[bool], place: usize) -> Option<(usize, &'a Way)> {
    seen[place].ways.iter().flatten().find_map(|way| {
        let needs = way.needs.iter().flatten();
        let mut places = needs.filter_map(|&task| place_of(seen, task));
        places.find(|&place| stuck[place]).map(|place| (place, way))
    })
}

/// The rings among those that are stuck, each from the process that was created first.
fn rings(seen: &[Seen], stuck: &[bool]) -> Vec<Vec<RingMember>> {
    const NOT_SEEN: usize = usize::MAX;
    let mut walked = vec![NOT_SEEN; seen.len()];
    let mut rings = Vec::new();
    for start in (0..seen.len()).filter(|&place| stuck[place]) {
        let mut at = start;
        // Until the walk ends, or comes to an older one, or to its own track.
        while walked[at] == NOT_SEEN {
            walked[at] = start;
            match next(seen, stuck, at) {
                Some((place, _)) => at = place,
                None => break,
            }
        }
        if walked[at] != start || next(seen, stuck, at).is_none() {
            continue;
        }
        let first = at;
        let mut ring = Vec::new();
        while let Some((place, way)) = next(seen, stuck, at) {
            ring.push((
                at,
                RingMember {
                    process: seen[at].task.info().name.clone(),
                    channel: way.name.clone(),
                    full: false,
                    operation: Some(way.operation),
                },
            ));
            at = place;
            if at == first {
                break;
            }
        }
        let least = ring.iter().enumerate().min_by_key(|(_, (place, _))| *place);
        let least = least.map_or(0, |(index, _)| index);
        ring.rotate_left(least);
        rings.push(ring.into_iter().map(|(_, member)| member).collect());
    }
    rings
}

/// What would probably help.
fn remedies(explanation: &Explanation) -> Vec<String> {
    let mut remedies: Vec<_> = explanation.rings.iter().map(|ring| remedy(ring)).collect();
    for waiting in explanation.waiting.iter().filter(|waiting| waiting.is_stuck) {
        match &waiting.activity {
            Activity::Meets { channel, partner: None, .. } => remedies.push(format!(
                "no other process has used the other end of `{channel}`: the one that keeps it should use \
                 it, or drop it, which closes the channel"
            )),
            Activity::Alternates { guards } => {
                let is_barrier = |guard: &&String| guard.starts_with("barrier ");
                let mut barriers: Vec<_> = guards.iter().filter(is_barrier).collect();
                barriers.sort_unstable();
                let twice = barriers.windows(2).find(|pair| pair[0] == pair[1]);
                remedies.extend(twice.map(|pair| format!(
                    "`{}` has {} twice in one alternation, which can be chosen once: drop one of \
                     its handles",
                    waiting.process, pair[0]
                )));
            }
            Activity::Stopped => remedies.push(format!(
                "`{}` awaits a future that asked for no wake-up, such as `std::future::pending()`: let \
                 it return instead, or let another process kill it",
                waiting.process
            )),
            Activity::Orphaned => remedies.push(
                "a process waits for a future that dropped its waker: nothing can ever wake it"
                    .to_owned(),
            ),
            _ => {}
        }
    }
    let mut said = BTreeSet::new();
    remedies.retain(|remedy| said.insert(remedy.clone()));
    remedies
}

/// What would help the processes of a ring.
fn remedy(ring: &[RingMember]) -> String {
    let of = |operation: &'static str| {
        ring.iter().filter(move |member| member.operation == Some(operation))
    };
    let names = |operation: &'static str, one_of: &str| {
        let mut names: Vec<_> = of(operation).map(|m| format!("`{}`", m.channel)).collect();
        names.sort_unstable();
        names.dedup();
        let one_of = if names.len() > 1 { one_of } else { "" };
        format!("{one_of}{}", names.join(", "))
    };
    let all = |operation: &'static str| of(operation).count() == ring.len();
    if let Some(member) = of("barrier").next() {
        let late = ring.iter().cycle().skip_while(|m| !std::ptr::eq(*m, member)).nth(1);
        let late = late.map_or(&member.process, |late| &late.process);
        return format!(
            "`{late}` is enrolled at `{0}` and waits for something else: let it synchronise first, \
             choose between both with `csp::alt`, or drop its handle of `{0}`, which resigns",
            member.channel
        );
    }
    if all("claim") {
        return format!(
            "{} are claimed in different orders: let all processes claim them in the same one",
            names("claim", "")
        );
    }
    if of("claim").next().is_some() {
        return format!(
            "the process that claims {} keeps it while it waits for others: let it drop the claim before",
            names("claim", "")
        );
    }
    if let Some(member) = of("end of").next() {
        return format!(
            "`{}` waits for the end of `{}`, which needs it to get there: let it do its part first",
            member.process, member.channel
        );
    }
    if all("send to") {
        return format!(
            "all of the ring send before they receive: let one of them receive first, or choose \
             between both with `csp::alt`; or give {} a buffer with `csp::buffered`",
            names("send to", "one of ")
        );
    }
    if all("receive from") {
        return format!(
            "all of the ring receive before they send: let one of them send first, on {}",
            names("receive from", "one of ")
        );
    }
    "the processes of the ring use their channels in orders that do not fit: let one of them choose \
     between several with `csp::alt`"
        .to_owned()
}
