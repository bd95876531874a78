//! Ranks within one program, which share its cores: for each a thread that runs its network, and one for its exchange.

use crate::NetError;
use crate::one::{Exchange, OneRank, Ran};
use crate::transport::Transport;
use kahn::{Network, Options};
use std::panic::resume_unwind;
use std::thread;

/// Runs all ranks of a run, the first of them on this thread; returns what `build` returned there.
pub(crate) fn run<'env, R, T: Transport + Send + 'static>(
    all: Vec<(OneRank, Exchange<T>, T)>,
    options: &Options,
    build: impl Fn(usize, &mut Network<'env>) -> R + Sync,
) -> Result<Ran<R>, NetError> {
    let build = &build;
    let ranks = all.len();
    thread::scope(|scope| {
        let (mut networks, mut exchanges) = (Vec::new(), Vec::new());
        let mut first = None;
        for (rank, (one, exchange, transport)) in all.into_iter().enumerate() {
            let one = one.cores_shared_by(ranks);
            exchanges.push(scope.spawn(move || drop(exchange.run(transport))));
            if rank == 0 {
                first = Some(one);
                continue;
            }
            let run = move || one.run(options, |network| drop(build(rank, network)));
            networks.push(scope.spawn(move || run().map(drop)));
        }
        let first = first.expect("there is a rank");
        let here = first.run(options, |network| build(0, network));
        let joined = networks.into_iter().map(thread::ScopedJoinHandle::join);
        let told: Vec<_> =
            joined.map(|told| told.unwrap_or_else(|payload| resume_unwind(payload))).collect();
        for exchange in exchanges {
            exchange.join().unwrap_or_else(|payload| resume_unwind(payload));
        }
        match here {
            Ok(ran) => Ok(ran.expect("rank 0 tells")),
            // Another rank has more than its text.
            Err(NetError::NotRun { rank, why }) => {
                let own = told.into_iter().nth(rank - 1).and_then(Result::err);
                Err(own.unwrap_or(NetError::NotRun { rank, why }))
            }
            Err(error) => Err(error),
        }
    })
}
