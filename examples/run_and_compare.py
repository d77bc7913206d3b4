#!/usr/bin/env python3
"""Runs an example as its reader would.

Usage: run_and_compare.py DATABASE PROGRAM EXAMPLE_FOLDER WORK_FOLDER

In an empty folder with a database made from schema.sql and the example's events, the program is
run twice. What it prints, followed by the accounts, has to be expected_output.txt.

DATABASE is sqlite, or postgres: a new one on the server that ONEFOLD_TEST_POSTGRES names, whose
address the program gets as its argument.
"""

import difflib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import urllib.parse
import uuid

SKIPPED = 77
ACCOUNTS = "SELECT * FROM account ORDER BY id"


class SqliteShop:
    arguments = []

    def __init__(self, work):
        self.database = sqlite3.connect(work / "shop.db")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.database.close()

    def create(self, schema):
        self.database.executescript(schema)

    def accounts(self):
        return "".join("|".join(map(str, row)) + "\n" for row in self.database.execute(ACCOUNTS))


class PostgresShop:
    def __init__(self, server):
        self.server = server
        self.name = "example_" + uuid.uuid4().hex[:12]
        parts = urllib.parse.urlsplit(server)
        self.arguments = [urllib.parse.urlunsplit(parts._replace(path="/" + self.name))]

    def __enter__(self):
        self.psql(self.server, f"CREATE DATABASE {self.name}")
        return self

    def __exit__(self, *_):
        self.psql(self.server, f"DROP DATABASE {self.name} WITH (FORCE)")

    def psql(self, address, text):
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", address]
        return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True,
                              check=True).stdout

    def create(self, schema):
        self.psql(*self.arguments, schema)

    def accounts(self):
        return self.psql(*self.arguments, ACCOUNTS)


def main():
    database = sys.argv[1]
    program, example, work = (pathlib.Path(argument).resolve() for argument in sys.argv[2:5])
    server = os.environ.get("ONEFOLD_TEST_POSTGRES")
    if database == "postgres" and not server:
        print("ONEFOLD_TEST_POSTGRES says of no server")
        return 1 if os.environ.get("ONEFOLD_REQUIRE_SERVERS") else SKIPPED
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for events in example.glob("*.jsonl"):
        shutil.copy(events, work)

    with PostgresShop(server) if database == "postgres" else SqliteShop(work) as shop:
        shop.create((example / "schema.sql").read_text(encoding="utf-8"))
        printed = ""
        for _ in range(2):
            printed += subprocess.run([program, *shop.arguments], cwd=work, text=True, check=True,
                                      stdout=subprocess.PIPE).stdout
        printed += shop.accounts()

    expected = (example / "expected_output.txt").read_text(encoding="utf-8")
    difference = difflib.unified_diff(
        expected.splitlines(), printed.splitlines(), "expected", "printed", lineterm=""
    )
    print("\n".join(difference))
    return 0 if printed == expected else 1


if __name__ == "__main__":
    sys.exit(main())
