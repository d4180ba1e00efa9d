"""Tests that write one path, and tests that read it, do not run beside each other.

Reads the tests of a build folder (`ctest --show-only=json-v1`). A path is written by a command with
`-o PATH`. Two tests that name a path which one of them writes are kept apart when one sets up a
fixture that the other requires, or when both hold one RESOURCE_LOCK.

    shared_files.py BUILD
"""

import collections
import itertools
import json
import subprocess
import sys


def words_of(test):
    """The words of a test's command, with lists of CMake and definitions `-DNAME=` taken apart."""
    words = []
    for word in test.get("command", []):
        if word.startswith("-D"):
            word = word.partition("=")[2]
        words += word.split(";")
    return words


def names_of(test, key):
    """The set of names that a property of a test has."""
    for entry in test.get("properties", []):
        if entry["name"] == key:
            value = entry["value"]
            return set(value if isinstance(value, list) else [value])
    return set()


def before(test, by_fixture):
    """The names of all tests that have ended when this one begins, by fixtures."""
    ended = set()
    waiting = [test]
    while waiting:
        for fixture in names_of(waiting.pop(), "FIXTURES_REQUIRED"):
            for setup in by_fixture[fixture]:
                if setup["name"] not in ended:
                    ended.add(setup["name"])
                    waiting.append(setup)
    return ended


def collisions(tests, build):
    """Lines that name a path in the folder `build` and two tests that could meet at it."""
    by_fixture = collections.defaultdict(list)
    for test in tests:
        for fixture in names_of(test, "FIXTURES_SETUP"):
            by_fixture[fixture].append(test)
    writers = collections.defaultdict(list)
    users = collections.defaultdict(list)
    for test in tests:
        words = words_of(test)
        for path in {word for word in words if word.startswith(build + "/")}:
            users[path].append(test)
            if any(a in ("-o", "--output") and b == path for a, b in zip(words, words[1:])):
                writers[path].append(test)
    found = []
    for path, tests_of_path in writers.items():
        pairs = {}
        for writer, user in itertools.product(tests_of_path, users[path]):
            if writer["name"] != user["name"]:
                pairs.setdefault(frozenset((writer["name"], user["name"])), (writer, user))
        for writer, user in pairs.values():
            in_turn = (writer["name"] in before(user, by_fixture)
                       or user["name"] in before(writer, by_fixture))
            if not in_turn and not (names_of(writer, "RESOURCE_LOCK")
                                    & names_of(user, "RESOURCE_LOCK")):
                found.append(f"{path}: '{writer['name']}' and '{user['name']}' may run at once; "
                             "give them a RESOURCE_LOCK")
    return found


def main():
    build = sys.argv[1]
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True,
                           capture_output=True, text=True)
    found = collisions(json.loads(shown.stdout)["tests"], build)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
