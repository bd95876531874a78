//! All orders of small networks, and many of random ones.

use super::*;
use std::hash::BuildHasher;

/// Tries all orders; how many states there are, and in how many of them nothing more can be done.
fn explore(
    program: &Program,
    start: World,
    is_good_end: impl Fn(&World) -> bool,
) -> (usize, usize) {
    // By a number of 64 bits: that two of some millions have the same is as good as impossible.
    let (hasher, mut known) = (foldhash::quality::FixedState::with_seed(1), BTreeSet::new());
    let (mut left, mut ends) = (vec![start], 0);
    while let Some(world) = left.pop() {
        let steps = world.steps(program);
        if steps.is_empty() {
            ends += 1;
            assert!(is_good_end(&world), "it ends like this: {world:?}");
        }
        for step in steps {
            let mut next = world.clone();
            next.step(program, step);
            if known.insert(hasher.hash_one(&next)) {
                assert!(known.len() < 5_000_000, "there are too many states");
                left.push(next);
            }
        }
    }
    (known.len(), ends)
}

/// A generator of small numbers, SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % most as u64).expect("it is small")
    }
}

/// One process on each of three ranks, and channels 0 → 1 → 2 → 0 with room for one message.
fn three(codes: [&[Op]; 3]) -> Program {
    Program {
        ranks: 3,
        processes: codes.iter().enumerate().map(|(rank, code)| (rank, code.to_vec())).collect(),
        channels: vec![(0, 1, 1), (1, 2, 1), (2, 0, 1)],
        busy: None,
        prunable: BTreeSet::new(),
        roots: None,
        looks: 0,
    }
}

/// Goes on, looking for chains when nothing else can be done, until that changes nothing any more.
fn goes_on(world: &World, program: &Program) -> World {
    let mut world = world.clone();
    let mut idle_looks = 0;
    for rank in &mut world.ranks {
        rank.looks = u32::MAX;
    }
    while idle_looks < 3 * program.ranks {
        let steps = world.steps(program);
        let Some(step) = steps.iter().find(|step| !matches!(step, Step::Look(_))) else {
            if world.over.is_some() {
                break;
            }
            world.step(program, Step::Look(idle_looks % program.ranks));
            idle_looks += 1;
            continue;
        };
        if matches!(step, Step::Process(_)) {
            idle_looks = 0;
        }
        world.step(program, *step);
    }
    world
}

/// A message goes round: there is no ring, though each process waits now and then.
fn round() -> Program {
    three([&[Send(0), Receive(2)], &[Receive(0), Send(1)], &[Receive(1), Send(2)]])
}

/// … and more could be sent while it is under way, but is not: two wait for what comes round.
fn wide_round() -> Program {
    let mut program = round();
    program.processes[1].1.push(Receive(0));
    program.channels.iter_mut().for_each(|channel| channel.2 = 2);
    program
}

/// A message goes from one to the next, and then all wait.
fn waiting() -> Program {
    three([&[Send(0), Receive(2)], &[Receive(0), Receive(0)], &[Receive(1), Send(2)]])
}

/// Each channel holds one, one there, and one is at the link; so the ring must grow.
fn full() -> Program {
    three([&[Send(0); 4], &[Send(1); 4], &[Send(2); 4]])
}

/// … and hold more on the way.
fn wide_full() -> Program {
    let mut program = three([&[Send(0); 7], &[Send(1); 7], &[Send(2); 7]]);
    program.channels.iter_mut().for_each(|channel| channel.2 = 2);
    program
}

#[test]
fn all_look_only_when_nothing_moves_in_any_order_and_in_the_end_they_do() {
    for (program, steps) in [(round(), 0), (waiting(), 0), (full(), 20)] {
        let (states, ends) = explore(&program, World::after(&program, steps), |world| {
            matches!(world.over, Some(End::Stuck | End::Finished))
        });
        println!("{states} states, {ends} ends");
        assert!(states > 100 && ends > 0, "{states} states, {ends} ends");
    }
}

#[test]
fn a_ring_that_is_freed_is_one_in_any_order_and_each_is_found_while_a_rank_runs_on() {
    for (has_ring, mut program, steps, prunable) in [
        (false, wide_round(), 7, None),
        (true, waiting(), 0, None),
        (true, full(), 25, None),
        (true, wide_full(), 56, None),
        (true, full(), 30, Some(1)),
    ] {
        (program.busy, program.looks) = (Some(0), 2);
        program.prunable.extend(prunable);
        let (states, ends) = explore(&program, World::after(&program, steps), |world| {
            let last = goes_on(world, &program);
            assert!(last.rings(&program).is_empty(), "a ring is left: {last:?}");
            let has_ring = has_ring && last.pruned.is_empty();
            last.freed > 0 || !has_ring
        });
        println!("{states} states, {ends} ends");
        assert!(states > 100 && ends > 0, "{states} states, {ends} ends");
    }
}

