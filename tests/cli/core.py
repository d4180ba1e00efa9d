#!/usr/bin/env python3
"""The program of four commands that tools/run builds first.

usage: core.py PROGRAM CORE TOOLS_RUN

Its commands are those that TOOLS_RUN names, and answer as the whole program does: the same JSON, the
same errors and the same help.
"""

import re
import subprocess
import sys

PROGRAM, CORE, TOOLS_RUN = sys.argv[1:]

ASKED = {
    "deepnorm": ["--layers", "1000", "--optimizer", "adam"],
    "propagate": ["bert-base", "--layers", "2"],
    "sweep": ["pre-ln-12", "--layers", "2,4,8", "--engine", "quadrature"],
    "verify": ["mlp-relu", "--layers", "2", "--width", "16", "--seeds", "8"],
}


def answer(program, words):
    run = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout, run.stderr


def main():
    with open(TOOLS_RUN, encoding="utf-8") as script:
        named = re.search(r"^([a-z]+(?: \| [a-z]+)+)\)$", script.read(), re.MULTILINE)
    assert named, "no list of commands in " + TOOLS_RUN
    assert set(named.group(1).split(" | ")) == set(ASKED), named.group(1)
    listed = answer(CORE, ["--help"])[1].partition("Commands\n")[2].partition("\n\n")[0]
    assert set(re.findall(r"^  (\w+)  ", listed, re.MULTILINE)) == set(ASKED), listed
    for command, words in ASKED.items():
        for asked in ([*words, "--format", "json"], ["--help"], ["--layers", "none"]):
            expected, found = (answer(p, [command, *asked]) for p in (PROGRAM, CORE))
            assert (expected[0] == 0) == ("none" not in asked), expected
            assert found == expected, f"{command} {asked}:\n{found}\n{expected}"
    code, _, said = answer(CORE, ["train"])
    assert code == 2 and said.count("\n") == 1, said
    print("the same of", ", ".join(ASKED))


main()
