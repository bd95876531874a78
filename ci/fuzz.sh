#!/usr/bin/env bash
# Fuzzes S-Net for a few seconds, from the seeds that are kept here: what was found once stays found.
#
#   ci/fuzz.sh             5 seconds
#   ci/fuzz.sh 900 8 9     so many seconds, from these seeds as well
#   ci/fuzz.sh --built     5 seconds, with what was built before
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kept=(1 2 3)
if [[ ${1:-} == --built ]]; then
    shift
else
    cargo build --quiet -p kahn-snet --example fuzz
fi
exec "${CARGO_TARGET_DIR:-target}/debug/examples/fuzz" "${1:-5}" "${kept[@]}" "${@:2}"
