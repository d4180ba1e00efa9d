#!/usr/bin/env python3
"""Help as users and other programs meet it.

usage: help_page.py PROGRAM CHECK
  width        every --help is at most 80 columns wide and says what `help COMMAND` says
  examples     each has two examples, which run in an empty folder
  options      of those that several commands have, a command takes what its help lists alone
  defaults     train's are those of its profile
  man          man pages have their sections and no control line that is not one
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
TIMEOUT = 300  # seconds, of one example


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr


def described(*command):
    return json.loads(run("help", *command, "--format", "json"))["results"]


COMMANDS = [entry["name"] for entry in described()["commands"]]


def pages():
    return [()] + [(name,) for name in COMMANDS]


def check_width():
    for page in pages():
        text = run(*page, "--help")
        assert text == run("help", *page), page
        assert max(map(len, text.splitlines())) <= 80, (page, max(text.splitlines(), key=len))
        assert "TEXT" not in text, page


def check_examples():
    for page in pages():
        examples = described(*page)["examples"]
        assert len(examples) == 2, page
        with tempfile.TemporaryDirectory() as folder:
            for example in examples:
                line = f"scalecalc() {{ {shlex.quote(PROGRAM)} \"$@\"; }}; set -e; {example}"
                done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True,
                                      text=True, timeout=TIMEOUT)
                assert done.returncode == 0, (example, done.returncode, done.stderr)


def check_options():
    shared = {"--seed": "1", "--threads": "2", "--device": "cpu", "--recompute": None,
              "--digits": "4", "--curves": "never", "--wide": None, "--color": "never"}
    taken = 0
    for name in COMMANDS:
        listed = {word for option in described(name)["options"] for word in option["names"]}
        for option, value in shared.items():
            if option in listed:
                taken += 1
                continue
            words = [option] if value is None else [option, value]
            for call in ([name, *words], [*words, name]):
                error = run(*call, code=2)
                assert f"unknown option '{option}' (scalecalc {name})" in error, (call, error)
    assert taken > 40, taken


def check_defaults():
    text = {option["names"][-1]: option["help"] for option in described("train")["options"]}
    for option, value in {"--width": "32", "--sequence": "32", "--batch": "8", "--heads": "4",
                          "--dropout": "0.1 and 0", "--steps": "200", "--seeds": "3",
                          "--optimizer": "adamw", "--record-every": "50"}.items():
        assert f"(default {value}" in text[option], (option, text[option])
    with tempfile.TemporaryDirectory() as folder:
        run("train", "--depths", "1", "--placements", "pre", "--steps", "1", "--seeds", "1", "-o",
            folder)
        with open(folder + "/pre-1-seed0.jsonl", encoding="utf-8") as log:
            configuration = log.readline()
    for key, value in {"width": 32, "sequence": 32, "batch": 8}.items():
        assert f"{key} = {value}" in configuration, (key, configuration)
    text = {option["names"][-1]: option["help"] for option in described("deepnorm")["options"]}
    assert "(default 64)" in text["--width"] and "(default 24)" in text["--sequence"], text
    text = {option["names"][-1]: option["help"] for option in described("propagate")["options"]}
    assert "default" not in text["--width"], text["--width"]


def check_man():
    for page in pages():
        text = run("help", *page, "--man")
        for section in ("NAME", "SYNOPSIS", "EXAMPLES"):
            assert f"\n.SH {section}\n" in text, (page, section)
        for line in text.splitlines():
            if line.startswith((".", "'")):
                assert re.match(r"\.(TH|SH|TP|B|BR|nf|fi)( |$)", line), (page, line)


globals()["check_" + sys.argv[2]]()
