"""Finds the functions and classes of a C++ file by matching braces.

No parser: it relies on the layout of clang-format, and on nothing clever being done with macros.
"""

import dataclasses
import re


@dataclasses.dataclass
class Scope:
    kind: str  # namespace, class, function, initialiser or inner
    first_line: int
    last_line: int = 0
    pure_virtuals: int = 0
    header_start: int = 0
    parentheses: int = 0


@dataclasses.dataclass
class Scan:
    functions: list
    classes: list


NOT_CODE = re.compile(
    r"""//[^\n]*
    | /\*.*?\*/
    | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"
    | "(?:\\.|[^"\\\n])*"
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
    | ^[ ]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
ACCESS = re.compile(r"\s*(?:public|private|protected)\s*:(?!:)")


def blank_out(text):
    """Replaces comments, literals and preprocessor lines by spaces, so that offsets stay."""
    return NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def kind_of(header, enclosing):
    if enclosing not in (None, "namespace", "class"):
        return "inner"
    words = header.strip()
    if re.match(r"(inline\s+)?namespace\b|extern\s*$", words):
        return "namespace"
    if re.search(r"\b(class|struct|union)\b", words) and "(" not in words:
        return "class"
    if "(" not in words and "[" not in words:
        return "inner"  # An enumeration, or a variable with its value.
    if words.endswith(("=", ",", "(")):
        return "inner"
    # clang-format puts a space before a body, and none before the braces of a member initialiser.
    return "function" if header[-1:].isspace() else "initialiser"


def scan(text):
    code = blank_out(text)
    result = Scan(functions=[], classes=[])
    stack = []
    start = parentheses = 0

    def line(offset):
        return code.count("\n", 0, offset) + 1

    def first_of(begin, end):
        found = ACCESS.match(code, begin, end)
        while found:
            begin = found.end()
            found = ACCESS.match(code, begin, end)
        return begin + len(code[begin:end]) - len(code[begin:end].lstrip())

    for offset, letter in enumerate(code):
        if letter == "(":
            parentheses += 1
        elif letter == ")":
            parentheses -= 1
        elif letter == "{":
            first = first_of(start, offset)
            enclosing = stack[-1].kind if stack else None
            kind = "inner" if parentheses else kind_of(code[first:offset], enclosing)
            stack.append(Scope(kind, line(first), 0, 0, start, parentheses))
            start, parentheses = offset + 1, 0
        elif letter == "}" and stack:
            scope = stack.pop()
            scope.last_line = line(offset)
            parentheses = scope.parentheses
            # After a member initialiser, or braces in an argument, the same header goes on.
            goes_on = scope.kind == "initialiser" or scope.parentheses > 0
            start = scope.header_start if goes_on else offset + 1
            if scope.kind == "function":
                result.functions.append(scope)
            elif scope.kind == "class":
                result.classes.append(scope)
        elif letter == ";" and not parentheses:
            statement = code[start:offset]
            if stack and stack[-1].kind == "class" and re.search(r"=\s*0\s*$", statement):
                stack[-1].pure_virtuals += "virtual" in statement
            start = offset + 1
    return result
