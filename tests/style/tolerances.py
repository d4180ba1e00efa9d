#!/usr/bin/env python3
"""Lists the tolerances of tests that are typed in without a reason: numbers below 1 in .epsilon(),
on the small side of a comparison of errors, and in constants named for a tolerance. A reason is a
comment on the statement's own lines, up to four lines above it in the same block, or above the run
of such statements that it ends; or one above the test case that speaks of errors. Tolerances that
are computed (rounding(9), found.error, printed(1.76, 5e-3)) need none: tests/tolerance.hpp has the
common kinds.
usage: tolerances.py [ROOT]   exit 1 where there are any"""

import os
import re
import sys

# How many lines a reason reaches down.
REACH = 4
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
# Below 1 and not 0: 1e-9, 2.5e-3, 0.04, .5f.
SMALL = re.compile(r"(?<![\w.])(?:\d+(?:\.\d*)?[eE]-\d+|0?\.\d*[1-9]\d*(?:[eE]-?\d+)?)[fFlL]?\b")
EXPONENT = re.compile(r"(?<![\w.])\d+(?:\.\d*)?[eE]-\d+[fFlL]?\b")
CHECK = re.compile(r"\b(?:CHECK|REQUIRE|WARN)(?:_MESSAGE)?\(")
# Comparisons of a test's own: near(value, 1e-9).
CLOSE = re.compile(r"\b(?:near|close|check_near|is_close)\(")
ERRORS = re.compile(r"abs\(|relative|error|apart|distance|difference|deviation|worst|gap|\boff\b",
                    re.IGNORECASE)
NAMED = re.compile(r"\b(?:const|constexpr) (?:double|float|auto|long double) \w*"
                   r"(?:tolerance|allowed|rounding|accuracy|closeness|enough)\w*\s*(?:=|\{)",
                   re.IGNORECASE)
SPEAKS = re.compile(r"round|error|digit|noise|bound|unit|leave|left|spread|agree|accura|1e-|off",
                    re.IGNORECASE)


def balanced(text, at):
    """What stands in the brackets that open at `at`."""
    depth = 0
    for end in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[at + 1:end]
    return text[at + 1:]


def without_comments(line):
    return STRING.sub('""', line).split("//")[0]


def is_typed(statement):
    """Whether a statement without its comments and strings has a tolerance typed in."""
    for found in re.finditer(r"\.epsilon\(", statement):
        if SMALL.search(balanced(statement, found.end() - 1)):
            return True
    for found in CLOSE.finditer(statement):
        if EXPONENT.search(balanced(statement, found.end() - 1).rsplit(",", 1)[-1]):
            return True
    for found in CHECK.finditer(statement):
        inside = balanced(statement, found.end() - 1)
        sides = re.split(r"(?<![<>=!-])[<>]=?(?![<>=])", inside)
        if len(sides) != 2 or "doctest::Approx" in inside:
            continue
        large, small = sides if "<" in inside else sides[::-1]
        if EXPONENT.search(small) or (ERRORS.search(large) and SMALL.search(small)):
            return True
    named = NAMED.search(statement)
    return bool(named and SMALL.search(statement[named.end():]))


def statements(lines):
    """(first line, last line, text) of what ends in ; { or }, comment lines passed over."""
    first, text = None, ""
    for number, line in enumerate(lines):
        code = without_comments(line).strip()
        if not code or code.startswith("#"):
            continue
        if first is None:
            first, text = number, ""
        text += " " + code
        open_brackets = text.count("(") - text.count(")")
        if code[-1] in "{};" and open_brackets <= (1 if code[-1] != ";" else 0):
            yield first, number, text
            first = None


def is_comment(line):
    return line.strip().startswith("//")


def comment_above(lines, first):
    """The comment lines directly above, as one text."""
    at = first
    while at > 0 and is_comment(lines[at - 1]):
        at -= 1
    return " ".join(lines[at:first])


def has_reason_above(lines, first):
    """A comment within a few lines above, no blank line and no brace between."""
    for at in range(first - 1, max(first - 1 - REACH, -1), -1):
        if is_comment(lines[at]):
            return True
        code = without_comments(lines[at]).strip()
        if not code or code[-1] in "{}":
            return False
    return False


def typed(lines):
    """The first lines, counted from 1, of statements with a tolerance and no reason."""
    reasoned_until, case_reasoned = -2, False
    for first, last, text in statements(lines):
        if lines[first][:1] not in (" ", "\t"):
            case_reasoned = bool(SPEAKS.search(comment_above(lines, first)))
        if not is_typed(text):
            continue
        own = any("//" in STRING.sub('""', line) for line in lines[first:last + 1])
        if own or has_reason_above(lines, first) or reasoned_until == first - 1:
            reasoned_until = last
        elif not case_reasoned:
            yield first + 1


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    count = 0
    for path, folders, names in os.walk(os.path.join(root, "tests")):
        folders.sort()
        for name in sorted(names):
            if not name.endswith((".cpp", ".hpp", ".cu")):
                continue
            place = os.path.join(path, name)
            with open(place, encoding="utf-8") as file:
                lines = file.read().split("\n")
            for number in typed(lines):
                count += 1
                print(f"{os.path.relpath(place, root)}:{number}: {lines[number - 1].strip()}")
    if count:
        print(f"{count} tolerances without a reason: compute them (tests/tolerance.hpp) or say why")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
