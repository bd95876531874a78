#!/usr/bin/env bash
# Checks the models of everything concurrent in the runtimes with loom: all interleavings within the
# bounds that each model names. LOOM_MAX_PREEMPTIONS lowers the bounds, LOOM_CRATES chooses crates; arguments choose
# models.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/lib.sh

# Loom's build differs in every crate: a folder of its own keeps the usual one warm.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/loom
export RUSTFLAGS="--cfg loom ${RUSTFLAGS:-}"
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-3}
# Link-time optimisation costs more than it saves here.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

# Models whose interleavings are so many that they are checked with one preemption less.
slow=(
    two_offers_that_want_each_other
    a_partner_and_a_foreign_waker
    the_receiver_follows_after_the_last_of_a_cycle
    a_network_that_stands_still_is_told
    a_party_outside_is_woken_and_wakes
    a_party_outside_polls_in_vain_and_cancels
)
# Whole runs that take minutes with one preemption: for `ci/nightly`, which allows three elsewhere.
slowest=(
    a_stream_ends_under_batch
    a_watcher_wakes_by_itself
    the_next_watcher_starts_when_it_is_wanted
)

# Optimised is what explores, and what is explored: the rest would take longer to be compiled than to run.
fast=(--config 'profile.release.package."*".opt-level=0')
for package in loom generator tracing tracing-core scoped-tls smallvec parking_lot parking_lot_core lock_api; do
    fast+=(--config "profile.release.package.$package.opt-level=3")
done

# One build for all: a crate by itself has other features, and everything would be compiled again.
crates=()
for crate in ${LOOM_CRATES:-kahn kahn-csp kahn-engine kahn-snet}; do crates+=(-p "$crate"); done
check() {
    cargo test "${fast[@]}" --release --lib "${crates[@]}" -- "$@"
}

if (($#)); then
    check "$@"
else
    check "${slow[@]/#/--skip=}" "${slowest[@]/#/--skip=}"
    LOOM_MAX_PREEMPTIONS=$((LOOM_MAX_PREEMPTIONS > 0 ? LOOM_MAX_PREEMPTIONS - 1 : 0)) check "${slow[@]}"
    if ((LOOM_MAX_PREEMPTIONS >= 3)); then
        check "${slowest[@]}"
    else
        skip "${slowest[*]}" "they take minutes; ci/nightly checks them"
    fi
fi
