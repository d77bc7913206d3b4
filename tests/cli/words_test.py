"""What the program says: help, mistakes, manual, completions, color: words_test.py PROGRAM."""

import json
import os
import pathlib
import pty
import re
import subprocess

import onefold_cli
from onefold_cli import ShopTest, payment

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Help(ShopTest):
    def commands(self):
        """Every command, from the table at the head of the manual."""
        manual = self.onefold("man", "-o", "markdown")[0]
        table = manual.partition("| command |")[2].partition("\n\n")[0]
        return [row.split() for row in re.findall(r"^\| `onefold ([a-z ]+)` \|", table, re.M)]

    def test_every_command_has_help_with_an_example(self):
        commands = self.commands()
        self.assertIn(["dead", "discard"], commands)
        groups = {words[0] for words in commands if len(words) == 2}
        for words in [[], *([group] for group in sorted(groups)), *commands]:
            out, err = self.onefold(*words, "--help")
            self.assertIn("Example:\n  onefold ", out, words)
            self.assertEqual(err, "")
            self.assertEqual(self.onefold("help", *words)[0], out)
            for line in out.splitlines():
                self.assertLessEqual(len(line), 110, line)

    def test_the_documentation_is_the_manual(self):
        self.assertEqual((ROOT / "docs" / "cli.md").read_text(encoding="utf-8"),
                         self.onefold("man", "-o", "markdown")[0],
                         "run: onefold man -o markdown > docs/cli.md")

    def test_the_manual_page(self):
        page = self.onefold("man")[0]
        self.assertTrue(page.startswith(".TH ONEFOLD 1 "))
        for words in self.commands():
            self.assertIn("\n.SS onefold " + " ".join(words), page)
        for line in page.splitlines():
            self.assertFalse(line.startswith("'"), line)
            if line.startswith("."):
                self.assertRegex(line, r"^\.(TH|SH|SS|TP|PP|nf|fi|B|I|RI)\b")
        for status in (0, 1, 64, 65, 69, 70, 75, 77, 78):
            self.assertIn(f".TP\n\\fB{status}\\fR\n", page)


