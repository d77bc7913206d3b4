#!/usr/bin/env python3
"""Every rule of tidy.py must bite on a planted violation, and on nothing in a clean tree."""

import pathlib
import tempfile
import unittest

import cpp_scan
import tidy

CLEAN = {
    "README.md": "# Title\n\n[The map](docs/map.md#the-map), [below](#below).\n\n## Below\n\n"
    "<!-- from: onefold/event.cpp -->\n```cpp\nint one() { return 1; }\n```\n",
    "docs/cases.md": "# Cases\n\n| B" "01 | a | b |\n| K" "0 | c |\n| P" "1 | d |\n",
    "docs/semantics.md": "# Semantics\n\n**1.1** One.\n\n## 9. Steps\n",
    "docs/traps.md": "# Traps\n\n## 11. Two\n",
    "docs/map.md": "# A title\n\n```sh\n# not a title\n```\n\n## The map\n",
    "onefold/CMakeLists.txt": "onefold_library(vocabulary SOURCES event.cpp)\n"
    "add_executable(x stores/sqlite/sqlite.cpp stores/sqlite/sqlite_test.cpp)\n",
    "onefold/event.h": "#pragma once\n\n#include <string>\n",
    "onefold/event.cpp": '#include "onefold/event.h"\n\nint one() { return 1; }\n'
    "// B" "01, P" "1, K" "0 (semantics " "1.1, 9; traps.md " "11)\n",
    "onefold/stores/sqlite/sqlite.h": '#pragma once\n\n#include "onefold/event.h"\n',
    "onefold/stores/sqlite/row.h": "#pragma once\n\n#include <sqlite3.h>\n",
    "onefold/stores/sqlite/sqlite.cpp": '#include "onefold/stores/sqlite/sqlite.h"\n\n'
    '#include "onefold/stores/sqlite/row.h"\n',
    "onefold/stores/sqlite/sqlite_test.cpp": '#include "onefold/stores/memory/memory.h"\n',
    "onefold/stores/memory/memory.h": "#pragma once\n",
}


def long_function(lines):
    return "void f() {\n" + "  g();\n" * (lines - 2) + "}\n"


def seam(methods):
    body = "".join(f"  virtual void m{number}() = 0;\n" for number in range(methods))
    return f"class Seam {{\n public:\n  virtual ~Seam() = default;\n{body}}};\n"


# Rule, path, what is appended to the clean file (or a new file's content), part of the message.
PLANTED = [
    ("includes_point_down", "onefold/event.h", '#include "onefold/runtime/worker.h"\n', "runtime"),
    (
        "includes_point_down",
        "onefold/stores/sqlite/sqlite.cpp",
        '#include "onefold/stores/memory/memory.h"\n',
        "one adapter",
    ),
    ("includes_point_down", "onefold/event.cpp", '#include "event.h"\n', "from the root"),
    (
        "includes_point_down",
        "onefold/daemon/config.cpp",
        '#include "onefold/stores/sqlite/row.h"\n',
        "private",
    ),
    ("includes_point_down", "onefold/event.cpp", '#include "tests/x.h"\n', "for tests only"),
    ("includes_point_down", "onefold/daemon/a.cpp", '#include "onefold/cli/run.h"\n', "cli"),
    ("no_vendor_header_in_public_headers", "onefold/event.h", "#include <fmt/core.h>\n", "vendor"),
    (
        "no_vendor_header_in_public_headers",
        "onefold/stores/sqlite/sqlite.h",
        "#include <sqlite3.h>\n",
        "vendor",
    ),
    ("headers_say_pragma_once", "onefold/new.h", "int x;\n", "pragma"),
    ("files_are_short", "onefold/event.h", "\n" * 148, "at most 150"),
    ("files_are_short", "onefold/event.cpp", "\n" * 398, "at most 400"),
    ("files_are_short", "onefold/stores/sqlite/sqlite.cpp", "\n" * 598, "at most 600"),
    ("functions_are_short", "onefold/event.cpp", long_function(61), "61 lines"),
    ("functions_are_short", "tools/a.py", "def f():\n" + "    pass\n" * 60, "61 lines"),
    ("lines_are_short", "onefold/event.cpp", "// " + "x" * 98 + "\n", "101 columns"),
    ("seams_are_small", "onefold/event.h", seam(8), "8 pure"),
    ("names_say_what_is_inside", "onefold/string_util.cpp", "", '"util"'),
    ("names_say_what_is_inside", "onefold/common/x.h", "#pragma once\n", '"common"'),
    ("words_stay_out", "onefold/event.cpp", "// TO" "DO: more\n", "finish"),
    ("words_stay_out", "docs/map.md", "XX" "X\n", "finish"),
    ("words_stay_out", "onefold/event.cpp", 'auto p = "/tm' 'p/x";\n', "machine"),
    ("words_stay_out", "onefold/event.cpp", 'auto p = "/wor' 'k/x";\n', "machine"),
    (
        "words_stay_out",
        "onefold/stores/sqlite/sqlite_test.cpp",
        "TEST(A, DISABLED" "_B) {}\n",
        "skipped",
    ),
    ("text_is_clean", "onefold/event.cpp", "int x; \n", "white space"),
    ("text_is_clean", "onefold/event.cpp", "\tint x;\n", "tab"),
    ("text_is_clean", "onefold/event.cpp", "int x;", "new line"),
    ("no_file_is_dead", "onefold/forgotten_test.cpp", "", "not in a CMakeLists"),
    ("no_file_is_dead", "onefold/unused.h", "#pragma once\n", "included by nobody"),
    ("documents_have_one_title", "docs/map.md", "# Another\n", "2 titles"),
    ("documents_have_one_title", "docs/none.md", "text\n", "0 titles"),
    ("links_lead_somewhere", "README.md", "[x](docs/gone.md)\n", "not there"),
    ("links_lead_somewhere", "README.md", "[x](docs/map.md#gone)\n", "no heading"),
    (
        "snippets_are_real",
        "README.md",
        "<!-- from: onefold/event.cpp -->\n```cpp\nint two();\n```\n",
        "not in onefold/event.cpp",
    ),
    # Numbers in two parts, so that this file does not cite them itself.
    ("numbers_are_defined", "onefold/event.cpp", "TEST(Event, B" "01_B" "99_X) {}\n", "B" "99 is"),
    ("numbers_are_defined", "onefold/event.cpp", "TEST(Event, K" "0ToK" "7_X) {}\n", "K" "7 is"),
    ("numbers_are_defined", "README.md", "As P" "77 says.\n", "docs/cases.md"),
    ("numbers_are_defined", "onefold/event.h", "/// (semantics " "1.1, 9, 3.9).\n", "3.9 is"),
    ("numbers_are_defined", "onefold/event.h", "/// (traps.md " "12).\n", "docs/traps.md"),
]


