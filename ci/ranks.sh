#!/usr/bin/env bash
# Compares every Kahn program of `kahn run` on 1 to 5 ranks of this program, each with so many seeds of the simulated
# transport: output, messages of all channels, and how processes ended; every fifth run with room for one message in
# each channel, as far as the number of messages allows.
#
#   ci/ranks.sh [SEEDS] [NAME...]    50 seeds if it says nothing; these programs, or all
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/lib.sh

seeds=${1:-50}
chosen=" ${*:2} "
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# As `ci/nightly` builds it: with another selection all would be compiled anew.
cargo build --release --quiet -p kahn-bench -p kahn-cli --features kahn-cli/full
programs_on_ranks "$target/text.txt"
runs=0
for program in "${programs[@]}"; do
    [[ $# -lt 2 || $chosen == *" ${program%% *} "* ]] || continue
    since=$SECONDS
    # Words are meant to split: a program and its arguments.
    # shellcheck disable=SC2086
    said=$("$target/release/kahn" verify $program --ranks 1,2,3,4,5 --seeds "$seeds" | tail -n 1)
    printf '%5d s  %s\n' $((SECONDS - since)) "$said"
    runs=$((runs + 5 * seeds))
done
echo "$runs runs of programs on 1 to 5 ranks, all of a program alike, in $SECONDS s"
