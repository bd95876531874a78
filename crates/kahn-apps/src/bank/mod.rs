//! A bank: clients that ask, and a server that chooses which to hear next.
//!
//! ```text
//!   client 1 ⇄ ┐
//!   client 2 ⇄ ┤ bank: accounts
//!   …        ⇄ ┘
//! ```
//!
//! Each client has two channels to the bank: one for its orders, one for the replies. It orders
//! transfers between accounts, drawn from the seed, and awaits the reply to one before it orders the
//! next. The bank alternates fairly over all clients that have not left, and is the only one to
//! touch an account: no locks. In which order orders are done depends on the schedule; the balances
//! at the end do not, for sums do not depend on the order. Accounts may be overdrawn.
//!
//! The result is a line for each account, its number and its balance, and one for the sum.

use kahn_csp::{self as csp, Options, Receiver, Report, RunError, Sender};

use crate::random::Random;
use crate::{
    Answer, Failure, Program, Progress, Ran, Settings, Stop, Variant, at_least_one, failed, whole,
};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run bank --clients 100 --transfers 1000
  kahn run bank --seed 3 --variant sequential";

/// What each account has at the start.
pub const START: i64 = 1000;

/// The most clients and accounts.
const MOST: i64 = 1_000_000;

/// What is typed after `bank`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many clients: 1 to 1000000
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = whole(1..=MOST))]
    clients: u32,

    /// How many accounts: 1 to 1000000
    #[arg(long, value_name = "A", default_value_t = 8,
          value_parser = whole(1..=MOST))]
    accounts: u32,

    /// How many transfers each client orders
    #[arg(long, value_name = "T", default_value_t = 100, value_parser = at_least_one::<u32>)]
    transfers: u32,
}

/// A bank and its clients.
///
/// ```
/// use kahn_csp::Options;
/// use kahn_apps::bank::{Bank, START};
///
/// let bank = Bank { clients: 3, accounts: 4, transfers: 50, seed: 1 };
/// let (balances, _report) = bank.run(Options::new().workers(2), || {})?;
/// assert_eq!(balances, bank.sequential());
/// assert_eq!(balances.iter().sum::<i64>(), 4 * START);
/// # Ok::<(), kahn_csp::RunError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bank {
    /// How many clients: one or more.
    pub clients: u32,
    /// How many accounts: one or more.
    pub accounts: u32,
    /// How many transfers each client orders.
    pub transfers: u32,
    /// What the transfers are drawn from.
    pub seed: u64,
}

/// An order of a client.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    from: usize,
    to: usize,
    amount: i64,
}

impl Transfer {
    fn apply(self, balances: &mut [i64]) {
        balances[self.from] -= self.amount;
        balances[self.to] += self.amount;
    }
}

/// What the bank replies when it has done an order.
#[derive(Debug, Clone, Copy)]
struct Done;

impl Bank {
    /// The orders of a client, from 1 on.
    fn orders(self, client: u32) -> impl Iterator<Item = Transfer> + Send {
        let mut random =
            Random::new(self.seed ^ u64::from(client).wrapping_mul(0x2545_F491_4F6C_DD1D));
        let accounts = u64::from(self.accounts);
        let account =
            move |random: &mut Random| usize::try_from(random.below(accounts)).unwrap_or_default();
        (0..self.transfers).map(move |_| Transfer {
            from: account(&mut random),
            to: account(&mut random),
            amount: i64::from(u8::try_from(random.below(100)).unwrap_or_default()) + 1,
        })
    }

    /// Lets the clients order until they have done; returns the balances.
    ///
    /// `watch` is called by the bank for each order.
    ///
    /// # Errors
    ///
    /// Returns why the run did not finish.
    ///
    /// # Panics
    ///
    /// Panics if there are no accounts.
    pub fn run(
        self,
        options: Options,
        watch: impl FnMut() + Send,
    ) -> Result<(Vec<i64>, Report), RunError> {
        let run = csp::run(options, async move |scope| {
            let (mut orders, mut replies) = (Vec::new(), Vec::new());
            for client in 1..=self.clients {
                let (order, ordered) = csp::channel(format!("orders {client}"));
                let (reply, replied) = csp::channel(format!("replies {client}"));
                scope.spawn(format!("client {client}"), self.client(client, order, replied));
                orders.push(ordered);
                replies.push(reply);
            }
            scope.fork("bank", self.serve(orders, replies, watch)).join().await
        })?;
        let balances = run.result.expect("a bank that has finished has its balances");
        Ok((balances, run.report))
    }

    async fn client(self, client: u32, mut order: Sender<Transfer>, mut replied: Receiver<Done>) {
        for transfer in self.orders(client) {
            if order.send(transfer).await.is_err() || replied.recv().await.is_err() {
                return;
            }
        }
    }

    /// Hears each client that has an order, in turn, until all have left.
    async fn serve(
        self,
        mut orders: Vec<Receiver<Transfer>>,
        mut replies: Vec<Sender<Done>>,
        mut watch: impl FnMut() + Send,
    ) -> Vec<i64> {
        let mut balances = vec![START; self.accounts as usize];
        let mut fair = csp::Fair::new();
        while !orders.is_empty() {
            match fair.alt(csp::any(&mut orders)).await {
                (client, Ok(transfer)) => {
                    transfer.apply(&mut balances);
                    watch();
                    // A client that has left before its reply does not want it.
                    let _ = replies[client].send(Done).await;
                }
                (client, Err(_left)) => {
                    drop(orders.swap_remove(client));
                    drop(replies.swap_remove(client));
                }
            }
        }
        balances
    }

    /// Does all orders, client by client.
    pub fn sequential(self) -> Vec<i64> {
        let mut balances = vec![START; self.accounts as usize];
        for client in 1..=self.clients {
            self.orders(client).for_each(|transfer| transfer.apply(&mut balances));
        }
        balances
    }
}

/// A bank with its result, as a program.
#[derive(Debug)]
pub struct BankProgram {
    bank: Bank,
    progress: Progress,
}

impl BankProgram {
    /// Makes the program from what was typed.
    pub fn new(arguments: &Arguments, settings: &Settings) -> Self {
        let Arguments { clients, accounts, transfers } = *arguments;
        let bank = Bank { clients, accounts, transfers, seed: settings.seed };
        let progress = Progress::new("orders", Some(u64::from(clients) * u64::from(transfers)));
        Self { bank, progress }
    }
}

fn answer<'env>(balances: Vec<i64>) -> Answer<'env> {
    Answer::new(move |out| {
        for (account, balance) in balances.iter().enumerate() {
            writeln!(out, "{account} {balance}")?;
        }
        writeln!(out, "sum {}", balances.iter().sum::<i64>())
    })
}

impl Program for BankProgram {
    fn communicate(
        &self,
        _variant: Variant,
        options: Options,
        stop: &Stop,
    ) -> Result<Ran<'_>, Failure> {
        let ran = self.bank.run(options, || {
            self.progress.add(1);
            stop.obey();
        });
        let (balances, report) = ran.map_err(failed)?;
        Ok(Ran { answer: answer(balances), report: Some(report) })
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(answer(self.bank.sequential()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}
