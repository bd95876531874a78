#!/usr/bin/env python3
"""Measures the shape of the code, and writes it as a table and as JSON.

    ci/baseline/baseline.py FOLDER [--names] [--instructions] [--build]

Always counts crates, files, lines of code, unsafe code, types of one name and the largest knot of
imports of each crate. `--names` counts public names by rustdoc's JSON, `--instructions` counts what
messages cost in the workspace's profile and in a crate outside of it (valgrind), `--build` times
`cargo add kahn` in a new crate. Writes FOLDER/shape.json and FOLDER/shape.md.

A line of code is one with something besides a comment on it, outside of models and of what is
compiled for tests only.
"""

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
NAMED = {"struct", "enum", "union", "trait", "trait_alias", "function", "type_alias", "constant",
         "static", "macro", "proc_macro"}


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


def sources(folder):
    """The Rust files below a folder that run in a program, with their code."""
    for path in sorted(folder.rglob("*.rs")):
        if "models" not in path.parts and "target" not in path.parts:
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


def folders(edges):
    """The same between folders: a file belongs to the first part of its path."""
    found = {}
    for module, used in edges.items():
        if module:
            found.setdefault(module[0], set()).update(
                peer[0] for peer in used if peer and peer[0] != module[0])
    return found


# --- a crate -------------------------------------------------------------------------------------

def shape(crate):
    src = crate / "src"
    files = list(sources(src))
    code = "\n".join(text for _, text in files)
    edges = imports(src)
    names = {}
    for path, text in files:
        for name in re.findall(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|union|trait|type)\s+(\w+)",
                               text, re.M):
            names.setdefault(name, set()).add(str(path.relative_to(src)))
    knot, folder_knot = largest_knot(edges), largest_knot(folders(edges))
    return {
        "files": len(files),
        "longest file": max((len(path.read_text().splitlines()) for path, _ in files), default=0),
        "lines of code": sum(lines_of(text) for _, text in files),
        "lines of models": sum(lines_of(strip(path.read_text()))
                               for path in src.rglob("*.rs") if "models" in path.parts),
        "unsafe blocks": len(re.findall(r"\bunsafe\s*\{", code)),
        "unsafe impls": len(re.findall(r"\bunsafe\s+impl\b", code)),
        "unsafe functions": len(re.findall(r"\bunsafe\s+(?:extern\s+\S+\s+)?fn\s+\w", code)),
        "files with unsafe": sum(1 for _, text in files if re.search(r"\bunsafe\b", text)),
        "type names declared twice": sum(1 for places in names.values() if len(places) > 1),
        "largest knot of files": len(knot),
        "largest knot of folders": sorted(folder_knot),
    }


# --- public names --------------------------------------------------------------------------------

def public_names(package):
    """Every path by which an item can be named from outside; hidden ones and re-exports count."""
    environment = os.environ | {
        "RUSTC_BOOTSTRAP": "1",
        "RUSTDOCFLAGS": "-Z unstable-options --output-format json --document-hidden-items"}
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "names"
    subprocess.run(["cargo", "doc", "--quiet", "--no-deps", "-p", package, "--target-dir", target],
                   cwd=ROOT, env=environment, check=True)
    doc = json.loads((target / "doc" / (package.replace("-", "_") + ".json")).read_text())
    found, index = {}, doc["index"]

    def walk(item, path, seen):
        for child in item["inner"]["module"]["items"]:
            child = index.get(str(child))
            if child is None or child["visibility"] != "public":
                continue
            kind = next(iter(child["inner"]))
            name = child["name"]
            if kind == "use":
                use = child["inner"]["use"]
                target = index.get(str(use["id"])) if use["id"] is not None else None
                name = use["name"]
                if target is None:
                    found[path + (name,)] = "use"
                elif next(iter(target["inner"])) == "module":
                    if target["id"] not in seen:
                        inner = path if use["is_glob"] else path + (name,)
                        walk(target, inner, seen | {target["id"]})
                else:
                    found[path + (name,)] = next(iter(target["inner"]))
            elif kind == "module":
                walk(child, path + (name,), seen | {child["id"]})
            elif kind in NAMED:
                found[path + (name,)] = kind

    walk(index[str(doc["root"])], (), frozenset())
    return sorted("::".join(path) for path in found)


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
        "workspace": {"CARGO_PROFILE_RELEASE_LTO": "fat", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1"},
    }
    # The same versions as in the workspace.
    shutil.copy(ROOT / "Cargo.lock", HERE / "outside" / "Cargo.lock")
    for profile, settings in profiles.items():
        subprocess.run(["cargo", "build", "--quiet", "--release", "--target-dir", target / profile],
                       cwd=HERE / "outside", env=os.environ | settings, check=True)
        program = target / profile / "release" / "outside"
        for name in ("pair", "pipeline"):
            few, many = 10_000, 30_000
            counts = [count([program, name, str(n)]) for n in (few, many)]
            found[f"{name}, {profile} profile"] = round((counts[1] - counts[0]) / (many - few), 1)
    return found


# --- what a new user compiles --------------------------------------------------------------------

def first_build():
    """A new crate that depends on `kahn` alone: crates, CPU seconds, and whether C is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "src").mkdir()
        (folder / "src" / "main.rs").write_text("fn main() {}\n")
        (folder / "Cargo.toml").write_text(
            '[package]\nname = "new"\nversion = "0.0.0"\nedition = "2024"\n'
            f'[dependencies]\nkahn = {{ path = "{ROOT / "crates" / "kahn"}" }}\n[workspace]\n')
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
    options = set(sys.argv[1:])
    wanted = {"--names", "--instructions", "--build"}
    folders_given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if len(folders_given) != 1 or not options - set(folders_given) <= wanted:
        sys.exit(__doc__)
    out = Path(folders_given[0])
    out.mkdir(parents=True, exist_ok=True)
    crates = sorted(path.parent for path in (ROOT / "crates").glob("*/Cargo.toml"))
    found = {"commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT,
                                      capture_output=True, text=True).stdout.strip(),
             "rustc": subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True,
                                     text=True).stdout.strip(),
             "crates": {crate.name: shape(crate) for crate in crates}}
    if "--names" in options:
        libraries = [crate.name for crate in crates if (crate / "src" / "lib.rs").exists()]
        found["public names"] = {name: public_names(name) for name in libraries}
    if "--instructions" in options:
        found["instructions a message"] = instructions()
    if "--build" in options:
        found["cargo add kahn"] = first_build()
    (out / "shape.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "shape.md").write_text(table(found))


def table(found):
    crates = found["crates"]
    rows = list(next(iter(crates.values())))
    text = [f"The shape of the code at {found['commit']} ({found['rustc']}), by",
            "`ci/baseline/baseline.py`.", "",
            "| | " + " | ".join(crates) + " |", "|---|" + "---:|" * len(crates)]
    for row in rows:
        cells = (crate[row] for crate in crates.values())
        shown = (", ".join(cell) or "0" if isinstance(cell, list) else str(cell) for cell in cells)
        text.append(f"| {row} | " + " | ".join(shown) + " |")
    if names := found.get("public names"):
        cells = (str(len(names[crate])) if crate in names else "" for crate in crates)
        text.append("| public names | " + " | ".join(cells) + " |")
    for title in ("instructions a message", "cargo add kahn"):
        if values := found.get(title):
            text += ["", f"| {title} | |", "|---|---:|"]
            text += [f"| {name} | {value} |" for name, value in values.items()]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
