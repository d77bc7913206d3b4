#!/usr/bin/env python3
"""Runs an example as its reader would: run_and_compare.py PROGRAM EXAMPLE_FOLDER WORK_FOLDER.

In an empty folder with a database made from schema.sql and the example's events, the program is
run twice. What it prints, followed by the accounts, has to be expected_output.txt.
"""

import difflib
import pathlib
import shutil
import sqlite3
import subprocess
import sys


def main():
    program, example, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for events in example.glob("*.jsonl"):
        shutil.copy(events, work)
    database = sqlite3.connect(work / "shop.db")
    database.executescript((example / "schema.sql").read_text(encoding="utf-8"))
    database.close()

    printed = ""
    for _ in range(2):
        printed += subprocess.run(
            [program], cwd=work, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    database = sqlite3.connect(work / "shop.db")
    for row in database.execute("SELECT * FROM account ORDER BY id"):
        printed += "|".join(map(str, row)) + "\n"

    expected = (example / "expected_output.txt").read_text(encoding="utf-8")
    difference = difflib.unified_diff(
        expected.splitlines(), printed.splitlines(), "expected", "printed", lineterm=""
    )
    print("\n".join(difference))
    return 0 if printed == expected else 1


if __name__ == "__main__":
    sys.exit(main())
