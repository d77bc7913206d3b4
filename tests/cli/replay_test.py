"""Replays of many events: replay_test.py PROGRAM."""

import json
import os
import pty
import re
import subprocess

import onefold_cli
from failing_shop import FailuresTest
from onefold_cli import payment

UUID_7 = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


class ReplayTest(FailuresTest):
    COUNT = 150

    def setUp(self):
        super().setUp()
        self.configure("breaker.window = 0")
        self.write(*(payment(number, account=77) for number in range(self.COUNT)),
                   payment("x", account=None))
        self.run_once()

    def start(self, *words, code=0):
        out, _ = self.onefold("replay", "start", "--consumer", "billing", "--class", "rows",
                              "--reason", "account 77 is there", "-o", "json", *words, code=code)
        return json.loads(out)

    def report(self, replay):
        return json.loads(self.onefold("replay", "show", replay["id"], "-o", "json")[0])

    def counts(self, replay):
        report = self.report(replay)
        return {name: report[name] for name in ("state", "selected", "due", "applied", "failed",
                                                "gone", "skipped", "open")}

    def replays(self, *words):
        return json.loads(self.onefold("replay", "list", "-o", "json", *words)[0])


class Start(ReplayTest):
    def test_P9_a_preview_changes_nothing(self):
        rows = self.dead("--limit", "1000")
        preview = self.start("--preview")
        self.assertEqual(preview, {"selected": self.COUNT, "up_to": rows[-2]["id"]})
        out, _ = self.onefold("replay", "start", "--consumer", "billing", "--preview", "--reason",
                              "x")
        self.assertIn(f"would try {self.COUNT + 1} events again, of consumer billing", out)
        self.assertEqual((self.replays(), self.dead("--limit", "1000"), self.actions()),
                         ([], rows, []))

    def test_P9_each_is_applied_once_and_counted(self):
        self.add_accounts(77)
        replay = self.start()
        self.assertRegex(replay["id"], f"^{UUID_7}$")
        self.assertEqual((replay["state"], replay["selected"], replay["due"], replay["ramp"]),
                         ("running", self.COUNT, 0, [1, 10, 100]))
        # What comes later is no part of it.
        self.write(payment("late", account=78), mode="a")
        self.run_once()
        self.assertEqual(self.counts(replay),
                         {"state": "done", "selected": self.COUNT, "due": self.COUNT,
                          "applied": self.COUNT, "failed": 0, "gone": 0, "skipped": 0, "open": 0})
        self.assertEqual(self.balances(), {77: 5 * self.COUNT})
        self.assertEqual(sorted(self.numbers()), ["evt late", "evt x"])
        report = self.report(replay)
        self.assertIsNotNone(report["ended_at"])
        self.assertGreater(report["events_per_second"], 0)
        self.assertEqual(self.actions(), ["replay start"])
        (detail,), = self.rows("SELECT detail FROM onefold_audit")
        for line in (f"replay: {replay['id']}", "filter: consumer=billing, class=rows",
                     f"events: {self.COUNT}", "reason: account 77 is there"):
            self.assertIn(line, detail)

    def test_P9_asking_twice_is_asking_once(self):
        first = self.start()
        out, err = self.onefold("replay", "start", "--consumer", "billing", "--class", "rows",
                                "--reason", "again", "-o", "json")
        self.assertEqual(json.loads(out)["id"], first["id"])
        self.assertIn("no other was started", err)
        self.assertNotEqual(self.start("--handler", "credit")["id"], first["id"])
        self.assertEqual(len(self.replays()), 2)

    def test_nothing_moves_where_nothing_runs_and_that_is_said(self):
        out, err = self.onefold("replay", "start", "--consumer", "billing", "--reason", "x")
        self.assertRegex(out, rf"replay +{UUID_7}\nstate +running\n")
        self.assertRegex(out, r"selected +151; what came later is no part of it\n")
        self.assertIn("where none is running, nothing moves", err)
        self.assertIn("--watch", err)
        self.assertEqual(self.rows("SELECT count(*) FROM onefold_deferred WHERE due_at NOT NULL"),
                         [(0,)])

    def test_of_an_unknown_consumer(self):
        _, err = self.onefold("replay", "start", "--consumer", "biling", "--reason", "x", code=64)
        self.assertIn('did you mean "billing"?', err)
        self.assertEqual(self.replays(), [])


