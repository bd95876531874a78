#!/usr/bin/env bash
# Builds and tests the program in examples/outside as its user would: in a workspace of its own.
#
# With the versions of this workspace, so that nothing is fetched twice; and with the profile that tests
# have here, so that what both use is compiled once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=line-tables-only
cp Cargo.lock examples/outside/Cargo.lock
cd examples/outside
cargo test --quiet
