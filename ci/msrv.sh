#!/usr/bin/env bash
# Checks what `rust-version` says of the published crates.
#
# 1. No dependency of a crate asks for a newer Rust than the crate does.
# 2. Where rustup can fetch that Rust, the libraries compile with it. (With any other, the lint
#    `incompatible_msrv` notices what of the standard library is too new, and nothing notices the language.)
#
#   ci/msrv.sh                   both
#   ci/msrv.sh --dependencies    only the first
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/lib.sh

lowest=$(cargo metadata --format-version 1 --locked | python3 -c '
import json, sys

metadata = json.load(sys.stdin)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}


def version(package):
    return tuple(int(part) for part in (package["rust_version"] or "0").split("."))[:2]


def used(package):
    """All that a crate is built from, with all of its features, on any system."""
    found, next = set(), [package["id"]]
    while next:
        for edge in nodes[next.pop()]["deps"]:
            if edge["pkg"] not in found and any(kind["kind"] != "dev" for kind in edge["dep_kinds"]):
                found.add(edge["pkg"])
                next.append(edge["pkg"])
    return (packages[id] for id in found)


members = [packages[id] for id in metadata["workspace_members"]]
members = [package for package in members if package["publish"] is None]
line = "{0[name]} says {0[rust_version]}: {1[name]} {1[version]} asks for {1[rust_version]}"
wrong = [line.format(package, other)
         for package in members for other in used(package) if version(other) > version(package)]
if wrong:
    sys.exit("\n".join(wrong))
lowest = min(map(version, members))
print(f"{lowest[0]}.{lowest[1]}", *("-p" + p["name"] for p in members if version(p) == lowest))
')
read -r rust libraries <<< "$lowest"
printf 'no dependency asks for more than its crate says; %s: %s\n' "$rust" "${libraries//-pk/k}"
if [[ ${1:-} == --dependencies ]]; then exit; fi
if ! rustup run "$rust.0" rustc --version > /dev/null 2>&1 \
    && ! rustup toolchain install "$rust.0" --profile minimal > /dev/null 2>&1; then
    skip "compiling with Rust $rust" 'it is not installed, and rustup cannot fetch it'
    exit
fi
# Without clippy and in a folder of its own: another compiler, other files.
read -ra selected <<< "$libraries"
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}/msrv") \
    cargo "+$rust.0" check --quiet --locked "${selected[@]}"
printf 'compiled with Rust %s\n' "$rust"
