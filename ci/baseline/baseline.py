#!/usr/bin/env python3
"""Measures the shape of the code, and writes it as a table and as JSON.

    ci/baseline/baseline.py FOLDER [--names] [--instructions] [--build] [--before FILE]

Always counts crates, files, lines of code, unsafe code, types of one name, knots of imports, and
`impl` blocks that stand outside of the folder of their type. `--names` counts public names by rustdoc's
JSON, `--instructions` counts what messages cost in a crate outside of the workspace (valgrind), in
the default release profile and in that of `dist`, `--build` times `cargo add` of a crate in a new
crate. Writes FOLDER/shape.json and FOLDER/shape.md. With `--before`, the `shape.json` of an earlier
commit, a table compares the two.

A line of code is one with something besides a comment on it, outside of models and of what is
compiled for tests only.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "surface"))
import surface  # noqa: E402

# The crates of the runtime, which were one at first.
RUNTIME = ("kahn-report", "kahn-engine", "kahn-policies", "kahn", "kahn-csp")

RAW = re.compile(r'b?r(#*)"')
LETTER = re.compile(r"'(\\.[^']*|[^'\\])'")


# --- text ----------------------------------------------------------------------------------------

def strip(text):
    """The text with comments and the insides of strings blanked out, line for line."""
    out, i, depth = [], 0, 0
    while i < len(text):
        two = text[i:i + 2]
        if depth:
            if two == "/*":
                depth += 1
                i += 2
            elif two == "*/":
                depth -= 1
                i += 2
            else:
                out.append("\n" if text[i] == "\n" else " ")
                i += 1
        elif two == "//":
            while i < len(text) and text[i] != "\n":
                i += 1
        elif two == "/*":
            depth = 1
            i += 2
        elif found := RAW.match(text, i):
            end = text.find('"' + found[1], i + len(found[0]))
            end = len(text) if end < 0 else end + 1 + len(found[1])
            out.append('""' + "\n" * text.count("\n", i, end))
            i = end
        elif text[i] == '"':
            j = i + 1
            while j < len(text) and text[j] != '"':
                j += 2 if text[j] == "\\" else 1
            out.append('""' + "\n" * text.count("\n", i, j))
            i = j + 1
        elif found := LETTER.match(text, i):
            out.append("' '")
            i += len(found[0])
        else:
            out.append(text[i])
            i += 1
    return "".join(out)


def block(text, start):
    """Where the item ends that begins at `start`: behind its braces, or at its semicolon."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0:
                return i + 1
        elif text[i] == ";" and depth == 0:
            return i + 1
    return len(text)


def without_tests(text):
    """Drops what is compiled for tests and models only."""
    gate = re.compile(r"#\[cfg\((?:all\()?(?:test|loom|any\(test, loom\)|any\(loom, test\))[^\]]*\]")
    while found := gate.search(text):
        end = block(text, found.end())
        text = text[:found.start()] + text[end:]
    return text


def is_model(path):
    return "models" in path.parts or path.name == "model.rs"


def is_test(path):
    return "tests" in path.parts or path.name == "tests.rs"


def sources(folder):
    """The Rust files below a folder that run in a program, with their code."""
    for path in sorted(folder.rglob("*.rs")):
        inside = path.relative_to(folder)
        if not is_model(inside) and not is_test(inside):
            yield path, without_tests(strip(path.read_text()))


def lines_of(code):
    return sum(1 for line in code.splitlines() if line.strip())


# --- imports -------------------------------------------------------------------------------------

def module_of(src, path):
    parts = list(path.relative_to(src).with_suffix("").parts)
    return tuple(parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts)


