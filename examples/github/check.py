#!/usr/bin/env python3
"""Compares github.db with what deliveries.jsonl says, computed here with dictionaries, and the
outcomes that `onefold run -o json` printed with what they have to be. Exits with 1 on a difference.
"""

import collections
import json
import pathlib
import sqlite3
import sys

COLUMNS = {
    "repository": ["id", "full_name", "private", "stars", "open_issues", "updated_at", "delivery"],
    "issue": ["id", "repository", "number", "title", "state", "updated_at", "delivery"],
    "pull_request": "id repository number title state merged_at updated_at delivery".split(),
}


def row_of(table, delivery):
    """The row that this delivery alone would write."""
    source = delivery["payload"][table]
    other = {
        "repository": delivery["payload"]["repository"]["id"],
        "delivery": delivery["delivery"],
        "stars": source.get("stargazers_count"),
        "open_issues": source.get("open_issues_count"),
    }
    return tuple(other[name] if name in other else source.get(name) for name in COLUMNS[table])


def expected(path):
    tables = {name: {} for name in COLUMNS}
    activity = collections.Counter()
    outcomes = collections.Counter()
    seen = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        delivery = json.loads(line)
        # As the handlers' patterns: "issues" and "issue_comment" belong to issue.
        table = next((name for name in COLUMNS if delivery["event"].startswith(name)), None)
        if table is None:
            outcomes["ignored"] += 1
            continue
        if delivery["delivery"] in seen:
            outcomes["duplicate"] += 1
            continue
        seen.add(delivery["delivery"])
        outcomes["applied"] += 1
        activity[delivery["payload"]["repository"]["id"], delivery["event"]] += 1
        row = row_of(table, delivery)
        before = tables[table].get(row[0])
        if before is None or row[-2:] > before[-2:]:
            tables[table][row[0]] = row
    result = {name: sorted(rows.values()) for name, rows in tables.items()}
    result["activity"] = sorted((*key, count) for key, count in activity.items())
    return result, outcomes


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    tables, outcomes = expected(folder / "deliveries.jsonl")
    counted = json.loads((folder / "outcomes.json").read_text(encoding="utf-8"))
    database = sqlite3.connect(f"file:{(folder / 'github.db').resolve()}?mode=ro", uri=True)

    checks = []
    for name, rows in tables.items():
        columns = ", ".join(COLUMNS.get(name, ["repository", "event", "events"]))
        actual = sorted(database.execute(f"SELECT {columns} FROM {name}"))
        checks.append((f"{name} rows", len(rows), len(actual), rows == actual))
    for name in ("applied", "duplicate", "stale", "deferred", "dead", "conflict", "ignored"):
        checks.append((name, outcomes[name], counted[name], outcomes[name] == counted[name]))

    print(f"{'':24}{'expected':>10}{'found':>10}")
    for name, wanted, found, good in checks:
        print(f"{name:24}{wanted:>10}{found:>10}  {'ok' if good else 'WRONG'}")
    bad = [name for name, _, _, good in checks if not good]
    print("github: every row as computed" if not bad else f"github: WRONG: {', '.join(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
