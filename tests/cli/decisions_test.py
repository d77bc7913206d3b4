"""What a person decides about events that were set aside: decisions_test.py PROGRAM."""

import json
import os
import pty
import sqlite3
import subprocess

import onefold_cli
from onefold_cli import CONFIG, ShopTest, payment


class DecisionsTest(ShopTest):
    def setUp(self):
        super().setUp()
        self.write(payment(1), payment(1, amount=6), payment(1, amount=6), payment(2, account=77),
                   payment(3, account=None), "\udcff\udcfe not json", '{"id":"evt 9"}')
        self.run_once()

    def dead(self, *words):
        return json.loads(self.onefold("dead", "list", "-o", "json", *words)[0])

    def audit(self):
        with self.database() as database:
            return database.execute("SELECT who, action, detail FROM onefold_audit").fetchall()

    def waiting(self):
        with self.database() as database:
            return database.execute(
                "SELECT count(*) FROM onefold_inbox WHERE waiting = 1").fetchone()[0]


class Discard(DecisionsTest):
    def test_one(self):
        before = self.dead()
        number = str(before[1]["id"])
        out, err = self.onefold("dead", "discard", number, "--reason", "a test order")
        self.assertEqual(out, "discarded 1 event\n")
        self.assertEqual(err, "")
        self.assertEqual(self.dead(), [row for row in before if str(row["id"]) != number])
        (who, action, detail), = self.audit()
        self.assertIn("@", who)
        self.assertEqual(action, "discard")
        self.assertIn("reason: a test order\n", detail)
        self.assertIn(f"key: {before[1]['key']}\n", detail)
        # It stays claimed: a redelivery does nothing.
        self.write(payment(2, account=77), mode="a")
        self.assertEqual(self.run_once()["duplicate"], 1)

    def test_what_somebody_else_has_settled_is_said(self):
        number = str(self.dead()[0]["id"])
        self.onefold("dead", "discard", number, "--reason", "one")
        rows, audit, waiting = self.dead(), self.audit(), self.waiting()
        out, err = self.onefold("dead", "discard", number, "--reason", "two", code=1)
        self.assertEqual(out, "discarded 0 events\n")
        self.assertIn("somebody has settled it meanwhile", err)
        self.assertEqual((self.dead(), self.audit(), self.waiting()), (rows, audit, waiting))
        out, _ = self.onefold("dead", "discard", number, "777", "--yes", "--reason", "x",
                              "-o", "json", code=1)
        self.assertEqual(json.loads(out),
                         {"discarded": 0, "gone": [int(number), 777], "dry_run": False})

    def test_several_need_a_yes(self):
        rows = self.dead()
        _, err = self.onefold("dead", "discard", "--all", "--reason", "x", code=64)
        self.assertIn("discard 5 events? That needs --yes where nobody can be asked", err)
        self.assertEqual(self.dead(), rows)
        out, _ = self.onefold("dead", "discard", "--all", "--reason", "x", "--dry-run")
        self.assertEqual(out, "would discard 5 events\n")
        self.assertEqual(self.dead(), rows)
        self.assertEqual(self.audit(), [])
        out, _ = self.onefold("dead", "discard", "--all", "--reason", "x", "--yes")
        self.assertEqual(out, "discarded 5 events\n")
        self.assertEqual(self.dead(), [])
        self.assertEqual(len(self.audit()), 5)
        self.assertEqual(self.waiting(), 0)

    def on_a_terminal(self, answer, code):
        """Runs discard --all where a person sits, and answers."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([onefold_cli.PROGRAM, "dead", "discard", "--all", "--reason",
                                    "x"], cwd=self.folder, stdin=theirs, stderr=theirs,
                                   stdout=subprocess.PIPE)
        os.close(theirs)
        os.write(ours, answer)
        self.assertEqual(process.wait(timeout=60), code)
        process.stdout.close()
        os.close(ours)

    def test_a_person_is_asked(self):
        self.on_a_terminal(b"n\n", 1)
        self.on_a_terminal(b"\n", 1)
        self.assertEqual(len(self.dead()), 5)
        self.on_a_terminal(b"y\n", 0)
        self.assertEqual(self.dead(), [])

    def test_filters_choose(self):
        self.onefold("dead", "discard", "--all", "--kind", "conflict", "--reason", "x")
        self.assertEqual({row["kind"] for row in self.dead()}, {"dead"})
        self.assertEqual(len(self.dead()), 4)
        self.assertEqual(self.waiting(), 4)
        out, _ = self.onefold("dead", "discard", "--all", "--since", "2099-01-01T00:00:00Z",
                              "--reason", "x")
        self.assertEqual(out, "discarded 0 events\n")

    def test_a_reason_is_needed(self):
        for words in ([], ["--reason", ""], ["--reason", " "]):
            _, err = self.onefold("dead", "discard", "1", *words, code=64)
            self.assertIn("reason", err)
        self.onefold("dead", "discard", "--reason", "x", code=64)
        self.onefold("dead", "discard", "1", "--all", "--reason", "x", code=64)
        self.assertEqual(len(self.dead()), 5)


class Transfer(DecisionsTest):
    def export(self, *words, config="onefold.toml"):
        done = subprocess.run([onefold_cli.PROGRAM, "dead", "export", "-c", config, *words],
                              cwd=self.folder, capture_output=True, timeout=60, check=True)
        return done.stdout

    def other(self, name="other"):
        """Another database, of which nobody knows anything yet."""
        (self.folder / f"{name}.toml").write_text(CONFIG.replace("shop.db", f"{name}.db"))
        self.onefold("migrate", "-c", f"{name}.toml")
        return f"{name}.toml"

    def test_every_byte_comes_back_in_another_database(self):
        exported = self.export()
        self.assertEqual(len(exported.splitlines()), 6)
        (self.folder / "dead.jsonl").write_bytes(exported)
        other = self.other()
        out, _ = self.onefold("dead", "import", "dead.jsonl", "-c", other, "--dry-run")
        self.assertEqual(out, "would import 5 events\n")
        self.assertEqual(self.export(config=other).count(b"\n"), 1)
        out, _ = self.onefold("dead", "import", "dead.jsonl", "-c", other)
        self.assertEqual(out, "imported 5 events\n")
        self.assertEqual(self.export(config=other), exported)
        drop = lambda rows: [{**row, "id": 0, "key": row["key"].partition(":")[2]} for row in rows]
        theirs = json.loads(self.onefold("dead", "list", "-o", "json", "--raw", "-c", other)[0])
        self.assertEqual(drop(theirs), drop(self.dead("--raw")))
        out, _ = self.onefold("dead", "import", "dead.jsonl", "-c", other)
        self.assertEqual(out, "imported 0 events; 5 were known already and skipped\n")
        # What was dead there is a duplicate here: the claims came along.
        with self.database() as database:
            schema = [row[0] for row in database.execute(
                "SELECT sql FROM sqlite_schema WHERE tbl_name IN ('payment', 'account') "
                "AND sql IS NOT NULL")]
        with sqlite3.connect(self.folder / "other.db") as database:
            for each in schema:
                database.execute(each)
            database.execute("INSERT INTO account VALUES (1, 0)")
        totals = json.loads(self.onefold("run", "-c", other, "--until-idle", "-o", "json")[0])
        self.assertEqual(totals["applied"], 1)
        self.assertEqual(totals["duplicate"], 4)
        self.assertEqual(totals["dead"], 0)

    def test_through_a_pipe_with_a_reason(self):
        other = self.other()
        self.onefold("dead", "import", "-", "-c", other, "--reason", "moved",
                     input=self.export().decode())
        with sqlite3.connect(self.folder / "other.db") as database:
            rows = database.execute("SELECT action, detail FROM onefold_audit").fetchall()
        self.assertEqual({action for action, _ in rows}, {"import"})
        self.assertTrue(all("reason: moved\n" in detail for _, detail in rows))

    def test_a_lost_row_comes_back_and_a_discarded_one_does_not(self):
        (self.folder / "dead.jsonl").write_bytes(self.export())
        conflict = next(row for row in self.dead() if row["kind"] == "conflict")
        dead = next(row for row in self.dead() if row["kind"] == "dead")
        self.onefold("dead", "discard", str(conflict["id"]), str(dead["id"]), "--yes", "--reason",
                     "x")
        out, _ = self.onefold("dead", "import", "dead.jsonl", "-o", "json")
        self.assertEqual(json.loads(out), {"imported": 1, "known": 4, "dry_run": False})
        self.assertEqual({row["event_id"] for row in self.dead() if row["kind"] == "conflict"},
                         {"evt 1"})

    def test_a_broken_file_says_where_and_keeps_what_came_before(self):
        lines = self.export().splitlines(keepends=True)
        (self.folder / "dead.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:100])
        other = self.other()
        out, err = self.onefold("dead", "import", "dead.jsonl", "-c", other, code=65)
        self.assertEqual(out, "imported 2 events\n")
        self.assertIn("dead.jsonl:4: it is not JSON, or not all of it is there", err)
        for text, words in ((b"", "it is empty"),
                            (b"{}\n", "does not begin as onefold dead export"),
                            (lines[0] + b"{}\n", "a member is missing")):
            (self.folder / "dead.jsonl").write_bytes(text)
            _, err = self.onefold("dead", "import", "dead.jsonl", "-c", other, code=65)
            self.assertIn(words, err)
        _, err = self.onefold("dead", "import", "none.jsonl", code=65)
        self.assertIn("No such file", err)

    def test_nonsense_is_refused_and_not_imported(self):
        lines = self.export().splitlines(keepends=True)
        dead = next(i for i, line in enumerate(lines) if b'"kind":"dead"' in line)
        good = json.loads(lines[dead])
        other = self.other()
        claim = {**good["keys"][0]["claim"], "outcome": "applied"}
        for change in ({"attempts": -1}, {"count": 1e300}, {"handler": "a\x1bb"},
                       {"keys": [{**good["keys"][0], "form": "none"}]},
                       {"keys": [{**good["keys"][0], "claim": claim}]},
                       {"keys": good["keys"] * 2}):
            (self.folder / "dead.jsonl").write_bytes(
                lines[0] + json.dumps({**good, **change}).encode() + b"\n")
            out, err = self.onefold("dead", "import", "dead.jsonl", "-c", other, code=65)
            self.assertEqual(out, "imported 0 events\n")
            self.assertIn("dead.jsonl:2: ", err)
            self.assertEqual(self.export(config=other).count(b"\n"), 1)
        (self.folder / "dead.jsonl").write_bytes(lines[0] + lines[dead] * 2)
        out, err = self.onefold("dead", "import", "dead.jsonl", "-c", other, code=65)
        self.assertEqual(out, "imported 1 event\n")
        self.assertIn("dead.jsonl:3: it has a key that stands in this file already", err)

    def test_other_key_rules_are_refused(self):
        (self.folder / "dead.jsonl").write_bytes(self.export())
        (self.folder / "other.toml").write_text(
            CONFIG.replace("shop.db", "other.db").replace("literal:shop", "literal:store"))
        with self.database() as database:
            tables = database.execute("SELECT sql FROM sqlite_schema WHERE name IN "
                                      "('payment', 'account') AND type = 'table'").fetchall()
        with sqlite3.connect(self.folder / "other.db") as database:
            for (sql,) in tables:
                database.execute(sql)
        self.write()
        self.onefold("run", "-c", "other.toml", "--migrate", "--until-idle")
        _, err = self.onefold("dead", "import", "dead.jsonl", "-c", "other.toml", code=65)
        self.assertIn("makes its keys by other rules here", err)
        self.assertIn("literal:store", err)
        self.assertEqual(self.export(config="other.toml").count(b"\n"), 1)

    def test_filters_choose(self):
        self.assertEqual(self.export("--kind", "conflict").count(b"\n"), 2)
        self.assertEqual(self.export("--since", "2099-01-01T00:00:00Z").count(b"\n"), 1)


if __name__ == "__main__":
    onefold_cli.main()