/// Processes on two to four ranks, channels between any two of them, and random code.
fn random(draw: &mut Draw) -> Program {
    let (ranks, count) = (2 + draw.below(3), 2 + draw.below(5));
    let mut processes: Vec<(usize, Vec<Op>)> =
        (0..count).map(|_| (draw.below(ranks), Vec::new())).collect();
    let mut channels = Vec::new();
    for _ in 0..=count + draw.below(3) {
        let from = draw.below(count);
        let to = (from + 1 + draw.below(count - 1)) % count;
        channels.push((from, to, 1 + draw.below(2) as u64));
    }
    // As if one thread ran it all, so that most of it fits together; but for what is done too early.
    for _ in 0..8 * count {
        let channel = draw.below(channels.len());
        let (from, to, _) = channels[channel];
        for (process, op) in [(from, Send(channel)), (to, Receive(channel))] {
            let code = &mut processes[process].1;
            let at = code.len() - draw.below(4).min(code.len());
            code.insert(at, op);
        }
    }
    let prunable = (0..count).filter(|_| draw.below(4) == 0).collect();
    let busy = (draw.below(2) == 0).then(|| draw.below(ranks));
    Program { ranks, processes, channels, busy, prunable, roots: None, looks: u32::MAX }
}

#[test]
fn no_ring_that_is_freed_is_none_in_random_networks() {
    // `ci/nightly` tries many more.
    #[expect(clippy::disallowed_methods, reason = "it is how many")]
    let most = std::env::var("KAHN_CHASES").ok().and_then(|number| number.parse().ok());
    let most: u64 = most.unwrap_or(1_000);
    let (mut asked, mut freed, mut networks) = (0, 0, 0);
    while asked < most {
        let mut draw = Draw(networks);
        let program = random(&mut draw);
        let mut world = World::new(&program);
        for _ in 0..600 {
            let steps = world.steps(&program);
            if steps.is_empty() {
                break;
            }
            world.step(&program, steps[draw.below(steps.len())]);
        }
        let last = goes_on(&world, &program);
        assert!(last.rings(&program).is_empty(), "network {networks}: a ring is left");
        asked += u64::from(last.asked);
        freed += u64::from(last.freed);
        networks += 1;
    }
    println!("{networks} networks, {asked} times asked, {freed} times freed");
    assert!(freed > asked / 2 && freed < asked, "{freed} rings of {asked}");
}

/// The second and the third process send each other what comes, and the second one message to a root, the first.
fn loop_and_root(codes: [&[Op]; 3]) -> Program {
    Program {
        channels: vec![(1, 0, 1), (1, 2, 1), (2, 1, 1)],
        roots: Some(vec![0, usize::MAX, usize::MAX]),
        ..three(codes)
    }
}

#[test]
fn all_prune_only_when_no_root_is_left_in_any_order_and_then_they_do() {
    let plain = loop_and_root([
        &[Receive(0)],
        &[Send(1), Send(0), Receive(2), Send(1), Receive(2)],
        &[Receive(1), Send(2), Receive(1), Send(2)],
    ]);
    let mut on_two = plain.clone();
    (on_two.ranks, on_two.processes[1].0, on_two.processes[2].0) = (2, 0, 1);
    // The third gives up its sender, and receives one more.
    let becomes_root = Program {
        roots: Some(vec![0, usize::MAX, 2]),
        ..loop_and_root([
            &[Receive(0)],
            &[Send(1), Receive(2), Send(0), Send(1), Receive(2)],
            &[Receive(1), Send(2), Receive(1)],
        ])
    };
    for (program, busy, steps) in
        [(&on_two, None, 0), (&plain, Some(1), 10), (&becomes_root, Some(1), 4)]
    {
        let program = Program { busy, ..program.clone() };
        let (states, ends) = explore(&program, World::after(&program, steps), |world| {
            let is_over =
                |process| world.op(&program, process).is_none() || world.dead.contains(&process);
            let all_are_over = (0..program.processes.len()).all(is_over);
            world.over.is_some() || world.had_no_root && all_are_over
        });
        println!("{states} states, {ends} ends");
        assert!(states > 100 && ends > 0, "{states} states, {ends} ends");
    }
}
