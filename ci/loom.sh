#!/usr/bin/env bash
# Checks the models of everything concurrent in the runtimes with loom: all interleavings within the
# bounds that each model names. LOOM_MAX_PREEMPTIONS lowers the bounds; arguments choose models.
set -euo pipefail
cd "$(dirname "$0")/.."

# Loom's build differs in every crate: a folder of its own keeps the usual one warm.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/loom
export RUSTFLAGS="--cfg loom ${RUSTFLAGS:-}"
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-3}
# Link-time optimisation costs more than it saves here.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

cargo test --release --lib -p kahn -- "$@"
exec cargo test --release --lib -p kahn-snet -- "$@"
