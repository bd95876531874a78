//! The agents as processes: one for each agent, two for each location.
//!
//! | process | answers | as long as |
//! |---|---|---|
//! | location | who comes in, who moves, where the view is; lends the list of who is here | told to shut down |
//! | view | lends the list of who is in sight, gathered once a cycle | told to shut down |
//! | agent | nobody | the cycles last |
//!
//! To speak to a location or a view one claims it. An agent keeps the claim on the view while it
//! looks, and gives way after each other agent that it has looked at; so the agents of a location
//! look one after the other, and those of different locations side by side. All that is sent is
//! moved: a list that is lent is gone until it comes back.
//!
//! Two barriers of the cycle keep looking and moving apart. So a view gathers while nobody moves,
//! and who moves meets no view.

use kahn_csp::{self as csp, Barrier, Gone, Options, Receiver, Report, RunError, Sender, Shared};

use super::World;
use super::body::{AROUND, Seen, State, Vector};

/// What a location is asked.
enum Ask {
    /// Somebody stands at the door.
    Enter(Seen),
    /// Somebody who is here moves.
    Move {
        id: i32,
        by: Vector,
    },
    /// Where the view is.
    View,
    /// For the list of who is here.
    Borrow,
    /// To take the list back.
    Return(Vec<Seen>),
    ShutDown,
}

/// What a location answers.
enum Reply {
    StayHere { seen: Seen, location: i32 },
    GoThere { seen: Seen, there: Door },
    View(Sight),
    Lent(Vec<Seen>),
}

/// A location, for who has claimed it.
struct Client {
    asks: Sender<Ask>,
    replies: Receiver<Reply>,
}

type Door = Shared<Client>;

/// What a view is asked.
enum Look {
    /// For the list of who is in sight in a cycle.
    Borrow(u32),
    Return(Vec<Seen>),
    ShutDown,
}

/// A view, for who has claimed it.
struct Looker {
    asks: Sender<Look>,
    lent: Receiver<Vec<Seen>>,
}

type Sight = Shared<Looker>;

/// What was said does not fit what was asked: an error in this file.
const OUT_OF_TURN: &str = "a location and its view answer what they are asked";

async fn tell<T: Send>(to: &mut Sender<T>, message: T) -> Result<(), Gone> {
    to.send(message).await.map_err(|unsent| unsent.why)
}

impl Client {
    async fn ask(&mut self, ask: Ask) -> Result<Reply, Gone> {
        tell(&mut self.asks, ask).await?;
        self.replies.recv().await
    }

    async fn view(&mut self) -> Result<Sight, Gone> {
        match self.ask(Ask::View).await? {
            Reply::View(sight) => Ok(sight),
            _ => unreachable!("{OUT_OF_TURN}"),
        }
    }
}

/// Keeps who is at a location.
async fn location(
    number: i32,
    around: Vec<(Vector, Door)>,
    sight: Sight,
    mut asks: Receiver<Ask>,
    mut replies: Sender<Reply>,
) -> Result<(), Gone> {
    let mut here: Vec<Seen> = Vec::new();
    let place = |seen: Seen| match seen.at.way_out() {
        None => Reply::StayHere { seen, location: number },
        Some((way, at)) => {
            let there = around.iter().find(|(direction, _)| *direction == way);
            let (_, there) = there.expect("there are nine directions");
            Reply::GoThere { seen: Seen { at, ..seen }, there: there.clone() }
        }
    };
    loop {
        match asks.recv().await? {
            Ask::Enter(seen) => {
                let reply = place(seen);
                if matches!(reply, Reply::StayHere { .. }) {
                    here.push(seen);
                }
                tell(&mut replies, reply).await?;
            }
            Ask::Move { id, by } => {
                let who = here.iter().position(|seen| seen.id == id).expect(OUT_OF_TURN);
                here[who].at = here[who].at.plus(by);
                let reply = place(here[who]);
                if matches!(reply, Reply::GoThere { .. }) {
                    here.swap_remove(who);
                }
                tell(&mut replies, reply).await?;
            }
            Ask::View => tell(&mut replies, Reply::View(sight.clone())).await?,
            Ask::Borrow => {
                tell(&mut replies, Reply::Lent(here)).await?;
                here = match asks.recv().await? {
                    Ask::Return(list) => list,
                    _ => unreachable!("{OUT_OF_TURN}"),
                };
            }
            Ask::Return(_) => unreachable!("{OUT_OF_TURN}"),
            Ask::ShutDown => {
                return tell(&mut sight.claim().await.asks, Look::ShutDown).await;
            }
        }
    }
}

/// Keeps who is in sight of a location, and lends it to one agent at a time.
async fn view(
    around: Vec<(Vector, Door)>,
    mut asks: Receiver<Look>,
    mut lent: Sender<Vec<Seen>>,
) -> Result<(), Gone> {
    let (mut in_sight, mut gathered_in) = (Vec::new(), 0);
    loop {
        match asks.recv().await? {
            Look::Borrow(cycle) => {
                if cycle != gathered_in {
                    gather(&around, &mut in_sight).await?;
                    gathered_in = cycle;
                }
                tell(&mut lent, in_sight).await?;
                in_sight = match asks.recv().await? {
                    Look::Return(list) => list,
                    _ => unreachable!("{OUT_OF_TURN}"),
                };
            }
            Look::Return(_) => unreachable!("{OUT_OF_TURN}"),
            Look::ShutDown => return Ok(()),
        }
    }
}

