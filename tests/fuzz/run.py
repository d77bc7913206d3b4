#!/usr/bin/env python3
"""Runs libFuzzer programs of a build for a while, side by side:
run.py BUILD SECONDS [JOBS [TARGET...]]; without targets all of them.

Each starts from its committed corpus and from what earlier runs in this build have found. Ends with
1 if one of them found something; the input is kept, and how to run it again is printed.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = {  # The longest input that is worth trying.
    "json": 4096,
    "cloudevents": 4096,
    "config": 8192,
    "sql": 1024,
    "splitter": 512,
}
INPUT_SECONDS_MAX = 10
MEMORY_MEGABYTES_MAX = 1024


def fuzz(build, target, seconds):
    """Returns the exit code and the output."""
    program = build / "tests" / "fuzz" / f"fuzz_{target}"
    found = build / "fuzz" / target
    found.mkdir(parents=True, exist_ok=True)
    dictionary = HERE / f"{target}.dict"
    command = [
        program,
        f"-max_total_time={seconds}",
        f"-max_len={TARGETS[target]}",
        f"-timeout={INPUT_SECONDS_MAX}",
        f"-rss_limit_mb={MEMORY_MEGABYTES_MAX}",
        f"-artifact_prefix={build / 'fuzz' / target}-",
        "-print_final_stats=1",
        *([f"-dict={dictionary}"] if dictionary.exists() else []),
        found,
        HERE / "corpus" / target,
    ]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stderr


def summary(output):
    """What libFuzzer says at its end, in few words."""
    runs = re.search(r"stat::number_of_executed_units: (\d+)", output)
    edges = re.findall(r"\bcov: (\d+)", output)
    return f"{int(runs[1]):,} inputs, {edges[-1]} edges" if runs and edges else "did not run"


def main():
    if len(sys.argv) < 3 or not set(sys.argv[4:]) <= set(TARGETS):
        sys.exit(__doc__)
    build, seconds = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    targets = sys.argv[4:] or list(TARGETS)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda target: fuzz(build, target, seconds), targets)
        for target, (code, output) in zip(targets, results):
            verdict = "ok" if code == 0 else "FAILED"
            print(f"fuzz {target}: {verdict}, {summary(output)}", flush=True)
            if code != 0:
                failed = True
                print("\n".join(output.splitlines()[-60:]))
                print(f"To run it again: build/fuzz/tests/fuzz/fuzz_{target} FILE, with the file "
                      "that is named above. Once it is mended, add the file to "
                      f"tests/fuzz/corpus/{target}.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
