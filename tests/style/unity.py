"""Constants that two files of a room share a name of, where files of a room may be compiled together (the
wheel is: SCALECALC_UNITY). Which meet changes with every file that is added; a file that is ALONE in
src/CMakeLists.txt meets none.

usage: unity.py [ROOT]   a line for each; exit 1 where there is one
"""
import pathlib
import re
import sys

ROOM = re.compile(r"scalecalc_room\((\w+)([^)]*)\)")
KEYWORD = re.compile(r"[A-Z]{4,}$")
CONSTANT = re.compile(r"^(?:static |inline )*(?:constexpr|const) [^;(]*?\bk[A-Z]\w* ?[={][^;]*;", re.MULTILINE)
NAME = re.compile(r"\bk[A-Z]\w*(?= ?=[^=]|\{)")


def rooms(text):
    """(name, what is alone, or no part of it) of each."""
    for name, rest in ROOM.findall(text):
        words, alone, taking = rest.split(), [], False
        for word in words:
            if KEYWORD.match(word):
                taking = word in ("ALONE", "WITHOUT")
            elif taking:
                alone.append(word)
        yield name, alone


def shared(folder, alone):
    """(constant, files) of those that two or more files define outside of functions."""
    files = {}
    for path in sorted(folder.rglob("*.cpp")):
        inside = path.relative_to(folder).as_posix()
        if any(inside.startswith(one) or f"/{one}" in f"/{inside}" for one in alone):
            continue
        for constant in CONSTANT.findall(path.read_text(encoding="utf-8")):
            for name in NAME.findall(constant):
                files.setdefault(name, set()).add(inside)
    return [(name, sorted(of)) for name, of in sorted(files.items()) if len(of) > 1]


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    found = 0
    for room, alone in rooms((root / "src" / "CMakeLists.txt").read_text(encoding="utf-8")):
        for name, files in shared(root / "src" / room, alone):
            found += 1
            print(f"src/{room}: {name} is a constant of {', '.join(files)}, which may be compiled together")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
