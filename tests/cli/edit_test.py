"""Another event in a dead one's place: edit_test.py PROGRAM."""

import json
import os
import pty
import re
import select
import subprocess

import onefold_cli
from failing_shop import FailuresTest
from onefold_cli import CONFIG, payment


class Edited(FailuresTest):
    def setUp(self):
        super().setUp()
        self.write(payment(1), payment(1, amount=6), payment(2, account="x"), "not json")
        self.run_once()
        self.number = self.numbers()["evt 2"]

    def edit(self, text, number=None, code=0, *words):
        return self.onefold("dead", "edit", number or self.number, "--file", "-", "--reason",
                            "a text", *words, code=code, input=text)

    def test_P9_another_event_takes_its_place(self):
        before = self.dead()
        out, err = self.edit(json.dumps(payment("2b", account=2)) + "\n")
        match = re.fullmatch(rf"number {self.number} is given up; number (\d+) is in its place, "
                             r"and due\n", out)
        self.assertTrue(match, out)
        self.assertIn("onefold run does", err)
        self.assertEqual(len(self.dead()), len(before))
        shown = json.loads(self.onefold("dead", "show", match[1], "-o", "json")[0])
        self.assertEqual(shown["raw"], json.dumps(payment("2b", account=2)))
        self.assertEqual(shown["decoded"], False)
        self.assertEqual(self.run_once()["applied"], 1)
        self.assertEqual(self.balances(), {1: 5, 2: 5})
        self.assertNotIn(match[1], [str(row["id"]) for row in self.dead()])
        # The old id stays claimed, and says where it went.
        self.write(payment(2, account="x"), mode="a")
        self.assertEqual(self.run_once()["duplicate"], 1)
        (result, waiting), = self.rows(
            "SELECT result, waiting FROM onefold_inbox WHERE event_id = 'evt 2'")
        self.assertEqual((result, waiting), ("edited: evt 2b", 0))
        (detail,), = self.rows("SELECT detail FROM onefold_audit WHERE action = 'edit'")
        self.assertIn("reason: a text\n", detail)
        self.assertIn("event id: evt 2\n", detail)
        self.assertIn("new event id: evt 2b\n", detail)
        self.assertRegex(self.onefold("inbox", "why", "evt 2")[0],
                         r"it was replaced by the event evt 2b at .*: a text")

    def test_P9_conflicts_and_undecodable_bytes_too(self):
        numbers = self.numbers()
        out, _ = self.edit(json.dumps(payment("1b", amount=6)), numbers["evt 1"], 0, "-o", "json")
        answer = json.loads(out)
        self.assertEqual((answer["replaced"], answer["event_id"]),
                         (int(numbers["evt 1"]), "evt 1b"))
        self.edit(json.dumps(payment(7, amount=1)), numbers[""])
        self.assertEqual(self.run_once()["applied"], 2)
        self.assertEqual(self.balances(), {1: 12})
        self.assertEqual(self.numbers(), {"evt 2": self.number})

    def test_P9_what_will_not_do_changes_nothing(self):
        before = self.dead()
        for text, words in (
                ("{", "the new bytes are no event: BAD_JSON"),
                (json.dumps(payment(2, account=2)), "has the id of the one that it replaces"),
                (json.dumps(payment(1, account=2)), "the id of the new event is known already")):
            _, err = self.edit(text, code=65)
            self.assertIn(words, err)
            self.assertNotIn('"account"', err)
        _, err = self.edit(json.dumps(payment(2, account="x")), code=1)
        self.assertIn("the bytes are those of the event as it is", err)
        _, err = self.edit(json.dumps(payment(8)), "777", code=1)
        self.assertIn("nothing is set aside under the number 777", err)
        _, err = self.edit("x" * (1 << 20) + "yy", code=65)
        self.assertIn("is larger than", err)
        _, err = self.onefold("dead", "edit", self.number, "--reason", "x", code=64,
                              stdin=subprocess.DEVNULL)
        self.assertIn("needs --file where nobody sits at a terminal", err)
        _, err = self.onefold("dead", "edit", self.number, "--file", "none", "--reason", "x",
                              code=65)
        self.assertIn("cannot read none", err)
        self.assertEqual((self.dead(), self.actions()), (before, []))

    def test_P9_the_same_bytes_wait_once(self):
        text = json.dumps(payment("2b", account=2))
        self.edit(text)
        rows = self.dead()
        _, err = self.edit(text, self.numbers()["evt 1"], 1)
        self.assertIn("these very bytes wait already", err)
        self.assertEqual(self.dead(), rows)

    def with_editor(self, script, code):
        """Edits on a terminal, where the editor is a shell script; returns what is said there."""
        editor = self.folder / "editor"
        editor.write_text("#!/bin/sh\n" + script)
        editor.chmod(0o700)
        ours, theirs = pty.openpty()
        process = subprocess.Popen([onefold_cli.PROGRAM, "dead", "edit", self.number, "--reason",
                                    "x"], cwd=self.folder, stdin=theirs, stderr=theirs,
                                   stdout=subprocess.PIPE,
                                   env={**os.environ, "EDITOR": f"{editor} -w", "VISUAL": "",
                                        "TMPDIR": str(self.folder), "TERM": "dumb"})
        os.close(theirs)
        process.stdout.read()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), code)
        said = os.read(ours, 10000).decode() if select.select([ours], [], [], 0)[0] else ""
        os.close(ours)
        return said

    def test_P9_in_an_editor(self):
        self.with_editor('test "$1" = -w && sed -i "s/\\"x\\"/2/; s/evt 2/evt 2b/" "$2"\n', 0)
        self.assertEqual(list(self.folder.glob("onefold-??????")), [])
        self.run_once()
        self.assertEqual(self.balances(), {1: 5, 2: 5})

    def test_P9_what_was_written_in_vain_is_kept(self):
        self.assertIn("nothing was changed", self.with_editor("true\n", 1))
        self.assertIn("the editor has failed", self.with_editor("exit 3\n", 1))
        self.assertEqual(list(self.folder.glob("onefold-??????")), [])
        said = self.with_editor('echo "{" > "$2"\n', 65)
        kept, = self.folder.glob("onefold-??????")
        self.assertIn(f"what you wrote is in {kept}", said)
        self.assertEqual(kept.read_text(), "{\n")
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)


