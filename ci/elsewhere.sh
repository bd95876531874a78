#!/usr/bin/env bash
# Checks that the command compiles for other systems: what needs no C compiler for them. Nothing is run.
#
#   ci/elsewhere.sh            all targets
#   ci/elsewhere.sh TARGET...  some
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/lib.sh

targets=(x86_64-pc-windows-gnu aarch64-apple-darwin aarch64-unknown-linux-gnu)
if (($#)); then targets=("$@"); fi
for target in "${targets[@]}"; do
    if ! rustup target list --installed 2> /dev/null | grep -qx "$target" \
        && ! rustup target add "$target" 2> /dev/null; then
        skip "$target" 'its standard library is not installed, and rustup cannot fetch it'
        continue
    fi
    cargo check --quiet --target "$target" -p kahn-cli -p kahn-csp
    printf 'compiles for %s\n' "$target"
done
