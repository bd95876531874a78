//! The agents without a process for each: round after round over a list, alone or shared out.

use std::sync::Arc;

use kahn_csp::{self as csp, Options, Report, RunError};

use super::World;
use super::body::{AROUND, Seen, State};

/// Who is where at the beginning of a cycle.
struct Places {
    world: World,
    /// For each location.
    seen: Vec<Vec<Seen>>,
}

impl Places {
    fn of(world: World, states: &[State]) -> Self {
        let mut seen = vec![Vec::new(); world.locations() as usize];
        for state in states {
            seen[state.location.cast_unsigned() as usize].push(state.seen());
        }
        Self { world, seen }
    }

    fn at(&self, location: i32) -> &[Seen] {
        &self.seen[location.cast_unsigned() as usize]
    }

    /// What one cycle makes of an agent.
    fn advance(&self, mut state: State, cycle: u32) -> State {
        let sights = AROUND.map(|way| (way, self.at(self.world.neighbour(state.location, way))));
        let in_sight = sights.iter().map(|(_, seen)| seen.len()).sum();
        let mut look = state.look(cycle, in_sight);
        for (way, seen) in sights {
            for other in seen {
                look.at(Seen { at: other.at.seen_over(way), ..*other });
            }
        }
        let mut at = state.seen().at.plus(look.force);
        while let Some((way, there)) = at.way_out() {
            state.location = self.world.neighbour(state.location, way);
            at = there;
        }
        State { x: at.x, y: at.y, ..state }
    }
}

impl World {
    /// Computes the final states on one thread, in the order of the ids.
    pub fn sequential(self) -> Vec<State> {
        let mut states = self.start();
        for cycle in 1..=self.cycles {
            let places = Places::of(self, &states);
            for state in &mut states {
                *state = places.advance(*state, cycle);
            }
        }
        states
    }

    /// Computes the final states with `parts` processes, which share out the agents of each cycle.
    ///
    /// `watch` is called for each cycle.
    ///
    /// # Errors
    ///
    /// Returns why the run did not finish.
    ///
    /// # Panics
    ///
    /// Panics if there are no parts.
    pub fn data_parallel(
        self,
        options: Options,
        parts: usize,
        watch: impl Fn() + Sync,
    ) -> Result<(Vec<State>, Report), RunError> {
        assert!(parts > 0, "somebody has to do it");
        let watch = &watch;
        let run = csp::run(options, async move |scope| {
            let mut states = self.start();
            let share = states.len().div_ceil(parts);
            for cycle in 1..=self.cycles {
                let places = Arc::new(Places::of(self, &states));
                let shares = states.chunks(share).map(|share| {
                    let (places, mut share) = (Arc::clone(&places), share.to_vec());
                    async move {
                        for state in &mut share {
                            *state = places.advance(*state, cycle);
                        }
                        share
                    }
                });
                let shares = scope.par(shares.collect::<Vec<_>>()).await?;
                states = shares.concat();
                watch();
            }
            Ok::<_, csp::Failed>(states)
        })?;
        let states = run.result.expect("shares that have finished have states");
        Ok((states, run.report))
    }
}
