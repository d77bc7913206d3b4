#!/usr/bin/env python3
"""Runs every code block of README.md and docs/: docs_test.py PREFIX FOLDER COMPILER [PAGE...].

PREFIX is an installation of Onefold. Each page gets an empty folder below FOLDER, in which its
blocks are used in their order, as a reader would who types them in. What the comments before a
block mean stands in docs_blocks.py.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import docs_blocks
import docs_configuration

ROOT = pathlib.Path(__file__).resolve().parents[1]
NOT_RUN_MAX = 10  # They have to be few.
SECONDS_MAX = 300
PRELUDE = """\
#include <iostream>
#include <string>
#include <variant>
#include "onefold/brokers/file/file.h"
#include "onefold/formats/fields.h"
#include "onefold/runner.h"
#include "onefold/stores/sqlite/sqlite.h"
"""
FRAME = """
void within_main(onefold::Store& store, onefold::Consumer& billing, onefold::SourceFactory source);
void within_main(onefold::Store& store, onefold::Consumer& billing, onefold::SourceFactory source) {
(void)store, (void)billing, (void)source;
"""


class Failure(Exception):
    """What is wrong with a block."""


class Page:
    """One page with its folder, in which its blocks run one after the other."""

    def __init__(self, name, prefix, folder, compiler):
        self.name = name
        self.folder = folder
        self.compiler = compiler
        self.states = folder.parent / (folder.name + ".state")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(self.states, ignore_errors=True)
        folder.mkdir(parents=True)
        self.states.mkdir()
        self.here = folder
        self.printed = None
        pkgconfig = [str(path.parent) for path in prefix.rglob("onefold.pc")]
        self.environment = {
            **os.environ,
            "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}",
            "CMAKE_PREFIX_PATH": str(prefix),
            "PKG_CONFIG_PATH": ":".join(pkgconfig),
            "CXX": compiler,
        }
        if name == "README.md":  # Its reader is in the folder of the project.
            (folder / "examples").symlink_to(ROOT / "examples")
            (folder / "build/release").mkdir(parents=True)
            (folder / "build/release/bin").symlink_to(prefix / "bin")

    def test(self, block):
        if not block.language:
            raise Failure('it has no language; "text" is one')
        if "file" in block.marks:
            path = self.here / block.marks["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        tests = {
            "sh": self.run,
            "text": self.compare,
            "toml": self.check,
            "json": self.parse,
            "cpp": self.compile,
            "cmake": self.stand,
            "sql": self.stand,
        }
        if block.language not in tests:
            raise Failure(f'a block of "{block.language}" cannot be tested')
        tests[block.language](block)

    def run(self, block):
        """Runs it in the state that the block before it has left."""
        after, here = self.states / "environment", self.states / "here"
        leave = f"export -p > '{after}'; pwd > '{here}'"
        begin = f"source '{after}'\n" if after.exists() else ""
        script = f"{begin}set -euo pipefail\ntrap \"{leave}\" EXIT\n{block.text}"
        done = self.call(["bash", "-c", script], self.here)
        self.here = pathlib.Path(here.read_text(encoding="utf-8").strip())
        self.printed = done.stdout
        self.expect_exit(block, done)

    def compare(self, block):
        if "output" not in block.marks:
            return
        if self.printed is None:
            raise Failure("no shell block before it has printed anything")
        lines = [re.escape(line).replace("…", ".*") for line in block.text.splitlines()]
        pattern = "".join(r"(?:.*\n)*" if line == ".*" else line + r"\n" for line in lines)
        if not re.fullmatch(pattern, self.printed):
            raise Failure(f"this is printed instead:\n{self.printed}")

    def check(self, block):
        text = block.text
        if "part of" in block.marks:
            text = docs_configuration.completed(text, block.marks["part of"])
        elif "config_version" not in text:
            raise Failure('no whole configuration: say what it is "part of"')
        path = self.states / "onefold.toml"
        path.write_text(text, encoding="utf-8")
        done = self.call(["onefold", "check", "-c", path], self.states)
        self.expect_exit(block, done)

    def parse(self, block):
        try:
            json.loads(block.text)
        except ValueError:
            try:
                for line in block.text.splitlines():
                    json.loads(line)
            except ValueError as error:
                raise Failure(f"no JSON, and no lines of JSON: {error}") from error

    def compile(self, block):
        if block.marks.keys() & {"from", "file"}:  # Built where the file is, or by the page.
            return
        text = block.text
        if block.marks.get("within") == "main":
            text = PRELUDE + FRAME + text + "}\n"
        source = self.states / "block.cpp"
        source.write_text(text, encoding="utf-8")
        flags = self.call(["pkg-config", "--cflags", "--libs", "onefold-sqlite", "onefold-file"])
        words = [self.compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", str(source)]
        whole = "int main(" in text
        words += [*flags.stdout.split(), "-o", "block"] if whole else ["-fsyntax-only"]
        self.expect_exit(block, self.call(words + flags.stdout.split(), self.states))
        if whole:
            self.expect_exit(block, self.call([self.states / "block"], self.here))

    def stand(self, block):
        """Used by the blocks after it, or taken from a file that a test uses."""
        if not block.marks.keys() & {"from", "file"}:
            raise Failure('nothing uses it: say from which file it is, or to which it is saved')

    def call(self, words, folder=None):
        return subprocess.run(
            words,
            cwd=folder or self.here,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=SECONDS_MAX,
        )

    def expect_exit(self, block, done):
        expected = int(block.marks.get("exit") or 0)
        if done.returncode != expected:
            said = done.stdout + done.stderr
            raise Failure(f"exit status {done.returncode}, not {expected}:\n{said}")


def problems_of(page, blocks):
    """Tests the blocks in order. What a failed shell block leaves makes the others useless."""
    for block in blocks:
        if block.marks.get("not run"):
            continue
        try:
            page.test(block)
        except (Failure, ValueError, subprocess.TimeoutExpired) as error:
            yield f"{block.place}: {error}"
            if block.language == "sh":
                return


def main():
    prefix, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    compiler, *names = sys.argv[3:]
    pages = [pathlib.Path(name) for name in names]
    pages = pages or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    problems, tested, not_run = [], 0, []
    for path in pages:
        blocks = docs_blocks.blocks_of(path.name, path.read_text(encoding="utf-8"))
        not_run += [f"{b.place}: {b.marks['not run']}" for b in blocks if b.marks.get("not run")]
        page = Page(path.name, prefix, folder / path.stem, compiler)
        problems += problems_of(page, blocks)
        tested += len(blocks)
    print(f"{tested} blocks on {len(pages)} pages. Not run:", *not_run, sep="\n  ")
    if len(not_run) > NOT_RUN_MAX:
        problems.append(f"{len(not_run)} blocks are not run, at most {NOT_RUN_MAX}")
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