class Ramp(ReplayTest):
    def test_P9_the_first_failure_pauses_it_and_a_person_lets_it_go_on(self):
        replay = self.start()
        self.run_once()
        paused = self.counts(replay)
        self.assertEqual((paused["state"], paused["due"], paused["failed"]), ("paused", 1, 1))
        self.assertIn("1 of the first 1 events failed again", self.report(replay)["note"])
        self.onefold("replay", "show", replay["id"], "--watch", code=75)
        self.add_accounts(77)
        self.run_once()
        self.assertEqual(self.counts(replay), paused)
        out, _ = self.onefold("replay", "resume", replay["id"], "--reason", "mended", "-o", "json")
        self.assertEqual(json.loads(out)["state"], "running")
        self.run_once()
        done = self.counts(replay)
        self.assertEqual((done["state"], done["applied"], done["failed"], done["skipped"]),
                         ("done", self.COUNT, 0, 0))
        self.assertEqual(self.balances(), {77: 5 * self.COUNT})

    def test_P9_without_a_ramp_the_good_ones_are_not_held_up(self):
        self.add_accounts(77)
        with self.database() as database:
            database.execute("CREATE TRIGGER no_seven BEFORE INSERT ON payment "
                             "WHEN new.id = 'evt 7' BEGIN SELECT raise(ABORT, 'seven'); END")
        replay = self.start("--ramp", "none")
        self.run_once()
        done = self.counts(replay)
        self.assertEqual((done["state"], done["applied"], done["failed"]),
                         ("done", self.COUNT - 1, 1))
        self.onefold("replay", "show", replay["id"], "--watch", code=1)
        self.assertEqual(sorted(self.numbers()), ["evt 7", "evt x"])


class Change(ReplayTest):
    def change(self, word, replay, code=0):
        return self.onefold("replay", word, replay["id"], "--reason", "x", "-o", "json", code=code)

    def test_P9_a_paused_one_stands_still(self):
        self.add_accounts(77)
        replay = self.start()
        self.change("pause", replay)
        self.run_once()
        self.assertEqual(self.counts(replay)["due"], 0)
        self.assertEqual(self.balances(), {})
        self.change("resume", replay)
        self.run_once()
        self.assertEqual(self.counts(replay)["state"], "done")
        self.assertEqual(self.actions(), ["replay start", "replay pause", "replay resume"])

    def test_P9_a_cancelled_one_ends_for_good(self):
        replay = self.start()
        self.run_once()
        self.change("cancel", replay)
        self.add_accounts(77)
        self.run_once()
        cancelled = self.counts(replay)
        self.assertEqual((cancelled["state"], cancelled["applied"], cancelled["skipped"]),
                         ("cancelled", 0, self.COUNT - 1))
        out, err = self.change("resume", replay, code=1)
        self.assertEqual(json.loads(out)["state"], "cancelled")
        self.assertIn("it has ended already: nothing was changed", json.loads(err)["detail"])
        self.assertEqual(self.balances(), {})
        self.assertEqual(self.actions(), ["replay start", "replay cancel"])

    def test_one_that_is_not_there(self):
        for words in (["show", "none"], ["pause", "none", "--reason", "x"],
                      ["cancel", "none", "--reason", "x"]):
            _, err = self.onefold("replay", *words, code=1)
            self.assertIn("there is no replay none", err)
            self.assertIn("onefold replay list", err)
        self.onefold("replay", "show", "", code=1)