def paths_in(tree):
    """All paths of a `use` tree, as lists of words."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        yield [word for word in re.sub(r"\s+as\s+\w+$", "", tree).split("::") if word]
        return
    prefix = [word for word in tree[:brace].split("::") if word.strip()]
    depth, part = 0, ""
    for c in tree[brace + 1:tree.rfind("}")] + ",":
        if c == "," and depth == 0:
            if part.strip():
                for rest in paths_in(part):
                    yield prefix + rest
            part = ""
            continue
        depth += (c == "{") - (c == "}")
        part += c


def imports(src):
    """Which file uses which, from `use` and from paths in the code."""
    files = {module_of(src, path): code for path, code in sources(src)}
    edges = {module: set() for module in files}
    for module, code in files.items():
        found = [paths for use in re.findall(r"\buse\s+([^;]+);", code) for paths in paths_in(use)]
        found += [path.split("::") for path in
                  re.findall(r"\b((?:crate|super)(?:::\w+)+)", re.sub(r"\buse\s+[^;]+;", "", code))]
        for path in found:
            if path[0] == "crate":
                target = path[1:]
            elif path[0] in ("super", "self"):
                base = list(module)
                while path and path[0] in ("super", "self"):
                    if path[0] == "super":
                        base = base[:-1]
                    path = path[1:]
                target = base + path
            else:
                continue
            while target and tuple(target) not in files:
                target = target[:-1]
            if tuple(target) != module and target:
                edges[module].add(tuple(target))
    return edges


def largest_knot(edges):
    """The largest set of nodes that reach each other (Tarjan)."""
    sys.setrecursionlimit(100_000)
    index, low, stack, on, best = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for peer in sorted(edges.get(node, ())):
            if peer not in index:
                visit(peer)
                low[node] = min(low[node], low[peer])
            elif peer in on:
                low[node] = min(low[node], index[peer])
        if low[node] == index[node]:
            knot = []
            while True:
                member = stack.pop()
                on.discard(member)
                knot.append(member)
                if member == node:
                    break
            if len(knot) > len(best):
                best[:] = knot

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return best if len(best) > 1 else []


def knots_of_folders(edges):
    """Sets of folders that reach each other, among those with one parent."""
    inside = {module[:length] for module in edges for length in range(len(module))}
    inside -= {()}
    knots = []
    for parent in sorted({folder[:-1] for folder in inside}):
        depth = len(parent)
        siblings = {folder for folder in inside if folder[:-1] == parent}
        found = {sibling: set() for sibling in siblings}
        for module, used in edges.items():
            of = module[:depth + 1]
            if of in siblings:
                found[of].update(peer[:depth + 1] for peer in used
                                 if peer[:depth + 1] in siblings and peer[:depth + 1] != of)
        if knot := largest_knot(found):
            knots.append(" ".join(sorted("/".join(folder) for folder in knot)))
    return knots


def strays(src, files):
    """Inherent `impl` blocks outside of the folder of their type and those inside it."""
    homes = {}
    for path, text in files:
        for name in re.findall(r"\b(?:struct|enum|union)\s+(\w+)", text):
            homes.setdefault(name, set()).add(path.parent)
    found = []
    for path, text in files:
        for kind in re.findall(r"^\s*(?:unsafe\s+)?impl\b(?:<(?:[^<>]|<[^<>]*>)*>)?\s+([\w:]+)[^{;]*?\{",
                               re.sub(r"^\s*(?:unsafe\s+)?impl\b[^{;]*?\sfor\s[^{]*\{", "", text, flags=re.M),
                               re.M):
            name = kind.split("::")[-1]
            places = homes.get(name)
            if places and not any(path.parent == place or place in path.parents for place in places):
                found.append(f"{name} in {path.relative_to(src)}")
    return sorted(found)


# --- a crate -------------------------------------------------------------------------------------

def shape(crate):
    src = crate / "src"
    files = list(sources(src))
    code = "\n".join(text for _, text in files)
    edges = imports(src)
    names, visible = {}, {}
    for path, text in files:
        declared = r"^\s*(pub(?:\([^)]*\))?\s+)?(?:struct|enum|union|trait|type)\s+(\w+)"
        for public, name in re.findall(declared, text, re.M):
            names.setdefault(name, set()).add(path)
            if public:
                visible.setdefault(name, set()).add(path)
    knot = largest_knot(edges)
    return {
        "files": len(files),
        "longest file": max((len(path.read_text().splitlines()) for path, _ in files), default=0),
        "lines of code": sum(lines_of(text) for _, text in files),
        "lines of models": sum(lines_of(strip(path.read_text()))
                               for path in src.rglob("*.rs")
                               if is_model(path.relative_to(src))),
        "unsafe blocks": len(re.findall(r"\bunsafe\s*\{", code)),
        "unsafe impls": len(re.findall(r"\bunsafe\s+impl\b", code)),
        "unsafe functions": len(re.findall(r"\bunsafe\s+(?:extern\s+\S+\s+)?fn\s+\w", code)),
        "files with unsafe": sum(1 for _, text in files if re.search(r"\bunsafe\b", text)),
        "type names declared twice": sum(1 for places in names.values() if len(places) > 1),
        "of them visible outside their modules": sum(1 for places in visible.values()
                                                     if len(places) > 1),
        "largest knot of files": len(knot),
        "knots of folders": knots_of_folders(edges),
        "impl blocks outside the type's folder": strays(src, files),
    }


# --- what messages cost --------------------------------------------------------------------------

def count(command):
    """Instructions of a command, by callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        subprocess.run(["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={out}",
                        *command], check=True, stdout=subprocess.DEVNULL)
        text = out.read_text()
    return int(re.search(r"^(?:totals|summary): (\d+)", text, re.M)[1])


