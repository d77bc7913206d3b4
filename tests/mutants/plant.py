#!/usr/bin/env python3
"""Plants the bugs of bugs.toml in copies of sources: plant.py ROOT BUGS OUT FILE...

Writes OUT/FILE for each FILE below ROOT, with all bugs in it and each of them switched off, and
OUT/bugs.cpp, which names them. A bug has one or more places. In the original text of a place, what
stands between « and » is replaced, all of it if there are none; the rest only says where. Text that
ends with ; is taken for statements, other text for an expression.
"""
import pathlib
import re
import sys
import tomllib

STATEMENT = "if (::onefold::planted({number})) {{\n{bug}\n}} else {{\n{original}\n}}"
EXPRESSION = "(::onefold::planted({number}) ? ({bug}) : ({original}))"


def spaced(text):
    """A pattern for the text, however it is broken into lines."""
    parts = re.split(r"(\s+)", text)
    return "".join(r"\s+" if part.isspace() else re.escape(part) for part in parts)


class Place:
    """A stretch of a source that one bug replaces."""

    def __init__(self, number, name, described, text):
        self.number = number
        self.replacement = described["replacement"].strip()
        original = described["original"].strip()
        before, inside, after = (
            re.fullmatch("(.*)«(.*)»(.*)", original, re.DOTALL).groups()
            if "«" in original else ("", original, ""))
        found = list(re.finditer(spaced(before) + f"({spaced(inside)})" + spaced(after), text))
        if len(found) != 1:
            sys.exit(f"bug '{name}': its original text stands {len(found)} times in "
                     f"{described['file']}:\n{original}")
        self.start, self.end = found[0].span(1)
        self.statement = inside.endswith(";")


def render(text, places, start, end):
    """The text from start to end with its places planted. A place may hold others, or be the same
    stretch as another, but not overlap one."""
    out = []
    at = start
    while places:
        outer, *rest = places
        if outer.end > end or outer.start < at:
            sys.exit(f"the places of two bugs overlap at: {text[outer.start:outer.end]}")
        inner = [place for place in rest if place.start < outer.end]
        original = render(text, inner, outer.start, outer.end)
        form = STATEMENT if outer.statement else EXPRESSION
        out.append(text[at:outer.start])
        out.append(form.format(number=outer.number, bug=outer.replacement, original=original))
        at = outer.end
        places = rest[len(inner):]
    return "".join(out) + text[at:end]


def planted(text, places):
    places = sorted(places, key=lambda place: (place.start, -place.end, place.number))
    return '#include "tests/mutants/planted.h"\n' + render(text, places, 0, len(text))


def catalogue(bugs):
    rows = ""
    for number, bug in enumerate(bugs, 1):
        in_the_lab = "false" if "only_tests" in bug else "true"
        rows += f'    {{{number}, "{bug["name"]}", "{bug["why"]}", {in_the_lab}}},\n'
    return ('#include "tests/mutants/planted.h"\n\nnamespace onefold::mutants {\n\n'
            f"std::span<const Bug> bugs() {{\n  static constexpr Bug all[] = {{\n{rows}  }};\n"
            "  return all;\n}\n\n}  // namespace onefold::mutants\n")


def main():
    root, description, out, *files = map(pathlib.Path, sys.argv[1:])
    bugs = tomllib.loads(description.read_text(encoding="utf-8"))["bug"]
    texts = {str(file): (root / file).read_text(encoding="utf-8") for file in files}
    places = {file: [] for file in texts}
    for number, bug in enumerate(bugs, 1):
        if not re.fullmatch(r"[a-z_]+", bug["name"]) or '"' in bug["why"]:
            sys.exit(f"bug '{bug['name']}': a name has letters and _, a reason no quotes")
        for described in bug["place"]:
            if described["file"] not in texts:
                sys.exit(f"bug '{bug['name']}': {described['file']} is not among the planted files")
            places[described["file"]].append(
                Place(number, bug["name"], described, texts[described["file"]]))
    if len({bug["name"] for bug in bugs}) != len(bugs):
        sys.exit("two bugs have one name")
    for file, text in texts.items():
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        (out / file).write_text(planted(text, places[file]), encoding="utf-8")
    (out / "bugs.cpp").write_text(catalogue(bugs), encoding="utf-8")


if __name__ == "__main__":
    main()
