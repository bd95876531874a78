#!/usr/bin/env bash
# Fuzzes S-Net, then kgz, then the reader of recordings, for a few seconds each, from the seeds that are
# kept here: what was found once stays found.
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
    cargo build --quiet -p kahn-snet --example fuzz -p kgz --example fuzz_files \
        -p kahn-observe --example fuzz_recordings
fi
"${CARGO_TARGET_DIR:-target}/debug/examples/fuzz" "${1:-5}" "${kept[@]}" "${@:2}"
"${CARGO_TARGET_DIR:-target}/debug/examples/fuzz_files" "${1:-5}" "${2:-1}"
"${CARGO_TARGET_DIR:-target}/debug/examples/fuzz_recordings" "${1:-5}" "${2:-1}"
