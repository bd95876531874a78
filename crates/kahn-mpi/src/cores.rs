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
    fn those_that_are_bound_to_one_core_each_share_none() {
        assert_eq!(share(2, 1, 2), 1);
        assert_eq!(share(64, 1, 64), 1);
        assert_eq!(share(8, 8, 64), 1);
        // A rank for each other core.
        assert_eq!(share(32, 1, 64), 1);
    }

    #[test]
    fn those_that_may_run_anywhere_share_all() {
        assert_eq!(share(4, 2, 2), 4);
        assert_eq!(share(16, 64, 64), 16);
        assert_eq!(share(1, 64, 64), 1);
    }

    #[test]
    fn those_of_a_socket_share_that() {
        assert_eq!(share(8, 32, 64), 4);
        assert_eq!(share(3, 32, 64), 2);
    }

    #[test]
    fn what_the_system_says_may_be_anything() {
        assert_eq!(share(1, 1, 0), 1);
        // Cores that are there and not online, or the other way round.
        assert_eq!(share(2, 4, 2), 2);
    }
}
