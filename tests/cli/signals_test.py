"""Signals in the middle of a large file: signals_test.py PROGRAM."""

import json
import os
import signal
import subprocess
import time

import onefold_cli
from onefold_cli import CONFIG, ShopTest, payment

EVENTS = 20_000


class Signals(ShopTest):
    def setUp(self):
        super().setUp()
        with open(self.folder / "orders.jsonl", "w", encoding="utf-8") as file:
            for number in range(EVENTS):
                file.write(json.dumps(payment(number, account=number % 10)) + "\n")
        self.onefold("migrate")

    def start(self, *words):
        return subprocess.Popen([onefold_cli.PROGRAM, "run", "-o", "json", *words],
                                cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def wait_for_payments(self, count):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with self.database() as database:
                if database.execute("SELECT count(*) FROM payment").fetchone()[0] >= count:
                    return
            time.sleep(0.01)
        self.fail(f"{count} payments were not applied within a minute")

    def test_stop_in_the_middle_and_go_on_to_exact_balances(self):
        applied = 0
        for number in (signal.SIGTERM, signal.SIGINT):
            run = self.start()
            self.wait_for_payments(applied + 1000)
            run.send_signal(number)
            out, err = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 0, err)
            applied += json.loads(out)["applied"]
            with self.database() as database:
                self.assertEqual(database.execute("SELECT count(*) FROM payment").fetchone()[0],
                                 applied)
        self.assertLess(applied, EVENTS)
        totals = self.run_once()
        self.assertEqual(totals["applied"], EVENTS - applied)
        self.assertEqual(totals["duplicate"], 0)
        self.assertEqual(self.balances(), {each: 5 * EVENTS // 10 for each in range(10)})

    def test_without_until_idle_it_goes_on_until_a_signal(self):
        (self.folder / "onefold.toml").write_text(
            CONFIG.replace('path = "orders.jsonl"', 'path = "orders.jsonl"\nfollow = true'))
        self.write(payment(0))
        run = self.start()
        self.wait_for_payments(1)
        self.write(payment(1), mode="a")
        self.wait_for_payments(2)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGTERM)
        out, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, err)
        self.assertEqual(json.loads(out)["applied"], 2)

    def test_without_a_source_that_follows_it_says_so_once(self):
        self.write(payment(0))
        run = self.start()
        self.wait_for_payments(1)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, err)
        self.assertEqual(err.count("no source follows its file"), 1, err)
        self.assertNotIn("no source follows", self.onefold("run", "--until-idle")[1])

    def test_progress_is_shown_on_a_terminal_only_and_cleared(self):
        ours, theirs = os.openpty()
        run = subprocess.Popen([onefold_cli.PROGRAM, "run", "--until-idle", "-o", "json"],
                               cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=theirs,
                               env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # The other end was closed: so Linux tells it.
            pass
        os.close(ours)
        out, _ = run.communicate(timeout=60)
        self.assertEqual(json.loads(out)["applied"], EVENTS)
        self.assertRegex(shown, rb"[\d,]+ received: [\d,]+ applied  [\d,]+/s")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-200:])

    def test_a_second_run_on_the_database_is_refused(self):
        run = self.start()
        self.wait_for_payments(1)
        try:
            _, err = self.onefold("run", "--until-idle", code=75)
            self.assertIn(f"process {run.pid} ", err)
            self.assertIn("stop it, or try again when it has ended", err)
            self.onefold("status")
            self.onefold("check")
        finally:
            run.send_signal(signal.SIGTERM)
            run.communicate(timeout=60)


if __name__ == "__main__":
    onefold_cli.main()
