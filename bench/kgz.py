#!/usr/bin/env python3
"""Compares kgz with the tools that people use today, and prints the tables of docs/kgz.md.

    cargo build --release -p kgz
    bench/kgz.py target/release/kgz [--megabytes N] [--repeats N] [FILE]

    cargo build --release -p kgz --example one_thread
    bench/kgz.py target/release/kgz --floor target/release/examples/one_thread --megabytes 4

The input is FILE, or words made from a seed. Tools that are not installed are skipped with a line. Each
cell of the first table is a command, printed with what came of it by `--commands`. Times are medians of
processor seconds, taken in turn; memory is the most of one run. Needs Python 3, GNU time and Linux.
Tools that put the time into what they write are told not to.
"""

import argparse
import hashlib
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 20  # seconds after which a run counts as one that hangs


class Tool:
    """A program: how it compresses with so many threads, and how it decompresses."""

    def __init__(self, name, program, compress, decompress):
        self.name, self.program = name, program
        self.compress, self.decompress = compress, decompress

    def packing(self, threads, level=6):
        return [self.program, *(word.format(p=threads, l=level) for word in self.compress)]

    def unpacking(self, threads):
        return [self.program, *(word.format(p=threads) for word in self.decompress)]


def tools(kgz):
    return [
        Tool("kgz", kgz, ["-{l}", "-p", "{p}", "-c"], ["-dc", "-p", "{p}"]),
        Tool("kgz gzip", kgz, ["--format", "gzip", "-{l}", "-p", "{p}", "-c"], ["-dc", "-p", "{p}"]),
        Tool("kgz zstd", kgz, ["--format", "zstd", "-{l}", "-p", "{p}", "-c"], ["-dc", "-p", "{p}"]),
        Tool("pigz", "pigz", ["-n", "-{l}", "-p", "{p}", "-c"], ["-dc", "-p", "{p}"]),
        Tool("bgzip", "bgzip", ["-l", "{l}", "-@", "{p}", "-c"], ["-dc", "-@", "{p}"]),
        Tool("crabz bgzf", "crabz", ["-f", "bgzf", "-l", "{l}", "-p", "{p}"], ["-d", "-f", "bgzf", "-p", "{p}"]),
        Tool("crabz gzip", "crabz", ["-f", "gzip", "-l", "{l}", "-p", "{p}"], ["-d", "-f", "gzip", "-p", "{p}"]),
        Tool("zstd", "zstd", ["-{l}", "-T{p}", "-cq"], ["-dcq"]),
        Tool("gzip", "gzip", ["-n", "-{l}", "-c"], ["-dc"]),
    ]


def run(command, data, output=subprocess.PIPE):
    """Runs a command on data: its exit code (None if it hangs), what it wrote, what it said."""
    try:
        done = subprocess.run(command, input=data, stdout=output, stderr=subprocess.PIPE, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, b"", b""
    return done.returncode, done.stdout or b"", done.stderr


def words(megabytes):
    draw = random.Random(1)
    vocabulary = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 11))) for _ in range(20_000)]
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    parts, length = [], 0
    while length < megabytes * 1_000_000:
        part = " ".join(draw.choices(vocabulary, weights, k=10_000)) + "\n"
        parts.append(part)
        length += len(part)
    return "".join(parts).encode()[:megabytes * 1_000_000]


def same_bytes(tool, text):
    """Whether the output is the same for 1, 2, 3 and 8 threads, and in each of three runs."""
    hashes = {hashlib.sha256(run(tool.packing(threads), text)[1]).hexdigest()
              for threads in (1, 2, 3, 8) for _ in range(3)}
    return "yes" if len(hashes) == 1 else f"no: {len(hashes)} hashes in 12 runs"


def told(code, written, text):
    """What came of a damaged input."""
    if code is None:
        return f"**hangs** ({LIMIT} s)"
    right = os.path.commonprefix([written, text])
    if len(written) == len(right):
        return f"rc {code}, {len(written)} right bytes"
    return f"rc {code}, {len(written)} bytes, {len(written) - len(right)} after the first wrong one"


