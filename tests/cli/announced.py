#!/usr/bin/env python3
"""Work of more than some seconds is announced before it begins: operations, memory, time.

usage: announced.py PROGRAM
"""
import shlex
import subprocess
import sys
import tempfile

LARGE = "--layers 2 --width 2048 --heads 16 --ffn 8192 --sequence 512 --vocab 1000"
COMMANDS = [
    f"verify pre-ln-12 {LARGE} --seeds 64",
    f"propagate pre-ln-12 {LARGE} --engine passes --seeds 64",
    f"sweep pre-ln-12 {LARGE.replace('--layers 2', '--layers 1,2')} --seeds 64",
    f"deepnorm --optimizer adam {LARGE} --verify --seeds 64",
    "train --profile full --steps 100000 -o runs",
]


def first_line(command, folder):
    """What a command says first, and the command's end."""
    process = subprocess.Popen([sys.argv[1], *shlex.split(command)], cwd=folder, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    try:
        return process.stderr.readline()
    finally:
        process.kill()
        process.communicate()


for command in COMMANDS:
    with tempfile.TemporaryDirectory() as folder:
        line = first_line(command, folder)
    assert "operations and" in line and ("GiB: about" in line or "MiB: about" in line), (command, line)
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([sys.argv[1], *"verify mlp-relu --layers 2".split()], cwd=folder,
                          capture_output=True, text=True)
    assert not done.stderr, done.stderr
