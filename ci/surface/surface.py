#!/usr/bin/env python3
"""Checks what users of the crates see, by rustdoc's JSON.

    ci/surface/surface.py [--accept] [CRATE...]

| checked | against |
|---|---|
| every path by which an item can be named: hidden ones and re-exports count, a module of another crate as one | `names/CRATE.txt` beside this file, a line a name; and the most that `MOST` allows |
| that operations, constructors, types and traits have an example of their own | `without-example.txt`, a line each: the item, and why it has none |
| that the documentation of operations begins with a verb | |
| that nothing is hidden from the documentation | `hidden.txt`, as above |
| that the documentation of all crates, private items too, has no link that leads nowhere | what rustdoc warns of |

`--accept` writes `names/CRATE.txt` anew. Exits with 1 if something differs. Examples that are there
run as tests of the documentation; `# Panics` and `# Errors` are held by clippy.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
NAMES = HERE / "names"
# The most names that a crate may have. The lists of others are kept as well.
MOST = {"kahn": 92, "kahn-csp": 80}
# The crates whose users are users of the project, and the part of each that is theirs.
CRATES = {"kgz": (), "kahn": (), "kahn-command": (), "kahn-live": (), "kahn-csp": (), "kahn-report": (), "kahn-mapreduce": (),
          "kahn-derive": (), "kahn-policies": (), "kahn-observe": (), "kahn-net": (), "kahn-engine": ("policy",)}
NAMED = {"struct", "enum", "union", "trait", "trait_alias", "function", "type_alias", "constant",
         "static", "macro", "proc_macro", "proc_derive", "proc_attribute"}
TYPES = {"struct", "enum", "union", "trait", "macro", "proc_macro", "proc_derive", "proc_attribute"}


# --- rustdoc's JSON --------------------------------------------------------------------------------

def documents(packages):
    """What rustdoc knows of these packages, by the names of their libraries. The whole workspace is documented, with
    all that users can ask for, and private items, to which prose may point: a link that leads nowhere is an error."""
    environment = os.environ | {
        # It alone has the option: what it reads of other crates stays as the compiler has left it.
        "RUSTDOC": str(HERE / "rustdoc"),
        "RUSTDOCFLAGS": "-D warnings -A rustdoc::private-intra-doc-links -Z unstable-options --output-format json "
                        "--document-hidden-items"}
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    features = "kahn-cli/full,kahn/derive,kahn/json,kahn/wire,kahn/wire-raw"
    command = ["cargo", "doc", "--quiet", "--workspace", "--no-deps", "--document-private-items",
               "--features", features, "--target-dir", target]
    if subprocess.run(command, cwd=ROOT, env=environment).returncode:
        sys.exit(1)
    names = [package.replace("-", "_") for package in packages]
    return {name: json.loads((target / "doc" / f"{name}.json").read_text()) for name in names}


def kind_of(item):
    return next(iter(item["inner"]))


def module_at(document, path):
    """The module of a crate that stands at a path, crate's name first."""
    at = document["index"][str(document["root"])]
    for name in path[1:]:
        children = (document["index"].get(str(child)) for child in at["inner"]["module"]["items"])
        at = next(child for child in children
                  if child and child["name"] == name and kind_of(child) == "module")
    return at


def reachable(documents, crate, into_others=False):
    """Every item that can be named from outside of a crate: its path, and it with its crate if that is
    known. A module that is re-exported from another crate is one name, for its items are that crate's;
    `into_others` walks it."""
    found = {}

    def walk(document, module, path, seen):
        index = document["index"]
        for child in module["inner"]["module"]["items"]:
            child = index.get(str(child))
            if child is None or child["visibility"] != "public":
                continue
            kind = kind_of(child)
            if kind == "module":
                walk(document, child, path + (child["name"],), seen | {child["id"]})
            elif kind == "use":
                follow(document, child["inner"]["use"], path, seen)
            elif kind in NAMED:
                found[path + (child["name"],)] = (document, child)

    def follow(document, use, path, seen):
        target = document["index"].get(str(use["id"])) if use["id"] is not None else None
        inner = path if use["is_glob"] else path + (use["name"],)
        if target is not None:
            if kind_of(target) == "module":
                if target["id"] not in seen:
                    walk(document, target, inner, seen | {target["id"]})
            else:
                found[inner] = (document, target)
            return
        elsewhere = document["paths"].get(str(use["id"]))
        is_module = elsewhere and elsewhere["kind"] == "module"
        if into_others and is_module and elsewhere["path"][0] in documents:
            other = documents[elsewhere["path"][0]]
            walk(other, module_at(other, elsewhere["path"]), inner, frozenset())
        else:
            found.setdefault(inner, (document, None))

    document = documents[crate.replace("-", "_")]
    part = CRATES.get(crate, ()) if not into_others else ()
    walk(document, module_at(document, (crate, *part)), part, frozenset())
    return found


def public_names(packages):
    """Every path by which an item can be named from outside of a package, those in re-exported modules
    of others as well."""
    known = members()
    found = documents(sorted({below for package in packages for below in all_below(package, known)}))
    return {package: sorted("::".join(path) for path in reachable(found, package, into_others=True))
            for package in packages}


def members():
    return {path.parent.name: path.read_text() for path in (ROOT / "crates").glob("*/Cargo.toml")
            if (path.parent / "src" / "lib.rs").exists()}


