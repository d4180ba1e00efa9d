#!/usr/bin/env python3
"""Tables on a terminal of 80 columns: none is wider, and what is left out is said.

usage: terminal.py PROGRAM
"""

import fcntl
import os
import pty
import struct
import sys
import termios

COLUMNS = 80
NOTE = "Too wide for this terminal"
CALLS = [["table", name] for name in ("activations", "optimizers", "schemes", "init", "conventions")]
CALLS += [["list", name] for name in ("families", "fields", "activations", "groups", "names")]
CALLS += [["presets"], ["devices"], ["propagate", "mlp-relu"], ["init", "gpt2"]]


def on_terminal(words):
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        os.execv(sys.argv[1], [sys.argv[1], *words, "--quiet", "--no-pager", "--color", "never"])
    text = b""
    try:
        while block := os.read(terminal, 65536):
            text += block
    except OSError:  # the end of a terminal
        pass
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, (words, status, text)
    return text.decode("utf-8", "replace").replace("\r", "")


left_out = 0
for call in CALLS:
    shown = on_terminal(call)
    widest = max(shown.splitlines(), key=len)
    assert len(widest) <= COLUMNS, (call, widest)
    wide = on_terminal(call + ["--wide"])
    assert NOTE not in wide, call
    left_out += NOTE in shown
    assert (NOTE in shown) == (shown != wide), call
assert left_out >= 3, left_out
