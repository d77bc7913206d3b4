"""Every command against a small shop, as a user would: commands_test.py PROGRAM."""

import json
import os
import sqlite3
import subprocess

import onefold_cli
from onefold_cli import CONFIG, ShopTest, payment


class Run(ShopTest):
    def test_each_event_once(self):
        self.write(payment(1), payment(2, account=2), payment(1))
        self.assertEqual(self.run_once(), self.totals(received=3, applied=2, duplicate=1))
        self.assertEqual(self.balances(), {1: 5, 2: 5})
        self.assertEqual(self.run_once(), self.totals())
        self.write(payment(3), payment(2, account=2), mode="a")
        self.assertEqual(self.run_once(), self.totals(received=2, applied=1, duplicate=1))
        self.assertEqual(self.balances(), {1: 10, 2: 5})

    def totals(self, **some):
        keys = ("received", "applied", "duplicate", "stale", "deferred", "dead", "conflict",
                "ignored")
        return {**dict.fromkeys(keys, 0), **some}

    def run_once(self, *words, code=0):
        totals = super().run_once(*words, code=code)
        seconds = totals.pop("seconds")
        self.assertIsInstance(seconds, float)
        self.assertEqual(totals["received"], sum(totals.values()) - totals["received"])
        return totals

    def test_keys_of_the_json_object_in_order(self):
        self.write()
        out, err = self.onefold("run", "--migrate", "--until-idle", "-o", "json")
        self.assertRegex(out, r'^\{"received":0,"applied":0,"duplicate":0,"stale":0,"deferred":0,'
                              r'"dead":0,"conflict":0,"ignored":0,"seconds":\d+\.\d+\}\n$')
        self.assertEqual(err, "")

    def test_table(self):
        self.write(payment(1), payment(2, account="x"))
        out, err = self.onefold("run", "--migrate", "--until-idle")
        self.assertRegex(out, r"outcome +events\n")
        self.assertRegex(out, r"applied +1\n")
        self.assertRegex(out, r"dead +1\n")
        self.assertRegex(out, r"received +2\n")
        self.assertIn(" events a second\n", out)
        self.assertIn("onefold dead list", err)
        out, _ = self.onefold("run", "--until-idle")
        self.assertTrue(out.endswith("nothing new\n"), out)
        self.assertNotIn("a second", out)

    def test_fail_on_dead_counts_conflicts(self):
        self.write(payment(1), payment(1, amount=6))
        totals = self.run_once("--fail-on-dead", code=1)
        self.assertEqual(totals, self.totals(received=2, applied=1, conflict=1))
        self.assertEqual(self.balances(), {1: 5})

    def test_dead_alone_is_no_failure(self):
        self.write(payment(1, account=77), "not json", payment(2), {"id": "x", "type": "other"})
        self.assertEqual(self.run_once(), self.totals(received=4, applied=1, dead=3))
        self.assertEqual(self.balances(), {1: 5})

    def test_ignored_only_if_configured(self):
        (self.folder / "onefold.toml").write_text(
            CONFIG.replace("batch_max = 50", 'unsupported = "ignore"'))
        self.write({"id": "x", "type": "other"})
        self.assertEqual(self.run_once(), self.totals(received=1, ignored=1))

    def test_incomplete_last_line_is_a_problem_with_its_offset(self):
        self.write(payment(1))
        first = (self.folder / "orders.jsonl").stat().st_size
        with open(self.folder / "orders.jsonl", "a", encoding="utf-8") as file:
            file.write('{"id": "evt')
        out, err = self.onefold("run", "--migrate", "--until-idle", "-o", "json", code=1)
        self.assertEqual(json.loads(out)["applied"], 1)
        self.assertIn("problem", err)
        self.assertIn(str(first), err)

    def test_standard_input(self):
        config = CONFIG.replace('kind = "file"', 'kind = "stdin"')
        (self.folder / "onefold.toml").write_text(config.replace('path = "orders.jsonl"\n', ""))
        lines = "".join(json.dumps(payment(each)) + "\n" for each in (1, 2, 1))
        out, _ = self.onefold("run", "--migrate", "--until-idle", "-o", "json", input=lines)
        self.assertEqual(json.loads(out)["applied"], 2)
        self.assertEqual(json.loads(out)["duplicate"], 1)

    def test_closed_standard_streams_harm_nobody(self):
        config = CONFIG.replace('kind = "file"', 'kind = "stdin"')
        (self.folder / "onefold.toml").write_text(config.replace('path = "orders.jsonl"\n', ""))
        command = f"{onefold_cli.PROGRAM} run --migrate --until-idle <&- >&- 2>&-"
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, timeout=60, check=False)
        self.assertEqual(done.returncode, 0)
        with sqlite3.connect(self.folder / "shop.db") as database:
            count = database.execute("SELECT count(*) FROM onefold_inbox").fetchone()[0]
        self.assertEqual(count, 0)
        lock = next(self.folder.glob("*.onefold-lock")).read_text()
        self.assertTrue(lock.strip().isdigit(), lock)

    def test_paths_are_relative_to_the_configuration(self):
        self.write(payment(1))
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        done = subprocess.run([onefold_cli.PROGRAM, "run", "-c", "../onefold.toml", "--migrate",
                               "--until-idle"], cwd=elsewhere, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.balances(), {1: 5})
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_without_schema_or_database(self):
        self.write(payment(1))
        _, err = self.onefold("run", "--until-idle", code=78)
        self.assertIn("onefold migrate", err)
        os.remove(self.folder / "shop.db")
        _, err = self.onefold("run", "--until-idle", code=78)
        self.assertIn("there is no database shop.db yet", err)
        self.assertFalse((self.folder / "shop.db").exists())

    def test_statements_that_cannot_work_apply_nothing(self):
        with self.database() as database:
            database.execute("DROP TABLE account")
        self.write(payment(1))
        _, err = self.onefold("run", "--migrate", "--until-idle", code=78)
        self.assertIn("onefold.toml:21:3: ", err)
        self.assertIn("no such table: account", err)
        self.assertIn("create the tables that the handlers use first", err)
        self.assertIn("nothing was applied", err)
        self.assertIn("no consumer has run", self.onefold("status")[0])

    def test_a_database_that_another_program_writes(self):
        self.onefold("migrate")
        with self.database() as database:
            database.isolation_level = None
            database.execute("BEGIN IMMEDIATE")
            for words in (["run", "--until-idle"], ["migrate"]):
                _, err = self.onefold(*words, code=75)
                self.assertIn("shop.db is being written by another program", err)
                self.assertRegex(err, "waited [5-9] s for it; try again")
            database.execute("ROLLBACK")

    def test_a_failed_constraint_is_told_before_its_statement(self):
        with self.database() as database:
            database.execute("CREATE TABLE entry (account INTEGER REFERENCES account)")
        (self.folder / "onefold.toml").write_text(CONFIG.replace(
            '  "UPDATE', '  "INSERT INTO entry (account) VALUES (:account)",\n  "UPDATE').replace(
            "[1, 1]", "[1, 1, 1]"))
        self.write(payment(1, account=77))
        self.assertEqual(self.run_once(), self.totals(received=1, dead=1))
        self.assertIn("FOREIGN KEY constraint failed", self.onefold("dead", "list")[0])

    def test_changed_key_rules_need_a_reason(self):
        self.write(payment(1))
        self.run_once()
        (self.folder / "onefold.toml").write_text(CONFIG.replace("literal:shop", "literal:store"))
        _, err = self.onefold("run", "--until-idle", code=78)
        self.assertIn("--accept-key-change", err)
        self.onefold("run", "--until-idle", "--accept-key-change", code=64)
        for nothing in ("", " \t"):
            _, err = self.onefold("run", "--until-idle", "--accept-key-change", "--reason",
                                  nothing, code=64)
            self.assertIn("the reason is empty", err)
        self.onefold("run", "--until-idle", "--accept-key-change", "--reason", "renamed")
        with self.database() as database:
            who, detail = database.execute("SELECT who, detail FROM onefold_audit").fetchone()
        self.assertIn("@", who)
        self.assertIn("renamed", detail)


