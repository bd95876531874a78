#!/usr/bin/env bash
# Builds and tests the program in examples/outside as its user would: in a workspace of its own.
#
# With the versions of this workspace, so that nothing is fetched twice; and with the flags that what others have
# written is compiled with here, so that nothing of that is compiled twice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target CARGO_PROFILE_DEV_DEBUG=false
cp Cargo.lock examples/outside/Cargo.lock
cd examples/outside
cargo test --quiet
