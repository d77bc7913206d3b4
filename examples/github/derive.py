#!/usr/bin/env python3
"""Derives deliveries.jsonl from the npm package @octokit/webhooks-examples.

    npm pack @octokit/webhooks-examples@7.6.1
    tar xzf octokit-webhooks-examples-7.6.1.tgz
    python3 derive.py package

The payloads are real and stay as they are. What the package does not have is added: delivery ids,
redeliveries under the same id, and an order that is not the order in which things happened.
"""

import json
import pathlib
import random
import sys
import uuid

EVENTS = """
commit_comment create delete fork issue_comment issues label milestone public pull_request
pull_request_review pull_request_review_comment pull_request_review_thread push release repository
repository_dispatch repository_import repository_vulnerability_alert star status watch
""".split()
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "webhooks-examples.onefold")
REDELIVERED = 0.15
PLACES_MOVED = 40


def originals(package):
    groups = json.loads((package / "api.github.com" / "index.json").read_text(encoding="utf-8"))
    for group in groups:
        if group["name"] not in EVENTS:
            continue
        for number, payload in enumerate(group["examples"]):
            yield {
                "delivery": str(uuid.uuid5(NAMESPACE, f"{group['name']} {number}")),
                "event": group["name"],
                "action": payload.get("action"),
                "payload": payload,
            }


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: derive.py PACKAGE_FOLDER, see the top of this file")
    generator = random.Random(1)
    placed = []
    for place, delivery in enumerate(originals(pathlib.Path(sys.argv[1]))):
        placed.append((place + generator.uniform(0, PLACES_MOVED), delivery))
        while generator.random() < REDELIVERED:
            placed.append((place + generator.uniform(0, 3 * PLACES_MOVED), delivery))
    placed.sort(key=lambda one: one[0])
    target = pathlib.Path(__file__).with_name("deliveries.jsonl")
    with open(target, "w", encoding="utf-8", newline="\n") as lines:
        for _, delivery in placed:
            lines.write(json.dumps(delivery, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
