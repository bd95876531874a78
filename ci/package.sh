#!/usr/bin/env bash
# Packs what is published, as `cargo publish` would, and compares with the last release.
#
#   ci/package.sh              packs
#   ci/package.sh --compile    and compiles the packages that a program with `kahn` has, and what its tests need
#   ci/package.sh --all        and compiles all of them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/lib.sh

small=(kahn-derive kahn-report kahn-engine kahn-policies kahn)
mapfile -t published < <(cargo metadata --no-deps --format-version 1 | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] is None:
        print(package["name"])
')
# Local changes are packed, too: what is looked for is what a commit forgets.
cargo package --quiet --allow-dirty --no-verify "${published[@]/#/--package=}"
printf 'packed: %s\n' "${published[*]}"
if [[ ${1:-} == --all ]]; then small=("${published[@]}"); fi
if (($#)); then
    cargo package --quiet --allow-dirty "${small[@]/#/--package=}"
    printf 'compiled from their packages: %s\n' "${small[*]}"
fi

tag=$(git describe --tags --abbrev=0 2> /dev/null || true)
if [[ -z $tag ]]; then
    skip 'semantic versions' 'there is no tag of a release to compare with'
elif ! cargo semver-checks --version > /dev/null 2>&1; then
    skip 'semantic versions' 'cargo-semver-checks is not installed'
else
    cargo semver-checks --baseline-rev "$tag" "${small[@]/#/--package=}"
fi