class Tidy(unittest.TestCase):
    def violations(self, changes=()):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {**CLEAN, **dict(changes)}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return tidy.violations(root)

    def test_a_clean_tree_has_no_violation(self):
        self.assertEqual([], self.violations())

    def test_every_rule_bites(self):
        for rule, path, added, message in PLANTED:
            with self.subTest(rule=rule, path=path, message=message):
                found = self.violations({path: CLEAN.get(path, "") + added})
                hits = [text for text in found if f"[{rule}]" in text]
                self.assertTrue(hits, found)
                self.assertTrue(any(hit.startswith(f"{path}:") for hit in hits), hits)
                self.assertTrue(any(message in hit for hit in hits), hits)

    def test_every_rule_has_a_planted_violation(self):
        self.assertEqual({check.__name__ for check in tidy.RULES}, {one[0] for one in PLANTED})

    def test_limits_are_not_broken_by_reaching_them(self):
        reached = {
            "onefold/event.cpp": CLEAN["onefold/event.cpp"] + long_function(60),
            "onefold/event.h": CLEAN["onefold/event.h"] + seam(7),
        }
        self.assertEqual([], self.violations(reached))


class CppScan(unittest.TestCase):
    def functions(self, text):
        found = cpp_scan.scan(text).functions
        return sorted((scope.first_line, scope.last_line) for scope in found)

    def test_finds_functions_in_classes_and_namespaces(self):
        text = "namespace a {\nclass B {\n public:\n  void c() {\n    if (d) { e(); }\n  }\n};\n}"
        self.assertEqual([(4, 6)], self.functions(text))

    def test_a_constructor_reaches_from_its_name_to_the_end_of_its_body(self):
        text = "A::A(int b)\n    : b_{b},\n      c_{C{1}, {2}} {\n  d();\n}\nint e() { f(); }\n"
        self.assertEqual([(1, 5), (6, 6)], self.functions(text))

    def test_braces_in_literals_and_comments_do_not_count(self):
        text = 'void a() {\n  b("{", \'{\', R"({{)", 10\'000);  // {\n  /* { */\n}\nvoid c() {}'
        self.assertEqual([(1, 4), (5, 5)], self.functions(text))

    def test_variables_and_enumerations_are_no_functions(self):
        text = "enum class A { b, c };\nconst int d[] = {1, 2};\nconst E f = {g(1), 2};\n"
        self.assertEqual([], self.functions(text))

    def test_counts_pure_virtual_methods_of_each_class(self):
        text = "class A {\n  virtual void b() = 0;\n  virtual int c(D d = {}) const = 0;\n};\n"
        (found,) = cpp_scan.scan(text).classes
        self.assertEqual(2, found.pure_virtuals)


if __name__ == "__main__":
    unittest.main()
