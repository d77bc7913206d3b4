#!/usr/bin/env python3
"""Hostile inputs as the whole program meets them: program_test.py PROGRAM.

The numbers in the names are explained in README.md.
"""

import csv
import io
import json
import os
import pathlib
import re
import socket
import sqlite3
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))

import onefold_cli  # noqa: E402
from onefold_cli import CONFIG, ShopTest, payment  # noqa: E402

# What must never reach a terminal as it is: C0 (but for the line break), DEL, C1, and what turns
# the direction of text around.
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Ids(ShopTest):
    CONTROLS = ["a\r\nb", "a\tb", "a\u202eb", "\x1b[31mred\x1b[0m\x07", "\x7f\b\b",
                "a\u0085\u009b2J", "\u2066a\u2069"]

    def test_H05_control_characters_are_shown_escaped(self):
        amounts = [1, "1"]  # Applied, and set aside with the parameter named.
        self.write(*({**payment(0, amount=amount), "id": f"{name} {amount!r}"}
                     for name in self.CONTROLS for amount in amounts),
                   *({**payment(0, amount=2), "id": f"{name} 1"} for name in self.CONTROLS),
                   '{"id":"broken \x1b[31m\u202e"', "\x1b]0;title\x07")
        totals = self.run_once()
        count = len(self.CONTROLS)
        self.assertEqual((totals["applied"], totals["dead"], totals["conflict"]),
                         (count, count + 2, count))
        outputs = [self.onefold("dead", "list"), self.onefold("inbox", "list"),
                   self.onefold("inbox", "list", "-o", "csv"), self.onefold("status")]
        letters = json.loads(self.onefold("dead", "list", "-o", "json")[0])
        self.assertEqual(len(letters), 2 * count + 2)
        outputs += [self.onefold("dead", "show", str(letter["id"])) for letter in letters]
        outputs += [self.onefold("inbox", "why", f"{name} {amount!r}")
                    for name in self.CONTROLS for amount in amounts]
        for out, err in outputs:
            self.assertIsNone(UNSAFE.search(out), repr(out))
            self.assertIsNone(UNSAFE.search(err), repr(err))

    def test_H05_naughty_strings_are_found_again(self):
        strings = json.loads((HERE / "blns.json").read_text())
        (self.folder / "onefold.toml").write_text(CONFIG.replace("batch_max = 50", ""))
        events = [{**payment(0), "id": text} for text in strings]
        self.write(*events, *reversed(events))
        totals = self.run_once()
        self.assertEqual((totals["received"], totals["applied"], totals["dead"]), (970, 479, 4))
        with self.database() as database:
            database.text_factory = bytes
            stored = [row[0] for row in database.execute("SELECT event_id FROM onefold_inbox "
                                                         "WHERE outcome = 0 ORDER BY event_id")]
            paid = [row[0] for row in database.execute("SELECT id FROM payment ORDER BY id")]
        wanted = sorted(text.encode() for text in set(strings) - {"", " "})
        self.assertEqual(stored, wanted)
        self.assertEqual(paid, wanted)
        for text in wanted[::7]:  # One in seven: each is a process of its own.
            out, _ = self.onefold("inbox", "why", "-o", "json", "--", text)
            story = json.loads(out)
            self.assertEqual((story["id"], story["seen"]), (text.decode(), True))
            found = story["consumers"][0]["events"][0]["inbox"]
            self.assertEqual(found["outcome"], "applied", text)


class Tables(ShopTest):
    def test_H40_a_spreadsheet_executes_nothing(self):
        formulas = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "=1\n=2"]
        harmless = ["a=1", "1-2", "a@b", 'say "=1", twice']
        self.write(*({**payment(number, amount=amount), "id": f"{text}{amount!r}"}
                     for number, text in enumerate([*formulas, *harmless]) for amount in (5, "5")))
        totals = self.run_once()
        count = len(formulas) + len(harmless)
        self.assertEqual((totals["applied"], totals["dead"]), (count, count))
        for words, rows in ((["inbox", "list"], 2 * count), (["dead", "list"], count)):
            out, _ = self.onefold(*words, "-o", "csv", "--limit", "1000")
            table = list(csv.DictReader(io.StringIO(out, newline="")))
            self.assertEqual(len(table), rows, words)
            for row in table:
                for cell in row.values():
                    self.assertNotRegex(cell, r"^[=+\-@\t\r]", words)
            shown = {row["event_id"] for row in table}
            for text in harmless:
                self.assertIn(f"{text}'5'", shown, words)
            self.assertIn("'=cmd|' /C calc'!A0'5'", shown, words)


