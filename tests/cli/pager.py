#!/usr/bin/env python3
"""What goes through a pager, and the bars of long work, on a terminal of 24 rows.

usage: pager.py PROGRAM
"""

import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios

PROGRAM = sys.argv[1]
LONG = ["table", "conventions"]


def start(words, rows=24, **more):
    """The process and its terminal."""
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("PAGER", "SCALECALC_PAGER")} | {"TERM": "xterm"} | more
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
        os.execve(PROGRAM, [PROGRAM, *words], environment)
    return child, terminal


def shown(words, **more):
    child, terminal = start(words, **more)
    text = b""
    try:
        while block := os.read(terminal, 65536):
            text += block
    except OSError:  # the end of a terminal
        pass
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, (words, status, text)
    return text.decode("utf-8", "replace").replace("\r", "")


def check_pager(folder):
    paged = folder / "paged"
    pager = {"SCALECALC_PAGER": f"cat > '{paged}'; echo PAGED"}

    def is_paged(words, **more):
        paged.unlink(missing_ok=True)
        text = shown(words, **(pager | more))
        if paged.exists():
            assert text == "PAGED\n", (words, text)
            assert paged.stat().st_size > 0, words
        else:
            assert "PAGED" not in text, words
        return paged.exists()

    for words in (LONG, ["help", "propagate"], ["propagate", "--help"], LONG + ["--format", "json"],
                  ["presets", "gpt2", "--format", "json"]):
        assert is_paged(words), words
        assert not is_paged(words + ["--no-pager"]), words
        assert not is_paged(words, rows=60000), words
        assert not is_paged(words, TERM="dumb"), words
    assert not is_paged(LONG + ["-o", str(folder / "a.txt")])
    assert not is_paged(["--version"])
    whole = shown(LONG + ["--no-pager"])
    for command in ("", " ", "cat", "/nonexistent/pager"):
        text = shown(LONG, SCALECALC_PAGER=command)
        assert text.endswith(whole), (command, text[:200])
    assert is_paged(LONG, PAGER="false")
    assert shown(LONG, PAGER="sed s/^/P:/").startswith("P:")
    piped = subprocess.run([PROGRAM, *LONG], env=os.environ | pager, capture_output=True, text=True)
    assert piped.returncode == 0 and "PAGED" not in piped.stdout


def seen(words, pattern):
    """Runs work that lasts until the terminal shows this, and ends it."""
    child, terminal = start(words)
    text = ""
    try:
        while not re.search(pattern, text, re.S):
            text += os.read(terminal, 65536).decode("utf-8", "replace")
    except OSError:
        raise AssertionError((words, pattern, text))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return text


def check_bars():
    small = ["--width", "8", "--layers", "2"]
    sampled = ["propagate", "mlp-relu", "--engine", "montecarlo", "--samples", "2000000"]
    seen(sampled + ["--layers", "200"], r"\[[= >]*\] +\d+%.*propagations")
    wide = ["verify", "mlp-relu", "--width", "2048", "--layers", "40", "--seeds", "4000"]
    for percent in re.findall(r"\[[= >]*\] +(\d+)%", seen(wide, r"%.*%.*4000 seeds")):
        assert int(percent) < 100
    passes = ["propagate", "mlp-relu", "--engine", "passes", "--seeds", "10000", "--width", "1024"]
    seen(passes, r"%.*passes")
    unknown = ["activation", "gelu", "--methods", "montecarlo", "--samples", "100000000000"]
    seen(unknown, r"\d s  activation")
    assert "%" not in shown(["propagate", "mlp-relu", *small, "--quiet", "--no-pager"])


with tempfile.TemporaryDirectory() as name:
    check_pager(pathlib.Path(name))
check_bars()
