#!/usr/bin/env python3
"""Has ordinary tests look for each planted bug: find.py BUGS PROGRAM

Prints which test finds each first. Exits with 1 if one survives, or if the tests fail without any.
"""
import os
import pathlib
import re
import subprocess
import sys
import tomllib

SECONDS_MAX = 20  # A bug that never comes to an end is found too.


def first_failure(program, bug):
    """The first test that fails with the bug switched on; empty if none does."""
    environment = {**os.environ, "ONEFOLD_PLANTED": bug, "RC_PARAMS": "seed=1 max_shrinks=0"}
    if not bug:
        del environment["ONEFOLD_PLANTED"]
    command = [program, "--gtest_fail_fast", "--gtest_brief=0"]
    try:
        result = subprocess.run(command, env=environment, capture_output=True, text=True,
                                errors="replace", timeout=SECONDS_MAX, check=False)
        output, ended = result.stdout, result.returncode
    except subprocess.TimeoutExpired as expired:
        output, ended = (expired.stdout or b"").decode(errors="replace"), "no end"
    if ended == 0:
        return ""
    failed = re.findall(r"\[  FAILED  \] (\S+?),? ", output) or re.findall(
        r"\[ RUN      \] (\S+)", output)[-1:]
    how = "" if ended == 1 else f" ({ended})"
    return (failed[0] if failed else "before any test") + how


def main():
    description, program = sys.argv[1:]
    bugs = tomllib.loads(pathlib.Path(description).read_text(encoding="utf-8"))["bug"]
    if failed := first_failure(program, ""):
        sys.exit(f"without any bug: {failed} fails")
    survivors = 0
    for bug in bugs:
        found = first_failure(program, bug["name"])
        survivors += not found
        print(f"{bug['name']:42} {found or 'SURVIVES: ' + bug['why']}", flush=True)
    print(f"{len(bugs)} bugs, {survivors} of them found by no test")
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
