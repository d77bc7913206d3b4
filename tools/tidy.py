#!/usr/bin/env python3
"""The rules of STYLE.md that a program can check: tidy.py [ROOT]. Exits with 1 if one is broken.

Each rule is a function that takes the tree and yields (path, line, message). `cpp_scan.py` reads
C++ well enough for the rules about functions and classes.
"""

import ast
import functools
import os
import pathlib
import re
import sys

import cpp_scan

RULES = []
COLUMNS_MAX = 100
FUNCTION_LINES_MAX = 60
HEADER_LINES_MAX = 150
SOURCE_LINES_MAX = 400
ADAPTER_LINES_MAX = 600  # A whole adapter may stand in one file.
SEAM_METHODS_MAX = 7

SKIPPED_FOLDERS = {".git", ".cache", "build"}
ADAPTERS = ("onefold/stores/", "onefold/brokers/")
CODE = (".h", ".cpp", ".py", ".sh", ".cmake", "CMakeLists.txt", "dev", ".ci/run")
TEXT = (*CODE, ".md", ".toml", ".sql", "CMakePresets.json", ".clang-tidy", ".clang-format")
BANNED_STEMS = {"util", "utils", "helper", "helpers", "manager", "common", "base", "impl"}
# Written in halves, so that this file keeps its own rules.
BANNED_WORDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.])/(tm" r"p\b|(wor" r"k|roo" r"t|hom" r"e)/)")
SKIPPED_TESTS = re.compile(r"\b(DISABLED" r"_\w+|GTEST" r"_SKIP)\b")
VENDORS = re.compile(r"#\s*include\s*<(sqlite3|simdjson|toml|CLI/|openssl/|nlohmann/|fmt/)")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

# Who may include whom. A folder may always include itself.
LAYERS = {
    "vocabulary": set(),
    "formats": {"vocabulary"},
    "runtime": {"vocabulary", "formats"},
    "stores": {"vocabulary", "formats"},
    "brokers": {"vocabulary", "formats"},
    "daemon": {"vocabulary", "formats", "runtime", "stores", "brokers"},
    "lab": {"vocabulary", "formats", "runtime", "stores", "brokers"},
    "cli": {"vocabulary", "formats", "runtime", "stores", "brokers", "daemon", "lab"},
}


class Tree:
    """The files of the project, as text, by their path from the root."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.paths = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
            for name in sorted(files):
                path = (pathlib.Path(folder) / name).relative_to(self.root).as_posix()
                if path.endswith(TEXT):
                    self.paths.append(path)

    def having(self, *endings, under=""):
        return [p for p in self.paths if p.endswith(endings) and p.startswith(under)]

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def lines(self, path):
        return enumerate(self.text(path).splitlines(), 1)

    @functools.lru_cache(maxsize=None)
    def cpp(self, path):
        return cpp_scan.scan(self.text(path))


def rule(function):
    RULES.append(function)
    return function


def line_at(text, offset):
    return text.count("\n", 0, offset) + 1


def layer_of(path):
    """The layer of a path below onefold/, and its folder within the layer."""
    parts = path.split("/")
    if len(parts) == 2:
        return "vocabulary", ""
    return parts[1], parts[2] if parts[1] in ("stores", "brokers") and len(parts) > 3 else ""


def is_private_header(path):
    """An adapter's public header has the name of its folder; the others are its own affair."""
    layer, folder = layer_of(path)
    if layer in ("daemon", "cli", "lab"):
        return True
    return bool(folder) and pathlib.PurePosixPath(path).stem != folder


def is_test_code(path):
    """Tests, and what only they use: x_test.cpp and test_x.h beside the sources, and tests/."""
    name = path.rpartition("/")[2]
    return path.startswith("tests/") or name.startswith("test_") or name.endswith("_test.cpp")


