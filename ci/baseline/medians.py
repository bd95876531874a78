#!/usr/bin/env python3
"""Compares the speed of two builds of the program in `outside/`, in turn, and prints a table.

    ci/baseline/medians.py BEFORE AFTER [--pairs N]

BEFORE and AFTER are built programs, each by `cargo build --release` with the crate `kahn` of another
commit. Each row has the medians of all runs, and the median of the ratios of pairs: the two programs
run one after the other, which of them is first alternates. Run it on a machine that does nothing else: its
load is printed.
"""

import argparse
import math
import os
import resource
import statistics
import subprocess
import time

# Program, messages, workers: each takes a good part of a second.
ROWS = [("pair", 20_000_000, 1), ("pipeline", 8_000_000, 1), ("pair", 5_000_000, 2), ("pipeline", 2_000_000, 2)]


def seconds(program, row):
    """What a run takes: of the processors, and by the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run([program, *map(str, row)], check=True)
    clock = time.perf_counter() - begin
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime, clock


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    print("| program | workers | | before | after | ratio of medians | median of ratios |")
    print("|---|---:|---|---:|---:|---:|---:|")
    found = []
    for row in ROWS:
        before, after = [], []
        for pair in range(options.pairs):
            runs = [(options.before, before), (options.after, after)]
            for program, times in runs if pair % 2 == 0 else reversed(runs):
                times.append(seconds(program, row))
        for which, name in enumerate(("processor", "clock")):
            olds, news = ([times[which] for times in all_times] for all_times in (before, after))
            old, new = statistics.median(olds), statistics.median(news)
            of_pairs = statistics.median(b / a for a, b in zip(olds, news))
            print(f"| {row[0]} | {row[2]} | {name} | {old:.3f} s | {new:.3f} s | {new / old:.3f} | {of_pairs:.3f} |")
        found.append(of_pairs)
    mean = math.exp(statistics.fmean(map(math.log, found)))
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"\nGeometric mean of the clock's ratios: {mean:.3f}. {options.pairs} pairs, load at the end {load}.")


if __name__ == "__main__":
    main()
