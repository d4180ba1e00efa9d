#!/usr/bin/env python3
"""Checks what the tree says of its documentation: every `docs/PAGE.md#anchor` that a comment or a
page cites exists, every relative link of a page leads somewhere, every source file that a page for
developers names is there, the drawing of the rooms is the build's, and no comment cites a text that
is not in the tree.
usage: anchors.py [ROOT]"""

import os
import re
import sys

# Texts that comments must not point to: they are not in the tree.
ABSENT = re.compile(r"theory, section|theory notes|\bnotes,? (?:section )?\d"
                    r"|section \d+ of the notes|\(theory\b|[Tt]heory, sections")
CITED = re.compile(r"\bdocs/[\w./-]+?\.md(?:#[\w-]+)?")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:hpp|cpp|cuh?|cmake|py|txt))`")
SOURCES = (".hpp", ".cpp", ".cu", ".cuh", ".h", ".cmake", ".txt", ".py", ".toml", ".in")


def files_below(root, folder, endings):
    for path, folders, names in os.walk(os.path.join(root, folder)):
        folders.sort()
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.join(path, name)


def without_code(text):
    """The page with its fenced blocks and code spans blanked, lines kept."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = re.match(r"^(`{3,}|~{3,})", line)
        if fence is None and mark:
            fence = mark[1]
            lines.append("")
        elif fence is not None:
            fence = None if line.startswith(fence) else fence
            lines.append("")
        else:
            lines.append(re.sub(r"`[^`]*`", "", line))
    return "\n".join(lines)


def heading_anchor(heading):
    """As GitHub makes it of a heading's text."""
    text = re.sub(r"`|\*|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(path, cache={}):
    if path not in cache:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        found = re.findall(r"<a id=\"([\w-]+)\"></a>", text)
        twice = {name for name in found if found.count(name) > 1}
        headings = re.findall(r"^#+ (.*)$", without_code(text), re.M)
        cache[path] = set(found) | {heading_anchor(heading) for heading in headings}, twice
    return cache[path]


class Checker:
    def __init__(self, root):
        self.root = root
        self.errors = []
        self.citations = self.links = self.files = 0
        self.names = set()

    def fail(self, path, number, text):
        self.errors.append(f"{os.path.relpath(path, self.root)}:{number}: {text}")

    def target(self, path, number, page, anchor, what):
        if not os.path.exists(page):
            self.fail(path, number, f"{what}: no such file")
        elif anchor and page.endswith(".md") and anchor not in anchors_of(page)[0]:
            self.fail(path, number, f"{what}: no such anchor")

    def citation(self, path, number, cited):
        self.citations += 1
        page, _, anchor = cited.partition("#")
        self.target(path, number, os.path.join(self.root, page), anchor, cited)

    def named_files(self, path, text):
        """Whole paths, from the root or from src/, or names alone."""
        for number, line in enumerate(text.split("\n"), 1):
            for name in NAMED.findall(line):
                self.files += 1
                there = name in self.names if "/" not in name else any(
                    os.path.exists(os.path.join(self.root, above, name)) for above in ("", "src"))
                if not there:
                    self.fail(path, number, f"{name}: no such file")

    def source(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        for number, line in enumerate(lines, 1):
            if ABSENT.search(line):
                self.fail(path, number, f"cites what is not in the tree: {line.strip()}")
            for cited in CITED.findall(line):
                self.citation(path, number, cited)
        # A sentence that goes on in the next line of a comment.
        for number in range(1, len(lines)):
            start = re.match(r"^\s*(///?|#) ?", lines[number])
            if not start:
                continue
            joined = lines[number - 1].rstrip() + " " + lines[number][start.end():]
            seam = len(lines[number - 1].rstrip())
            if any(m.start() < seam < m.end() for m in ABSENT.finditer(joined)):
                self.fail(path, number, f"cites what is not in the tree: {joined.strip()}")

    def page(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for name in anchors_of(path)[1]:
            self.fail(path, 1, f"anchor {name} is there twice")
        plain = without_code(text)
        for found in LINK.finditer(plain):
            link = found[1]
            if re.match(r"[a-z]+:", link):
                continue
            self.links += 1
            number = plain.count("\n", 0, found.start()) + 1
            where, _, anchor = link.partition("#")
            page = os.path.join(os.path.dirname(path), where) if where else path
            self.target(path, number, os.path.normpath(page), anchor, link)
        for number, line in enumerate(text.split("\n"), 1):
            for cited in re.findall(r"`(docs/[\w./-]+?\.md(?:#[\w-]+)?)`", line):
                self.citation(path, number, cited)
        if os.path.relpath(path, self.root).split(os.sep)[:2] not in (["docs", "guide"],
                                                                      ["CHANGELOG.md"]):
            self.named_files(path, text)

    def drawing(self, path, build):
        """The rooms and calls that the drawing's description lists are those of the build."""
        with open(path, encoding="utf-8") as file:
            drawn = {room: set(others.split())
                     for room, others in re.findall(r"^(\w+) calls ([\w ]+)", file.read(), re.M)}
        with open(build, encoding="utf-8") as file:
            rooms = re.findall(r"^scalecalc_room\((\w+)([^)]*)\)", file.read(), re.M)
        built = {}
        for room, rest in rooms:
            uses = re.search(r"\bUSES((?:\s+[a-z_]+)+)", rest)
            built[room] = set(uses[1].split()) if uses else set()
        for room in sorted(set(drawn) | set(built)):
            if drawn.get(room, set()) != built.get(room, set()):
                self.fail(path, 1, f"{room} calls {sorted(built.get(room, set()))}, "
                                   f"and the drawing says {sorted(drawn.get(room, set()))}")


def check(root):
    checker = Checker(root)
    drawing = os.path.join(root, "docs", "architecture.svg")
    if os.path.exists(drawing):
        checker.drawing(drawing, os.path.join(root, "src", "CMakeLists.txt"))
    for folder in ("src", "include", "tests", "cmake"):
        for path in files_below(root, folder, SOURCES):
            checker.names.add(os.path.basename(path))
    for folder in ("src", "include", "tests", "tools"):
        for path in files_below(root, folder, SOURCES):
            if os.path.dirname(path) != os.path.join(root, "tests", "docs"):
                checker.source(path)
    pages = [os.path.join(root, name) for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    for path in pages + list(files_below(root, "docs", ".md")):
        if os.path.exists(path):
            checker.page(path)
        else:
            checker.fail(path, 0, "is missing")
    return checker


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                           os.path.join(os.path.dirname(__file__), "..", ".."))
    checker = check(root)
    for error in checker.errors:
        print(error)
    print(f"{checker.citations} citations, {checker.links} links, {checker.files} files, "
          f"{len(checker.errors)} errors")
    return 1 if checker.errors else 0


if __name__ == "__main__":
    sys.exit(main())
