#!/usr/bin/env python3
"""anchors.py finds each kind of mistake in a small tree, and nothing in a right one."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import anchors  # noqa: E402

RIGHT = {
    "README.md": "# A\n\n[page](docs/page.md#place), [head](docs/page.md#a-heading)\n",
    "CHANGELOG.md": "# Changes\n",
    "CONTRIBUTING.md": "# How\n\n`docs/page.md#place`, `src/a.cpp`, `a.hpp`\n",
    "docs/page.md": "# A heading\n\n<a id=\"place\"></a>\ntext `[no](link.md)`\n"
                    "```\n[no](link.md)\n```\n",
    "src/a.cpp": "/// See docs/page.md#place, and docs/page.md.\n",
    "include/a.hpp": "int a;\n",
    "docs/architecture.svg": "<desc>\na calls b c\nb calls c</desc>\n",
    "src/CMakeLists.txt": "scalecalc_room(c HEADERS c.hpp)\n"
                          "scalecalc_room(b NATIVE USES c LIBRARIES\n  x::y)\n"
                          "scalecalc_room(a HEADERS a.hpp USES b c)\n",
}
WRONG = {
    "a missing anchor": {"src/a.cpp": "/// docs/page.md#nowhere\n"},
    "a missing page": {"src/a.cpp": "/// docs/none.md\n"},
    "a dead link": {"README.md": "[page](docs/none.md)\n"},
    "a dead link over two lines": {"README.md": "[a\npage](docs/none.md)\n"},
    "a dead anchor of a link": {"README.md": "[page](docs/page.md#nowhere)\n"},
    "a dead anchor within a page": {"README.md": "[here](#nowhere)\n"},
    "an anchor that is there twice": {"docs/page.md": "<a id=\"place\"></a>\n<a id=\"place\"></a>\n"
                                                      "# A heading\n"},
    "a section of a text that is not there": {"src/a.cpp": "/// y = x (theory, section 2)\n"},
    "the same over two lines": {"src/a.cpp": "/// y = x (theory\n/// notes, 3)\n"},
    "notes that are not there": {"include/a.hpp": "/// as notes 1.6 say\n"},
    "a dead citation of a page": {"CONTRIBUTING.md": "`docs/page.md#nowhere`\n"},
    "a file that is not there": {"CONTRIBUTING.md": "`src/b.cpp`\n"},
    "a name of no file": {"docs/page.md": "# A heading\n<a id=\"place\"></a>`b.hpp`\n"},
    "a call that is not drawn": {"docs/architecture.svg": "a calls b\nb calls c\n"},
    "a call that is not there": {"docs/architecture.svg": "a calls b c\nb calls c\nc calls a\n"},
    "a page that is missing": {"CHANGELOG.md": None},
}


def errors_of(tree):
    with tempfile.TemporaryDirectory() as root:
        for name, text in tree.items():
            if text is None:
                continue
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return anchors.check(root).errors


def main():
    failed = False
    found = errors_of(RIGHT)
    if found:
        failed = True
        print("a right tree:", found)
    for what, change in WRONG.items():
        if not errors_of({**RIGHT, **change}):
            failed = True
            print(f"not found: {what}")
    print(f"{len(WRONG)} mistakes, {'some not found' if failed else 'all found'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
