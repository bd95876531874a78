//! Campaigns of random programs, each held against what an interpreter says of it.

#[path = "../../crates/kahn-net/tests/over_sim/mod.rs"]
mod over_sim;

use crate::measure::now;
use crate::session::say;
use crate::snet::Programs;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use kahn_laws::network::Ranked;
use kahn_laws::{Campaign, Choice, Communicating, Draw, Extent, Networks, Summary, Tally, Trouble};
use over_sim::OverSim;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Process networks.
    Networks,
    /// Process networks on several ranks, over a simulated transport.
    Ranks,
    /// Communicating processes.
    Csp,
    /// Programs of S-Net.
    Snet,
    /// All of them, one after the other.
    All,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Soak {
    /// The cases of each kind.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    networks: u64,
    /// The seed of the first case; the next has the next seed.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Begin no case of a kind after this time.
    #[arg(long, value_name = "T")]
    seconds: Option<u64>,
    /// What is drawn.
    #[arg(long, value_enum, default_value_t = Kind::All)]
    kind: Kind,
}

/// How long a failing case is made smaller.
const SHRINKING: Duration = Duration::from_secs(30);

impl Soak {
    /// Runs the campaigns, and prints what each has done.
    pub(crate) fn run(&self, print: impl Fn(&Summary)) -> Result<()> {
        let mut good = true;
        if matches!(self.kind, Kind::Networks | Kind::All) {
            good &= self.campaign(&Networks::default(), &print);
        }
        if matches!(self.kind, Kind::Ranks | Kind::All) {
            good &= self.campaign(&Ranked { runs: 8, over: OverSim }, &print);
        }
        if matches!(self.kind, Kind::Csp | Kind::All) {
            good &= self.campaign(&Communicating::default(), &print);
        }
        if matches!(self.kind, Kind::Snet | Kind::All) {
            good &= self.campaign(&Programs, &print);
        }
        if !good {
            bail!("a promise is broken, or a choice was never drawn");
        }
        Ok(())
    }

    fn campaign<C: Campaign>(&self, campaign: &C, print: &impl Fn(&Summary)) -> bool {
        say(&format!("{}, from seed {} on …", C::NAME, self.seed));
        let extent = Extent {
            seed: self.seed,
            cases: self.networks,
            time: self.seconds.map(Duration::from_secs),
            shrinking: SHRINKING,
        };
        let watched = Watched { campaign, extent, drawn: Cell::new(0), told: Cell::new(now()) };
        let summary = kahn_laws::soak(&watched, extent);
        print(&summary);
        summary.is_good()
    }
}

/// How often a campaign says how far it is.
const OFTEN: Duration = Duration::from_secs(30);

/// A campaign that says how far it is.
struct Watched<'a, C> {
    campaign: &'a C,
    extent: Extent,
    drawn: Cell<u64>,
    told: Cell<Instant>,
}

impl<C: Campaign> Campaign for Watched<'_, C> {
    type Case = C::Case;

    const NAME: &'static str = C::NAME;

    fn choices(&self) -> &'static [&'static [&'static Choice]] {
        self.campaign.choices()
    }

    fn draw(&self, draw: &mut Draw) -> C::Case {
        if self.told.get().elapsed() >= OFTEN {
            self.told.set(now());
            say(&format!("{}: {} of {} cases", C::NAME, self.drawn.get(), self.extent.cases));
        }
        self.drawn.set(self.drawn.get() + 1);
        self.campaign.draw(draw)
    }

    fn check(&self, case: &C::Case, draw: &mut Draw, tally: &mut Tally) -> Result<(), Trouble> {
        self.campaign.check(case, draw, tally)
    }

    fn smaller(&self, case: &C::Case) -> Vec<C::Case> {
        self.campaign.smaller(case)
    }
}