@rule
def includes_point_down(tree):
    for path in tree.having(".h", ".cpp", under="onefold/"):
        if is_test_code(path):
            continue
        layer, folder = layer_of(path)
        for found in INCLUDE.finditer(tree.text(path)):
            target, line = found[1], line_at(tree.text(path), found.start(1))
            if is_test_code(target):
                yield path, line, f"{target} is for tests only"
                continue
            if not target.startswith("onefold/"):
                yield path, line, f'"{target}" is not a path from the root, as "onefold/..." is'
                continue
            to_layer, to_folder = layer_of(target)
            if to_layer != layer and to_layer not in LAYERS.get(layer, set()):
                yield path, line, f"{layer} must not include {to_layer} ({target})"
            elif to_layer == layer and to_folder != folder:
                yield path, line, f"one adapter must not include another ({target})"
            elif to_folder and to_folder != folder and is_private_header(target):
                yield path, line, f"{target} is private to its folder"


@rule
def no_vendor_header_in_public_headers(tree):
    for path in tree.having(".h", under="onefold/"):
        if not is_private_header(path):
            for found in VENDORS.finditer(tree.text(path)):
                line = line_at(tree.text(path), found.start())
                yield path, line, "a public header must not include a vendor's header"


@rule
def headers_say_pragma_once(tree):
    for path in tree.having(".h"):
        if not tree.text(path).startswith("#pragma once\n"):
            yield path, 1, "a header starts with #pragma once"


@rule
def files_are_short(tree):
    for path in tree.having(".h", ".cpp", ".py"):
        count = len(tree.text(path).splitlines())
        cap = ADAPTER_LINES_MAX if path.startswith(ADAPTERS) else SOURCE_LINES_MAX
        if path.endswith(".h") and path.startswith("onefold/") and not is_private_header(path):
            cap = HEADER_LINES_MAX
        if count > cap:
            yield path, count, f"{count} lines, at most {cap}"


def too_long(count):
    return f"function of {count} lines, at most {FUNCTION_LINES_MAX}"


@rule
def functions_are_short(tree):
    for path in tree.having(".h", ".cpp"):
        for scope in tree.cpp(path).functions:
            count = scope.last_line - scope.first_line + 1
            if count > FUNCTION_LINES_MAX:
                yield path, scope.first_line, too_long(count)
    for path in tree.having(".py"):
        for node in ast.walk(ast.parse(tree.text(path))):
            if isinstance(node, ast.FunctionDef):
                count = node.end_lineno - node.lineno + 1
                if count > FUNCTION_LINES_MAX:
                    yield path, node.lineno, too_long(count)


@rule
def lines_are_short(tree):
    for path in tree.having(*CODE, ".sql"):
        for number, line in tree.lines(path):
            if len(line) > COLUMNS_MAX:
                yield path, number, f"{len(line)} columns, at most {COLUMNS_MAX}"


@rule
def seams_are_small(tree):
    for path in tree.having(".h"):
        for scope in tree.cpp(path).classes:
            if scope.pure_virtuals > SEAM_METHODS_MAX:
                message = f"{scope.pure_virtuals} pure virtual methods, at most {SEAM_METHODS_MAX}"
                yield path, scope.first_line, message + ": split it by role"


@rule
def names_say_what_is_inside(tree):
    for path in tree.having(".h", ".cpp", ".py", ".sh"):
        for part in path.split("/"):
            banned = BANNED_STEMS & set(re.split(r"[_.-]", part.lower()))
            if banned:
                yield path, 1, f'"{banned.pop()}" in a name says nothing'


@rule
def words_stay_out(tree):
    for path in tree.having(*TEXT):
        for number, line in tree.lines(path):
            for pattern, why in (
                (BANNED_WORDS, "finish it, or write it where work is planned"),
                (MACHINE_PATHS, "a path of one machine"),
            ):
                found = pattern.search(line)
                if found:
                    yield path, number, f"{found[0]}: {why}"
    for path in tree.having(".cpp"):
        if path.endswith("_live_test.cpp"):  # These say that there is no server.
            continue
        for found in SKIPPED_TESTS.finditer(tree.text(path)):
            line = line_at(tree.text(path), found.start())
            yield path, line, f"{found[0]}: tests are not skipped"


@rule
def text_is_clean(tree):
    for path in tree.having(*TEXT):
        text = tree.text(path)
        if text and not text.endswith("\n"):
            yield path, len(text.splitlines()), "no new line at the end"
        for number, line in tree.lines(path):
            if line != line.rstrip():
                yield path, number, "white space at the end"
            if "\t" in line:
                yield path, number, "a tab"


