"""Events that failed, tried again, and consumers that pause: failures_test.py PROGRAM."""

import json

import onefold_cli
from failing_shop import FailuresTest
from onefold_cli import payment


class DeadLetters(FailuresTest):
    def setUp(self):
        super().setUp()
        self.write(payment(1), payment(1, amount=6), payment(2, account=77), payment(3, account=78),
                   payment(4, account=None), "not json", {"id": "evt 5", "type": "other"})
        self.run_once()

    def test_P9_filters_choose(self):
        def events(*words):
            return sorted(row["event_id"] for row in self.dead(*words))
        self.assertEqual(events("--class", "rows"), ["evt 2", "evt 3"])
        self.assertEqual(events("--class", "data"), ["evt 4"])
        self.assertEqual(events("--class", "undecodable"), [""])
        self.assertEqual(events("--class", "unsupported"), ["evt 5"])
        self.assertEqual(events("--handler", "credit"), ["evt 2", "evt 3", "evt 4"])
        self.assertEqual(events("--type", "other"), ["evt 5"])
        self.assertEqual(events("--kind", "conflict"), ["evt 1"])
        self.assertEqual(events("--kind", "retry"), [])
        self.assertEqual(len(events("--source", "orders")), 6)
        self.assertEqual(events("--source", "others"), [])
        self.assertEqual(events("--class", "rows", "--handler", "debit"), [])

    def test_P9_columns_say_what_failed(self):
        row = next(row for row in self.dead() if row["event_id"] == "evt 2")
        self.assertEqual((row["class"], row["entity"], row["attempts"], row["due_at"]),
                         ("rows", "77", 1, None))
        out, _ = self.onefold("dead", "list", "--kind", "dead", "--class", "rows",
                              "--columns", "class,attempts,entity,due_at", "-o", "csv")
        self.assertEqual(out.splitlines(), ["class,attempts,entity,due_at", "rows,1,77,",
                                            "rows,1,78,"])
        out, _ = self.onefold("dead", "show", str(row["id"]))
        self.assertRegex(out, r"class +rows\n")
        self.assertRegex(out, r"entity +77\n")
        self.assertRegex(out, r"error +credit: expected 1 row, changed 0")

    def test_P9_groups_have_one_line_for_each_trouble(self):
        groups = json.loads(self.onefold("dead", "list", "--group", "-o", "json")[0])
        self.assertEqual(sum(group["count"] for group in groups), 6)
        self.assertEqual(len(groups), 5)
        first = groups[0]
        self.assertEqual((first["count"], first["consumer"], first["handler"], first["class"]),
                         (2, "billing", "credit", "rows"))
        self.assertIn("expected <n> row, changed <n>", first["message"])
        self.assertEqual(str(first["example"]), self.numbers()["evt 3"])
        self.assertLessEqual(first["first_at"], first["last_at"])
        out, err = self.onefold("dead", "list", "--group", "--class", "rows")
        self.assertRegex(out, r"^count +consumer +handler +class +first_at +last_at +example "
                              r"+message\n")
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("onefold dead show EXAMPLE", err)
        out, err = self.onefold("dead", "list", "--group", "--limit", "1")
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("there are 5 groups in all", err)

    def test_P9_one_is_tried_again(self):
        number = self.numbers()["evt 2"]
        out, err = self.onefold("dead", "replay", number, "--reason", "account 77 is there")
        self.assertEqual(out, "1 event is due\n")
        self.assertIn("onefold run does", err)
        self.assertEqual(self.balances(), {1: 5})
        row, = [row for row in self.dead() if str(row["id"]) == number]
        self.assertEqual((row["kind"], row["attempts"]), ("dead", 0))
        self.assertIsNotNone(row["due_at"])
        self.assertIn("It is due, and will be tried again.",
                      self.onefold("inbox", "why", "evt 2")[0])
        self.add_accounts(77)
        self.assertEqual(self.run_once()["applied"], 1)
        self.assertEqual(self.balances(), {1: 5, 77: 5})
        self.assertNotIn("evt 2", self.numbers())
        self.write(payment(2, account=77), mode="a")
        self.assertEqual(self.run_once()["duplicate"], 1)
        self.assertEqual(self.actions(), ["replay"])
        out, _ = self.onefold("inbox", "why", "evt 2")
        self.assertRegex(out, r"it was made due again at .*: account 77 is there")

    def test_P9_here_and_now(self):
        numbers = self.numbers()
        out, err = self.onefold("dead", "replay", numbers["evt 2"], "--now", "--reason", "x",
                                code=1)
        self.assertEqual(out, "1 event is due\n1 dead\n")
        self.assertIn(f"number {numbers['evt 2']} is still set aside, dead: credit: expected 1 row",
                      err)
        self.add_accounts(77)
        out, _ = self.onefold("dead", "replay", numbers["evt 2"], numbers["evt 3"], "--now",
                              "--yes", "--reason", "x", "-o", "json", code=1)
        self.assertEqual(json.loads(out),
                         {"due": 2, "waiting": 0, "conflict": [], "gone": [], "dry_run": False,
                          "now": {"outcomes": {"applied": 1, "dead": 1},
                                  "left": [int(numbers["evt 3"])]}})
        self.add_accounts(78)
        out, err = self.onefold("dead", "replay", numbers["evt 3"], "--now", "--reason", "x")
        self.assertEqual((out, err), ("1 event is due\n1 applied\n", ""))
        self.assertEqual(self.balances(), {1: 5, 77: 5, 78: 5})

    def test_P9_many_need_a_yes_and_only_those_that_can_be(self):
        before = self.dead()
        _, err = self.onefold("dead", "replay", "--all", "--reason", "x", code=64)
        self.assertIn("replay 5 events? That needs --yes", err)
        out, _ = self.onefold("dead", "replay", "--all", "--reason", "x", "--dry-run")
        self.assertEqual(out, "5 events would be due\n")
        self.assertEqual((self.dead(), self.actions()), (before, []))
        out, _ = self.onefold("dead", "replay", "--all", "--class", "rows", "--yes",
                              "--reason", "x")
        self.assertEqual(out, "2 events are due\n")
        out, _ = self.onefold("dead", "replay", "--all", "--class", "rows", "--reason", "x")
        self.assertEqual(out, "0 events are due\n")
        self.assertEqual(self.actions(), ["replay", "replay"])

    def test_P9_what_cannot_be_tried_again_is_told(self):
        numbers = self.numbers()
        before = self.dead("--kind", "conflict")
        self.onefold("dead", "replay", numbers["evt 2"], "--reason", "x")
        out, err = self.onefold("dead", "replay", numbers["evt 1"], numbers["evt 2"], "777",
                                "--yes", "--reason", "x", code=1)
        self.assertEqual(out, "0 events are due; 1 will be tried again anyway\n")
        self.assertIn(f"the id of {numbers['evt 1']} belongs to another event", err)
        self.assertIn("onefold dead edit", err)
        self.assertIn("nothing is set aside under 777", err)
        self.assertEqual(self.dead("--kind", "conflict"), before)
        self.assertEqual(self.actions(), ["replay"])

    def test_P9_beside_a_process_that_runs(self):
        number = self.numbers()["evt 2"]
        self.add_accounts(77)
        process = self.running()
        before = self.dead()
        _, err = self.onefold("dead", "replay", number, "--now", "--reason", "x", code=75)
        self.assertIn(f"process {process.pid} runs on", err)
        self.assertIn("without --now they become due", err)
        self.assertEqual(self.dead(), before)
        self.assertEqual(self.actions(), [])
        self.onefold("dead", "replay", number, "--reason", "x")
        self.await_(lambda: 77 in self.balances())

    def test_P9_bytes_that_another_reading_understands(self):
        with open(self.folder / "orders.jsonl", "a", encoding="utf-8") as file:
            file.write('{"number": "evt 6", "type": "payment.received", "account": 1, '
                       '"amount": 2}\n')
        self.assertEqual(self.run_once()["dead"], 1)
        row = self.dead()[-1]
        self.assertEqual((row["class"], row["decoded"]), ("undecodable", False))
        # What was no event then is one by the rules of today.
        self.configure(old='id = "/id"', new='id = "/number"')
        self.onefold("run", "--until-idle", "--accept-key-change", "--reason", "renamed")
        self.onefold("dead", "replay", str(row["id"]), "--now", "--reason", "x")
        self.assertEqual(self.balances(), {1: 7})
        self.assertIn("applied", self.onefold("inbox", "why", "evt 6")[0])


