#!/usr/bin/env bash
# Builds, lints and tests `crates/kahn-mpi`, which stands outside of the workspace, where an MPI is.
#
#   ci/mpi.sh            installs nothing: tells what is missing, and ends well
#   ci/mpi.sh --must     … and fails
#   ci/mpi.sh --figures  what messages cost between two ranks
#
# Debian: openmpi-bin libopenmpi-dev libclang-dev
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()
for tool in mpicc mpirun; do
    command -v $tool > /dev/null || missing+=("$tool")
done
ls /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*/libclang*.so* > /dev/null 2>&1 || [[ -n ${LIBCLANG_PATH:-} ]] || missing+=(libclang)
if ((${#missing[@]} > 0)); then
    echo "no MPI: ${missing[*]} not found; Debian has it as openmpi-bin libopenmpi-dev libclang-dev"
    [[ ${1:-} != --must ]]
    exit
fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target
cd crates/kahn-mpi
# More ranks than cores: one that waits gives its core away. A root of a container may start them.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks() { timeout 120 mpirun --oversubscribe -n "$@"; }

if [[ ${1:-} == --figures ]]; then
    cargo build --release --example stream
    for _ in 1 2 3; do
        ranks 2 "$target/release/examples/stream"
    done
    exit
fi
cargo fmt -- --check
cargo clippy --lib --examples -- -D warnings
cargo build --examples
for n in 1 2 4; do
    ranks $n "$target/debug/examples/stream" > /dev/null
done

# The command over ranks writes what it writes without: one rank is one process.
cargo build --features command
for program in 'hamming 300' 'sieve 200' fft des fm-radio filter-bank bitonic-sort; do
    # Words are meant to split: a program and its argument.
    # shellcheck disable=SC2086
    "$target/debug/kahn-mpi" run $program > "$target/one"
    for n in 2 4; do
        # shellcheck disable=SC2086
        ranks $n "$target/debug/kahn-mpi" run $program | cmp - "$target/one"
    done
done
rm "$target/one"

# Each rank in turn, killed at some time: all are gone, and the exit code says so.
for run in {1..8}; do
    ranks 3 "$target/debug/examples/stream" --for-ever > /dev/null 2>&1 &
    job=$!
    for _ in {1..100}; do
        mapfile -t all < <(pgrep -f "^$target/debug/examples/stream --for-ever" || true)
        ((${#all[@]} == 3)) && break
        sleep 0.1
    done
    sleep "0.$((run % 4 + 1))"
    kill -9 "${all[$((run % 3))]}"
    if timeout 20 tail --pid=$job -f /dev/null && wait $job; then
        echo "a rank was killed, and the job ended well"
        exit 1
    fi
    # Ten seconds at most.
    for _ in {1..100}; do
        pgrep -f "^$target/debug/examples/stream --for-ever" > /dev/null || break
        sleep 0.1
    done
    if pgrep -f "^$target/debug/examples/stream --for-ever"; then
        echo 'a rank was killed, and others are left'
        exit 1
    fi
done
echo "ranks: 1, 2, 4; seven programs on 2 and 4 as on one; a rank killed: 8 times"
