#!/usr/bin/env python3
"""Checks the job files of `docs/ranks`: what runs networks on clusters.

    ci/manifests.py

| file | checked |
|---|---|
| `*.sbatch` | `bash -n`, `shellcheck` if it is there; that its options stand before the first command; that it asks for ranks, cores and time |
| `*.yaml` | that it is YAML, an MPIJob of v2beta1 with a launcher and workers, as many ranks as slots, and one image |

Needs the package `yaml` of Python, and says so where it is missing. Exits with 1 if something is wrong.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "ranks"


def wrong_with_batch(path):
    """What is wrong with a batch file of Slurm."""
    for command in (["bash", "-n"], ["shellcheck"]):
        if shutil.which(command[0]):
            ran = subprocess.run([*command, path], capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                yield ran.stdout + ran.stderr
    has_begun, options = False, set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#SBATCH"):
            # Slurm reads none behind the first command.
            if has_begun:
                yield f"line {number}: an option behind the first command"
            options.add(re.split(r"[ =]", line.removeprefix("#SBATCH ").strip())[0])
        elif line and not line.startswith("#"):
            has_begun = True
    for option in ("--nodes", "--ntasks-per-node", "--cpus-per-task", "--time"):
        if option not in options:
            yield f"asks for no {option}"


def wrong_with_job(job):
    """What is wrong with a job of the MPI operator."""
    if (job.get("apiVersion"), job.get("kind")) != ("kubeflow.org/v2beta1", "MPIJob"):
        yield "is no MPIJob of kubeflow.org/v2beta1"
        return
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", job.get("metadata", {}).get("name", "")):
        yield "has no name of small letters, digits and `-`"
    spec = job.get("spec", {})
    replicas = spec.get("mpiReplicaSpecs", {})
    if set(replicas) != {"Launcher", "Worker"}:
        yield f"has {sorted(replicas)} in place of a Launcher and Workers"
        return
    images = set()
    for name, replica in replicas.items():
        containers = replica.get("template", {}).get("spec", {}).get("containers", [])
        if not containers:
            yield f"{name} has no container"
        for container in containers:
            images.add(container.get("image"))
            for field in ("name", "image", "command"):
                if not container.get(field):
                    yield f"a container of {name} has no {field}"
            if not all(isinstance(word, str) for word in container.get("args", [])):
                yield f"an argument of {name} is no text: put it into quotes"
            volumes = {one["name"] for one in replica["template"]["spec"].get("volumes", [])}
            mounted = {one["name"] for one in container.get("volumeMounts", [])}
            if not mounted <= volumes:
                yield f"{name} mounts what it does not have: {sorted(mounted - volumes)}"
    if len(images) != 1:
        yield f"has several images, and all ranks run one program: {sorted(map(str, images))}"
    if replicas["Launcher"].get("replicas") != 1:
        yield "has not one launcher"
    slots = spec.get("slotsPerWorker", 1) * replicas["Worker"].get("replicas", 0)
    launcher = replicas["Launcher"]["template"]["spec"]["containers"][0]
    typed = launcher.get("command", []) + launcher.get("args", [])
    ranks = typed[typed.index("-n") + 1] if "-n" in typed[:-1] else None
    if ranks != str(slots):
        yield f"starts {ranks} ranks on {slots} slots"


def wrong_with(path):
    """What is wrong with a job file."""
    if path.suffix == ".sbatch":
        yield from wrong_with_batch(path)
        return
    import yaml
    try:
        job = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        yield str(error)
        return
    yield from wrong_with_job(job)


def notices():
    """Whether what is wrong is noticed: each of these changes the good job in one place."""
    import yaml
    good = (FOLDER / "wordcount-mpijob.yaml").read_text()
    for old, new in (("v2beta1\nkind", "v1\nkind"), ('"4"\n                - /usr', '"5"\n                - /usr'),
                     ("    Worker:", "    Workers:"), ('- "3"', "- 3"), ("- name: texts\n                  mountPath", "- name: more\n                  mountPath")):
        assert old in good, old
        if not list(wrong_with_job(yaml.safe_load(good.replace(old, new)))):
            yield f"{old!r} as {new!r} is not noticed"


def main():
    files = sorted(path for path in FOLDER.iterdir() if path.suffix in (".sbatch", ".yaml"))
    try:
        import yaml  # noqa: F401
    except ImportError:
        print("manifests: Python has no package `yaml`: only batch files are checked")
        files = [path for path in files if path.suffix == ".sbatch"]
    wrong = [f"{path.name}: {what}" for path in files for what in wrong_with(path)]
    if any(path.suffix == ".yaml" for path in files):
        wrong.extend(notices())
    print("\n".join(wrong) if wrong else f"manifests: {len(files)} files are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
