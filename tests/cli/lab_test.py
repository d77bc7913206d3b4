"""The lab on a team's own configuration: lab_test.py PROGRAM."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import onefold_cli
from onefold_cli import CONFIG, ShopTest, payment

SHOP = pathlib.Path(__file__).resolve().parents[2] / "examples" / "shop"

STATUS = """
[[consumer.billing.handler]]
name = "status"
type = "order.*"
params.order = { at = "/order", type = "int64" }
params.status = { at = "/status", type = "text" }
sql = "INSERT OR REPLACE INTO orders (id, status) VALUES (:order, :status)"
"""


def order(number, which, status):
    return {"id": f"evt {number}", "type": "order." + status, "order": which, "status": status}


class Lab(ShopTest):
    def setUp(self):
        super().setUp()
        self.write(*(payment(number, account=number % 3) for number in range(1, 9)))

    def configure(self, more="", old="", new=""):
        self.assertIn(old, CONFIG)
        (self.folder / "onefold.toml").write_text(CONFIG.replace(old, new) + more)

    def lab(self, *words, code=0, schedules=400):
        """One run; returns its answer as an object."""
        out, _ = self.onefold("lab", "run", "--schedules", str(schedules), "-o", "json", *words,
                              code=code)
        return json.loads(out)

    def failure(self, *words, schedules=5000):
        answer = self.lab(*words, code=1, schedules=schedules)
        self.assertEqual(answer["verdict"], "fails")
        return answer["failure"]

    def digests(self):
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in self.folder.iterdir() if not path.name.endswith(("-shm", "-wal"))}


class Converging(Lab):
    def test_a_right_configuration_converges(self):
        for words in ((), ("--order", "any")):
            answer = self.lab(*words, schedules=800)
            self.assertEqual((answer["verdict"], answer["failure"]), ("converges", None))
            self.assertEqual((answer["events"], answer["schedules"]), (6, 800))
            self.assertGreater(answer["duplicates_before_commit"], 0)
            self.assertGreater(answer["duplicates_after_commit"], 0)
            for name, count in answer["faults"].items():
                self.assertGreater(count, 0, name)
            self.assertGreaterEqual(len(answer["faults"]), 7)

    def test_the_shop_converges(self):
        subprocess.run([sys.executable, SHOP / "generate.py"], cwd=self.folder, check=True,
                       capture_output=True)
        shutil.copy(SHOP / "onefold.toml", self.folder)
        (self.folder / "shop.db").unlink()
        with self.database() as database:
            database.executescript((SHOP / "schema.sql").read_text())
        self.lab()
        answer = self.lab("--order", "any")
        self.assertIn("payment.number", answer["notices"][0])

    def test_the_database_is_only_read(self):
        with self.database() as database:
            database.execute("PRAGMA journal_mode = WAL")
        before = self.digests()
        self.lab()
        self.assertEqual(self.digests(), before)
        with self.database() as database:
            names = [name for name, in database.execute("SELECT name FROM sqlite_schema")]
            self.assertFalse([name for name in names if name.startswith("onefold_")], names)

    def test_events_that_the_database_knows_are_passed_over(self):
        self.write(*(payment(number) for number in range(1, 4)))
        self.run_once()
        self.write(payment(4), mode="a")
        self.assertEqual(self.lab()["events"], 1)
        self.run_once()
        _, err = self.onefold("lab", "run", code=78)
        self.assertIn('has seen the first 4 events of source "orders" already', err)
        (self.folder / "new.jsonl").write_text(json.dumps(payment(5)) + "\n")
        self.assertEqual(self.lab("--events", "new.jsonl")["events"], 1)

    def test_what_is_set_aside_stays_so(self):
        self.write(payment(1), payment(2, account=77), "no JSON", payment(1, amount=6),
                   {**payment(3), "type": "unknown"}, payment(4))
        self.lab()

    def test_times_and_chance_are_left_out(self):
        with self.database() as database:
            database.execute("ALTER TABLE payment ADD COLUMN at TEXT")
            database.execute("ALTER TABLE payment ADD COLUMN token TEXT")
        self.configure(old="(id, account, amount) VALUES (:event_id, :account, :amount)",
                       new="VALUES (:event_id, :account, :amount, datetime('now'), "
                           "hex(randomblob(8)))".replace("VALUES", "(id, account, amount, at, "
                                                         "token) VALUES"))
        notices = self.lab()["notices"]
        self.assertEqual(len(notices), 1)
        self.assertTrue(notices[0].endswith("differ there: payment.at, payment.token"), notices)

    def test_the_same_seed_does_the_same(self):
        first, second, other = (self.lab("--seed", seed) for seed in ("7", "7", "8"))
        for answer in (first, second, other):
            del answer["seconds"]
        self.assertEqual(first, second)
        self.assertNotEqual(first["faults"], other["faults"])


class Failing(Lab):
    def setUp(self):
        super().setUp()
        with self.database() as database:
            database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT)")

    def test_the_last_one_wins(self):
        self.configure(STATUS)
        self.write(*(order(number, number % 2, status)
                     for number, status in enumerate(("made", "made", "paid", "paid", "sent"))))
        self.lab()  # In the order of the file there is nothing wrong with it.
        failure = self.failure("--order", "any")
        self.assertEqual(failure["kind"], "result")
        self.assertEqual(failure["choices"], 1)
        self.assertRegex(failure["cause"], r"^in step 1: evt \d#0 arrives alone$")
        self.assertIn("depends on the order", failure["advice"])
        self.assertEqual(len(failure["differences"]), 2)
        self.assertTrue(failure["differences"][0].startswith("undisturbed: orders id="))
        # Two events are left, each applied once.
        applied = [line for line in failure["timeline"] if " applied" in line]
        self.assertEqual(len(applied), 2)

    def test_the_order_between_two_sources(self):
        other = """[source.web]
