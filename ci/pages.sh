#!/usr/bin/env bash
# The pages and plots in evaluation/pages are what `kahn` writes from the raw data in evaluation/run, but for PNG,
# which shows what SVG shows and takes more room than all else.
#
#   ci/pages.sh            fails if they are not
#   ci/pages.sh --write    writes them anew, and docs/evaluation.md with them
#
# KAHN is the program, target/debug/kahn if it says nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kahn=${KAHN:-${CARGO_TARGET_DIR:-target}/debug/kahn}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
mkdir -p "$folder/measurements"
cp -r evaluation/run "$folder/measurements/default"
gunzip "$folder"/measurements/default/*.gz
"$kahn" experiment all --pages --out "$folder" > /dev/null 2> "$folder/told" || { cat "$folder/told" >&2; exit 1; }
# The summary is docs/evaluation.md.
rm -r "$folder/measurements" "$folder/told" "$folder/summary.md" "$folder"/*.png
sed -i 's/, \[PNG\]([^)]*)//' "$folder"/*.md
if [[ ${1:-} == --write ]]; then
    rm -rf evaluation/pages
    mkdir evaluation/pages
    cp "$folder"/* evaluation/pages
    "$kahn" experiment judge evaluation/run > docs/evaluation.md
else
    diff -r "$folder" evaluation/pages
fi