class Paused(FailuresTest):
    def setUp(self):
        super().setUp()
        self.configure('breaker = { failures = 3, window = 5, probe = "1h" }')
        self.write(*(payment(number, account=77) for number in range(6)))

    def pause(self):
        self.onefold("run", "--migrate", "--until-idle", "-o", "json", code=75)

    def test_the_run_ends_with_the_reason(self):
        out, err = self.onefold("run", "--migrate", "--until-idle", code=75)
        self.assertRegex(out, r"deferred +6\n")
        self.assertRegex(err, r"error: the consumer billing is paused since \S+Z by breaker: "
                              r"\d of the last \d events failed the same way \(rows\)")
        self.assertIn("onefold resume billing", err)
        self.write(payment(10), mode="a")
        _, err = self.onefold("run", "--until-idle", "-o", "json", code=75)
        problem = json.loads(err.splitlines()[-1])
        self.assertEqual((problem["type"], problem["exit_status"]),
                         ("urn:onefold:problem:try-again", 75))
        self.assertEqual(self.balances(), {})

    def test_status_says_it_first(self):
        self.pause()
        out, _ = self.onefold("status")
        self.assertRegex(out.splitlines()[0],
                         r"^billing is paused since \S+Z by breaker: .* failed the same way "
                         r"\(rows\)")
        self.assertRegex(out.splitlines()[1], r"one event is tried in \d+ s; 0 tries have failed")
        paused = json.loads(self.onefold("status", "-o", "json")[0])["consumers"][0]["paused"]
        self.assertEqual((paused["who"], paused["probes"]), ("breaker", 0))
        self.assertIn("failed the same way (rows)", paused["reason"])
        self.assertTrue(3590 < paused["probe_in_seconds"] <= 3600)

    def test_a_person_lets_it_go_on(self):
        self.pause()
        self.add_accounts(77)
        _, err = self.onefold("resume", "biling", "--reason", "x", code=64)
        self.assertIn('did you mean "billing"?', err)
        out, _ = self.onefold("resume", "billing", "--reason", "account 77 is there")
        self.assertEqual(out, "consumer billing goes on\n")
        self.assertEqual(self.run_once()["applied"], 6)
        self.assertEqual(self.balances(), {77: 30})
        out, err = self.onefold("resume", "billing", "--reason", "x", "-o", "json", code=1)
        self.assertEqual(json.loads(out), {"consumer": "billing", "resumed": False})
        self.assertIn("is not paused: nothing was changed", err)
        self.assertEqual(self.actions(), ["resume"])
        (detail,), = self.rows("SELECT detail FROM onefold_audit")
        self.assertIn("reason: account 77 is there\n", detail)

    def test_here_and_now_waits_for_the_pause_too(self):
        self.configure("breaker.window = 0")
        self.write(payment(20, account=78))
        self.run_once()
        number = self.numbers()["evt 20"]
        self.configure('breaker = { failures = 3, window = 5, probe = "1h" }')
        self.write(payment(20, account=78), *(payment(each, account=77) for each in range(6)))
        self.pause()
        out, err = self.onefold("dead", "replay", number, "--now", "--reason", "x", code=75)
        self.assertEqual(out, "1 event is due\n1 deferred\n")
        self.assertIn("the consumer billing is paused", err)


if __name__ == "__main__":
    onefold_cli.main()
