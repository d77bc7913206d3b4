#!/usr/bin/env python3
"""docs_test.py finds what it must find: docs_bites_test.py PREFIX FOLDER COMPILER."""

import pathlib
import sys

import docs_blocks
import docs_test

# A page, and what the test must say about it; nothing if it is good.
PAGES = (
    ("```\nx\n```\n", "it has no language"),
    ("```perl\nx\n```\n", 'a block of "perl" cannot be tested'),
    ("```sh\necho a\nfalse\n```\n", "exit status 1, not 0:\na"),
    ("<!-- exit: 3 -->\n```sh\nexit 3\n```\n", ""),
    ("```sh\nnot_a_command_at_all\n```\n", "exit status 127"),
    ("```sh\nX=1; mkdir in; cd in; export Y=2\n```\n```sh\n[ $Y = 2 ]; cd ../in\n```\n", ""),
    ("```sh\necho a 12 c\n```\n<!-- output -->\n```text\na … c\n```\n", ""),
    ("```sh\necho a\n```\n<!-- output -->\n```text\nb\n```\n", "this is printed instead:\na"),
    ("```sh\necho a; echo b\n```\n<!-- output -->\n```text\na\n```\n", "printed instead"),
    ("```sh\nseq 3\n```\n<!-- output -->\n```text\n…\n3\n```\n", ""),
    ("<!-- output -->\n```text\na\n```\n", "no shell block before it"),
    ("```toml\na = 1\n```\n", 'say what it is "part of"'),
    ("```toml\nconfig_version = 1\n```\n", "exit status 78, not 0"),
    ("<!-- part of: consumer -->\n```toml\nbatch_max = 7\n```\n", ""),
    ("<!-- part of: consumer -->\n```toml\nbatch_mux = 7\n```\n", "batch_max"),
    ("<!-- part of: handler -->\n```toml\nversion = 2\n```\n", ""),
    ("<!-- part of: sink -->\n```toml\nversion = 2\n```\n", "none of store, source"),
    ('```json\n{"a": 1}\n{"a": 2}\n```\n', ""),
    ("```json\n{a: 1}\n```\n", "no JSON"),
    ("```cpp\nint f() { return 1; }\n```\n", ""),
    ("```cpp\nint f() { return; }\n```\n", "exit status 1, not 0"),
    ("```cpp\nint main() { return 2; }\n```\n", "exit status 2, not 0"),
    ('<!-- within: main -->\n```cpp\nbilling.name = "b";\n```\n', ""),
    ('<!-- within: main -->\n```cpp\nbilling.nome = "b";\n```\n', "nome"),
    ("```sql\nSELECT 1;\n```\n", "nothing uses it"),
    ("<!-- file: a.sql -->\n```sql\nSELECT 1;\n```\n```sh\ngrep -q SELECT a.sql\n```\n", ""),
    ("<!-- not run: it is away -->\n```sh\nfalse\n```\n", ""),
)


def main():
    prefix, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    failed = 0
    for number, (text, wanted) in enumerate(PAGES):
        page = docs_test.Page(f"{number}.md", prefix, folder / str(number), sys.argv[3])
        found = "\n".join(docs_test.problems_of(page, docs_blocks.blocks_of(page.name, text)))
        if (wanted not in found) if wanted else found:
            print(f"{text}wanted: {wanted or 'nothing'}\nfound: {found or 'nothing'}\n")
            failed += 1
    print(f"{len(PAGES)} pages, {failed} judged wrongly")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
