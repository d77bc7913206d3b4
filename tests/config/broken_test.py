"""Broken configurations, and exactly what `onefold check` says of them: broken_test.py PROGRAM.

`broken/NN_name.toml`, or a folder `broken/NN_name`, is the configuration; `NN_name.expected` is all
that comes on standard error. With `--write` behind the program, the expected texts are written
anew: read the difference aloud before it is committed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BROKEN = pathlib.Path(__file__).parent / "broken"
PROGRAM = ""
WRITE = False


def edited(folder, old, new, encoding="utf-8"):
    """A good configuration with one thing changed, as bytes that no text file may hold."""
    good = (BROKEN / "good.toml").read_text(encoding="utf-8")
    assert old in good, old
    return good.replace(old, new, 1).encode(encoding, errors="surrogateescape")


# What cannot be committed as text, or needs more than a text. By name, without its number.
PREPARATIONS = {
    "invalid_utf8": lambda path: path.write_bytes(edited(path, "shop.db", "caf\udce9.db")),
    "utf16": lambda path: path.write_bytes(edited(path, "shop.db", "shop.db", "utf-16")),
    "nul": lambda path: path.write_bytes(edited(path, "shop.db", "shop\0.db")),
    "larger_than_allowed": lambda path: path.write_bytes(b"#" * (1 << 20) + b"\n"),
    "secret_that_others_may_read": lambda path: secret(path.parent / "store-url", 0o644),
    "folder_without_files": lambda path: path.with_suffix("").mkdir(),
}
VARIABLES = {
    "override_of_no_key": {"ONEFOLD__STORE__ULR": "sqlite:other.db"},
    "override_with_a_word_for_a_number": {"ONEFOLD__CONSUMER__BILLING__BATCH_MAX": "many"},
}


def secret(path, mode):
    path.write_text("sqlite:shop.db\n", encoding="utf-8")
    path.chmod(mode)


class Broken(unittest.TestCase):
    def test_each_is_told_with_its_place_and_what_to_do(self):
        expected = sorted(BROKEN.glob("*.expected"))
        self.assertGreaterEqual(len(expected), 50)
        for path in expected:
            with self.subTest(path.stem):
                self.check(path)

    def check(self, expected):
        with tempfile.TemporaryDirectory(prefix="onefold-config-") as folder:
            copy = pathlib.Path(folder) / "broken"
            shutil.copytree(BROKEN, copy)
            status, out, err = self.run_check(copy, expected.stem)
        if WRITE:
            expected.write_text(err, encoding="utf-8")
        self.assertEqual((status, out), (78, ""), err)
        self.assertEqual(err, expected.read_text(encoding="utf-8"))
        self.assert_usable(err)

    def run_check(self, copy, name):
        """Returns the exit status, standard output and standard error."""
        kind = name.split("_", 1)[1]
        PREPARATIONS.get(kind, lambda path: None)(copy / f"{name}.toml")
        # Not the environment of whoever runs the tests.
        environment = {"PATH": os.environ["PATH"], **VARIABLES.get(kind, {})}
        target = name if (copy / name).is_dir() else f"{name}.toml"
        done = subprocess.run([PROGRAM, "check", "-c", target], cwd=copy, env=environment,
                              capture_output=True, timeout=60, check=False)
        # Which other databases there are is a matter of the build.
        err = re.sub(r"(begin with sqlite:)( or \S+)+", r"\1", done.stderr.decode())
        return done.returncode, done.stdout.decode(), err

    def assert_usable(self, err):
        """Each error names a place, and what to do about it stands below it."""
        lines = err.splitlines()
        self.assertTrue(lines, "nothing was said")
        for first, second in zip(lines[::2], lines[1::2] + [""], strict=False):
            self.assertRegex(first, r"^onefold: error: (\d\d_[\w./]+(:\d+:\d+)?|environment "
                                    r"variable \w+): ")
            self.assertRegex(second, r"^ *hint: .")

    def test_the_one_that_they_are_made_of_is_good(self):
        with tempfile.TemporaryDirectory(prefix="onefold-config-") as folder:
            for encoding in ("utf-8", "utf-8-sig"):
                path = pathlib.Path(folder) / "good.toml"
                path.write_bytes(edited(path, "shop.db", "shop.db", encoding))
                done = subprocess.run([PROGRAM, "check", "-c", path], capture_output=True,
                                      timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_none_is_without_its_expectation(self):
        configurations = {path.stem for path in BROKEN.iterdir()
                          if path.suffix == ".toml" or path.is_dir()} - {"good"}
        expected = {path.stem for path in BROKEN.glob("*.expected")}
        self.assertEqual(configurations - expected, set())
        generated = {name.split("_", 1)[1] for name in expected - configurations}
        self.assertEqual(generated - PREPARATIONS.keys(), {"file_that_is_not_there"})


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    if "--write" in sys.argv:
        sys.argv.remove("--write")
        WRITE = True
    unittest.main()