@rule
def no_file_is_dead(tree):
    lists = {path: tree.text(path) for path in tree.having("CMakeLists.txt", ".cmake")}
    for path in tree.having(".cpp"):
        folder = pathlib.PurePosixPath(path).parent
        listed = False
        for place in (folder, *folder.parents):
            text = lists.get((place / "CMakeLists.txt").as_posix(), "")
            name = pathlib.PurePosixPath(path).relative_to(place).as_posix()
            listed |= re.search(rf"(?<![\w/.]){re.escape(name)}(?![\w.])", text) is not None
        if not listed:
            yield path, 1, "not in a CMakeLists.txt"
    included = set()
    for path in tree.having(".h", ".cpp"):
        included.update(found[1] for found in INCLUDE.finditer(tree.text(path)))
    for path in tree.having(".h"):
        if path not in included:
            yield path, 1, "included by nobody"


@rule
def documents_have_one_title(tree):
    for path in tree.having(".md"):
        titles = [line for line in prose(tree.text(path)).splitlines() if re.match(r"# \S", line)]
        if len(titles) != 1:
            yield path, 1, f'{len(titles)} titles ("# ..."), not one'


@rule
def links_lead_somewhere(tree):
    for path in tree.having(".md"):
        text = prose(tree.text(path))
        for found in re.finditer(r"\]\(([^)\s]+)\)", text):
            target, _, anchor = found[1].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            file = (tree.root / path).parent / target if target else tree.root / path
            line = line_at(text, found.start())
            if not file.exists():
                yield path, line, f"link to {target}, which is not there"
            elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
                yield path, line, f"link to #{anchor}, which is no heading of {file.name}"


@rule
def snippets_are_real(tree):
    """A code block after `<!-- from: FILE -->` stands in that file, word for word."""
    for path in tree.having(".md"):
        text = tree.text(path)
        for found in re.finditer(r"<!-- from: (\S+) -->\n+```\w*\n(.*?)```", text, re.DOTALL):
            source = tree.root / found[1]
            if not source.exists() or found[2] not in source.read_text(encoding="utf-8"):
                yield path, line_at(text, found.start()), f"this is not in {found[1]}"


# What is cited as a number, where its documents define it, and how.
CITED = (
    (  # Also within the names of tests: B08_B32_Ids, K0ToK6_AKill.
        "docs/cases.md",
        r"(?:(?<![^\W_])|(?<=\dTo))([BKP]\d{1,2})(?=[_\W]|To|$)",
        r"^\| ([BKP]\d+) \|",
    ),
    (
        "docs/semantics.md",
        r"\bsemantics ([\d.]*\d(?:, [\d.]*\d)*)",
        r"^(?:## |\*\*)([\d.]*\d)\b",
    ),
    ("docs/traps.md", r"\btraps(?:\.md)? (\d+)", r"^## (\d+)\. "),
)


@rule
def numbers_are_defined(tree):
    for document, citation, definition in CITED:
        defined = set()
        if document in tree.paths:
            defined = set(re.findall(definition, tree.text(document), re.MULTILINE))
        for path in tree.having(".h", ".cpp", ".py", ".sh", ".sql", ".md"):
            for line, text in tree.lines(path):
                for cited in re.findall(citation, text):
                    for number in cited.split(", "):
                        if number not in defined:
                            yield path, line, f"{number} is not in {document}"


def prose(markdown):
    """Markdown without its code, at the same lines."""
    blank = lambda found: "\n" * found[0].count("\n")
    markdown = re.sub(r"^(```|~~~).*?^\1", blank, markdown, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", markdown)


def anchors(markdown):
    """The names that headings get on code hosts."""
    headings = re.findall(r"^#+ +(.*?)\s*$", markdown, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def violations(root):
    tree = Tree(root)
    return [
        f"{path}:{line}: {message} [{check.__name__}]"
        for check in RULES
        for path, line, message in check(tree)
    ]


def main():
    found = violations(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    print("\n".join(found) if found else f"tidy: {len(RULES)} rules hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