/// Borrows the lists of the nine locations, one after the other, and copies them.
async fn gather(around: &[(Vector, Door)], in_sight: &mut Vec<Seen>) -> Result<(), Gone> {
    in_sight.clear();
    for &(way, ref door) in around {
        let mut there = door.claim().await;
        let Reply::Lent(list) = there.ask(Ask::Borrow).await? else {
            unreachable!("{OUT_OF_TURN}")
        };
        in_sight.extend(list.iter().map(|seen| Seen { at: seen.at.seen_over(way), ..*seen }));
        tell(&mut there.asks, Ask::Return(list)).await?;
    }
    Ok(())
}

/// Looks and moves, as often as there are cycles.
async fn agent(
    mut state: State,
    cycles: u32,
    mut here: Door,
    mut barrier: Barrier,
    mut watch: Option<impl FnMut() + Send>,
) -> Result<State, Gone> {
    barrier.sync().await;
    let mut sight = {
        let mut there = here.claim().await;
        there.ask(Ask::Enter(state.seen())).await?;
        there.view().await?
    };
    barrier.sync().await;
    for cycle in 1..=cycles {
        let force = {
            let mut there = sight.claim().await;
            tell(&mut there.asks, Look::Borrow(cycle)).await?;
            let in_sight = there.lent.recv().await?;
            let mut look = state.look(cycle, in_sight.len());
            for &other in &in_sight {
                if look.at(other) {
                    csp::yield_now().await;
                }
            }
            tell(&mut there.asks, Look::Return(in_sight)).await?;
            look.force
        };
        barrier.sync().await;

        let mut ask = Ask::Move { id: state.id, by: force };
        let mut has_left = false;
        loop {
            let mut there = here.claim().await;
            match there.ask(ask).await? {
                Reply::StayHere { seen: Seen { id, at }, location } => {
                    state = State { id, location, x: at.x, y: at.y, ..state };
                    if has_left {
                        sight = there.view().await?;
                    }
                    break;
                }
                Reply::GoThere { seen, there: next } => {
                    drop(there);
                    here = next;
                    ask = Ask::Enter(seen);
                    has_left = true;
                }
                _ => unreachable!("{OUT_OF_TURN}"),
            }
        }
        barrier.sync().await;
        if let Some(watch) = &mut watch {
            watch();
        }
    }
    barrier.sync().await;
    Ok(state)
}

impl World {
    /// Runs the processes; returns the final states, in the order of the ids.
    ///
    /// `watch` is called by the first agent for each cycle.
    ///
    /// # Errors
    ///
    /// Returns why the run did not finish.
    ///
    /// # Panics
    ///
    /// Panics if the world is larger than its fields allow.
    pub fn network(
        self,
        options: Options,
        watch: impl Fn() + Sync,
    ) -> Result<(Vec<State>, Report), RunError> {
        let watch = &watch;
        let run = csp::run(options, async move |scope| {
            let (mut doors, mut servers) = (Vec::new(), Vec::new());
            for number in 0..self.locations() {
                let (asks, asked) = csp::channel(format!("asks {number}"));
                let (reply, replies) = csp::channel(format!("replies {number}"));
                doors.push(Door::new(format!("location {number}"), Client { asks, replies }));
                servers.push((asked, reply));
            }
            let keepers = scope.forks("locations");
            for (number, (asked, reply)) in (0..).zip(servers) {
                let (asks, looks) = csp::channel(format!("looks {number}"));
                let (lend, lent) = csp::channel(format!("lent {number}"));
                let sight = Sight::new(format!("view {number}"), Looker { asks, lent });
                let door =
                    |way| doors[self.neighbour(number, way).cast_unsigned() as usize].clone();
                let around = AROUND.map(|way| (way, door(way))).to_vec();
                keepers.spawn(format!("view {number}"), view(around.clone(), looks, lend));
                let location = location(number, around, sight, asked, reply);
                keepers.spawn(format!("location {number}"), location);
            }
            let barrier = Barrier::new("cycle");
            let mut agents = Vec::new();
            for state in self.start() {
                let watch = (state.id == 1).then_some(watch);
                let here = doors[state.location.cast_unsigned() as usize].clone();
                let agent = agent(state, self.cycles, here, barrier.clone(), watch);
                agents.push(scope.fork(format!("agent {}", state.id), agent));
            }
            drop(barrier);
            let mut states = Vec::with_capacity(agents.len());
            for agent in agents {
                states.push(agent.join().await.ok()?.ok()?);
            }
            for door in &doors {
                tell(&mut door.claim().await.asks, Ask::ShutDown).await.ok()?;
            }
            keepers.join().await;
            Some(states)
        })?;
        Ok((run.result.expect("agents that have finished have states"), run.report))
    }
}