class Fields(ShopTest):
    def values(self, column="amount"):
        with self.database() as database:
            return dict(database.execute(f"SELECT id, {column} FROM payment"))

    def test_H10_numbers_are_exact_or_refused(self):
        exact = {"0": 0, "-1": -1, "9007199254740993": 2**53 + 1,
                 "9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63)}
        refused = ["9223372036854775808", "-9223372036854775809", "18446744073709551616", "1.5",
                   "1.0", "1e0", "1e400", '"7"', "true", "[7]", '{"a":7}', "null", "", "007"]
        lines = []
        for number, token in enumerate([*exact, *refused]):
            amount = f',"amount":{token}' if token else ""
            lines.append(f'{{"id":"{number}","type":"payment.received",'
                         f'"account":{number}{amount}}}')
        with self.database() as database:
            database.executemany("INSERT INTO account VALUES (?, 0)", [(n,) for n in range(10, 30)])
        self.write(*lines)
        totals = self.run_once()
        self.assertEqual((totals["applied"], totals["dead"]), (len(exact), len(refused)))
        self.assertEqual(list(self.values().values()), list(exact.values()))
        letters = json.loads(self.onefold("dead", "list", "-o", "json")[0])
        for letter in letters[:-1]:
            self.assertIn("parameter :amount: ", letter["errors"][-1])
        self.assertIn("BAD_JSON", letters[-1]["errors"][-1])

    def test_H30_values_are_bound_and_never_pasted(self):
        (self.folder / "onefold.toml").write_text(CONFIG.replace(
            'params.amount = { at = "/amount", type = "int64" }',
            'params.amount = { at = "/amount", type = "text" }').replace(
            "balance + :amount", "balance + 1").replace(
            "WHERE id = :account", "WHERE id = :account AND :amount LIKE :amount"))
        with self.database() as database:
            database.execute("DROP TABLE payment")
            database.execute("CREATE TABLE payment (id TEXT, account INTEGER, amount TEXT)")
        texts = ["'); DROP TABLE payment;--", "1' OR '1'='1", "{{payload.x}}", ":account", "%s%n",
                 "%", "_", "x'00'", "NULL", "?1", "\\'", "--", "/*", '"', "`", "[", "$1"]
        refused = [["a"], {"a": 1}, 7, True, "a\x00b"]
        self.write(*({**payment(number), "id": text if isinstance(text, str) and "\x00" not in text
                      else f"id {number}", "amount": text}
                     for number, text in enumerate([*texts, *refused])))
        totals = self.run_once()
        self.assertEqual((totals["applied"], totals["dead"]), (len(texts), len(refused)))
        self.assertEqual(self.values(), {text: text for text in texts})


class Paths(ShopTest):
    def refused(self, path, *words, code=78):
        config = CONFIG.replace('"orders.jsonl"', json.dumps(path))
        (self.folder / "onefold.toml").write_text(config)
        began = time.monotonic()
        out, err = self.onefold("run", "--migrate", "--until-idle", code=code)
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(out, "")
        for word in words:
            self.assertIn(word, err)
        with self.database() as database:
            self.assertEqual(list(database.execute("SELECT 1 FROM onefold_inbox UNION ALL "
                                                   "SELECT 1 FROM onefold_deferred")), [])

    def link(self, name, target):
        os.symlink(target, self.folder / name)
        return name

    def test_H35_only_regular_files_are_read(self):
        self.onefold("migrate")
        os.mkfifo(self.folder / "fifo")
        (self.folder / "folder").mkdir()
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(self.folder / "socket"))
        for path in ("fifo", "folder", "folder/", "/dev/zero", "/dev/null", "/dev/tty", "socket",
                     "/proc/self/environ", "/proc/self/mem", "/proc/self/fd/0", "/proc/self/cwd",
                     "orders.jsonl/inside"):
            self.refused(path, "onefold: error: ", path.rstrip("/"))
        for target in ("fifo", "folder", "/dev/zero", "/proc/self/environ"):
            self.refused(self.link(f"to_{target.strip('/').replace('/', '_')}", target))
        self.refused(self.link("circle", "circle"), "regular file")
        self.refused("x" * 5000, "regular file")
        self.refused("none.jsonl", "no such file")
        self.refused("orders.jsonl\0.txt")

    def test_H35_a_link_to_a_regular_file_is_that_file(self):
        self.write(payment(1))
        (self.folder / "real").mkdir()
        (self.folder / "orders.jsonl").rename(self.folder / "real" / "orders.jsonl")
        self.link("orders.jsonl", "real/../real/orders.jsonl")
        self.assertEqual(self.run_once()["applied"], 1)


