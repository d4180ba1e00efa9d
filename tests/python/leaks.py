"""Memory over a million calls of the bindings: resident memory after every tenth of them.

usage: leaks.py [CALLS]   default 1000000; exit 1 where it grows by a byte a call

Of a thousand calls one makes a pair, one a table of several values and one fails in the solver; the
others, which take less than two milliseconds, are formulas in LaTeX, conventions, errors, and Python
functions that are traced. Caches are filled by a first hundredth.
"""

import os
import sys
import time

import scalecalc
from scalecalc import _core


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def refused():
    try:
        scalecalc.deepnorm(layers=0)
    except ValueError as error:
        return error.argument
    raise AssertionError("layers=0 was answered")


RARE = [
    lambda k: scalecalc.deepnorm(layers=2 + k % 50).lambda_,
    lambda k: scalecalc.deepnorm(layers=[10, 11 + k % 50]).rows[1].results.alpha,
    lambda k: scalecalc.transfer(from_={"width": 64}, to={"width": 128}).kinds["hidden"].lr.factor,
]
OFTEN = [
    lambda k: _core.latex("(2*N)^(1/2)"),
    lambda k: scalecalc.convention("nn.init.xavier_uniform_(w)", shape="16x16").std,
]
SOMETIMES = [
    lambda k: refused(),
    lambda k: scalecalc.activation(expr=lambda x: x * 2, variance=1 + k % 3).second,
]


def ask(calls):
    for k in range(calls):
        of = RARE if k % 1000 < len(RARE) else SOMETIMES if k % 5 == 4 else OFTEN
        of[k % len(of)](k)


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    ask(max(calls // 100, 600))
    before, begun = resident(), time.monotonic()
    for tenth in range(1, 11):
        ask(calls // 10)
        print(f"{tenth * (calls // 10)} calls: {(resident() - before) / 1e3:+.0f} kB, "
              f"{time.monotonic() - begun:.0f} s", flush=True)
    grown = resident() - before
    # Pages that the allocator keeps: a quarter of a megabyte whatever the calls are.
    if grown > calls + 250_000:
        sys.exit(f"memory grew by {grown} bytes, {grown / calls:.1f} a call")


if __name__ == "__main__":
    main()
