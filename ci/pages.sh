#!/usr/bin/env bash
# Tables, pages and plots are what `kahn` writes from the raw data in the tree, but for PNG, which shows what SVG shows
# and takes more room than all else.
#
#   raw data           table                      pages and plots          size
#   evaluation/run     docs/evaluation.md         evaluation/pages         default
#   evaluation/paper   docs/evaluation-paper.md   evaluation/paper-pages   paper
#
#   ci/pages.sh            fails if they are not
#   ci/pages.sh --write    writes them anew
#
# KAHN is the program, target/debug/kahn if it says nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kahn=${KAHN:-${CARGO_TARGET_DIR:-target}/debug/kahn} is_to_write=false
[[ ${1:-} != --write ]] || is_to_write=true
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# pages SIZE DATA TABLE PAGES [OPTION]
pages() {
    local size=$1 data=$2 table=$3 pages=$4 folder=$work/$1 measurements=$work/$1/measurements
    mkdir -p "$measurements"
    cp -r "$data" "$measurements/$size"
    gunzip "$measurements/$size"/*.gz
    "$kahn" experiment all --pages "${@:5}" --out "$folder" > /dev/null 2> "$folder/told" \
        || { cat "$folder/told" >&2; exit 1; }
    # The summary is the table.
    rm -r "$measurements" "$folder/told" "$folder/summary.md" "$folder"/*.png
    sed -i 's/, \[PNG\]([^)]*)//' "$folder"/*.md
    "$kahn" experiment judge "$data" > "$work/table"
    if $is_to_write; then
        rm -rf "$pages"
        cp -r "$folder" "$pages"
        cp "$work/table" "$table"
    else
        diff "$work/table" "$table"
        diff -r "$folder" "$pages"
    fi
}

pages default evaluation/run docs/evaluation.md evaluation/pages
pages paper evaluation/paper docs/evaluation-paper.md evaluation/paper-pages --paper