class Mistakes(ShopTest):
    def test_the_words_are_ours(self):
        for words, text in (
                ("dead lst", 'there is no command "onefold dead lst"\n  hint: did you mean "list"'),
                ("dead list --limt 3", 'hint: did you mean "--limit"?'),
                ("dead list --limit 0", '--limit: "0" is no number from 1 to 10000'),
                ("dead list --limit 3 --limit 4", "--limit can stand here only once"),
                ("dead list -o xml", '"xml" is none of the formats here, which are table, json'),
                ("dead list -o jsno", 'none of the formats here; did you mean "json"?'),
                ("dead discard 1", "onefold dead discard needs --reason TEXT"),
                ("dead show", "onefold dead show needs an ID"),
                ("dead replay 1", "onefold dead replay needs --reason TEXT"),
                ("dead replay --reason x", "needs to know"),
                ("dead replay 1 --all --reason x", "takes numbers, or --all, but not both"),
                ("dead replay --all --reason x --kind retry", "none of the kinds here"),
                ("dead list --class row", 'none of the classes here; did you mean "rows"?'),
                ("dead list --group --raw", "neither --columns nor --raw go with it"),
                ("dead edit 1", "onefold dead edit needs --reason TEXT"),
                ("dead edit --reason x", "onefold dead edit needs an ID"),
                ("replay strat", 'did you mean "start"?'),
                ("replay start --reason x", "onefold replay start needs --consumer NAME"),
                ("replay start --consumer billing", "needs --reason TEXT"),
                ("replay start --consumer billing --reason x --rate 0", '"0" is no rate'),
                ("replay start --consumer billing --reason x --rate 5/m", '"5/m" is no rate'),
                ("replay start --consumer billing --reason x --ramp 1,0", '"1,0" is no ramp'),
                ("replay cancel x", "onefold replay cancel needs --reason TEXT"),
                ("replay show", "onefold replay show needs an ID"),
                ("resume --reason x", "onefold resume needs a CONSUMER"),
                ("resume billing", "onefold resume needs --reason TEXT"),
                ("dead show x", 'ID: "x" is no number from onefold dead list'),
                ("inbox show 3", 'KEY: "3" is no key from onefold inbox list'),
                ("inbox list --since yesterday", "write 90s, 15m, 1h or 7d for so long ago"),
                ("inbox list --columns outcme", 'did you mean "outcome"?'),
                ("completion tcsh", 'shell: "tcsh" is none of the shells here'),
                ("completion", "onefold completion needs one of bash, zsh, fish"),
                ("run --reason x", "--reason is of use only together with --accept-key-change"),
                ("dead list --quiet=maybe", "--quiet takes no value"),
                ("version x", 'onefold version does not expect "x"'),
                ("status --watch 0", '--watch: "0" is no number from 1 to 86400')):
            out, err = self.onefold(*words.split(), code=64)
            self.assertEqual(out, "", words)
            self.assertTrue(err.startswith("onefold: error: "), err)
            self.assertIn(text, err)
            for foreign in ("Could not convert", "is required", "but received", "excludes"):
                self.assertNotIn(foreign, err)

    def test_programs_get_json(self):
        for words, code, kind in (("dead lst -o json", 64, "usage"),
                                  ("status -c none.toml -o json", 78, "configuration"),
                                  ("dead show 7 --output=json", 1, "found"),
                                  ("dead list --limit x -o jsonl", 64, "usage")):
            if kind == "found":
                self.onefold("migrate")
            out, err = self.onefold(*words.split(), code=code)
            self.assertEqual(out, "")
            problem = json.loads(err)
            self.assertEqual(problem["type"], "urn:onefold:problem:" + kind)
            self.assertEqual(problem["exit_status"], code)
            self.assertTrue(problem["title"] and problem["detail"] and problem["hint"])

    def test_all_mistakes_of_a_configuration_in_one_object(self):
        (self.folder / "bad.toml").write_text(
            onefold_cli.CONFIG.replace("batch_max", "batch_mx").replace('"file"', '"fil"'))
        _, err = self.onefold("status", "-c", "bad.toml", "-o", "json", code=78)
        problem = json.loads(err)
        self.assertEqual(len(problem["errors"]), 2)
        self.assertEqual(problem["errors"][0]["detail"], problem["detail"])

    def test_hints_are_json_lines(self):
        self.write(payment(1, account=77), payment(2, account=77))
        self.run_once()
        out, err = self.onefold("dead", "list", "--limit", "1", "-o", "json")
        self.assertEqual(len(json.loads(out)), 1)
        self.assertEqual(json.loads(err)["level"], "hint")
        self.assertEqual(self.onefold("dead", "list", "--limit", "1", "-q", "-o", "json")[1], "")


class Color(ShopTest):
    def stderr(self, *words, terminal=False, **environment):
        """What a failing command writes to standard error."""
        clean = {name: value for name, value in os.environ.items()
                 if name not in ("NO_COLOR", "CLICOLOR_FORCE", "TERM")}
        ours, theirs = pty.openpty()
        done = subprocess.run([onefold_cli.PROGRAM, "status", "-c", "none.toml", *words],
                              cwd=self.folder, env={**clean, **environment}, check=False,
                              stderr=theirs if terminal else subprocess.PIPE, timeout=60)
        os.close(theirs)
        text = os.read(ours, 10000) if terminal else done.stderr
        os.close(ours)
        return text

    def test_when(self):
        for colored, arguments in (
                (False, {}), (True, {"CLICOLOR_FORCE": "1"}), (False, {"CLICOLOR_FORCE": "0"}),
                (False, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}),
                (True, {"terminal": True, "TERM": "xterm"}),
                (False, {"terminal": True, "TERM": "dumb"}),
                (False, {"terminal": True, "TERM": "xterm", "NO_COLOR": "1"}),
                (True, {"terminal": True, "TERM": "xterm", "NO_COLOR": ""})):
            self.assertEqual(b"\x1b[" in self.stderr(**arguments), colored, arguments)
        self.assertIn(b"\x1b[", self.stderr("--color", "always", NO_COLOR="1"))
        self.assertNotIn(b"\x1b[", self.stderr("--color=never", CLICOLOR_FORCE="1"))


