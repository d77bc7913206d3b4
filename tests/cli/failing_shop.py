"""A small shop whose events fail: what the tests about that share."""

import json
import subprocess
import time

import onefold_cli
from onefold_cli import CONFIG, ShopTest


class FailuresTest(ShopTest):
    def configure(self, *lines, old="", new="", name="onefold.toml"):
        """The configuration, with lines in the consumer's table."""
        text = CONFIG.replace("batch_max = 50", "\n".join(["batch_max = 50", *lines]))
        (self.folder / name).write_text(text.replace(old, new) if old else text)

    def dead(self, *words):
        return json.loads(self.onefold("dead", "list", "-o", "json", *words)[0])

    def numbers(self, *words):
        return {row["event_id"]: str(row["id"]) for row in self.dead(*words)}

    def add_accounts(self, *accounts):
        with self.database() as database:
            database.executemany("INSERT INTO account VALUES (?, 0)",
                                 [(each,) for each in accounts])

    def rows(self, sql):
        with self.database() as database:
            return database.execute(sql).fetchall()

    def actions(self):
        return [action for (action,) in self.rows("SELECT action FROM onefold_audit ORDER BY id")]

    def running(self):
        """A process that applies events until it is stopped."""
        process = subprocess.Popen([onefold_cli.PROGRAM, "run"], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        lock = self.folder / "shop.db.onefold-lock"
        self.await_(lambda: lock.read_text().strip() == str(process.pid))
        return process

    def await_(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "it did not come to pass")
            time.sleep(0.05)
