"""Looking at the inbox, and the stories that it tells: inbox_test.py PROGRAM."""

import csv
import io
import json
import os
import subprocess
import unittest

import onefold_cli
from onefold_cli import CONFIG, ShopTest, payment

HOSTILE = "=cmd|'/c calc'!A0,\"x\"\n\x1b[31m\u202e"


class Inbox(ShopTest):
    def setUp(self):
        super().setUp()
        self.write(*(payment(number, account=number % 3) for number in range(1, 8)),
                   payment(8, account=77), payment(1), {**payment(9), "type": "payment.late"})
        self.run_once()

    def rows(self, *words):
        out, _ = self.onefold("inbox", "list", "-o", "jsonl", *words)
        return [json.loads(line) for line in out.splitlines()]

    def test_every_claim_has_a_row(self):
        rows = self.rows()
        self.assertEqual({row["event_id"] for row in rows}, {f"evt {n}" for n in range(1, 10)})
        self.assertEqual([row["key"] for row in rows], sorted(row["key"] for row in rows))
        by_id = {row["event_id"]: row for row in rows}
        self.assertEqual(by_id["evt 8"]["outcome"], "dead")
        self.assertTrue(by_id["evt 8"]["waiting"])
        self.assertEqual(by_id["evt 1"]["handled_by"], "credit@2")
        self.assertEqual(by_id["evt 1"]["consumer"], "billing")
        self.assertEqual(by_id["evt 1"]["event_source"], "shop")

    def test_pages_have_each_row_once(self):
        seen, after = [], []
        while True:
            out, err = self.onefold("inbox", "list", "--limit", "4", "-o", "json", *after)
            page = json.loads(out)
            self.assertLessEqual(len(page), 4)
            seen += [row["event_id"] for row in page]
            if "--after" not in err:
                break
            after = ["--after", page[-1]["key"]]
            self.assertIn(page[-1]["key"], err)
        self.assertEqual(seen, [row["event_id"] for row in self.rows()])

    @unittest.skipUnless(os.getuid() == 0, "only root can become somebody else")
    def test_who_may_only_read_can_look(self):
        self.folder.chmod(0o777)  # SQLite makes its files for readers, too.
        for command in (["status"], ["inbox", "list"], ["inbox", "count"], ["dead", "list"]):
            self.onefold(*command, user=65534, group=65534, extra_groups=[])
        self.onefold("dead", "discard", "--all", "--reason", "a test", "--yes", code=69,
                     user=65534, group=65534, extra_groups=[])
        self.assertEqual(len(self.rows("--outcome", "dead")), 1)

    def test_filters(self):
        ids = lambda *words: {row["event_id"] for row in self.rows(*words)}
        self.assertEqual(ids("--outcome", "dead"), {"evt 8"})
        self.assertEqual(ids("--type", "payment.late"), {"evt 9"})
        self.assertEqual(len(ids("--source", "shop", "--consumer", "billing")), 9)
        self.assertEqual(ids("--source", "web"), set())
        self.assertEqual(len(ids("--since", "1h")), 9)
        self.assertEqual(ids("--since", "2099-01-01T00:00:00Z"), set())
        out, _ = self.onefold("inbox", "list", "--outcome", "stale")
        self.assertEqual(out, "nothing in the inbox fits\n")
        self.onefold("inbox", "list", "--consumer", "nobody", code=64)

    def test_columns_and_headers(self):
        out, _ = self.onefold("inbox", "list", "--columns", "event_id,outcome", "--no-headers",
                              "--outcome", "dead")
        self.assertEqual(out, "evt 8  dead\n")
        out, _ = self.onefold("inbox", "list", "--columns", "outcome", "-o", "json",
                              "--outcome", "dead")
        self.assertEqual(json.loads(out), [{"outcome": "dead"}])
        self.assertEqual(json.loads(self.onefold("inbox", "list", "--type", "x", "-o", "json")[0]),
                         [])

    def test_show(self):
        row = self.rows("--outcome", "dead")[0]
        out, _ = self.onefold("inbox", "show", row["key"])
        self.assertIn("outcome      dead, waiting for a decision\n", out)
        self.assertIn("onefold dead show 1", out)
        shown = json.loads(self.onefold("inbox", "show", row["key"], "-o", "json")[0])
        self.assertEqual(shown["inbox"], row)
        self.assertEqual(shown["deferred"][0]["event_id"], "evt 8")
        _, err = self.onefold("inbox", "show", "1:" + "0" * 32, code=1)
        self.assertIn("onefold inbox why ID", err)

    def test_count(self):
        out, err = self.onefold("inbox", "count")
        self.assertRegex(out, r"billing +applied +credit@2 +8\n")
        self.assertRegex(out, r"billing +dead +1\n")
        self.assertIn("read 9 rows", err)
        counts = json.loads(self.onefold("inbox", "count", "--outcome", "dead", "-o", "json")[0])
        self.assertEqual(counts, [{"consumer": "billing", "outcome": "dead", "handled_by": "",
                                   "waiting": True, "rows": 1}])

    def test_export_is_the_whole_list(self):
        out, err = self.onefold("inbox", "export")
        self.assertEqual([json.loads(line) for line in out.splitlines()], self.rows())
        self.assertIn("exported 9 rows", err)
        self.assertEqual(self.onefold("inbox", "export", "-q")[1], "")
        out, _ = self.onefold("inbox", "export", "-o", "csv", "--columns", "event_id,outcome")
        self.assertEqual(len(list(csv.DictReader(io.StringIO(out, newline="")))), 9)

    def test_an_export_ends_when_nobody_reads_it(self):
        with self.database() as database:
            row = database.execute("SELECT * FROM onefold_inbox LIMIT 1").fetchone()
            marks = ", ".join("?" * len(row))
            database.executemany(
                f"INSERT INTO onefold_inbox VALUES ({marks})",
                ((row[0], number.to_bytes(16, "big"), *row[2:]) for number in range(100_000)))
        export = subprocess.Popen([onefold_cli.PROGRAM, "inbox", "export"], cwd=self.folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(json.loads(export.stdout.readline()))
        export.stdout.close()
        # Its note tells how many rows it has worked out.
        self.assertNotIn(b"exported", export.stderr.read())
        export.stderr.close()
        self.assertEqual(export.wait(timeout=60), 0)

    def test_what_an_event_carries_is_only_shown(self):
        self.write({**payment(1), "id": HOSTILE}, {**payment(2, account=77), "id": HOSTILE + "2"})
        self.run_once()
        for words in (["inbox", "list"], ["inbox", "list", "-o", "json"], ["inbox", "export"],
                      ["inbox", "list", "-o", "csv"], ["dead", "list"],
                      ["dead", "list", "-o", "csv"], ["inbox", "why", HOSTILE],
                      ["inbox", "why", HOSTILE, "-o", "json"]):
            out, err = self.onefold(*words)
            self.assertNotIn("\x1b", out + err, words)
            self.assertNotIn("\u202e", out + err, words)
        self.assertEqual(self.rows()[0].keys(), self.rows()[-1].keys())
        self.assertIn(HOSTILE, {row["event_id"] for row in self.rows()})
        out = self.onefold("inbox", "list", "-o", "csv", "--columns", "event_id")[0]
        cells = [row["event_id"] for row in csv.DictReader(io.StringIO(out, newline=""))]
        self.assertIn("'=cmd|'/c calc'!A0,\"x\"\\u000A\\u001B[31m\\u202E", cells)


class Stories(ShopTest):
    def story(self, *words, code=0):
        return self.onefold("inbox", "why", *words, code=code)[0]

    def test_several_consumers(self):
        handler = CONFIG[CONFIG.index("[[consumer"):].replace("billing", "archive").replace(
            "payment.*", "refund")
        (self.folder / "onefold.toml").write_text(
            CONFIG + '[consumer.archive]\nsources = ["orders"]\n' + handler)
        self.write(payment(1))
        self.run_once()
        out = self.story("evt 1")
        self.assertIn("  billing: applied at ", out)
        self.assertIn("  archive: set aside as dead at ", out)
        self.assertIn("UNSUPPORTED", out)

    def test_a_scope_for_each_handler(self):
        second = CONFIG[CONFIG.index("[[consumer"):].replace('"credit"', '"audit"').replace(
            "INTO payment", "INTO copy")
        (self.folder / "onefold.toml").write_text(
            CONFIG.replace("batch_max = 50", 'scope = "handler"') + second)
        with self.database() as database:
            database.execute("CREATE TABLE copy (id TEXT, account INTEGER, "
                             "amount INTEGER CHECK (amount < 100))")
        self.write(payment(1, amount=500))
        self.run_once()
        out = self.story("evt 1")
        self.assertIn("  billing, handler credit: applied at ", out)
        self.assertIn("  billing, handler audit: set aside as dead at ", out)

    def test_business_keys(self):
        (self.folder / "onefold.toml").write_text(
            CONFIG.replace("batch_max = 50", 'key = { payment = "/payment" }'))
        self.write(payment(1, payment="p1"), payment(2, payment="p1"),
                   payment(3, payment="p1", amount=7), payment(4))
        self.assertEqual(self.run_once()["applied"], 1)
        out = self.story("evt 1")
        self.assertIn("  billing, by its key payment: applied at ", out)
        self.assertIn("whose keys are not made of ids were searched for it one by one", out)
        out = self.story("evt 3")
        self.assertIn("its key belongs to the event evt 1, applied at ", out)
        self.assertIn("onefold dead show ", out)
        self.assertIn("  billing: set aside as dead at ", self.story("evt 4"))
        out, err = self.onefold("inbox", "why", "evt 2", code=1)
        self.assertIn("  billing: not seen", out)
        self.assertIn("leaves nothing under its own id", err)
        row = json.loads(self.onefold("inbox", "list", "-o", "json", "--outcome", "applied")[0])[0]
        self.assertEqual((row["rule"], row["key_form"]), ("payment", "values"))

    def test_several_keys(self):
        (self.folder / "onefold.toml").write_text(
            CONFIG.replace("batch_max = 50", 'key = ["event", { payment = ["/payment"] }]'))
        self.write(payment(1, payment="p1"), payment(2, payment="p2", account=77))
        self.run_once()
        out = self.story("evt 1")
        self.assertEqual(out.count("applied at"), 1, out)
        self.assertIn("    and key     payment, ", out)
        dead = json.loads(self.onefold("dead", "list", "-o", "json")[0])[0]
        self.assertEqual(len(dead["further_keys"]), 1)
        self.onefold("dead", "discard", str(dead["id"]), "--reason", "gone")
        rows = json.loads(self.onefold("inbox", "list", "--outcome", "dead", "-o", "json")[0])
        self.assertEqual([row["waiting"] for row in rows], [False, False])
        self.assertIn("It was given up", self.story("evt 2"))

    def test_what_could_not_be_read(self):
        self.write('{"id":"evt 5","type":"payment.received","id":"evt 5"}', '{"id":"evt 6"}')
        self.run_once()
        out = self.story("evt 6")
        self.assertIn("could not be read as an event", out)
        number = json.loads(self.onefold("dead", "list", "-o", "json")[0])[-1]["id"]
        self.onefold("dead", "discard", str(number), "--reason", "broken sender")
        out = self.story("evt 6")
        self.assertIn("It was given up", out)
        self.assertIn(": broken sender", out)

    def test_discarded_and_conflicts(self):
        self.write(payment(1), payment(1, amount=6), payment(2, account=77))
        self.run_once()
        kinds = {row["kind"]: str(row["id"])
                 for row in json.loads(self.onefold("dead", "list", "-o", "json")[0])}
        self.onefold("dead", "discard", kinds["conflict"], "--reason", "a bad\nreplay")
        out = self.story("evt 1")
        self.assertIn("  billing: applied at ", out)
        self.assertRegex(out, r"a conflict was discarded at .* by .*@.*: a bad\\nreplay\n")
        story = json.loads(self.onefold("inbox", "why", "evt 1", "-o", "json")[0])
        decision = story["consumers"][0]["events"][0]["decisions"][0]
        self.assertEqual(decision["action"], "discard")


if __name__ == "__main__":
    onefold_cli.main()
