"""A shop on a real server, and processes of `onefold run` that all get all of its events.

Every process reads a file of its own with the same payments, in another order and with other
duplicates, under one consumer: so each event is fought over. The balances are computed here,
without Onefold.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import time
import urllib.parse
import uuid

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
ACCOUNTS = 100


class Server:
    """A database server that tools/servers.sh runs in a folder of its own."""

    def __init__(self, kind, folder):
        self.kind = kind
        self.environment = {**os.environ, "ONEFOLD_SERVERS": str(folder)}
        self.names = ["postgres", "pgbouncer"] if kind == "pgbouncer" else [kind]

    def __enter__(self):
        self.borrow_locales()
        self.command("start")
        return self

    def borrow_locales(self):
        """To make them takes longer than to start a server; those of the tests' servers do."""
        known = pathlib.Path(os.environ.get("ONEFOLD_SERVERS", REPOSITORY / "build" / "servers"))
        folder = pathlib.Path(self.environment["ONEFOLD_SERVERS"])
        if (known / "locales").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
            (folder / "locales").symlink_to((known / "locales").resolve())

    def __exit__(self, *_):
        self.command("stop")

    def command(self, word, *names):
        script = REPOSITORY / "tools" / "servers.sh"
        answer = subprocess.run([script, word, *(names or self.names)], env=self.environment,
                                text=True, capture_output=True)
        if answer.returncode != 0:
            raise SystemExit(f"servers.sh {word}: {answer.stderr}")
        return answer.stdout

    def crash(self):
        """As a power cut would end it; it is started again at once."""
        name = "mariadb" if self.kind == "mariadb" else "postgres"
        self.command("kill", name)
        self.command("start", name)

    def restart_pooler(self):
        self.command("kill", "pgbouncer")
        self.command("start", "pgbouncer")

    def address(self):
        """Name → value of what `servers.sh env` exports."""
        lines = [line.removeprefix("export ") for line in self.command("env").splitlines()]
        return {name: value.strip("'\"") for name, value in (line.split("=", 1) for line in lines)}


