#!/bin/sh
# Runs the laws of networks and of communicating processes under the thread sanitizer and under the
# address sanitizer; with `snet`, the programs and boxes of S-Net in both of its runtimes instead, which
# ci/nightly does: they take as long again.
#
#   ci/sanitize.sh [snet] [thread|address]...      both sanitizers if none is named
#
# Stable rustc ships the sanitizers' runtimes and takes the flags with RUSTC_BOOTSTRAP=1. Where it
# does not, this says so and skips: a sanitizer is a second look, not a gate of every machine.
# The compiled parts of the standard library are invisible to the thread sanitizer; what follows
# from that is listed in ci/tsan.txt.
set -eu
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
libraries=$(rustc --print sysroot)/lib/rustlib/$host/lib
target=${CARGO_TARGET_DIR:-target}
what=laws
if [ "${1:-}" = snet ]; then what=snet; shift; fi
[ $# -gt 0 ] || set -- thread address

# A panic that a test expects need not say where it came from: the lines of a backtrace are looked up
# in tables that the standard library shares between threads, out of the sanitizer's sight.
export RUST_BACKTRACE=0

for sanitizer in "$@"; do
    case $sanitizer in
        thread) runtime=tsan ;;
        address) runtime=asan ;;
        *) echo "sanitize: \`$sanitizer\` is neither thread nor address" >&2; exit 2 ;;
    esac
    if ! ls "$libraries"/*"$runtime"* >/dev/null 2>&1; then
        echo "sanitize: skipped $sanitizer: this toolchain has no $runtime runtime for $host"
        continue
    fi
    echo "sanitize: $sanitizer"
    flags="-Zsanitizer=$sanitizer"
    if [ "$sanitizer" = thread ]; then
        flags="$flags -Cunsafe-allow-abi-mismatch=sanitizer"
        # ci/tsan.txt names functions by their paths, which line tables leave out of inlined ones.
        export CARGO_PROFILE_DEV_DEBUG=full
    else
        unset CARGO_PROFILE_DEV_DEBUG
    fi
    if [ "$what" = snet ]; then
        # C boxes are called in other tests: the compiler's libraries are not looked into.
        RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" CARGO_TARGET_DIR="$target/sanitize-$sanitizer" \
        TSAN_OPTIONS="suppressions=$PWD/ci/tsan.txt halt_on_error=0 exitcode=66" \
            cargo test -p kahn-snet --target "$host" --test run --test boxes
        continue
    fi
    # An end that is hidden from its network keeps the network's memory, on purpose: the tests of
    # misuse do that, so they are looked at for wrong accesses and not for leaks. Both crates at once, for
    # one by itself has other features, and everything would be compiled again.
    for part in "--skip misuse::" "misuse::"; do
        leaks=1
        [ "$part" = "misuse::" ] && leaks=0
        # Words are meant to split: an option and its value.
        # shellcheck disable=SC2086
        RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" CARGO_TARGET_DIR="$target/sanitize-$sanitizer" \
        TSAN_OPTIONS="suppressions=$PWD/ci/tsan.txt halt_on_error=0 exitcode=66" \
        ASAN_OPTIONS="detect_leaks=$leaks" \
        PROPTEST_CASES="${PROPTEST_CASES:-32}" \
            cargo test -p kahn -p kahn-csp --target "$host" --test laws -- $part
    done
done
