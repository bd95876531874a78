//! k-means as a process network: a process that iterates, in a cycle with those that assign.

use std::sync::Arc;

use kahn::{Network, Receiver, Sender};

use super::KMeans;
use super::number::Number;
use super::points::Share;
use super::rounds::{Assigned, Solution, Sums};
use crate::{Compare, Pending};

/// What goes between the iterating process and one that assigns, seen from the former.
type Assigner<'env, T> =
    (Sender<Share<'env, T>>, Sender<Arc<[T]>>, Receiver<Sums>, Receiver<Vec<u32>>);

/// Writes the network: one process that iterates, `parts` that assign.
pub(super) fn build<'env, T: Number>(
    program: &'env KMeans<T>,
    network: &mut Network<'env>,
    compare: Compare,
) -> Pending<'env> {
    let mut assigners: Vec<Assigner<'env, T>> = Vec::with_capacity(program.parts);
    for part in 0..program.parts {
        let points = compare.named(format!("points {part}"));
        let (points_out, points) = compare.beside(network, points, &program.points);
        let means = compare.named(format!("means {part}"));
        let (means_out, means) = compare.beside(network, means, ());
        let sums = compare.named(format!("sums {part}"));
        let (sums_out, sums) = compare.beside(network, sums, ());
        let (groups_out, groups) = compare.carried_channel(network, format!("groups {part}"));
        assigners.push((points_out, means_out, sums, groups));
        network.process(
            format!("assign {part}"),
            (points, means, sums_out, groups_out),
            async move |(points, means, sums, groups)| {
                assign(program, points, means, sums, groups).await;
            },
        );
    }
    let (solution_out, solution) = compare.channel(network, "solution");
    // Written while it runs; a run that was cut short goes on with it.
    let told = program.course.as_ref().filter(|_| compare.is_for_results()).map(|path| {
        let (told_out, told) = network.channel("rounds");
        network.write_file("write", told, path);
        told_out
    });
    let ports = (assigners, told, solution_out);
    network.process("iterate", ports, async move |(assigners, told, solution)| {
        iterate(program, assigners, told, solution).await;
    });
    let solutions = network.collect("result", solution);
    Box::new(move || solutions.take()?.pop().map(|solution| program.answer(solution)))
}

/// Hands out the points, then the means of every round, until a round is the last.
async fn iterate<'env, T: Number>(
    program: &'env KMeans<T>,
    assigners: Vec<Assigner<'env, T>>,
    mut told: Option<Sender<Vec<u8>>>,
    mut solution: Sender<Solution<T>>,
) {
    let parts = assigners.len();
    let mut cycle = Vec::with_capacity(parts);
    let mut assigned = Vec::with_capacity(parts);
    for (part, (mut points, means, sums, groups)) in assigners.into_iter().enumerate() {
        points.send(program.points.share(part, parts)).await;
        cycle.push((means, sums));
        assigned.push(groups);
    }

    let mut rounds = if told.is_some() { program.rounds() } else { program.rounds_to_tell() };
    loop {
        let means: Arc<[T]> = rounds.means().into();
        for (to_assigner, _) in &mut cycle {
            to_assigner.send(Arc::clone(&means)).await;
        }
        let mut total: Option<Sums> = None;
        for (_, sums) in &mut cycle {
            match (sums.recv().await, &mut total) {
                (Some(sums), Some(total)) => total.add(&sums),
                (sums, _) => total = sums,
            }
        }
        let last = total.is_none_or(|total| rounds.finish(&total));
        if let Some(told) = &mut told {
            told.send(rounds.line()).await;
        }
        program.progress.add(1);
        if last {
            break;
        }
    }
    // No more means: now the assigning processes tell the groups.
    drop(cycle);
    let mut groups = Vec::with_capacity(parts);
    for mut assigned in assigned {
        groups.extend(assigned.recv().await);
    }
    solution.send(rounds.into_solution(groups)).await;
}

/// Assigns its points to the means of each round.
async fn assign<'env, T: Number>(
    program: &'env KMeans<T>,
    mut points: Receiver<Share<'env, T>>,
    mut means: Receiver<Arc<[T]>>,
    mut sums: Sender<Sums>,
    mut groups: Sender<Vec<u32>>,
) {
    let Some(share) = points.recv().await else { return };
    let mut assigned = Assigned::new(share, &program.points);
    while let Some(means) = means.recv().await {
        let mut total = assigned.no_sums(&means);
        for piece in 0..assigned.pieces(&means) {
            if piece > 0 {
                // A round may take seconds: others may run between pieces, and a stop is noticed.
                kahn::yield_now().await;
            }
            assigned.assign_piece(piece, &means, &mut total);
        }
        sums.send(total).await;
    }
    groups.send(assigned.into_groups()).await;
}