kind = "file"
path = "web.jsonl"
format = "json"
identity = { id = "/id", source = "literal:web", type = "/type" }
[consumer.billing]"""
        self.configure(STATUS, old="[consumer.billing]", new=other)
        text = (self.folder / "onefold.toml").read_text()
        (self.folder / "onefold.toml").write_text(
            text.replace('sources = ["orders"]', 'sources = ["orders", "web"]'))
        self.write(order(1, 1, "made"))
        (self.folder / "web.jsonl").write_text(json.dumps(order(2, 1, "paid")) + "\n")
        failure = self.failure()
        self.assertIn("goes first", failure["cause"])
        self.assertIn("worker 2 (billing, web)", failure["timeline"][0])

    def test_keys_that_trade_their_rows(self):
        """Both orders lead to the same rows but for their keys, which are given and not counted."""
        self.configure(STATUS)
        self.write(order(1, 1, "made"), order(2, 2, "paid"), order(3, 2, "made"),
                   order(4, 1, "paid"))
        self.assertEqual(self.failure("--order", "any")["kind"], "result")

    def test_what_a_trigger_writes(self):
        with self.database() as database:
            database.execute("CREATE TABLE latest (id INTEGER PRIMARY KEY, payment TEXT)")
            database.execute("CREATE TRIGGER note AFTER INSERT ON payment BEGIN "
                             "INSERT OR REPLACE INTO latest VALUES (1, NEW.id); END")
        failure = self.failure("--order", "any")
        self.assertIn("latest id=1: payment=", failure["differences"][0])

    def test_an_id_made_of_the_place(self):
        self.configure(old='id = "/id"', new='id = "position"')
        failure = self.failure()
        self.assertEqual(failure["kind"], "result")
        self.assertIn("is sent once more", failure["cause"])
        self.assertIn("its id is made of its place", failure["advice"])
        self.assertEqual(sum(" applied" in line for line in failure["timeline"]), 2)

    def test_an_invariant_between_two_batches(self):
        self.configure("""
[consumer.billing.invariant.balanced]
sql = "SELECT sum(balance) AS sum FROM account HAVING sum != 0"
""")
        self.write(payment(1, 1, 5), payment(2, 2, -5))
        failure = self.failure()
        self.assertEqual((failure["kind"], failure["choices"]), ("invariant", 1))
        self.assertEqual(failure["what"], "the invariant billing.balanced is broken")
        self.assertEqual(failure["differences"], ["a row it returns: sum=5"])
        self.assertIn("evt 1#0 arrives alone", failure["cause"])

    def test_an_invariant_that_never_holds(self):
        self.configure("""
[consumer.billing.invariant.no_debt]
sql = "SELECT id FROM account WHERE balance < 0"
""")
        self.write(payment(1, amount=-5))
        failure = self.failure()
        self.assertEqual(failure["choices"], 0)
        self.assertEqual(failure["cause"], "none: it happens although nothing fails")

    def test_a_replay_is_the_same_byte_for_byte(self):
        self.configure(STATUS)
        self.write(order(1, 1, "made"), order(2, 1, "paid"), payment(3))
        out, _ = self.onefold("lab", "run", "--order", "any", code=1)
        command = out.partition("again: onefold ")[2].partition("\n")[0].split()
        again = [self.onefold(*command, code=1)[0] for _ in range(2)]
        self.assertEqual(again[0], again[1])
        self.assertEqual(out.partition("found by")[0], again[0])
        self.assertEqual(out.splitlines()[0].split(),
                         ["step", "worker", "1", "worker", "2", "database", "broker"])
        # Mended, the same schedule is fine.
        self.configure(STATUS.replace("INSERT OR REPLACE", "INSERT OR IGNORE").replace(
            "(:order, :status)", "(:order, substr(:status, 1, 0))"))
        self.assertIn("fine: this schedule", self.onefold(*command)[0])
        self.write(order(1, 1, "lost"))
        self.assertIn("found with other events", self.onefold(*command, code=78)[1])


class Words(Lab):
    def test_list(self):
        self.configure("""
