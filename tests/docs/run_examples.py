#!/usr/bin/env python3
"""Runs the examples of a Markdown page and compares what the program prints with the page.

usage: run_examples.py --program PROGRAM --tables FOLDER [--any-number] [--update] PAGE...

In every ```console block each "$ scalecalc ..." is run, and what it prints (stdout, then stderr) is
compared with the lines below it. A line "..." stands for any lines, "..." within a line for any
text; trailing blanks and empty lines at the end do not count. A "$ " that calls anything else is an
error. Two comments, invisible in the rendered page, serve files that a page shows:
  <!-- file: NAME -->       the next fenced block becomes NAME in the folder where examples run
  <!-- run: scalecalc ... -->  a call that must exit with 0; its output is not compared
A page runs in an empty folder of its own that has the repository's tables/ in it. A page without an
example is an error unless --any-number is given. With --update a page is rewritten to show what is
printed now, with its "..." kept; read the change before you commit it.
"""

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile

TIMEOUT = 600  # seconds, of one example


def split_lines(text):
    """Lines without trailing blanks, without the empty ones at the end."""
    lines = [line.rstrip(" \t\r") for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def line_matches(line, pattern):
    if line == pattern:
        return True
    if "..." not in pattern:
        return False
    regex = ".*".join(re.escape(part) for part in pattern.split("..."))
    return re.fullmatch(regex, line) is not None


def first_difference(lines, patterns):
    """None where they agree, else what is wrong. Each pattern takes the next line; after "..." the
    first line that matches."""
    at = 0
    skipping = False
    for pattern in patterns:
        if pattern == "...":
            skipping = True
            continue
        start = at
        while at < len(lines) and not line_matches(lines[at], pattern):
            if not skipping:
                return f"expected: {pattern}\nprinted:  {lines[at]}"
            at += 1
        if at == len(lines):
            after = f" after line {start}" if skipping else ""
            return f"not printed{after}: {pattern}"
        at += 1
        skipping = False
    if at < len(lines) and not skipping:
        return f"printed beyond the example: {lines[at]}"
    return None


def parts_of(patterns):
    """The runs of lines between the "..." lines."""
    parts = [[]]
    for pattern in patterns:
        if pattern == "...":
            parts.append([])
        else:
            parts[-1].append(pattern)
    return parts


def place_of(part, lines, first):
    """Where the lines that are most like the part begin, from `first` on."""
    def likeness(at):
        return sum(difflib.SequenceMatcher(None, a, b).ratio()
                   for a, b in zip(part, lines[at:at + len(part)]))
    return max(range(first, max(first, len(lines) - len(part)) + 1), key=likeness)


def updated(patterns, lines):
    """The patterns with what is printed in the place of what is not."""
    parts = parts_of(patterns)
    if len(parts) == 1:
        parts[0] += [""] * (len(lines) - len(parts[0]))
        parts[0] = parts[0][:len(lines)]
    shown, at = [], 0
    for index, part in enumerate(parts):
        if index > 0:
            shown.append("...")
            last = index == len(parts) - 1
            at = len(lines) - len(part) if last else place_of(part, lines, at)
        for pattern in part:
            keep = at >= len(lines) or line_matches(lines[at], pattern)
            shown.append(pattern if keep else lines[at])
            at += 1
    return shown


class Page:
    """One page and the folder that its examples run in."""

    def __init__(self, path, program, folder):
        self.path = path
        self.program = program
        self.folder = folder
        self.examples = 0
        self.errors = []
        self.updates = []  # first line, count, new lines

    def fail(self, number, text):
        self.errors.append(f"{self.path}:{number}: {text}")

    def call(self, number, command):
        """What the program prints and its exit code; None for no call of the program."""
        words = shlex.split(command)
        if not words or words[0] != "scalecalc":
            self.fail(number, f"an example that is no call of scalecalc: {command}")
            return None
        self.examples += 1
        try:
            done = subprocess.run([self.program] + words[1:], cwd=self.folder,
                                  capture_output=True, text=True, timeout=TIMEOUT,
                                  stdin=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired:
            self.fail(number, f"$ {command}\nruns for more than {TIMEOUT} s")
            return None
        if done.returncode < 0:
            self.fail(number, f"$ {command}\nended by signal {-done.returncode}")
        return done.stdout + done.stderr, done.returncode

    def compare(self, number, command, patterns):
        found = self.call(number, command)
        if found is None:
            return
        wrong = first_difference(split_lines(found[0]), split_lines("\n".join(patterns)))
        if wrong:
            new = updated(split_lines("\n".join(patterns)), split_lines(found[0]))
            self.updates.append((number + 1, len(patterns), new))
            self.fail(number, f"$ {command}\n{wrong}\n---- printed in full:\n{found[0]}----")

    def must_pass(self, number, command):
        found = self.call(number, command)
        if found is not None and found[1] > 0:
            self.fail(number, f"$ {command}\nexits with {found[1]}:\n{found[0]}")

    def console(self, start, block):
        command, patterns, number = None, [], start
        for offset, line in enumerate(block):
            if line.startswith("$ "):
                if command is not None:
                    self.compare(number, command, patterns)
                command, patterns, number = line[2:], [], start + offset
            elif command is None:
                self.fail(start + offset, f"a console block starts with a call: {line}")
                return
            else:
                patterns.append(line)
        if command is not None:
            self.compare(number, command, patterns)

    def run(self):
        with open(self.path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        fence, kind, start, block, pending = None, "", 0, [], None
        for number, line in enumerate(lines, 1):
            opening = re.match(r"^(`{3,}|~{3,})(.*)$", line)
            if fence is None:
                comment = re.fullmatch(r"<!-- (file|run): (.*) -->", line.strip())
                if comment and comment[1] == "file":
                    pending = (number, comment[2])
                elif comment:
                    self.must_pass(number, comment[2])
                elif opening:
                    fence, kind, start, block = opening[1], opening[2].strip(), number + 1, []
            elif opening and opening[1].startswith(fence) and not opening[2].strip():
                fence = None
                if pending:
                    self.write(*pending, block)
                    pending = None
                if kind == "console":
                    self.console(start, block)
            else:
                block.append(line)
        if fence is not None:
            self.fail(start - 1, "a fenced block that does not end")
        if pending:
            self.fail(pending[0], f"no block follows that {pending[1]} could be")

    def update(self):
        """Rewrites the page."""
        with open(self.path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        for first, count, new in reversed(self.updates):
            lines[first - 1:first - 1 + count] = new
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))

    def write(self, number, name, block):
        if os.path.basename(name) != name:
            self.fail(number, f"{name} is not the name of a file")
            return
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write("\n".join(block) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Runs the examples of Markdown pages.")
    parser.add_argument("--program", required=True)
    parser.add_argument("--tables", required=True, help="the repository's tables/")
    parser.add_argument("--any-number", action="store_true", help="a page may have no example")
    parser.add_argument("--update", action="store_true", help="show what is printed now")
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    options = parser.parse_args()
    failed = False
    for path in options.pages:
        with tempfile.TemporaryDirectory(prefix="scalecalc-docs-") as folder:
            os.symlink(os.path.abspath(options.tables), os.path.join(folder, "tables"))
            page = Page(path, os.path.abspath(options.program), folder)
            page.run()
        if options.update and page.updates:
            page.update()
        if page.examples == 0 and not options.any_number:
            page.errors.append(f"{path}: no example")
        for error in page.errors:
            print(error)
        print(f"{path}: {page.examples} examples, {len(page.errors)} errors")
        failed = failed or bool(page.errors)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
