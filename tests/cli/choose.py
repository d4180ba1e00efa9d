#!/usr/bin/env python3
"""scalecalc choose on a terminal and by options; the commands that it prints are run.

usage: choose.py PROGRAM CHECK
  terminal  questions, defaults, help, wrong answers, the end of the input
  pairs     every pair of answers to two questions: the commands run, and give the same numbers
"""

import json
import os
import pty
import shlex
import subprocess
import sys
import tempfile
import time
from itertools import combinations, product

PROGRAM = os.path.abspath(sys.argv[1])
TIMEOUT = 300  # seconds, of one command

# Of optimizers one a family; small depths and widths.
ANSWERS = {"goal": ["all", "pair", "init", "check"], "layers": ["1", "3", "24"],
           "width": ["8", "72"],
           "placement": ["post", "pre", "res-post", "sandwich", "sub-ln", "branchnorm", "ngpt", "none"],
           "optimizer": ["sgd", "adam", "lamb", "muon", "ngd"],
           "framework": ["pytorch", "flax", "keras", "megatron", "c", "none"]}
CHECKS = ("pair", "check")  # goals that make no code


def run(line, folder, code=0):
    start = f"scalecalc() {{ {shlex.quote(PROGRAM)} \"$@\"; }}; "
    done = subprocess.run(["sh", "-c", start + line], cwd=folder, capture_output=True, text=True,
                          timeout=TIMEOUT, stdin=subprocess.DEVNULL)
    codes = (0, 1) if line.startswith("scalecalc verify") else (code,)
    assert done.returncode in codes, (line, done.returncode, done.stderr)
    return done.stderr if code else done.stdout


def on_terminal(words, typed, code=0, after=0):
    """What choose shows, and its results, when each of `typed` is typed `after` s at a prompt."""
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        child, terminal = pty.fork()
        if child == 0:
            os.execv(PROGRAM, [PROGRAM, "choose", *words, "--format", "json", "-o", results])
        shown, prompts = "", 0
        try:
            while block := os.read(terminal, 65536):
                shown += block.decode("utf-8", "replace").replace("\r", "")
                while shown.count("]: ") > prompts and prompts < len(typed):
                    time.sleep(after)
                    os.write(terminal, typed[prompts].encode())
                    prompts += 1
        except OSError:  # the end of a terminal
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == code, (typed, status, shown)
        assert shown.count("]: ") == len(typed), shown
        if code != 0:
            return shown, None
        with open(results, encoding="utf-8") as file:
            return shown, json.load(file)


def check_terminal():
    shown, output = on_terminal([], ["\n"] * 6)
    assert output["inputs"] == {"goal": "all", "layers": 12, "width": 512, "placement": "pre",
                                "optimizer": "adam", "framework": "pytorch"}, output["inputs"]
    assert output == json.loads(run("scalecalc choose --defaults --format json", "/"))
    assert "all, pair, init or check, ? for help [all]: " in shown, shown
    shown, output = on_terminal(["--layers", "24"], [
        "?\n", "bogus\n", "init\n", "7\n", "70000\n", " 96 \n", "rezero\n", "post\n", "admw\n",
        "lion\n", "hf\n", "c\n"])
    assert output["inputs"] == {"goal": "init", "layers": 24, "width": 96, "placement": "post",
                                "optimizer": "lion", "framework": "c"}, output["inputs"]
    for words in ("pair: alpha and lambda", "unknown value 'bogus' (--goal)",
                  "--width must be an integer from 8 to 65536", "got '70000'",
                  "unknown value 'rezero'", "did you mean 'adamw'", "unknown value 'hf'"):
        assert words in shown, (words, shown)
    assert "How many blocks" not in shown, shown
    shown, output = on_terminal(["--goal", "pair"], ["3\n", "64\n", "none\n", "sgd\n"])
    assert output["results"]["code"] is None and "framework" not in shown
    for answered in range(6):
        shown, _ = on_terminal([], ["\n"] * answered + ["\x04"], 2)
        option = list(ANSWERS)[answered]
        assert f"\nscalecalc: the answers ended here (--{option}); answer, or" in shown, shown
    shown, _ = on_terminal(["--width", "9"], [], 2)
    assert "must be a multiple of 8" in shown, shown
    # Of somebody who thinks for longer than work goes on in silence: no bar beside the question.
    words = ["--goal", "pair", "--layers", "3", "--width", "8"]
    shown, _ = on_terminal(words, ["\n"] * 2, after=1.5)
    assert "\033" not in shown, shown
    error = run("scalecalc choose --goal pair --layers 9", "/", 2)
    assert "(--width --placement --optimizer)" in error and error.count("\n") == 1, error
    run("printf '\\n\\n\\n\\n\\n\\n' | scalecalc choose", "/", 2)


def cases():
    """Answers in which every pair of answers to two questions occurs, where it may."""
    open_pairs = {((a, x), (b, y)) for a, b in combinations(ANSWERS, 2)
                  for x, y in product(ANSWERS[a], ANSWERS[b])
                  if not (a == "goal" and b == "framework" and x in CHECKS and y != "none")}
    while open_pairs:
        case = dict(sorted(open_pairs)[0])
        for question, answers in ANSWERS.items():
            if question not in case:
                allowed = [answer for answer in answers if not (
                    {question, *case} >= {"goal", "framework"}
                    and {**case, question: answer}["goal"] in CHECKS
                    and {**case, question: answer}["framework"] != "none")]
                case[question] = max(allowed, key=lambda answer: sum(
                    {**dict(pair)}.items() <= {**case, question: answer}.items()
                    for pair in open_pairs))
        open_pairs = {pair for pair in open_pairs if not dict(pair).items() <= case.items()}
        yield case


def without_origin(code):
    return [line for line in code.splitlines() if "Made by scalecalc" not in line]


def check_case(case):
    options = " ".join(f"--{name} {case[name]}" for name in ANSWERS
                       if name != "framework" or case["goal"] not in CHECKS)
    with tempfile.TemporaryDirectory() as folder:
        output = json.loads(run(f"scalecalc choose {options} --format json", folder))
        results = output["results"]
        shown = run(f"scalecalc choose {options}", folder).split("\nCommands\n")[1]
        commands = [" ".join(words.split()) for words in
                    shown.replace("\\\n", " ").strip().splitlines()]
        assert commands == results["commands"], (case, commands)
        kinds = [command.split()[1] for command in commands]
        wanted = {"pair": ["deepnorm"], "init": ["init"], "check": ["propagate", "verify"],
                  "all": ["deepnorm", "init", "propagate", "verify"]}[case["goal"]]
        assert kinds == wanted, (case, kinds)
        for command in commands:
            check_command(command, folder, results, case)


def check_command(command, folder, results, case):
    if " -o " in command:
        run(command, folder)
        with open(os.path.join(folder, command.split(" -o ")[1]), encoding="utf-8") as code:
            assert without_origin(code.read()) == without_origin(results["code"]), case
        return
    told = json.loads(run(command + " --format json", folder))["results"]
    if "deepnorm" in command:
        for name in ("alpha", "lambda", "alpha_formula", "lambda_formula"):
            assert told[name] == results[name], (case, name, told[name], results[name])
    if "scalecalc init" in command:
        assert {(one["role"], one["std"]) for one in told["parameters"] if one["std"]} == {
            (one["role"], one["std"]) for one in results["init"] if one["std"]}, case


def check_pairs():
    tried = list(cases())
    for case in tried:
        check_case(case)
    assert 42 <= len(tried) < 80, len(tried)


globals()["check_" + sys.argv[2]]()