class Completion(ShopTest):
    def complete(self, *words):
        """What bash offers for the last word."""
        (self.folder / "script").write_text(self.onefold("completion", "bash")[0])
        program = ("source ./script; COMP_WORDS=(onefold \"$@\"); COMP_CWORD=$#; _onefold; "
                   "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", program, "bash", *words], cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash(self):
        self.assertIn("inbox", self.complete(""))
        self.assertNotIn("--help", self.complete(""))
        self.assertEqual(self.complete("sta"), ["status"])
        self.assertEqual(set(self.complete("dead", "")),
                         {"list", "show", "replay", "edit", "discard", "export", "import"})
        self.assertEqual(self.complete("dead", "list", "--no-h"), ["--no-headers"])
        self.assertEqual(self.complete("dead", "list", "-o", "js"), ["json", "jsonl"])
        self.assertEqual(self.complete("dead", "list", "-o", "json", "--kind", "con"), ["conflict"])
        self.assertEqual(self.complete("status", "-c", "onefold.t"), ["onefold.toml"])
        self.assertEqual(self.complete("completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.complete("dead", "import", "onef"), ["onefold.toml"])
        self.assertEqual(self.complete("dead", "import", "--dry"), ["--dry-run"])
        self.assertEqual(set(self.complete("replay", "")),
                         {"start", "list", "show", "pause", "resume", "cancel"})
        self.assertEqual(self.complete("dead", "replay", "--class", "ro"), ["rows"])
        self.assertEqual(self.complete("dead", "edit", "--file", "onef"), ["onefold.toml"])

    def test_other_shells_know_all_commands(self):
        for shell in ("zsh", "fish"):
            script = self.onefold("completion", shell)[0]
            for word in ("discard", "export", "completion", "jsonl", "accept-key-change"):
                self.assertIn(word, script)


class Init(ShopTest):
    def test_what_it_prints_runs(self):
        out, err = self.onefold("init", "made/shop")
        self.assertEqual(err, "")
        steps = out.partition("what to do next:\n")[2]
        environment = {**os.environ,
                       "PATH": f"{os.path.dirname(onefold_cli.PROGRAM)}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-e", "-c", steps], cwd=self.folder, env=environment,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("applied         3", done.stdout)
        self.assertIn("billing: applied at", done.stdout)
        self.assertIn("evt_3", done.stdout)

    def test_nothing_is_overwritten(self):
        before = (self.folder / "onefold.toml").read_text()
        _, err = self.onefold("init", code=1)
        self.assertIn("onefold.toml is there already: nothing was written", err)
        self.assertEqual((self.folder / "onefold.toml").read_text(), before)
        self.assertFalse((self.folder / "schema.sql").exists())
        (self.folder / "hang").mkdir()
        (self.folder / "hang" / "events.jsonl").symlink_to("nowhere")
        self.onefold("init", "hang", code=1)
        self.assertEqual(len(list((self.folder / "hang").iterdir())), 1)
        self.onefold("init", "--store", "sqlite", "--source", "file", "new")
        _, err = self.onefold("init", "--store", "oracle", "newer", code=64)
        self.assertIn("none of the databases here", err)
        _, err = self.onefold("init", "onefold.toml/shop", code=69)
        self.assertIn("cannot write onefold.toml/shop", err)


class Watch(ShopTest):
    def test_until_a_signal(self):
        self.onefold("migrate")
        process = subprocess.Popen([onefold_cli.PROGRAM, "status", "--watch", "1", "-o", "json"],
                                   cwd=self.folder, stdout=subprocess.PIPE, text=True)
        for _ in range(2):
            self.assertEqual(json.loads(process.stdout.readline()),
                             {"consumers": [], "replays": []})
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 0)
        process.stdout.close()


if __name__ == "__main__":
    onefold_cli.main()