class Shop:
    """A database with accounts, and the files and configurations of some processes."""

    def __init__(self, server, folder, events, seed, processes=2, settings="", consumer=""):
        self.server, self.folder = server, pathlib.Path(folder)
        self.name = "shop_" + uuid.uuid4().hex[:12]
        self.chance = random.Random(seed)
        self.events = events
        self.balances = dict.fromkeys(range(1, ACCOUNTS + 1), 0)
        self.create()
        self.write(processes, settings, consumer)

    # --- the server's side

    def url(self):
        """As it stands in the configuration."""
        known = self.server.address()
        address = known["ONEFOLD_TEST_" + self.server.kind.upper()]
        parts = urllib.parse.urlsplit(address)
        return urllib.parse.urlunsplit(parts._replace(path="/" + self.name))

    def sql(self, text, database=None):
        parts = urllib.parse.urlsplit(self.url())
        database = database or self.name
        if self.server.kind == "mariadb":
            command = ["mariadb", "--no-defaults", "-h", parts.hostname, "-P", str(parts.port),
                       "-u", parts.username or "root", "-N", "-B", "-e", text, database]
        else:
            port = urllib.parse.urlsplit(self.server.address()["ONEFOLD_TEST_POSTGRES"]).port
            command = ["psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres",
                       "-v", "ON_ERROR_STOP=1", "-A", "-t", "-F", "\t", "-c", text, database]
        answer = subprocess.run(command, text=True, capture_output=True)
        if answer.returncode != 0:
            raise RuntimeError(answer.stderr)
        return [line.split("\t") for line in answer.stdout.splitlines()]

    def create(self):
        outside = "mysql" if self.server.kind == "mariadb" else "postgres"
        self.sql(f"CREATE DATABASE {self.name}", outside)
        if self.server.kind != "mariadb":
            # A second each by default, in which both processes stand still.
            self.sql(f"ALTER DATABASE {self.name} SET deadlock_timeout = '50ms'", outside)
        rows = ",".join(f"({account},0)" for account in self.balances)
        self.sql("CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)")
        self.sql(f"INSERT INTO account VALUES {rows}")

    def inbox_table(self):
        return "onefold_inbox" if self.server.kind == "mariadb" else "onefold.inbox"

    def applied(self):
        return int(self.sql(f"SELECT count(*) FROM {self.inbox_table()}")[0][0])

    # --- our side

    def write(self, processes, settings, consumer):
        payments = []
        for _ in range(self.events):
            account, amount = self.chance.randint(1, ACCOUNTS), self.chance.randint(1, 99)
            self.balances[account] += amount
            payments.append({"event_id": str(uuid.UUID(int=self.chance.getrandbits(128))),
                             "type": "payment.received", "account_id": account, "amount": amount})
        for number in range(processes):
            lines = payments + self.chance.sample(payments, self.events // 10)
            keyed = sorted((i + self.chance.uniform(0, 200), i) for i in range(len(lines)))
            if number > 0:
                # Duplicates stand anywhere; later processes start elsewhere in the file.
                self.chance.shuffle(keyed)
            path = self.folder / f"events{number}.jsonl"
            path.write_text("".join(json.dumps(lines[i]) + "\n" for _, i in keyed))
            (self.folder / f"process{number}.toml").write_text(f"""\
config_version = 1
[store]
url = "{self.url()}"
{settings}
[source.events{number}]
kind = "file"
path = "events{number}.jsonl"
format = "json"
identity = {{ id = "/event_id", source = "literal:shop", type = "/type" }}
[consumer.billing]
sources = ["events{number}"]
{consumer}
[[consumer.billing.handler]]
name = "credit"
type = "payment.received"
params.account = {{ at = "/account_id", type = "int64" }}
params.amount = {{ at = "/amount", type = "int64" }}
sql = ["UPDATE account SET balance = balance + :amount WHERE id = :account"]
expect_rows = [1]
""")

    def check(self):
        """What is wrong with the tables; empty if nothing is."""
        rows = self.sql("SELECT id, balance FROM account ORDER BY id")
        found = {int(account): int(balance) for account, balance in rows}
        wrong = [f"account {account}: {found.get(account)} instead of {balance}"
                 for account, balance in self.balances.items() if found.get(account) != balance]
        if self.applied() != self.events:
            wrong.append(f"{self.applied()} rows in the inbox instead of {self.events}")
        return wrong


class Process:
    """`onefold run --until-idle` of one of the shop's configurations."""

    def __init__(self, onefold, shop, number):
        self.shop, self.number = shop, number
        self.command = [onefold, "run", "-c", f"process{number}.toml", "--migrate", "--until-idle",
                        "-o", "json"]
        self.errors = shop.folder / f"process{number}.errors"
        self.start()

    def start(self):
        with self.errors.open("a") as errors:
            self.running = subprocess.Popen(self.command, cwd=self.shop.folder, text=True,
                                            stdout=subprocess.PIPE, stderr=errors)

    def signal(self, which):
        if self.running.poll() is None:
            self.running.send_signal(which)
            return True
        return False

    def kill(self):
        killed = self.signal(signal.SIGKILL)
        self.running.communicate()
        return killed

    def finish(self, seconds_max=600):
        output, _ = self.running.communicate(timeout=seconds_max)
        if self.running.returncode != 0:
            raise SystemExit(f"process {self.number} ended with {self.running.returncode}: "
                             + self.errors.read_text()[-2000:])
        return json.loads(output)


def wait_for_progress(shop, beyond, seconds_max):
    """Seconds until more than `beyond` events are applied; None if that takes too long."""
    begun = time.monotonic()
    while time.monotonic() - begun < seconds_max:
        try:
            if shop.applied() > beyond:
                return time.monotonic() - begun
        except RuntimeError:
            pass  # The server is not ready yet.
        time.sleep(0.1)
    return None
