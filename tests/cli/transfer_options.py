#!/usr/bin/env python3
"""Every option of `scalecalc transfer` is tried where it can have no effect, and refused there in one
line with exit code 2; where it can have one, it changes the answer.

usage: transfer_options.py PROGRAM
"""
import os
import re
import subprocess
import sys
import tempfile

SIZES = ["--from", "width=256", "--to", "width=512"]
SAME = ["--same", "mup", "spectral"]
BRANCH = 'base = "mup"\n[branch]\nmultiplier = "r_L^(-1/2)"\n'

# Of each option its words; arguments beside which it has no effect; arguments beside which it has.
# Options of every command, and those of models, are tried where these are.
CASES = {
    "--optimizer": (["--optimizer", "sgd"], [], [[]]),
    "--muon-scale": (["--muon-scale", "match_rms"],
                     [[], ["--optimizer", "sgd"], ["--optimizer", "muon", "--axes", "batch"]],
                     [["--optimizer", "muon"], ["--optimizer", "muon+adamw"]]),
    "--parametrization": (["--parametrization", "standard"], [SAME], [[]]),
    "--alignment": (["--alignment", "none"], [["--axes", "batch,tokens"]], [[], ["--axes", "width"]]),
    "--axes": (["--axes", "heads"], [[], SAME], []),
    "--from": (["--from", "width=2"], [[], SAME], [["--to", "width=8"]]),
    "--to": (["--to", "width=4"], [SAME], [["--from", "width=2"]]),
    "--lr": (["--lr", "1e-3"], [[], SAME], [SIZES]),
    "--decay": (["--decay", "0.1"], [[], SAME], [SIZES]),
    "--eps": (["--eps", "1e-8"],
              [[], SAME, [*SIZES, "--optimizer", "sgd"], [*SIZES, "--optimizer", "sign(g)"]],
              [SIZES, [*SIZES, "--optimizer", "sgd+adamw"]]),
    "--depth-alpha": (["--depth-alpha", "3/4"],
                      [["--axes", "width"], ["--parametrization", "branch.toml"],
                       ["--same", "mup", "branch.toml"], ["mlp-relu"]],
                      [[], ["gpt2"]]),
    "--decay-law": (["--decay-law", "root-width"], [], [[], ["--axes", "batch"]]),
    "--matrices": (["--matrices", "1"], [["--axes", "width"], ["gpt2"]],
                   [["--parametrization", "complete-p"]]),
    "--same": (SAME, [], [[]]),
    "--explain": (["--explain"], [SAME], [[], ["--axes", "batch"]]),
    "--all": (["--all"], [SAME, []], [["gpt2"]]),
}


def run(program, *arguments):
    return subprocess.run([program, "transfer", *arguments], capture_output=True, text=True,
                          check=False)


def options_of(program):
    """Names of the command's own options: those in front of the model's."""
    page = run(program, "--help").stdout
    own = page[page.index("\nOptions\n"):page.index("\n  --layers ")]
    return [line.split()[0].strip(",") for line in own.splitlines() if re.match(r"  --\w", line)]


def problems_of(program, option, words, idle, useful):
    for beside in idle:
        made = run(program, *beside, *words)
        line = " ".join([*beside, *words])
        if made.returncode != 2 or made.stdout:
            yield f"{line}: not refused (exit {made.returncode})"
        elif made.stderr.count("\n") != 1:
            yield f"{line}: {made.stderr.count(chr(10))} lines: {made.stderr}"
    for beside in useful:
        with_it = run(program, *beside, *words)
        without = run(program, *beside)
        line = " ".join([*beside, *words])
        if with_it.returncode not in (0, 1):
            yield f"{line}: {with_it.stderr.strip()}"
        elif with_it.stdout == without.stdout:
            yield f"{line}: changes nothing"


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("branch.toml", "w", encoding="utf-8") as file:
            file.write(BRANCH)
        problems = [f"{option}: no case" for option in options_of(program) if option not in CASES]
        tried = 0
        for option, (words, idle, useful) in CASES.items():
            problems += problems_of(program, option, words, idle, useful)
            tried += len(idle) + len(useful)
    for problem in problems:
        print(problem)
    print(f"{len(CASES)} options, {tried} places, {len(problems)} problems")
    return 1 if problems or len(options_of(program)) != len(CASES) else 0


if __name__ == "__main__":
    sys.exit(main())