[consumer.billing.invariant.no_debt]
sql = "SELECT id FROM account WHERE balance < 0"
""")
        out, _ = self.onefold("lab", "list")
        self.assertIn("orders  a log that can be read again, in its order  1", out)
        self.assertIn("billing.no_debt", out)
        ordered = json.loads(self.onefold("lab", "list", "-o", "json")[0])
        queue = json.loads(self.onefold("lab", "list", "-o", "json", "--order", "any")[0])
        names = lambda answer: {fault["name"] for fault in answer["faults"]}
        self.assertEqual(names(ordered) - names(queue), {"restore"})
        self.assertEqual(names(queue) - names(ordered),
                         {"acknowledgement lost", "other worker first"})
        self.assertEqual(queue["sources"], [{"name": "orders", "log": False, "ordered": False,
                                             "workers": 2}])

    def test_mistakes(self):
        for words, code, text in (
                (("replay", "A1:x"), 64, '"A1:x" is no seed: it looks like T1:'),
                (("run", "--events", "none.jsonl"), 78, "cannot open none.jsonl"),
                (("run", "--ignore", "payment.nothing"), 78, 'no column "payment.nothing"'),
                (("run", "--order", "none"), 64, "none of the orders here"),
                (("run", "--events-max", "0"), 64, "no number from 1 to 50")):
            out, err = self.onefold("lab", *words, code=code)
            self.assertEqual(out, "")
            self.assertIn(text, err)

    def test_other_databases(self):
        environment = {**os.environ, "ONEFOLD__STORE__URL": "mariadb://a:secret@127.0.0.1:1/x"}
        _, err = self.onefold("lab", "run", code=78, env=environment)
        self.assertIn("cannot be copied for each schedule", err)
        self.assertIn("docs/lab.md", err)
        self.assertNotIn("secret", err)

    def test_columns_to_ignore(self):
        with self.database() as database:
            database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT)")
        self.configure(STATUS)
        self.write(order(1, 1, "made"), order(2, 1, "paid"))
        self.lab("--order", "any", "--ignore", "orders.status")

    def test_a_signal_ends_it_and_nothing_is_left(self):
        with subprocess.Popen([onefold_cli.PROGRAM, "lab", "run", "--seconds", "60", "-q"],
                              cwd=self.folder, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "TMPDIR": str(self.folder)}) as process:
            def open_files():
                for each in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
                    with contextlib.suppress(FileNotFoundError):  # Closed meanwhile.
                        yield str(each.readlink())

            deadline = time.monotonic() + 30
            while not (copies := [name for name in open_files() if "/onefold-lab-" in name]):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertTrue(out.startswith(("converges: ", "nothing was tried")), out)
        self.assertNotIn("converges: 0 ", out)
        self.assertFalse(pathlib.Path(copies[0]).parent.exists(), copies)


class Invariants(ShopTest):
    def check(self, sql, text, code=78):
        (self.folder / "onefold.toml").write_text(
            CONFIG + f"[consumer.billing.invariant.sound]\nsql = {json.dumps(sql)}\n")
        out, err = self.onefold("check", code=code)
        self.assertIn(text, out + err)

    def test_check_prepares_them(self):
        self.check("SELECT id FROM account WHERE balance < 0", "every statement fits", code=0)
        self.check("SELECT id FROM acount", 'invariant "sound" (SELECT id FROM acount): no such')
        self.check("DELETE FROM account", "only reads, and this begins with DELETE")
        self.check("WITH a AS (SELECT 1) DELETE FROM account", "it writes")
        self.check("SELECT id FROM account WHERE id = :account", "no parameter :account")
        self.check("SELECT '${HOME}'", "must not change with the environment")
        self.check("", "there is no statement")

    def test_they_are_shown(self):
        self.check("SELECT id FROM account WHERE balance < 0", "fine", code=0)
        out, _ = self.onefold("config", "show")
        self.assertIn("[consumer.billing.invariant.sound]\nsql = ", out)
        (self.folder / "again.toml").write_text(out)
        self.assertEqual(self.onefold("config", "show", "-c", "again.toml")[0], out)


if __name__ == "__main__":
    onefold_cli.main()
