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
# Optimisation across units costs more than it saves here.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

# Optimised is what explores, and what is explored: the rest would take longer to be compiled than to run.
fast=(--config 'profile.release.package."*".opt-level=0')
for package in loom generator tracing tracing-core scoped-tls smallvec parking_lot parking_lot_core lock_api; do
    fast+=(--config "profile.release.package.$package.opt-level=3")
done
for package in kahn kahn-csp kahn-engine kahn-snet; do
    fast+=(--config "profile.release.package.$package.codegen-units=16")
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
    check "${slow_models[@]/#/--skip=}" "${slowest_models[@]/#/--skip=}"
    LOOM_MAX_PREEMPTIONS=$((LOOM_MAX_PREEMPTIONS > 0 ? LOOM_MAX_PREEMPTIONS - 1 : 0)) check "${slow_models[@]}"
    if ((LOOM_MAX_PREEMPTIONS >= 3)); then
        check "${slowest_models[@]}"
    else
        skip "${slowest_models[*]}" "they take minutes; ci/nightly checks them"
    fi
fi
