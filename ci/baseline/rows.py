#!/usr/bin/env python3
"""Compares the rows of two builds of `kahn-bench`, in turn, and prints a table.

    ci/baseline/rows.py BEFORE AFTER [--rounds N] [WORKLOAD...]

BEFORE and AFTER are programs, each built from its own commit with the same profile. Each round runs every
workload once with each of them, at the sizes of `--quick`, without peers, on one worker and on two; which is
first alternates. A ratio is that of the medians of all rounds. Rows that are in one of the two alone are left
out. Run it on a machine that does nothing else: its load is printed.
"""

import argparse
import collections
import json
import math
import os
import statistics
import subprocess
import tempfile

WORKLOADS = ("ring pipeline stream scatter-gather random rendezvous commstime fork-join barrier alternation "
             "claim mandelbrot").split()


def rows(program, workload):
    """What one run of a workload measures: by row, a cost."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([program, "run", workload, "--peers", "none", "--quick", "--repeat", "1", "--workers", "1,2",
                        "--json", file.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        for line in map(json.loads, open(file.name, encoding="utf-8")):
            if line["runtime"] != "floor" and line["median"] > 0:
                yield tuple(str(line[name]) for name in ("workload", "params", "metric", "runtime", "workers")), line["median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("workload", nargs="*", default=WORKLOADS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = collections.defaultdict(lambda: ([], []))
    for turn in range(options.rounds):
        for workload in options.workload:
            programs = [(options.before, 0), (options.after, 1)]
            for program, which in programs if turn % 2 == 0 else reversed(programs):
                for row, cost in rows(program, workload):
                    found[row][which].append(cost)
    ratios = {row: statistics.median(after) / statistics.median(before)
              for row, (before, after) in found.items() if before and after}
    print("| row | measured | form | workers | ratio of medians |")
    print("|---|---|---|---:|---:|")
    for (workload, params, metric, runtime, workers), ratio in sorted(ratios.items()):
        print(f"| {workload}: {params} | {metric} | {runtime} | {workers} | {ratio:.3f} |")
    for workers in ("1", "2"):
        of_workers = [ratio for row, ratio in ratios.items() if row[-1] == workers]
        if of_workers:
            mean = math.exp(statistics.fmean(map(math.log, of_workers)))
            print(f"\nGeometric mean of {len(of_workers)} rows on {workers} workers: {mean:.3f}.", end="")
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f" {options.rounds} rounds, load at the end {load}.")


if __name__ == "__main__":
    main()
