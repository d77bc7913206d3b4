"""Finds the code blocks of a Markdown page, and the comments above them that say how to test them.

    <!-- from: FILE -->         it stands in that file of the project (tidy.py compares them)
    <!-- file: NAME -->         it is saved under this name, for the blocks that come after it
    <!-- output -->             it is what the shell block before it prints; "…" stands for anything
    <!-- exit: N -->            the exit status of a shell block, or of `onefold check`; 0 otherwise
    <!-- part of: TABLE -->     keys of a store, source, consumer or handler, without the rest
    <!-- within: main -->       statements of C++, without their function
    <!-- not run: REASON -->    why it cannot be tested
"""

import dataclasses
import re

MARK = re.compile(r"^<!-- ([a-z ]+?)(?:: (.*?))? -->$")
FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*([\w+-]*)(.*)$")
MARKS = {"from", "file", "output", "exit", "part of", "within", "not run"}


@dataclasses.dataclass
class Block:
    page: str
    line: int  # Of its fence.
    language: str
    text: str
    marks: dict

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def marks_before(lines, fence):
    """The comments directly above the line number `fence`, blank lines aside."""
    marks = {}
    for line in reversed(lines[:fence]):
        found = MARK.match(line.strip())
        if found and found[1] in MARKS:
            marks[found[1]] = found[2] or ""
        elif line.strip():
            break
    return marks


def blocks_of(page, markdown):
    """All fenced blocks, in order. Raises ValueError for a fence that is not closed."""
    lines = markdown.splitlines()
    blocks = []
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        if not opening:
            number += 1
            continue
        indent, fence, language, _ = opening.groups()
        end = number + 1
        while end < len(lines) and lines[end].strip() != fence:
            end += 1
        if end == len(lines):
            raise ValueError(f"{page}:{number + 1}: the block is not closed")
        body = [line.removeprefix(indent) for line in lines[number + 1 : end]]
        text = "".join(line + "\n" for line in body)
        blocks.append(Block(page, number + 1, language, text, marks_before(lines, number)))
        number = end + 1
    return blocks