def damage(tool, text):
    packed = run(tool.packing(2), text)[1]
    flipped = bytearray(packed)
    flipped[len(flipped) // 2] ^= 0xff
    code, written, _ = run(tool.unpacking(4), bytes(flipped))
    cut_code, cut, _ = run(tool.unpacking(4), packed[:len(packed) * 2 // 3])
    with open("/dev/full", "wb") as full:
        full_code, _, message = run(tool.unpacking(2), packed, full)
    last = message.decode(errors="replace").strip().splitlines()
    full_told = "hangs" if full_code is None else f"rc {full_code}: {last[-1][:60] if last else '(silent)'}"
    return told(code, written, text), told(cut_code, cut, text), full_told


def measure(command, path):
    """Processor seconds, seconds and most memory in kB of one run on a file, to nowhere, by GNU time."""
    with open(path, "rb") as data:
        done = subprocess.run(["/usr/bin/time", "-f", "%U %S %e %M", *command], stdin=data,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    user, system, wall, memory = done.stderr.split()[-4:]
    return float(user) + float(system), float(wall), int(memory)


def instructions(kgz, floor, path):
    """Instructions of kgz with one thread, and of a plain loop over libdeflate, by valgrind."""
    print("\n| level | instructions, kgz | a plain loop over libdeflate | ratio |")
    print("|---:|---:|---:|---:|")
    for level in (1, 6):
        counts, outputs = [], []
        for command in ([kgz, f"-{level}", "-p", "1", "-c"], [floor, str(level)]):
            with tempfile.NamedTemporaryFile() as out, open(path, "rb") as data:
                done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", *command],
                                      stdin=data, capture_output=True, check=True)
                outputs.append(done.stdout)
                counts.append(next(int(line.split()[1]) for line in Path(out.name).read_text().splitlines()
                                   if line.startswith(("summary:", "totals:"))))
        same = "" if outputs[0] == outputs[1] else " (other bytes!)"
        print(f"| {level} | {counts[0]} | {counts[1]} | {counts[0] / counts[1]:.4f}{same} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kgz")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--megabytes", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--floor", help="the example one_thread: count instructions against it, and nothing else")
    arguments = parser.parse_args()
    text = Path(arguments.file).read_bytes() if arguments.file else words(arguments.megabytes)
    if arguments.floor:
        with tempfile.NamedTemporaryFile() as file:
            file.write(text)
            file.flush()
            instructions(arguments.kgz, arguments.floor, file.name)
        return
    found = [tool for tool in tools(str(Path(arguments.kgz).resolve())) if shutil.which(tool.program)]
    missing = {tool.program for tool in tools(arguments.kgz) if not shutil.which(tool.program)}
    for program in sorted(missing):
        print(f"skipped: {program} is not installed")
    print(f"\nInput: {len(text)} bytes; {os.cpu_count()} cores.\n")
    print("| | same bytes for 1, 2, 3, 8 threads, 3 runs each | a byte flipped in the middle | cut to two thirds | full device |")
    print("|---|---|---|---|---|")
    for tool in found:
        print(f"| {tool.name} | {same_bytes(tool, text)} | " + " | ".join(damage(tool, text)) + " |", flush=True)
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        rows = {}
        for _ in range(arguments.repeats):
            for tool in found:
                for level in (1, 6):
                    for threads in (1, 2):
                        rows.setdefault((tool.name, level, threads), []).append(
                            measure(tool.packing(threads, level), file.name))
        print("\n| | level | size | CPU s, 1 thread | wall s, 1 / 2 threads | most memory MB, 1 / 2 threads |")
        print("|---|---:|---:|---:|---:|---:|")
        for tool in found:
            for level in (1, 6):
                size = len(run(tool.packing(2, level), text)[1]) / len(text)
                one, two = rows[tool.name, level, 1], rows[tool.name, level, 2]
                middle = lambda runs, at: statistics.median(run[at] for run in runs)
                print(f"| {tool.name} | {level} | {size:.3f} | {middle(one, 0):.2f} | "
                      f"{middle(one, 1):.2f} / {middle(two, 1):.2f} | "
                      f"{max(run[2] for run in one) / 1000:.1f} / {max(run[2] for run in two) / 1000:.1f} |")


if __name__ == "__main__":
    main()
