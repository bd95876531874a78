//! How many ranks share the cores on which one of them may run.
//!
//! Launchers bind ranks to cores, sockets or nothing. A rank knows on how many cores it may run, of how many of the machine,
//! and how many ranks are there: if all are bound alike, so many share its own.

use std::thread::available_parallelism;

/// Of so many ranks on this machine.
pub(crate) fn shared_by(ranks_here: usize) -> usize {
    let own = available_parallelism().map_or(1, usize::from);
    // SAFETY: it asks for a number.
    let all = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    share(ranks_here, own, usize::try_from(all).unwrap_or(own))
}

fn share(ranks_here: usize, own: usize, all: usize) -> usize {
    (ranks_here * own).div_ceil(all.max(own)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_bound_alike_share_alike() {
        // Ranks here, cores of one, cores of all; and how many share them.
        for (ranks, own, all, sharing) in [
            // Each bound to a core or to eight, some cores left over.
            (2, 1, 2, 1),
            (64, 1, 64, 1),
            (32, 1, 64, 1),
            (8, 8, 64, 1),
            // To nothing.
            (4, 2, 2, 4),
            (16, 64, 64, 16),
            (1, 64, 64, 1),
            // To one of two sockets.
            (8, 32, 64, 4),
            (3, 32, 64, 2),
            // The system tells of fewer than it gives, or of none.
            (2, 4, 2, 2),
            (1, 1, 0, 1),
        ] {
            assert_eq!(share(ranks, own, all), sharing, "{ranks} ranks, {own} of {all} cores");
        }
    }
}
