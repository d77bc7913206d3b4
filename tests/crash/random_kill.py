#!/usr/bin/env python3
"""Kills `onefold run` at random moments while it applies the shop's 100,000 deliveries.

random_kill.py ONEFOLD SHOP_EXAMPLE KILLS [SEED]

Whatever the moments, the tables must end exactly as expected.json says, which the generator has
computed without Onefold. The seed is printed, so that the moments of a failure can be repeated.
"""
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def start(onefold, folder):
    command = [onefold, "run", "-c", "onefold.toml", "--migrate", "--until-idle", "-o", "json"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def applied(folder):
    """How many events are in the inbox, seen from another process."""
    with sqlite3.connect(folder / "shop.db", timeout=10) as database:
        return database.execute("SELECT count(*) FROM onefold_inbox").fetchone()[0]


def measure(onefold, example):
    """How long an undisturbed run takes: the kills are spread over that time."""
    with tempfile.TemporaryDirectory() as name:
        folder = prepare(example, Path(name))
        begun = time.monotonic()
        process = start(onefold, folder)
        output, errors = process.communicate(timeout=300)
        if process.returncode != 0:
            sys.exit(f"the undisturbed run failed: {errors.decode()}{output.decode()}")
        return time.monotonic() - begun


def prepare(example, folder):
    for name in ("onefold.toml", "generate.py", "schema.sql", "check.py"):
        shutil.copy(example / name, folder)
    subprocess.run([sys.executable, "generate.py"], cwd=folder, check=True, capture_output=True)
    with sqlite3.connect(folder / "shop.db") as database:
        database.executescript((folder / "schema.sql").read_text())
    return folder


def main():
    onefold = str(Path(sys.argv[1]).resolve())
    example = Path(sys.argv[2]).resolve()
    kills = int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}, {kills} kills")
    chance = random.Random(seed)
    usual = measure(onefold, example)
    with tempfile.TemporaryDirectory() as name:
        folder = prepare(example, Path(name))
        died, in_the_middle = 0, 0
        for _ in range(kills):
            process = start(onefold, folder)
            # Short enough that every process dies with work left, all together about one run.
            time.sleep(chance.uniform(0, 1.6 * usual / kills + 0.02))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            died += process.returncode == -signal.SIGKILL
            in_the_middle += 0 < applied(folder) if (folder / "shop.db-wal").exists() else 0
        process = start(onefold, folder)
        output, errors = process.communicate(timeout=300)
        if process.returncode != 0:
            sys.exit(f"the last run failed: {errors.decode()}{output.decode()}")
        print(f"killed {died} times, {in_the_middle} times with work done; the last process "
              f"received {json.loads(output)['received']}")
        if died == 0:
            sys.exit("no process was killed: the test has shown nothing")
        check = subprocess.run([sys.executable, "check.py", "."], cwd=folder, text=True,
                               capture_output=True)
        print(check.stdout, check.stderr)
        sys.exit(check.returncode)


if __name__ == "__main__":
    main()
