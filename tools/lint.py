#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build: lint.py BUILD_FOLDER [--tests]. Exits with 1 on a
finding. Tests, which are half of the sources, are looked at only with --tests.

clang-tidy comes from PyPI, in one version for everybody: since 22 it leaves the headers of the
system alone, which makes it three times as fast as what Debian has.

A source is not checked again while it, everything that it includes, its flags, .clang-tidy and
clang-tidy itself stay the same. What it includes is taken from the build, so build first.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "lint"
VERSION = "23.1.4"
FOLDERS = ("onefold", "tests", "examples", "benchmarks")


def included_by_object(build):
    """What ninja knows: object → the files that went into it."""
    text = subprocess.run(
        ["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True
    ).stdout
    result = {}
    for block in text.split("\n\n"):
        head, *files = block.splitlines() or [""]
        if "(VALID)" in head:
            result[head.split(":")[0]] = [file.strip() for file in files]
    return result


class Fingerprints:
    """Digests of files: ours by their bytes, the system's by size and time."""

    def __init__(self, build):
        self.build = build
        self.known = {}

    def of(self, file):
        if file not in self.known:
            path = (self.build / file).resolve()
            if path.is_relative_to(ROOT):
                self.known[file] = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                status = path.stat()
                self.known[file] = f"{path} {status.st_size} {status.st_mtime_ns}"
        return self.known[file]


def sources(build):
    """(file, digest of everything that the verdict depends on, or None if that is unknown)"""
    always = VERSION + (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    included = included_by_object(build)
    fingerprints = Fingerprints(build)
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = pathlib.Path(entry["file"])
        if file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] in FOLDERS:
            files = included.get(re.search(r" -o (\S+)", entry["command"])[1])
            digest = None
            if files:
                parts = [always, entry["command"], *map(fingerprints.of, files)]
                digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
            yield file, digest


def is_test(file):
    return "tests" in file.parts or "test" in file.stem.split("_")


def clang_tidy():
    """The program, installed when it is needed for the first time."""
    folder = CACHE / f"clang-tidy-{VERSION}"
    tool = folder / "bin" / "clang-tidy"
    if not tool.exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
        if subprocess.run([*pip, f"clang-tidy=={VERSION}"], check=False).returncode != 0:
            sys.exit(f"lint: cannot install clang-tidy {VERSION} from PyPI")
    return tool


def check(tool, build, file, digest):
    """Whether the file is clean; says what is not."""
    command = [tool, "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option"]
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        if digest:
            (CACHE / digest).touch()
        return True
    print(f"== {file.relative_to(ROOT)}\n{done.stdout}{done.stderr}", flush=True)
    return False


def main():
    if len(sys.argv) != 2 and sys.argv[2:] != ["--tests"]:
        sys.exit("usage: lint.py BUILD_FOLDER [--tests]")
    build = pathlib.Path(sys.argv[1]).resolve()
    CACHE.mkdir(parents=True, exist_ok=True)
    todo = [one for one in sources(build) if len(sys.argv) > 2 or not is_test(one[0])]
    fresh = [(f, d) for f, d in todo if d is None or not (CACHE / d).exists()]
    tool = clang_tidy()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = list(pool.map(lambda one: check(tool, build, *one), fresh)).count(False)
    print(f"lint: {len(todo)} sources, {len(todo) - len(fresh)} unchanged, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