def instructions():
    if not shutil.which("valgrind"):
        return {"skipped": "valgrind is not installed"}
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "outside"
    found = {}
    profiles = {
        "default": {},
        "dist": {"CARGO_PROFILE_RELEASE_LTO": "fat", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1"},
    }
    # The same versions as in the workspace. Incremental builds have many more units: 1430 for 990.
    shutil.copy(ROOT / "Cargo.lock", HERE / "outside" / "Cargo.lock")
    for profile, settings in profiles.items():
        subprocess.run(["cargo", "build", "--quiet", "--release", "--target-dir", target / profile],
                       cwd=HERE / "outside", check=True,
                       env=os.environ | settings | {"CARGO_INCREMENTAL": "0"})
        program = target / profile / "release" / "outside"
        for name in ("pair", "pipeline"):
            few, many = 10_000, 30_000
            counts = [count([program, name, str(n)]) for n in (few, many)]
            found[f"{name}, {profile} profile"] = round((counts[1] - counts[0]) / (many - few), 1)
    return found


# --- what a new user compiles --------------------------------------------------------------------

def first_build(package):
    """A new crate that depends on a crate alone: crates, CPU seconds, and whether C is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "src").mkdir()
        (folder / "src" / "main.rs").write_text("fn main() {}\n")
        (folder / "Cargo.toml").write_text(
            '[package]\nname = "new"\nversion = "0.0.0"\nedition = "2024"\n'
            f'[dependencies]\n{package} = {{ path = "{ROOT / "crates" / package}" }}\n[workspace]\n')
        shutil.copy(ROOT / "Cargo.lock", folder / "Cargo.lock")
        subprocess.run(["cargo", "fetch", "--quiet"], cwd=folder, check=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["cargo", "build", "--quiet", "--target-dir", folder / "target"],
                       cwd=folder, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        tree = subprocess.run(["cargo", "tree", "--edges", "normal,build", "--prefix", "none"],
                              cwd=folder, check=True, capture_output=True, text=True).stdout
        crates = {line.split(" (")[0] for line in tree.splitlines() if line.strip()}
        seconds = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
        return {"crates": len(crates) - 1, "CPU seconds of a dev build": round(seconds, 1),
                "compiles C": any(crate.startswith("cc ") for crate in crates)}


# --- output --------------------------------------------------------------------------------------

def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--names", action="store_true")
    arguments.add_argument("--instructions", action="store_true")
    arguments.add_argument("--build", action="store_true")
    arguments.add_argument("--before", type=Path)
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    crates = sorted(path.parent for path in (ROOT / "crates").glob("*/Cargo.toml"))
    found = {"commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT,
                                      capture_output=True, text=True).stdout.strip(),
             "rustc": subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True,
                                     text=True).stdout.strip(),
             "crates": {crate.name: shape(crate) for crate in crates}}
    if given.names:
        libraries = [crate.name for crate in crates if (crate / "src" / "lib.rs").exists()]
        found["public names"] = surface.public_names(libraries)
    if given.instructions:
        found["instructions a message"] = instructions()
    if given.build:
        found["cargo add kahn"] = first_build("kahn")
        if (ROOT / "crates" / "kahn-csp").exists():
            found["cargo add kahn-csp"] = first_build("kahn-csp")
    (given.folder / "shape.json").write_text(json.dumps(found, indent=1) + "\n")
    text = table(found)
    if given.before:
        text += compared(json.loads(given.before.read_text()), found)
    (given.folder / "shape.md").write_text(text)


def shown(cell):
    if isinstance(cell, list):
        return "; ".join(cell) or "0"
    return "yes" if cell is True else "no" if cell is False else str(cell)


def table(found):
    crates = found["crates"]
    rows = list(next(iter(crates.values())))
    text = [f"The shape of the code at {found['commit']} ({found['rustc']}), by",
            "`ci/baseline/baseline.py`.", "",
            "| | " + " | ".join(crates) + " |", "|---|" + "---:|" * len(crates)]
    for row in rows:
        text.append(f"| {row} | " + " | ".join(shown(crate[row]) for crate in crates.values()) + " |")
    if names := found.get("public names"):
        cells = (str(len(names[crate])) if crate in names else "" for crate in crates)
        text.append("| public names | " + " | ".join(cells) + " |")
    for title, values in found.items():
        if title == "instructions a message" or title.startswith("cargo add"):
            text += ["", f"| {title} | |", "|---|---:|"]
            text += [f"| {name} | {shown(value)} |" for name, value in values.items()]
    return "\n".join(text) + "\n"


def compared(before, now):
    """What the crates of the runtime are together, before and now; and each measure of a user's."""
    def of(shape, row, together):
        cells = [shape["crates"][name].get(row) for name in RUNTIME if name in shape["crates"]]
        cells = [cell for cell in cells if cell is not None]
        if not cells:
            return "not counted"
        if isinstance(cells[0], list):
            return sum(len(cell) for cell in cells)
        return together(cells)

    def change(a, b):
        both = isinstance(a, (int, float)) and isinstance(b, (int, float)) and a
        return f"{100 * (b / a - 1):+.1f} %" if both and not isinstance(a, bool) else ""

    rows = [("crates of the workspace", len(before["crates"]), len(now["crates"]))]
    for row in next(iter(now["crates"].values())):
        together = max if row.startswith(("longest", "largest")) else sum
        rows.append((f"runtime: {row}", of(before, row, together), of(now, row, together)))
    for name in ("kahn", *sorted(set(now.get("public names", {})) - {"kahn"})):
        counts = [shape.get("public names", {}).get(name) for shape in (before, now)]
        if counts[1] is not None:
            rows.append((f"public names of {name}", len(counts[0] or []) or "", len(counts[1])))
    for title, values in now.items():
        if title == "instructions a message" or title.startswith("cargo add"):
            for name, value in values.items():
                rows.append((f"{title}: {name}", before.get(title, {}).get(name, ""), value))
    text = ["", f"| the runtime ({', '.join(RUNTIME)}) | {before['commit']} | {now['commit']} | |",
            "|---|---:|---:|---:|"]
    text += [f"| {row} | {shown(a)} | {shown(b)} | {change(a, b)} |" for row, a, b in rows]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
