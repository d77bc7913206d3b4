"""What the tests of the command line share: a small shop in a folder of its own."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""

CONFIG = """config_version = 1
[store]
url = "sqlite:shop.db"
[source.orders]
kind = "file"
path = "orders.jsonl"
format = "json"
identity = { id = "/id", source = "literal:shop", type = "/type" }
[consumer.billing]
sources = ["orders"]
batch_max = 50
[[consumer.billing.handler]]
name = "credit"
type = "payment.*"
version = 2
entity = "/account"
params.account = { at = "/account", type = "int64" }
params.amount = { at = "/amount", type = "int64" }
sql = [
  "INSERT INTO payment (id, account, amount) VALUES (:event_id, :account, :amount)",
  "UPDATE account SET balance = balance + :amount WHERE id = :account",
]
expect_rows = [1, 1]
"""

def payment(number, account=1, amount=5, **more):
    return {"id": f"evt {number}", "type": "payment.received", "account": account,
            "amount": amount, **more}


class ShopTest(unittest.TestCase):
    """A configuration, business tables, and a file of events."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onefold-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "onefold.toml").write_text(CONFIG)
        with self.database() as database:
            database.execute("CREATE TABLE payment (id TEXT PRIMARY KEY, "
                             "account INTEGER NOT NULL, amount INTEGER NOT NULL)")
            database.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, "
                             "balance INTEGER NOT NULL)")
            database.executemany("INSERT INTO account VALUES (?, 0)",
                                 [(number,) for number in range(10)])

    def database(self):
        return sqlite3.connect(self.folder / "shop.db")

    def write(self, *events, mode="w"):
        """Events as lines; text is written as it is."""
        with open(self.folder / "orders.jsonl", mode, encoding="utf-8",
                  errors="surrogateescape") as file:
            for event in events:
                file.write((event if isinstance(event, str) else json.dumps(event)) + "\n")

    def onefold(self, *words, code=0, **more):
        """Runs a command; returns (stdout, stderr)."""
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, check=False, **more)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout, done.stderr

    def run_once(self, *words, code=0):
        """One run until idle; returns its totals."""
        out, _ = self.onefold("run", "--migrate", "--until-idle", "-o", "json", *words, code=code)
        self.assertEqual(out.count("\n"), 1, out)
        return json.loads(out)

    def balances(self):
        with self.database() as database:
            return dict(database.execute("SELECT id, balance FROM account WHERE balance != 0"))


def main():
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(module="__main__")