class Look(ReplayTest):
    def test_list_and_status(self):
        self.assertEqual(self.onefold("replay", "list")[0], "there was no replay so far\n")
        first, second = self.start(), self.start("--handler", "credit", "--rate", "5/s")
        rows = self.replays()
        self.assertEqual([row["id"] for row in rows], [second["id"], first["id"]])
        self.assertEqual((rows[0]["rate"], rows[0]["filter"]),
                         (5, "consumer billing, class rows, handler credit"))
        out, _ = self.onefold("replay", "list", "--columns", "id,state,reason", "-o", "csv")
        self.assertEqual(out.splitlines()[1], f"{second['id']},running,account 77 is there")
        out, _ = self.onefold("status")
        self.assertIn(f"replay {first['id']} of billing: running  0 of {self.COUNT} (0 %)", out)
        status = json.loads(self.onefold("status", "-o", "json")[0])
        self.assertEqual([row["id"] for row in status["replays"]], [second["id"], first["id"]])
        self.onefold("replay", "cancel", first["id"], "--reason", "x")
        self.onefold("replay", "cancel", second["id"], "--reason", "x")
        self.assertEqual(json.loads(self.onefold("status", "-o", "json")[0])["replays"], [])

    def test_the_report_in_words(self):
        self.add_accounts(77)
        replay = self.start()
        self.run_once()
        out, _ = self.onefold("replay", "show", replay["id"])
        for line in (r"state +done", r"events +consumer billing, class rows",
                     r"started +\S+Z by \S+@\S+: account 77 is there", r"made due +150",
                     r"applied +150", r"failed again +0", r"gone +0", r"skipped +0", r"open +0",
                     r"pace +[\d,]+ events a second", r"ramp +1,10,100", r"elapsed +\d+ s"):
            self.assertRegex(out, f"(?m)^{line}$")

    def test_watched_on_a_terminal(self):
        self.add_accounts(77)
        replay = self.start("--rate", "100/s")
        ours, theirs = pty.openpty()
        watch = subprocess.Popen([onefold_cli.PROGRAM, "replay", "show", replay["id"], "--watch"],
                                 cwd=self.folder, stdout=subprocess.PIPE, stderr=theirs, text=True,
                                 env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        self.run_once()
        out = watch.stdout.read()
        watch.stdout.close()
        self.assertEqual(watch.wait(timeout=60), 0)
        said = os.read(ours, 100_000).decode()
        os.close(ours)
        self.assertRegex(said, rf"running  \d+ of {self.COUNT} \(\d+ %\)")
        self.assertRegex(out, r"state +done\n")
        self.assertRegex(out, r"pace +\d+ events a second, at most 100\n")


class Now(ReplayTest):
    def test_P9_here_and_now(self):
        replay = self.start("--now", code=75)
        self.assertEqual((replay["state"], replay["failed"]), ("paused", 1))
        _, err = self.onefold("replay", "start", "--consumer", "billing", "--class", "rows",
                              "--reason", "x", "--now", code=75)
        self.assertIn("no other was started", err)
        self.assertIn("onefold replay resume", err)
        self.onefold("replay", "cancel", replay["id"], "--reason", "x")
        self.add_accounts(77)
        replay = self.start("--now")
        self.assertEqual((replay["state"], replay["applied"]), ("done", self.COUNT))
        self.assertEqual(self.balances(), {77: 5 * self.COUNT})

    def test_P9_beside_a_process_that_runs(self):
        self.add_accounts(77)
        self.running()
        self.start_refused()
        replay = self.start()
        self.await_(lambda: self.report(replay)["state"] == "done")
        self.assertEqual(self.balances(), {77: 5 * self.COUNT})

    def start_refused(self):
        _, err = self.onefold("replay", "start", "--consumer", "billing", "--reason", "x", "--now",
                              code=75)
        self.assertTrue(re.search(r"process \d+ runs on", err), err)
        self.assertIn("nothing was started", err)
        self.assertEqual(self.replays(), [])


class Range(FailuresTest):
    COUNT = 200
    LOST = (3, 90, 199)

    def setUp(self):
        super().setUp()
        self.configure("breaker.window = 0")
        self.write(*(payment(number) for number in range(self.COUNT)))
        self.run_once()

    def lose(self, *numbers):
        """As a backup that was restored beside a newer position."""
        with self.database() as database:
            for number in numbers:
                database.execute("DELETE FROM onefold_inbox WHERE event_id = ?",
                                 (f"evt {number}",))
                database.execute("DELETE FROM payment WHERE id = ?", (f"evt {number}",))
                database.execute("UPDATE account SET balance = balance - 5 WHERE id = 1")

    def start(self, *words, code=0):
        out, err = self.onefold("replay", "start", "--consumer", "billing", "--reason", "a backup",
                                "-o", "json", *words, code=code)
        return json.loads(out) if code == 0 else err

    def report(self, replay):
        return json.loads(self.onefold("replay", "show", replay["id"], "-o", "json")[0])

    def counts(self, replay):
        report = self.report(replay)
        return tuple(report[name] for name in ("state", "due", "applied", "duplicate", "failed"))

    def test_P9_what_was_lost_is_applied_and_nothing_else(self):
        self.lose(*self.LOST)
        replay = self.start("--source", "orders")
        size = (self.folder / "orders.jsonl").stat().st_size
        self.assertEqual((replay["range"]["source"], replay["range"]["ends"][0]["offset"]),
                         ("orders", str(size)))
        self.write(payment("later"), mode="a")
        self.run_once()
        self.assertEqual(self.counts(replay), ("done", self.COUNT, 3, self.COUNT - 3, 0))
        self.assertEqual(self.balances(), {1: 5 * (self.COUNT + 1)})
        self.assertEqual(self.rows("SELECT source FROM onefold_position"), [("orders",)])
        out, _ = self.onefold("replay", "show", replay["id"])
        for line in (r"received +200", r"applied +3", r"duplicate +197", r"dead +0",
                     rf"events +consumer billing, source orders from offset 0 to {size}"):
            self.assertRegex(out, f"(?m)^{line}$")
        (detail,), = self.rows("SELECT detail FROM onefold_audit")
        self.assertIn(f"source: orders\nfrom: 0\nup to: {size}\n", detail)

    def test_P9_a_kill_in_the_middle_changes_nothing_in_the_report(self):
        self.lose(*self.LOST)
        replay = self.start("--source", "orders", "--ramp", "none", "--rate", "100/s")
        process = self.running()
        self.await_(lambda: self.report(replay)["due"] > 0)
        status = json.loads(self.onefold("status", "-o", "json")[0])
        self.assertNotIn("replay:", json.dumps(status["consumers"]))
        process.kill()
        process.wait()
        state, due, *_ = self.counts(replay)
        self.assertEqual(state, "running")
        self.assertLess(due, self.COUNT)
        self.assertEqual([source for (source,) in self.rows(
            "SELECT DISTINCT source FROM onefold_position ORDER BY source")],
            ["orders", f"replay:{replay['id']}"])
        self.run_once()
        self.assertEqual(self.counts(replay), ("done", self.COUNT, 3, self.COUNT - 3, 0))
        self.assertEqual(self.balances(), {1: 5 * self.COUNT})

    def test_P9_paused_resumed_and_cancelled(self):
        self.lose(*self.LOST)
        replay = self.start("--source", "orders")
        self.onefold("replay", "pause", replay["id"], "--reason", "x")
        self.run_once()
        self.assertEqual(self.counts(replay), ("paused", 0, 0, 0, 0))
        self.onefold("replay", "resume", replay["id"], "--reason", "x")
        self.run_once()
        self.assertEqual(self.counts(replay)[:3], ("done", self.COUNT, 3))
        self.lose(7)
        replay = self.start("--source", "orders")
        self.onefold("replay", "cancel", replay["id"], "--reason", "x")
        self.run_once()
        self.assertEqual(self.counts(replay)[:3], ("cancelled", 0, 0))
        self.assertEqual(self.balances(), {1: 5 * (self.COUNT - 1)})

    def test_P9_a_failure_in_the_ramp_pauses_it(self):
        self.lose(0, 1)
        with self.database() as database:
            database.execute("CREATE TRIGGER no_zero BEFORE INSERT ON payment "
                             "WHEN new.id = 'evt 0' BEGIN SELECT raise(ABORT, 'zero'); END")
        replay = self.start("--source", "orders")
        self.run_once()
        self.assertEqual(self.counts(replay), ("paused", 1, 0, 0, 1))
        self.assertIn("1 of the first 1 events failed", self.report(replay)["note"])
        self.assertEqual([row["source"] for row in self.dead()], ["orders"])
        self.onefold("replay", "resume", replay["id"], "--reason", "that one is a dead letter")
        self.run_once()
        self.assertEqual(self.counts(replay), ("done", self.COUNT, 1, self.COUNT - 2, 1))

    def test_P9_asking_twice_is_asking_once(self):
        first = self.start("--source", "orders")
        self.assertEqual(self.start("--source", "orders")["id"], first["id"])
        other = self.start("--source", "orders", "--from", "100", "--to", "700")
        self.assertNotEqual(other["id"], first["id"])
        self.run_once()
        lines = (self.folder / "orders.jsonl").read_bytes().splitlines(keepends=True)
        starts = [sum(map(len, lines[:i])) for i in range(len(lines))]
        within = sum(100 <= at < 700 for at in starts)
        self.assertEqual(self.counts(other), ("done", within, 0, within, 0))
        self.assertEqual(self.counts(first)[:2], ("done", self.COUNT))

    def test_a_preview_starts_nothing(self):
        size = (self.folder / "orders.jsonl").stat().st_size
        out, _ = self.onefold("replay", "start", "--consumer", "billing", "--source", "orders",
                              "--to", "90", "--preview", "--reason", "x")
        self.assertIn("source orders from offset 0 to 90 (bytes;", out)
        preview = self.start("--source", "orders", "--preview")
        self.assertEqual(preview["range"]["ends"][0]["offset"], str(size))
        self.assertEqual(self.rows("SELECT count(*) FROM onefold_replay"), [(0,)])

    def test_what_cannot_be_read_again_is_refused(self):
        self.assertIn("does not read a source",
                      self.start("--source", "order", code=78))
        for words in (["--class", "rows"], ["--handler", "credit"], ["--since", "1h"]):
            self.assertIn("it does not go with", self.start("--source", "orders", *words, code=64))
        self.assertIn("need --source", self.start("--from", "5", code=64))
        self.assertIn("nothing between",
                      self.start("--source", "orders", "--from", "5", "--to", "5", code=64))
        self.assertIn("is no offset", self.start("--source", "orders", "--from", "x", code=64))
        self.assertIn("--now tries dead letters",
                      self.start("--source", "orders", "--now", code=64))
        self.configure(old='kind = "file"\npath = "orders.jsonl"', new='kind = "stdin"')
        self.assertIn("cannot be read again", self.start("--source", "orders", code=78))
        self.assertEqual(self.rows("SELECT count(*) FROM onefold_replay"), [(0,)])


if __name__ == "__main__":
    onefold_cli.main()