class EditedCloudEvents(FailuresTest):
    def event(self, name, **more):
        return {"specversion": "1.0", "id": name, "source": "shop", "type": "payment.received",
                "data": {"account": 77, "amount": 5}, **more}

    def setUp(self):
        super().setUp()
        (self.folder / "onefold.toml").write_text(re.sub(
            r'format = "json"\nidentity = .*\n', 'format = "cloudevents"\n', CONFIG))
        self.write(self.event("a"), self.event("b", causationid="z"))
        self.run_once()

    def test_P9_the_new_event_says_what_it_comes_from(self):
        before = self.dead()
        numbers = self.numbers()
        for name, event, words in (
                ("a", self.event("a2"), "set causationid to the id of the original, a"),
                ("a", self.event("a2", causationid="b"), "does not say which one it replaces"),
                ("b", self.event("b2", causationid="b"), "leave causationid as it was"),
                ("b", self.event("b2"), "has not the causationid of the one that it replaces")):
            _, err = self.onefold("dead", "edit", numbers[name], "--file", "-", "--reason", "x",
                                  code=65, input=json.dumps(event))
            self.assertIn(words, err)
        self.assertEqual(self.dead(), before)
        good = {"account": 1, "amount": 5}
        for name, event in (("a", self.event("a2", causationid="a", data=good)),
                            ("b", self.event("b2", causationid="z", data=good))):
            self.onefold("dead", "edit", numbers[name], "--file", "-", "--reason", "x",
                         input=json.dumps(event))
        self.assertEqual(self.run_once()["applied"], 2)
        self.assertEqual(self.balances(), {1: 10})


if __name__ == "__main__":
    onefold_cli.main()
