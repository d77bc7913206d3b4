#!/usr/bin/env python3
"""Faults of processes and servers under load: live_test.py ONEFOLD SERVER SCENARIO COUNT [SEED]

SERVER is postgres, mariadb or pgbouncer. Two processes share all events in every scenario, and the
tables must end exactly as computed:

  overlap   COUNT events, once in each claim mode; deadlocks are counted
  kills     one of the processes is killed, COUNT times
  crashes   the server is killed and started again, COUNT times
  stopped   a process stands still for COUNT seconds inside a transaction
  pooler    PgBouncer is killed and started again, COUNT times
"""

import pathlib
import random
import signal
import sys
import tempfile
import time

import live_shop
from live_shop import Process, Server, Shop, wait_for_progress

AWAY_SECONDS_MAX = 5  # From the server's return to the next applied event.


def expect(condition, text):
    if not condition:
        raise SystemExit("FAILED: " + text)


def finish(shop, processes):
    totals = [process.finish() for process in processes]
    wrong = shop.check()
    expect(not wrong, "; ".join(wrong[:5]))
    for total in totals:
        expect(total["dead"] == total["conflict"] == 0, f"no event is to blame: {total}")
    return totals


def deadlocks(shop):
    if shop.server.kind == "mariadb":
        return int(shop.sql("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'")[0][1])
    return int(shop.sql("SELECT deadlocks FROM pg_stat_database "
                        "WHERE datname = current_database()")[0][0])


def overlap(onefold, server, folder, count, seed):
    for consumer in ('claim = "first"', 'claim = "optimistic"'):
        place = folder / consumer.split('"')[1]
        place.mkdir()
        shop = Shop(server, place, count, seed, consumer=consumer)
        before = deadlocks(shop)
        begun = time.monotonic()
        totals = finish(shop, [Process(onefold, shop, number) for number in (0, 1)])
        seconds = time.monotonic() - begun
        expect(sum(total["applied"] for total in totals) == count, f"counted wrong: {totals}")
        expect(min(total["duplicate"] for total in totals) > 0, "the processes never met")
        print(f"{consumer}: {count} events, {sum(t['received'] for t in totals)} deliveries, "
              f"{seconds:.1f} s, {deadlocks(shop) - before} deadlocks")


def disturbed(onefold, server, folder, count, seed, disturb, events=20000):
    """Two processes, and `disturb` called `count` times while they work."""
    # Many are to happen while there is work; a few do in any case.
    many = count > 10
    shop = Shop(server, folder, 8000 * count if many else events, seed)
    processes = [Process(onefold, shop, number) for number in (0, 1)]
    chance = random.Random(seed)
    wait_for_progress(shop, 0, 60)
    happened = 0
    for _ in range(count):
        time.sleep(chance.uniform(0.05, 0.4))
        if all(process.running.poll() is not None for process in processes):
            break
        disturb(shop, processes, chance)
        happened += 1
    expect(happened == count if many else happened > 0,
           f"everything had ended after {happened} of {count} disturbances")
    finish(shop, processes)
    print(f"disturbed {happened} times, {shop.events} events exact")


def kill_one(_, processes, chance):
    process = chance.choice(processes)
    if process.kill():
        process.start()


def crash_server(shop, processes, _):
    before = shop.applied()
    shop.server.crash()
    if all(process.running.poll() is not None for process in processes):
        return
    seconds = wait_for_progress(shop, before, 30)
    working = any(process.running.poll() is None for process in processes)
    expect(seconds is not None or not working, "nothing was applied after the server was back")
    expect(seconds is None or seconds < AWAY_SECONDS_MAX,
           f"the first event was applied {seconds} s after the server was back")


def restart_pooler(shop, _, chance):
    shop.server.restart_pooler()
    time.sleep(chance.uniform(0, 0.5))


def stopped(onefold, server, folder, count, seed):
    idle_seconds = min(30, max(2, count // 3))
    shop = Shop(server, folder, 40000, seed, settings=f'idle_timeout = "{idle_seconds}s"')
    processes = [Process(onefold, shop, number) for number in (0, 1)]
    wait_for_progress(shop, 2000, 60)
    # Stopped again and again until the other one has to wait for it: then it is in a transaction.
    for _ in range(200):
        processes[0].signal(signal.SIGSTOP)
        before = shop.applied()
        if wait_for_progress(shop, before, 0.5) is None:
            break
        processes[0].signal(signal.SIGCONT)
        time.sleep(0.05)
    else:
        raise SystemExit("FAILED: the process was never stopped inside a transaction")
    begun = time.monotonic()
    seconds = wait_for_progress(shop, before, idle_seconds + 10)
    expect(seconds is not None and seconds < idle_seconds + 2,
           f"the rival went on after {seconds} s, allowed are {idle_seconds} + 2")
    time.sleep(max(0, count - (time.monotonic() - begun)))
    processes[0].signal(signal.SIGCONT)
    finish(shop, processes)
    print(f"stopped for {count} s; the rival went on after {seconds:.1f} s "
          f"(timeout {idle_seconds} s); {shop.events} events exact")


def main():
    onefold, kind, scenario, count = sys.argv[1:5]
    onefold = str(pathlib.Path(onefold).resolve())
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    scenarios = {
        "overlap": overlap,
        "kills": lambda *rest: disturbed(*rest, kill_one),
        "crashes": lambda *rest: disturbed(*rest, crash_server),
        "pooler": lambda *rest: disturbed(*rest, restart_pooler),
        "stopped": stopped,
    }
    root = live_shop.REPOSITORY / "build" / "live"
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)
    with tempfile.TemporaryDirectory(dir=root, prefix=f"{kind}_{scenario}_") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        with Server(kind, folder / "servers") as server:
            work = folder / "shop"
            work.mkdir()
            scenarios[scenario](onefold, server, work, int(count), seed)


if __name__ == "__main__":
    main()
