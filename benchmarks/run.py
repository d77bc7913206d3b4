#!/usr/bin/env python3
"""Runs the benchmarks of a release build: run.py BUILD_FOLDER [NAME...].

Trust ratios of one run more than absolute figures of two: those depend on the machine and on what
else it does.
"""

import pathlib
import subprocess
import sys


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: run.py BUILD_FOLDER [NAME...]")
    folder = pathlib.Path(sys.argv[1]).resolve() / "benchmarks"
    names = sys.argv[2:] or sorted(path.name for path in folder.glob("*_benchmark"))
    if not names:
        sys.exit(f"run.py: no benchmarks in {folder}: build them with ./dev bench")
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        work = folder / "work" / name
        work.mkdir(parents=True, exist_ok=True)
        options = [] if name == "bank_benchmark" else ["--benchmark_counters_tabular=true"]
        if subprocess.run([folder / name, *options], cwd=work, check=False).returncode != 0:
            failed.append(name)
    if failed:
        sys.exit(f"run.py: failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