def all_below(package, known):
    """A package, and those of the workspace that it depends on."""
    found, left = [], [package]
    while left:
        one = left.pop()
        if one in known and one not in found:
            found.append(one)
            dependencies = known[one].split("[dev-dependencies]")[0]
            left += re.findall(r"^(kahn[\w-]*)[ .=]", dependencies, re.M)
    return found


# --- documentation ---------------------------------------------------------------------------------

def operations(document, path, item):
    """An item, and the functions that belong to it, each with the path a user would write."""
    yield path, item
    inner = item["inner"][kind_of(item)]
    if kind_of(item) == "trait":
        for member in inner["items"]:
            member = document["index"][str(member)]
            if kind_of(member) == "function":
                yield path + (member["name"],), member
    elif kind_of(item) in ("struct", "enum", "union"):
        for block in inner["impls"]:
            block = document["index"].get(str(block))
            if block is None or block["inner"]["impl"]["trait"] is not None:
                continue
            for member in block["inner"]["impl"]["items"]:
                member = document["index"].get(str(member))
                if member and kind_of(member) == "function" and member["visibility"] == "public":
                    yield path + (member["name"],), member


def has_example(item):
    return bool(re.search(r"^ {0,3}```(?!text|console|json|dot|toml|sh)", item["docs"] or "", re.M))


def begins_with_a_verb(item):
    first = (item["docs"] or "").lstrip().split(" ", 1)[0].rstrip(",")
    return bool(re.fullmatch(r"[A-Z][a-z]*s", first)) and first not in ("This", "Its", "As")


def is_hidden(item):
    return any("doc(hidden)" in json.dumps(attribute) for attribute in item["attrs"])


def documentation(documents, crate):
    """What is amiss: items without example, without a verb, hidden ones. Each item where it is
    defined, under the first path that leads to it."""
    seen, without, verbless, hidden = set(), set(), set(), set()
    own = documents[crate.replace("-", "_")]
    for path, (document, item) in sorted(reachable(documents, crate).items()):
        if item is None or document is not own or item["id"] in seen:
            continue
        seen.add(item["id"])
        for path, member in operations(document, path, item):
            name = "::".join((crate.replace("-", "_"), *path))
            kind = kind_of(member)
            if is_hidden(member):
                hidden.add(name)
            if kind not in TYPES | {"function"}:
                continue
            if not has_example(member):
                without.add(name)
            if kind == "function" and not begins_with_a_verb(member):
                verbless.add(name)
    return without, verbless, hidden


# --- what it is compared with ----------------------------------------------------------------------

def exceptions(file):
    """Items, each with a reason behind two spaces at least."""
    found = {}
    for line in (HERE / file).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition("  ")
            found[name] = reason.strip()
    return found


def compare(title, found, allowed):
    """Says what is found and not allowed, and what is allowed and not found."""
    wrong = False
    for name in sorted(found - set(allowed)):
        print(f"{title}: {name}")
        wrong = True
    for name in sorted(set(allowed) - found):
        print(f"{title}: {name} is listed as an exception, and is none")
        wrong = True
    for name, reason in allowed.items():
        if not reason:
            print(f"{title}: {name} is an exception without a reason")
            wrong = True
    return wrong


def main():
    options = [word for word in sys.argv[1:] if word.startswith("-")]
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")]
    known = members()
    crates = [crate for crate in CRATES if crate in known and (not chosen or crate in chosen)]
    if set(options) - {"--accept"} or set(chosen) - set(crates):
        sys.exit(__doc__)
    packages = sorted({package for crate in crates for package in all_below(crate, known)})
    all_documents = documents(packages)
    wrong = False
    without, verbless, hidden = set(), set(), set()
    NAMES.mkdir(exist_ok=True)
    for crate in crates:
        names = sorted("::".join(path) for path in reachable(all_documents, crate))
        file = NAMES / f"{crate}.txt"
        more = 0 if CRATES[crate] else len(reachable(all_documents, crate, into_others=True)) - len(names)
        print(f"{crate}: {len(names)} names" + (f", and {more} in re-exported modules" if more else ""))
        if "--accept" in options:
            file.write_text("".join(f"{name}\n" for name in names))
        before = set(file.read_text().split()) if file.exists() else set()
        for name in sorted(set(names) - before):
            print(f"{crate}: `{name}` is new; `ci/surface/surface.py --accept` takes it in")
            wrong = True
        for name in sorted(before - set(names)):
            print(f"{crate}: `{name}` is gone; `ci/surface/surface.py --accept` drops it")
            wrong = True
        if len(names) > MOST.get(crate, len(names)):
            print(f"{crate}: {len(names)} names, at most {MOST[crate]} are allowed")
            wrong = True
        for all_of_them, more in zip((without, verbless, hidden), documentation(all_documents, crate)):
            all_of_them |= more
    prefixes = tuple(crate.replace("-", "_") + "::" for crate in crates)
    for title, found, file in (("without example", without, "without-example.txt"),
                               ("hidden", hidden, "hidden.txt")):
        allowed = {name: why for name, why in exceptions(file).items() if name.startswith(prefixes)}
        wrong |= compare(title, found, allowed)
    wrong |= compare("begins with no verb", verbless, {})
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
