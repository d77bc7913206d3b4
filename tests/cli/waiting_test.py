"""Events that are tried again by themselves: waiting_test.py PROGRAM."""

import json

import onefold_cli
from failing_shop import FailuresTest
from onefold_cli import payment

PATIENT = 'retry = { attempts = 3, initial = "1h", max = "1h", permanent = [] }'

class Waiting(FailuresTest):
    def setUp(self):
        super().setUp()
        self.configure(PATIENT, 'order = { entity = "/account", policy = "none" }',
                       old='entity = "/account"\nparams', new="params")
        self.write(payment(1), payment(2, account=77), payment(3, account=77),
                   payment(4, account=2))

    def test_a_run_says_what_waits(self):
        out, err = self.onefold("run", "--migrate", "--until-idle")
        self.assertRegex(out, r"deferred +2\n")
        self.assertRegex(err, r"consumer billing: 1 event waits for another try at \S+Z, and 1 "
                              r"behind")
        self.assertEqual(self.balances(), {1: 5, 2: 5})
        out, err = self.onefold("run", "--until-idle", "-o", "json")
        self.assertEqual(json.loads(out)["received"], 0)
        self.assertIn("1 event waits", json.loads(err.splitlines()[0])["text"])

    def test_status_and_list(self):
        self.assertEqual(self.run_once()["deferred"], 2)
        out, _ = self.onefold("status")
        self.assertRegex(out, r"inbox +2 applied, 2 deferred\n")
        self.assertRegex(out, r"set aside +nothing\n")
        self.assertRegex(out, r"waiting +1 behind, 1 retry; the next is due at \S+Z\n")
        consumer, = json.loads(self.onefold("status", "-o", "json")[0])["consumers"]
        self.assertEqual(consumer["deferred"], {"behind": 1, "retry": 1})
        self.assertEqual(consumer["inbox"], {"applied": 2, "deferred": 2})
        self.assertIsNone(consumer["paused"])
        retry, behind = self.dead()
        self.assertEqual((retry["kind"], retry["class"], retry["attempts"]), ("retry", "rows", 1))
        self.assertEqual(retry["due_at"], consumer["next_due_at"])
        self.assertEqual((behind["kind"], behind["entity"], behind["due_at"]),
                         ("behind", "77", None))
        inbox = json.loads(self.onefold("inbox", "list", "--outcome", "deferred", "-o", "json")[0])
        self.assertEqual({row["event_id"] for row in inbox}, {"evt 2", "evt 3"})
        self.assertIn("It is tried again at ", self.onefold("inbox", "why", "evt 2")[0])
        self.assertIn("It waits behind an earlier event of its entity",
                      self.onefold("inbox", "why", "evt 3")[0])

    def test_all_dead_letters_are_not_what_is_tried_again(self):
        self.run_once()
        rows = self.dead()
        out, _ = self.onefold("dead", "discard", "--all", "--reason", "x", "--yes")
        self.assertEqual(out, "discarded 0 events\n")
        self.assertEqual(self.dead(), rows)
        out, _ = self.onefold("dead", "discard", "--all", "--kind", "behind", "--reason", "x")
        self.assertEqual(out, "discarded 1 event\n")
        out, _ = self.onefold("dead", "replay", str(rows[0]["id"]), "--reason", "x")
        self.assertEqual(out, "0 events are due; 1 will be tried again anyway\n")

    def test_P9_what_waits_leaves_and_comes_back_byte_for_byte(self):
        self.run_once()
        self.write("\udcff\udcfe not json", payment("2", account=77, amount=9), mode="a")
        self.assertEqual(self.run_once()["received"], 2)
        exported, _ = self.onefold("dead", "export")
        lines = [json.loads(line) for line in exported.splitlines()]
        self.assertEqual(sorted(line["kind"] for line in lines[1:]),
                         ["behind", "conflict", "dead", "retry"])
        (self.folder / "dead.jsonl").write_text(exported)
        config = (self.folder / "onefold.toml").read_text()
        (self.folder / "other.toml").write_text(config.replace("shop.db", "other.db"))
        self.onefold("migrate", "-c", "other.toml")
        out, _ = self.onefold("dead", "import", "dead.jsonl", "-c", "other.toml")
        self.assertEqual(out, "imported 4 events\n")
        self.assertEqual(self.onefold("dead", "export", "-c", "other.toml")[0], exported)
        retry = next(line for line in lines if line.get("kind") == "retry")
        self.assertEqual((retry["class"], retry["entity"], retry["decoded"]), ("rows", "77", True))
        self.assertTrue(retry["due_at"] and retry["data_base64"])
        self.assertEqual(retry["keys"][0]["claim"]["outcome"], "deferred")

    def test_what_an_older_version_exported_comes_in(self):
        self.run_once()
        self.write(payment(5, account=3), "not json", mode="a")
        self.run_once()
        lines = self.onefold("dead", "export", "--kind", "dead")[0].splitlines()
        letter = json.loads(lines[1])
        for member in ("class", "entity", "due_at", "decoded", "data_base64"):
            del letter[member]
        (self.folder / "old.jsonl").write_text(lines[0] + "\n" + json.dumps(letter) + "\n")
        self.onefold("dead", "discard", "--all", "--kind", "dead", "--reason", "x")
        with self.database() as database:
            database.execute("DELETE FROM onefold_inbox WHERE outcome = 4")
        out, _ = self.onefold("dead", "import", "old.jsonl")
        self.assertEqual(out, "imported 1 event\n")
        row, = self.dead("--kind", "dead")
        self.assertEqual((row["class"], row["decoded"], row["due_at"]), ("", False, None))

    def test_what_no_export_says_is_refused(self):
        self.run_once()
        lines = self.onefold("dead", "export", "--kind", "retry")[0].splitlines()
        letter = json.loads(lines[1])
        claim = letter["keys"][0]
        for change, words in (
                ({"kind": "gone"}, "its kind is none of"), ({"class": "rowz"}, "its class is none"),
                ({"due_at": "soon"}, "a time is not one of RFC 3339"),
                ({"keys": [{**claim, "claim": {**claim["claim"], "outcome": "applied"}}]},
                 "the outcome of a claim is not that of its kind")):
            (self.folder / "bad.jsonl").write_text(
                lines[0] + "\n" + json.dumps({**letter, **change}) + "\n")
            _, err = self.onefold("dead", "import", "bad.jsonl", code=65)
            self.assertIn(words, err)


if __name__ == "__main__":
    onefold_cli.main()
