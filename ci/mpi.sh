#!/usr/bin/env bash
# Builds, lints and tests `crates/kahn-mpi`, which stands outside of the workspace, where an MPI is.
#
#   ci/mpi.sh            installs nothing: tells what is missing, and ends well
#   ci/mpi.sh --must     … and fails
#   ci/mpi.sh --all      lints, too, and each program on 2 and on 4 ranks, and not in turn on either
#   ci/mpi.sh --link     programs over a link of 1 Mbit a second alone
#   ci/mpi.sh --figures  what messages cost between two ranks, beside plain MPI with the same two threads a rank,
#                        and beside timely over its own connections
#
# KILLS=100 kills a rank so often; 3 times if it says nothing.
#
# Debian: openmpi-bin libopenmpi-dev libclang-dev
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/lib.sh

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

build=debug
# The processes of ranks that run this program of the folder, when there are so many: in `all`.
find_ranks() {
    for _ in {1..100}; do
        mapfile -t all < <(pgrep -f "^$target/$build/$2" || true)
        ((${#all[@]} == $1)) && return
        sleep 0.1
    done
    echo "there are ${#all[@]} ranks, and not $1"
    exit 1
}
# Tells what two ranks take of a processor while they wait, from one second on.
waits() {
    ranks 2 "$target/$build/examples/stream" --wait &
    local job=$! rank before after
    find_ranks 2 'examples/stream --wait'
    sleep 1
    nanoseconds() { cat /proc/"$1"/task/*/schedstat | awk '{ ran += $1 } END { print ran }'; }
    mapfile -t before < <(nanoseconds "${all[0]}"; nanoseconds "${all[1]}")
    sleep 4
    mapfile -t after < <(nanoseconds "${all[0]}"; nanoseconds "${all[1]}")
    for rank in 0 1; do
        awk -v ran=$((after[rank] - before[rank])) 'BEGIN { printf "a rank that waits takes %.2f %% of a core\n", ran / 4e7 }'
    done
    wait $job
}

if [[ ${1:-} == --figures ]]; then
    build=release
    cargo build --release --example stream --example plain
    cargo build --release --locked --manifest-path ../../bench/timely/Cargo.toml
    for run in 1 2 3; do
        # In turn, in one run of this script: the machine is the same.
        ranks 2 "$target/release/examples/stream" > "$target/networks"
        ranks 2 "$target/release/examples/plain" > "$target/plain"
        timeout 120 "$target/release/kahn-bench-timely" -n 2 -p 1 2> /dev/null &
        timeout 120 "$target/release/kahn-bench-timely" -n 2 -p 0 > "$target/timely" 2> /dev/null
        wait $!
        grep ' ns each' "$target/timely" > "$target/timely-rows"
        echo "run $run                                    network             plain MPI                timely      network / plain, / timely"
        # Rows of one name; the fields behind it are ns, `ns`, `each`, GB/s, `GB/s`.
        paste "$target/networks" "$target/plain" "$target/timely-rows" | awk '{
            found = 0; for (i = 1; i <= NF; i++) if ($i == "ns") at[++found] = i
            name = $1; for (i = 2; i < at[1] - 1; i++) name = name " " $i
            printf "%-30s", name
            for (i = 1; i <= 3; i++) printf " %12.1f ns %7.3f GB/s", $(at[i] - 1), $(at[i] + 2)
            printf " %8.2f %8.2f\n", $(at[1] - 1) / $(at[2] - 1), $(at[1] - 1) / $(at[3] - 1) }'
    done
    waits
    echo 'goals: at most 40 ns a message of the stream; a round trip at most 2.5 times plain; tiles at 2 GB/s at least'
    rm "$target/networks" "$target/plain" "$target/timely" "$target/timely-rows"
    exit
fi

# Programs on two ranks that speak by TCP, over a link of 1 Mbit a second, in a network of their own: the output is that
# of one rank, and only the time is another. slow_link LIMITS PROGRAM...: a limit may be `none`.
slow_link() {
    if ! unshare --net tc qdisc add dev lo root tbf rate 1mbit burst 16kb latency 500ms 2> /dev/null; then
        skip 'a link of 1 Mbit' 'it takes root, network namespaces, and tc with its tbf'
        return
    fi
    local program limit
    for program in "${@:2}"; do
        # Words are meant to split: a program and its arguments.
        # shellcheck disable=SC2086
        "$target/debug/kahn-mpi" run $program > "$target/one"
        for limit in $1; do
            # Packets as of a network: one of the 64 KiB that a loopback takes would never get through.
            # shellcheck disable=SC2016
            OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo \
                timeout 120 unshare --net bash -euo pipefail -c '
                    ip link set lo mtu 1500 up
                    if [[ $1 != none ]]; then tc qdisc add dev lo root tbf rate "$1" burst 16kb latency 500ms; fi
                    since=$(date +%s%N)
                    timeout 100 mpirun --oversubscribe -n 2 "$2" run $3 | cmp - "$4"
                    printf "%s, %s: %d bytes over the link, %d ms, the same output\n" "$3" "$1" \
                        "$(awk "/lo:/ { print \$10 }" /proc/net/dev)" $((($(date +%s%N) - since) / 1000000))' \
                _ "$limit" "$target/debug/kahn-mpi" "$program" "$target/one"
        done
    done
    rm "$target/one"
}
if [[ ${1:-} == --link ]]; then
    cargo build --features command
    slow_link 'none 1mbit' 'hamming 300' 'aes --size 256K'
    exit
fi
cargo fmt -- --check
# All is compiled once more for them.
[[ ${1:-} != --all ]] || cargo clippy --all-targets --features command -- -D warnings
cargo build --bins --examples --features command
cargo test --lib --features command
for n in 1 2 4; do
    ranks $n "$target/debug/examples/stream" > /dev/null
done

# The command over ranks writes what it writes without: one rank is one process.
text=$target/text.txt
programs_on_ranks "$text"
n=4
for program in "${programs[@]}"; do
    # Words are meant to split: a program and its argument.
    # shellcheck disable=SC2086
    "$target/debug/kahn-mpi" run $program > "$target/one"
    if [[ ${1:-} == --all ]]; then counts=(2 4); else counts=($((n = 6 - n))); fi
    for n in "${counts[@]}"; do
        # shellcheck disable=SC2086
        ranks $n "$target/debug/kahn-mpi" run $program | cmp - "$target/one"
    done
done
# Ranks that may run on the same cores share them.
ranks 4 --bind-to none "$target/debug/kahn-mpi" run hamming 10 --report > /dev/null 2> "$target/one"
part=$(($(nproc) / 4 > 1 ? $(nproc) / 4 : 1))
grep -q ", $((4 * part)) workers " "$target/one" || { echo "4 ranks do not share $(nproc) cores:"; cat "$target/one"; exit 1; }
# Each rank has the file; one that has none, or another, ends the run, and its number and the path are told.
mkdir -p "$target/in0" "$target/in1"
mv "$text" "$target/in0/text.txt"
in_its_folder="cd $target/in\$OMPI_COMM_WORLD_RANK; exec $target/debug/kahn-mpi run wordcount text.txt"
# Backticks are what the message has.
# shellcheck disable=SC2016
for told in 'rank 1: text.txt: no such file' 'rank 1 has another `text.txt`: it has 5 bytes there'; do
    if ranks 2 bash -c "$in_its_folder" > "$target/one" 2>&1 || ! grep -qF "$told" "$target/one"; then
        echo "a rank had another file, and it is not told as: $told"
        exit 1
    fi
    echo more > "$target/in1/text.txt"
done
# A copy is another file, which is read and has the same sum; or another one, if a byte of it differs.
"$target/debug/kahn-mpi" run wordcount "$target/in0/text.txt" > "$target/one"
cp "$target/in0/text.txt" "$target/in1/text.txt"
ranks 2 bash -c "$in_its_folder" | cmp - "$target/one"
tr A C < "$target/in0/text.txt" > "$target/in1/text.txt"
# As above.
# shellcheck disable=SC2016
if ranks 2 bash -c "$in_its_folder" > "$target/one" 2>&1 || ! grep -q '`text.txt`: its .* another SHA-256 there' "$target/one"; then
    echo 'a rank had a file of another content, and it is not told'
    exit 1
fi
rm -r "$target/in0" "$target/in1"
rm "$target/one"

slow_link 1mbit 'aes --size 256K'

resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

# Each rank is stopped for two seconds: that changes the time, and nothing else. Meanwhile the other one keeps no more
# than before, whichever of them receives.
for stopped in 0 1; do
    ranks 2 "$target/debug/examples/stream" --for-ever > /dev/null 2>&1 &
    job=$!
    find_ranks 2 'examples/stream --for-ever'
    sleep 0.5
    other=${all[$((1 - stopped))]}
    kill -STOP "${all[$stopped]}"
    before=$(resident "$other")
    sleep 2
    after=$(resident "$other")
    kill -CONT "${all[$stopped]}"
    echo "a rank is stopped for two seconds: the other has $before KiB before, and $after KiB after it"
    # Eight parcels of 128 KiB, and what a thread may touch for the first time.
    ((after - before < 2048)) || { echo 'what is sent to a rank that does not run is kept without bound'; exit 1; }
    kill -9 "${all[@]}"
    wait $job || true

    # What is under way between them is bounded by their window.
    ranks 2 "$target/debug/examples/stream" --four-seconds > "$target/most" &
    job=$!
    find_ranks 2 'examples/stream --four-seconds'
    sleep 1
    kill -STOP "${all[$stopped]}"
    sleep 2
    kill -CONT "${all[$stopped]}"
    wait $job || { echo 'a rank was stopped for two seconds, and the run has failed'; exit 1; }
    sort "$target/most"
    awk '{ if ($5 > 8) exit 1; ranks++ } END { if (ranks != 2) exit 1 }' "$target/most" \
        || { echo 'more than 8 parcels were under way'; exit 1; }
    rm "$target/most"

    ranks 2 "$target/debug/examples/stream" --wait > /dev/null &
    job=$!
    find_ranks 2 'examples/stream --wait'
    sleep 1
    kill -STOP "${all[$stopped]}"
    sleep 2
    kill -CONT "${all[$stopped]}"
    wait $job || { echo 'a rank was stopped for two seconds, and the run has failed'; exit 1; }
done

# A figure, and no test.
waits

# Each rank in turn, killed at some time: all are gone, and the exit code says so.
kills=${KILLS:-3}
for ((run = 1; run <= kills; run++)); do
    ranks 3 "$target/debug/examples/stream" --for-ever > /dev/null 2>&1 &
    job=$!
    find_ranks 3 'examples/stream --for-ever'
    sleep "0.$((RANDOM % 6 + 1))"
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
echo "ranks: 1, 2, 4; ${#programs[@]} programs on several as on one; files compared; each rank stopped; a rank killed: $kills times"
