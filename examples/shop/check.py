#!/usr/bin/env python3
"""Compares shop.db with expected.json, and the outcomes that `onefold run -o json` printed with
what they have to be: check.py [FOLDER [OUTCOMES [--again]]]. Exits with 1 on a difference. With
--again, OUTCOMES are those of a second time through another source, which must change nothing.

Without OUTCOMES only the database is compared: after a crash the deliveries that were counted
before it are not counted again, but the balances have to be right all the same.
"""

import json
import pathlib
import sqlite3
import sys


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    database = sqlite3.connect(f"file:{(folder / 'shop.db').resolve()}?mode=ro", uri=True)
    balances = {str(id): amount for id, amount in database.execute("SELECT * FROM account")}

    def count(table):
        (total, distinct) = database.execute(
            f"SELECT count(*), count(DISTINCT event_id) FROM {table}"
        ).fetchone()
        return total if total == distinct else f"{total}, not all distinct"

    rows = []
    if len(sys.argv) > 2:
        counted = json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
        wanted_outcomes = expected["outcomes_again" if "--again" in sys.argv else "outcomes"]
        rows.append(("received", expected["received"], counted["received"]))
        rows += [(name, wanted, counted[name]) for name, wanted in wanted_outcomes.items()]
    rows.append(("payments", expected["payments"], count("payment")))
    rows.append(("orders", expected["orders"], count("confirmed_order")))
    wrong = [id for id, amount in expected["balances"].items() if balances.get(id) != amount]
    rows.append(("wrong balances", 0, len(wrong)))
    rows.append(("accounts", len(expected["balances"]), len(balances)))
    rows.append(("sum of balances", expected["balance_sum"], sum(balances.values())))

    print(f"{'':18}{'expected':>22}{'found':>22}")
    for name, wanted, found in rows:
        verdict = "ok" if wanted == found else "WRONG"
        print(f"{name:18}{wanted:>22}{found:>22}  {verdict}")
    for id in wrong[:10]:
        print(f"account {id}: expected {expected['balances'][id]}, found {balances.get(id)}")
    bad = [name for name, wanted, found in rows if wanted != found]
    print("shop: every balance is exact" if not bad else f"shop: WRONG: {', '.join(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
