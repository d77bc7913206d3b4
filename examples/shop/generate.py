#!/usr/bin/env python3
"""Writes orders.jsonl, a shop's events as an unreliable broker delivers them, and expected.json.

The same seed gives the same bytes. What has to come out is computed here, with dictionaries, from
the rules in the README: nothing of Onefold is used for it.
"""

import argparse
import collections
import json
import pathlib
import random
import uuid

ACCOUNTS = 1000  # As in schema.sql.
BEYOND_DOUBLE = 2**53 + 1  # Through a double, this would lose its last digit.

# Shares of all deliveries. The rest are first deliveries of good events.
DUPLICATES = 0.10
MALFORMED = 0.002  # No identity can be read.
UNACCEPTABLE = 0.003  # An identity, but the event cannot be applied.
CONFLICTS = 0.0005  # The identity of an earlier event with other data.


class Shop:
    """Makes events. `fate` is what must become of the first delivery of each."""

    def __init__(self, generator):
        self.random = generator
        self.counter = 0

    def identity(self):
        value = uuid.UUID(int=self.random.getrandbits(128), version=4)
        # Ids are compared byte by byte: upper case is another id than lower case.
        text = str(value).upper() if self.random.random() < 0.001 else str(value)
        return f"evt_{text}"

    def payment(self):
        self.counter += 1
        amount = self.random.randrange(1, 50_000)
        if self.random.random() < 0.0002:
            amount = BEYOND_DOUBLE
        return {
            "event_id": self.identity(),
            "type": "payment.received",
            "account_id": self.random.randrange(1, ACCOUNTS + 1),
            "amount": amount,
            "reference": f"invoice {self.counter}",
        }

    def order(self):
        self.counter += 1
        return {
            "event_id": self.identity(),
            "type": "order.confirmed",
            "order_id": f"ord_{self.counter:06d}",
            "lines": self.random.randrange(1, 9),
        }

    def good(self):
        return self.payment() if self.random.random() < 0.7 else self.order()

    def unacceptable(self):
        """Readable, but no handler can apply it."""
        event = self.payment()
        kind = self.random.randrange(6)
        if kind == 0:
            event["amount"] = str(event["amount"])
        elif kind == 1:
            event["amount"] = event["amount"] + 0.5
        elif kind == 2:
            event["amount"] = 2**63
        elif kind == 3:
            del event["amount"]
        elif kind == 4:
            event["account_id"] = ACCOUNTS + self.random.randrange(1, 100)
        else:
            event["type"] = "payment.disputed"
        return event

    def malformed(self):
        """A line from which no identity can be read."""
        event = self.payment()
        kind = self.random.randrange(5)
        if kind == 0:
            text = json.dumps(event)
            return text[: self.random.randrange(1, len(text))]
        if kind == 1:
            del event["event_id"]
        elif kind == 2:
            event["event_id"] = ""
        elif kind == 3:
            event["event_id"] = self.counter
        else:
            event["event_id"] = None
        return json.dumps(event)


def encode(event, generator):
    """JSON text. A redelivery may pass through another encoder: that makes no other event."""
    style = generator.random()
    if style < 0.9:
        return json.dumps(event, separators=(",", ":"))
    if style < 0.95:
        return json.dumps(event)
    return json.dumps(dict(reversed(event.items())))


def deliveries(shop, total):
    """All deliveries as (when, kind, event or text), unsorted."""
    generator = shop.random
    malformed = round(total * MALFORMED)
    unacceptable = round(total * UNACCEPTABLE)
    conflicts = round(total * CONFLICTS)
    duplicates = round(total * DUPLICATES)
    first = total - malformed - conflicts - duplicates

    events = ["unacceptable"] * unacceptable + ["good"] * (first - unacceptable)
    generator.shuffle(events)
    events = [(kind, getattr(shop, kind)()) for kind in events]
    out = [(float(index), kind, event) for index, (kind, event) in enumerate(events)]

    # Half of the duplicates follow soon, half come in blocks, as after a rebalance.
    again = [generator.randrange(first) for _ in range(duplicates // 2)]
    out += [(index + generator.uniform(1, 60), *events[index]) for index in again]
    left = duplicates - len(again)
    while left:
        length = min(left, 500, first)
        start = generator.randrange(first - length + 1)
        shift = length + generator.randrange(first)
        out += [(float(start + shift + i), *events[start + i]) for i in range(length)]
        left -= length

    good = [index for index, (kind, _) in enumerate(events) if kind == "good"]
    for index in generator.sample(good, conflicts):
        other = dict(events[index][1])
        if "amount" in other:
            other["amount"] += 1
        else:
            other["lines"] += 1
        out.append((index + generator.uniform(-60, 60), "good", other))
    out += [(generator.uniform(0, first), "malformed", shop.malformed()) for _ in range(malformed)]
    return out


class Expectation:
    """What each delivery has to become, in the order of the file."""

    def __init__(self):
        self.outcomes = collections.Counter()
        self.seen = {}
        self.malformed = set()
        self.balances = collections.Counter()
        self.payments = 0
        self.orders = 0

    def deliver(self, kind, event):
        if kind == "malformed":
            self.outcomes["dead"] += 1
            self.malformed.add(event)
            return
        identity = event["event_id"]
        if identity in self.seen:
            same = self.seen[identity] == event
            self.outcomes["duplicate" if same else "conflict"] += 1
            return
        self.seen[identity] = event
        if kind == "unacceptable":
            self.outcomes["dead"] += 1
            return
        self.outcomes["applied"] += 1
        if event["type"] == "payment.received":
            self.payments += 1
            self.balances[event["account_id"]] += event["amount"]
        else:
            self.orders += 1

    def again(self):
        """When all of it comes once more, another way: every identity is known. A line without one
        is known by its place in the file, so that its bytes alone are new, once."""
        conflict, dead = self.outcomes["conflict"], len(self.malformed)
        duplicate = sum(self.outcomes.values()) - conflict - dead
        return {"duplicate": duplicate, "dead": dead, "conflict": conflict}

    def as_json(self):
        names = ["applied", "duplicate", "stale", "deferred", "dead", "conflict", "ignored"]
        outcomes = {name: self.outcomes[name] for name in names}
        again = self.again()
        return {
            "received": sum(outcomes.values()),
            "outcomes": outcomes,
            "outcomes_again": {name: again.get(name, 0) for name in names},
            "payments": self.payments,
            "orders": self.orders,
            "balance_sum": sum(self.balances.values()),
            "balances": {str(id): self.balances[id] for id in range(1, ACCOUNTS + 1)},
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".", help="folder to write to")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--deliveries", type=int, default=100_000)
    options = parser.parse_args()

    generator = random.Random(options.seed)
    shop = Shop(generator)
    # Shuffled nearby: a delivery moves by up to 20 places.
    moved = [
        (when + generator.uniform(0, 20), number, kind, event)
        for number, (when, kind, event) in enumerate(deliveries(shop, options.deliveries))
    ]
    moved.sort(key=lambda delivery: delivery[:2])

    expectation = Expectation()
    folder = pathlib.Path(options.out)
    with open(folder / "orders.jsonl", "w", encoding="utf-8", newline="\n") as lines:
        for _, _, kind, event in moved:
            expectation.deliver(kind, event)
            lines.write(event if kind == "malformed" else encode(event, generator))
            lines.write("\n")
    with open(folder / "expected.json", "w", encoding="utf-8", newline="\n") as file:
        json.dump(expectation.as_json(), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
