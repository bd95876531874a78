#!/bin/sh
# Runs the laws of networks, those of communicating processes, and the programs and boxes of S-Net in both of its
# runtimes, under the thread sanitizer and under the address sanitizer.
#
#   ci/sanitize.sh [kahn|csp|snet]... [thread|address]...      all parts, both sanitizers, if none is named
#
# Each part takes minutes under each sanitizer: `.ci/run` runs at most one of them, chosen by the commit, and not
# `kahn thread`, which takes more than six; `ci/nightly` runs all.
# Stable rustc ships the sanitizers' runtimes and takes the flags with RUSTC_BOOTSTRAP=1. Where it
# does not, this says so and skips: a sanitizer is a second look, not a gate of every machine.
# The compiled parts of the standard library are invisible to the thread sanitizer; what follows
# from that is listed in ci/tsan.txt.
set -eu
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
libraries=$(rustc --print sysroot)/lib/rustlib/$host/lib
target=${CARGO_TARGET_DIR:-target}
parts='' sanitizers=''
for word in "$@"; do
    case $word in
        kahn | csp | snet) parts="$parts $word" ;;
        thread | address) sanitizers="$sanitizers $word" ;;
        *) echo "sanitize: \`$word\` is neither a part (kahn, csp, snet) nor a sanitizer (thread, address)" >&2; exit 2 ;;
    esac
done
parts=${parts:-kahn csp snet} sanitizers=${sanitizers:-thread address}

# A panic that a test expects need not say where it came from: the lines of a backtrace are looked up
# in tables that the standard library shares between threads, out of the sanitizer's sight.
export RUST_BACKTRACE=0

# tests ARGUMENT...: runs these tests of cargo's under the sanitizer.
tests() {
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" CARGO_TARGET_DIR="$target/sanitize-$sanitizer" \
    TSAN_OPTIONS="suppressions=$PWD/ci/tsan.txt halt_on_error=0 exitcode=66" \
    PROPTEST_CASES="${PROPTEST_CASES:-32}" \
        cargo test --target "$host" "$@"
}

for sanitizer in $sanitizers; do
    case $sanitizer in
        thread) runtime=tsan ;;
        address) runtime=asan ;;
    esac
    if ! ls "$libraries"/*"$runtime"* >/dev/null 2>&1; then
        echo "sanitize: skipped $sanitizer: this toolchain has no $runtime runtime for $host"
        continue
    fi
    flags="-Zsanitizer=$sanitizer"
    if [ "$sanitizer" = thread ]; then
        flags="$flags -Cunsafe-allow-abi-mismatch=sanitizer"
        # ci/tsan.txt names functions by their paths, which line tables leave out of inlined ones.
        export CARGO_PROFILE_DEV_DEBUG=full
    else
        unset CARGO_PROFILE_DEV_DEBUG
    fi
    for part in $parts; do
        echo "sanitize: $part, $sanitizer"
        case $part in
            csp) tests -p kahn-csp --test laws ;;
            # C boxes are called in other tests: the compiler's libraries are not looked into.
            snet) tests -p kahn-snet --test run --test boxes ;;
            kahn)
                # An end that is hidden from its network keeps the network's memory, on purpose: the tests of
                # misuse do that, so they are looked at for wrong accesses and not for leaks.
                ASAN_OPTIONS=detect_leaks=1 tests -p kahn --test laws -- --skip misuse::
                ASAN_OPTIONS=detect_leaks=0 tests -p kahn --test laws -- misuse::
                ;;
        esac
    done
done
