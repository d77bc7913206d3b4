"""The lab for users on a runtime with a bug in it: bugs_test.py PLANTED_PROGRAM.

Bugs that are there without any disturbance, too, cannot be seen by comparing with an undisturbed
run; those here show only under faults. The handlers are right, and on the sound runtime converge.
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

import onefold_cli  # noqa: E402
from onefold_cli import CONFIG, ShopTest, payment  # noqa: E402

# By the kind of fault without which it does not show. Most show in queues as in files.
IN_QUEUES = {
    "acknowledge_a_refused_commit": "COMMIT is refused",
    "commit_unchecked": "COMMIT is refused",
    "goes_on_where_it_stopped": "COMMIT is refused",
    "a_refused_batch_is_forgotten": "COMMIT is refused",
    "victim_of_a_deadlock_blamed": "COMMIT is refused",
    "in_doubt_taken_for_committed": "COMMIT is lost",
    "in_doubt_taken_for_rolled_back": "COMMIT works and its answer is lost",
    "no_inbox": "is sent once more",
    "duplicate_within_a_batch_not_folded": "is sent once more",
    "acknowledge_before_commit": "the process crashes",
    "acknowledge_the_whole_batch": "the process crashes",
}
IN_FILES = {"position_of_the_batch": "COMMIT is refused"}


class Bugs(ShopTest):
    def setUp(self):
        super().setUp()
        # Nothing in the tables defends itself against redeliveries.
        (self.folder / "onefold.toml").write_text(
            CONFIG.replace("payment (id,", "payment (event,").replace("= 50", "= 3"))
        with self.database() as database:
            database.execute("DROP TABLE payment")
            database.execute("CREATE TABLE payment (number INTEGER PRIMARY KEY, event TEXT, "
                             "account INTEGER, amount INTEGER)")
        self.write(payment(1), payment(2, account=77), payment(3, 2), "no JSON", payment(4, 3))

    def lab(self, bug, order, code, schedules=3000):
        environment = {**os.environ, "ONEFOLD_PLANTED": bug} if bug else None
        out, _ = self.onefold("lab", "run", "--order", order, "--schedules",
                              str(schedules), "-o", "json", env=environment, code=code)
        return json.loads(out)

    def test_the_sound_runtime_converges(self):
        for order in ("source", "any"):
            self.assertEqual(self.lab("", order, 0, 1000)["verdict"], "converges")

    def test_each_bug_is_found_and_its_cause_named(self):
        for order, bugs in (("any", IN_QUEUES), ("source", IN_FILES)):
            for bug, cause in bugs.items():
                with self.subTest(bug=bug):
                    failure = self.lab(bug, order, 1)["failure"]
                    self.assertIn(cause, failure["cause"])
                    self.assertLessEqual(failure["choices"], 3)


if __name__ == "__main__":
    onefold_cli.main()