class Configurations(ShopTest):
    def check(self, text, *words, code=78, **more):
        (self.folder / "hostile.toml").write_bytes(text if isinstance(text, bytes)
                                                   else text.encode())
        out, err = self.onefold("check", "-c", "hostile.toml", code=code, **more)
        if code != 0:
            self.assertEqual(out, "")
        for word in words:
            self.assertIn(word, err)
        self.assertIsNone(UNSAFE.search(err), repr(err))
        return err

    def test_H39_what_is_no_configuration(self):
        self.check("", "config_version")
        self.check(b"\xff\xfe" + CONFIG.encode("utf-16-le"), "hostile.toml:1:")
        self.check(CONFIG.encode() + b'x = "\xff"\n', "not valid UTF-8")
        self.check(CONFIG.encode() + b'x = "\x00"\n', "hostile.toml:24:")
        self.check(b"\x00" * 1000, "hostile.toml:1:1")
        self.check("#" * (100 << 20), "larger than 1 MiB")
        self.check("a = " + "[" * 100_000, "hostile.toml:1:")
        self.check("a = " + "{a=" * 100_000, "hostile.toml:1:")
        self.check("a." * 100_000 + "b = 1", "hostile.toml:1:1: dots nest keys")
        self.check("a." * 100 + "b = 1", "unknown key")
        self.check("".join(f"k{number} = 1\n" for number in range(50_000)), "unknown key")
        self.check('"\x1b[31m\u202e" = 1\n'.replace("\x1b", "\\u001b"), "unknown key")
        self.check(CONFIG.replace("file", "\\u001b[31m\\u0007\\u202e"))

    def test_H39_a_configuration_that_never_ends(self):
        _, err = self.onefold("check", "-c", "/dev/zero", code=78)
        self.assertIn("larger than 1 MiB", err)
        _, err = self.onefold("check", "-c", "/dev/null", code=78)
        self.assertIn("config_version", err)

    def test_H39_a_name_does_not_end_at_a_zero(self):
        secret = self.folder / "secret"
        secret.write_text("sqlite:shop.db")
        secret.chmod(0o600)
        self.check(CONFIG.replace('url = "sqlite:shop.db"', 'url_file = "secret"'), code=0)
        self.check(CONFIG.replace('url = "sqlite:shop.db"', 'url_file = "secret\\u0000.txt"'),
                   "hostile.toml:3:", "NUL")
        self.check(CONFIG.replace("orders.jsonl", "orders.jsonl\\u0000.txt"), "NUL")
        self.check(CONFIG.replace("sqlite:shop.db", "sqlite:shop.db\\u0000.txt"), "hostile.toml:3:")
        self.check(CONFIG.replace("UPDATE account SET", "UPDATE account\\u0000 SET"), "NUL")

    def test_H38_passwords_are_never_shown(self):
        password = "correct-horse-battery"
        # Nobody listens on port 1.
        for url, code in ((f"postgres://shop:{password}@localhost:1/shop", 69),
                          (f"postgres://localhost:1/shop?user=shop&password={password}", 69),
                          (f"mysql://shop:{password}@localhost/shop", 78)):
            config = CONFIG.replace("sqlite:shop.db", url)
            self.assertNotIn(password, self.check(config, code=code), url)
            secret = self.folder / "secret"
            secret.write_text(url)
            secret.chmod(0o600)
            environment = {**os.environ, "SHOP_URL": url, "SHOP_PASSWORD": password}
            for line in ('url_file = "secret"', 'url_env = "SHOP_URL"', 'url = "${SHOP_URL}"',
                         f'url = "{url.replace(password, "${SHOP_PASSWORD}")}"'):
                text = CONFIG.replace('url = "sqlite:shop.db"', line)
                self.assertNotIn(password, self.check(text, code=code, env=environment), line)
                (self.folder / "onefold.toml").write_text(text)
                for words in (["status"], ["dead", "list"], ["config", "show"],
                              ["run", "--until-idle"]):
                    done = onefold_cli.subprocess.run(
                        [onefold_cli.PROGRAM, *words], cwd=self.folder, capture_output=True,
                        text=True, timeout=60, check=False, env=environment)
                    self.assertNotEqual(done.returncode, 70, done.stderr)
                    self.assertNotIn(password, done.stdout + done.stderr, (line, words))
            self.assertNotIn(password, self.check(config, code=code), url)


if __name__ == "__main__":
    onefold_cli.main()