class LookingAtEvents(ShopTest):
    def setUp(self):
        super().setUp()
        self.write(payment(1), payment(1), payment(1, amount=6), payment(2, account=None),
                   '{"id":"evt 9","type":"payment.received","id":"evt 9"}', "\udcff\udcfe",
                   "[31m\x1b[31m")
        self.run_once()

    def test_why_applied_and_conflict(self):
        out, _ = self.onefold("inbox", "why", "evt 1")
        self.assertIn("billing: applied at ", out)
        self.assertIn("by credit@2", out)
        self.assertIn("entity", out)
        self.assertIn("1 delivery with the same key and other data", out)
        self.assertIn("onefold dead show ", out)

    def test_why_dead(self):
        out, _ = self.onefold("inbox", "why", "evt 2", "--source", "shop")
        self.assertIn("billing: set aside as dead", out)
        self.assertIn("Its id stays claimed", out)
        self.assertIn("/account", out)

    def test_why_not_seen(self):
        out, err = self.onefold("inbox", "why", "evt 3", code=1)
        self.assertIn("billing: not seen", out)
        self.assertIn("byte by byte", err)
        self.assertIn("could not be read has no id: see onefold dead list", err)
        self.onefold("inbox", "why", "evt 1", "--source", "other", code=1)

    def test_why_json(self):
        out, _ = self.onefold("inbox", "why", "evt 1", "-o", "json")
        story = json.loads(out)
        self.assertTrue(story["seen"])
        event = story["consumers"][0]["events"][0]
        self.assertEqual(event["inbox"]["outcome"], "applied")
        self.assertEqual(event["inbox"]["entity"], "1")
        self.assertEqual(event["deferred"][0]["kind"], "conflict")

    def test_dead_list(self):
        out, err = self.onefold("dead", "list")
        self.assertRegex(out, r"id +kind +class +consumer +event_id +event_type +count +attempts "
                              r"+due_at +last_at +error\n")
        self.assertEqual(len(out.splitlines()), 6)
        self.assertNotIn("\x1b", out)
        self.assertIn("onefold dead show", err)
        out, _ = self.onefold("dead", "list", "--kind", "conflict")
        self.assertEqual(len(out.splitlines()), 2)
        out, err = self.onefold("dead", "list", "--limit", "2", "-o", "json")
        records = json.loads(out)
        self.assertEqual(len(records), 2)
        self.assertIn(f"--after {records[1]['id']}", err)
        _, err = self.onefold("dead", "list", "--consumer", "nobody", code=64)
        self.assertIn("the consumers here are billing", err)
        out, _ = self.onefold("dead", "list", "--consumer", "billing", "--after", "777")
        self.assertEqual(out, "nothing is set aside\n")

    def test_dead_show_has_the_bytes(self):
        self.assertNotIn("raw", json.loads(self.onefold("dead", "list", "-o", "json")[0])[0])
        records = json.loads(self.onefold("dead", "list", "-o", "json", "--raw")[0])
        binary = next(each for each in records if "raw_base64" in each)
        self.assertEqual(binary["raw_base64"], "//4=")
        shown, _ = self.onefold("dead", "show", str(records[0]["id"]))
        self.assertIn("the bytes as they came", shown)
        self.assertIn("came from    source orders, byte offset ", shown)
        for record in records:
            shown, _ = self.onefold("dead", "show", str(record["id"]))
            self.assertNotIn("\x1b", shown)
            again = json.loads(self.onefold("dead", "show", str(record["id"]), "-o", "json")[0])
            self.assertEqual(again, record)

    def test_dead_show_of_nothing(self):
        _, err = self.onefold("dead", "show", "777", code=1)
        self.assertIn("777", err)
        self.assertIn("onefold dead list", err)

    def test_status(self):
        out, _ = self.onefold("status")
        self.assertIn("billing\n", out)
        self.assertRegex(out, r"inbox +1 applied, 4 dead\n")
        self.assertRegex(out, r"set aside +1 conflict, the 4 dead; see onefold dead list\n")
        self.assertIn("orders read up to offset", out)
        status = json.loads(self.onefold("status", "-o", "json")[0])["consumers"][0]
        self.assertEqual(status["name"], "billing")
        self.assertEqual(status["inbox"]["applied"], 1)
        self.assertEqual(status["positions"][0]["next"],
                         str((self.folder / "orders.jsonl").stat().st_size))

    def test_a_store_is_enough_to_look(self):
        lines = CONFIG.splitlines(keepends=True)
        (self.folder / "store.toml").write_text("".join(lines[:3]))
        for words in (["status"], ["dead", "list"], ["dead", "show", "1"], ["migrate"],
                      ["inbox", "why", "evt 1"]):
            self.onefold(*words, "-c", "store.toml")
        for words in (["check"], ["run", "--until-idle"]):
            _, err = self.onefold(*words, "-c", "store.toml", code=78)
            self.assertIn('needs the key "consumer"', err)

    def test_closed_pipe_is_no_failure(self):
        command = subprocess.Popen([onefold_cli.PROGRAM, "dead", "list"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        command.stdout.close()
        command.stderr.read()
        command.stderr.close()
        self.assertEqual(command.wait(timeout=60), 0)

    def test_full_disk_is_told(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([onefold_cli.PROGRAM, "status"], cwd=self.folder, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 69)
        self.assertIn("could not be written", done.stderr)


class Words(ShopTest):
    def test_help_of_every_command_has_an_example(self):
        for words in ([], ["run"], ["check"], ["migrate"], ["status"], ["inbox"], ["inbox", "why"],
                      ["dead"], ["dead", "list"], ["dead", "show"], ["version"], ["help"]):
            out, err = self.onefold(*words, "--help")
            self.assertIn("Example:\n  onefold ", out, words)
            self.assertEqual(err, "")

    def test_mistakes_get_a_hint(self):
        for words, hint in ((["rnu"], 'did you mean "run"?'), ([], "see onefold --help"),
                            (["run", "--migrat"], 'did you mean "--migrate"?'),
                            (["dead", "lst"], 'did you mean "list"?'),
                            (["run", "-o", "yaml"], "see onefold run --help"),
                            (["inbox", "why"], "onefold inbox why needs an ID"),
                            (["run", "-c"], "--config needs a value: FILE"),
                            (["dead", "show", "x"], "is no number from onefold dead list"),
                            (["help", "ded"], 'did you mean "dead"?'),
                            (["-c", "a.toml", "run"], "options come after the command")):
            out, err = self.onefold(*words, code=64)
            self.assertEqual(out, "")
            self.assertIn("onefold: error: ", err)
            self.assertIn(hint, err, words)

    def test_help_is_a_command_too(self):
        for words in ([], ["run"], ["dead", "list"]):
            self.assertEqual(self.onefold("help", *words), self.onefold(*words, "--help"))

    def test_version(self):
        out, _ = self.onefold("version", "-o", "json")
        self.assertEqual(json.loads(out)["config_version"], 1)
        self.assertEqual(self.onefold("--version")[0].split()[0], "onefold")

    def test_check(self):
        self.write(payment(1))
        out, err = self.onefold("check")
        self.assertIn("onefold.toml: fine: 1 source, 1 consumer, 1 handler, 2 statements", out)
        self.assertIn("every statement fits", out)
        self.assertEqual(err, "")
        (self.folder / "bad.toml").write_text(
            CONFIG.replace("batch_max", "batch_mx").replace('"file"', '"fil"'))
        _, err = self.onefold("check", "-c", "bad.toml", code=78)
        self.assertIn('bad.toml:11:1: unknown key "batch_mx" in [consumer.billing]', err)
        self.assertIn('did you mean "batch_max"?', err)
        self.assertIn("bad.toml:5:8: ", err)
        (self.folder / "sql.toml").write_text(CONFIG.replace("INTO payment", "INTO paiment"))
        _, err = self.onefold("check", "-c", "sql.toml", code=78)
        self.assertIn("sql.toml:20:3: ", err)
        self.assertIn("no such table: paiment", err)
        self.assertIn("create the tables", err)
        (self.folder / "sql.toml").write_text(CONFIG.replace("balance +", "balanse +"))
        _, err = self.onefold("check", "-c", "sql.toml", code=78)
        self.assertIn("no such column: balanse", err)
        self.assertIn("hint: correct the statement", err)

    def test_missing_and_unreadable_configuration(self):
        _, err = self.onefold("status", "-c", "none.toml", code=78)
        self.assertIn("none.toml: there is no such file", err)
        if os.geteuid() != 0:
            (self.folder / "onefold.toml").chmod(0)
            self.onefold("status", code=77)

    def test_database_in_a_missing_folder(self):
        (self.folder / "onefold.toml").write_text(CONFIG.replace("shop.db", "none/shop.db"))
        _, err = self.onefold("migrate", code=78)
        self.assertIn("the folder none of the database does not exist", err)
        self.assertFalse((self.folder / "none").exists())

    def test_migrate_twice(self):
        self.assertIn("applied now", self.onefold("migrate")[0])
        self.assertNotIn("applied now", self.onefold("migrate")[0])


if __name__ == "__main__":
    onefold_cli.main()
