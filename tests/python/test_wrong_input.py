"""Every argument and option of every function with what it does not take: wrong types, numbers outside, empty,
unknown and huge. What comes is an answer, or one line in a ValueError (bad input) or an OSError (a fault
outside) that names the argument."""

import decimal
import fractions
import math
import pathlib
import re
import signal

import pytest

import scalecalc
from scalecalc import _commands

numpy = pytest.importorskip("numpy")

SECONDS = 30  # of one call, which time_limit and these keep short
CALLS = {
    "deepnorm": ((), {"layers": 4}),
    "activation": (("relu",), {}),
    "solve": (("fixed-point", "selu"), {"weight_variance": 1}),
    "propagate": (("mlp-relu",), {"layers": 2, "width": 16}),
    "verify": (("mlp-relu",), {"layers": 1, "width": 16, "seeds": 2}),
    "sweep": (("mlp-relu",), {"layers": [1, 2], "width": 16, "seeds": 2}),
    "init": (("mlp-relu",), {"layers": 2, "width": 16}),
    "audit": (("weights.safetensors",), {"model": "mlp-relu"}),
    "check": (("claims.toml",), {}),
    "convention": (("nn.init.xavier_uniform_(w)",), {"shape": "4x4"}),
    "transfer": ((), {"from_": {"width": 16}, "to": {"width": 32}}),
    "coordinates": (("mlp-relu",), {"layers": 1, "widths": [16, 32], "optimizer": "adamw",
                                     "lr": 1e-3, "seeds": 1, "steps": 1}),
}


class Liar:
    """Whose conversions fail."""

    def __index__(self):
        raise TypeError("two\nlines")

    def __float__(self):
        raise ValueError("no")


class WrongPath:
    def __fspath__(self):
        return 3


WRONG = {
    "object": object(), "type": int, "bytes": b"4", "None in a list": [None], "set": {1, 2},
    "complex": 1j, "function": lambda x: x, "module": math, "liar": Liar(), "table": numpy.zeros((2, 2)),
    "generator": (one for one in [1]), "exception": ValueError("two\nlines"),
    "empty": "", "empty list": [], "empty dict": {}, "blank": "  ", "code 0": "a\0b", "half a character": "\udc80",
    "lines": "two\nlines", "a word": "nonsense", "a long word": "x" * 100_000, "an option": "--help",
    "no file": "/no/such/file.toml", "a folder": pathlib.Path("/"), "a device": pathlib.Path("/dev/full"),
    "no path": WrongPath(),
    "nan": math.nan, "infinity": math.inf, "negative": -1, "zero": 0, "a fraction": 0.5, "huge": 10**30,
    "more digits than Python writes": 10**5000, "tiny": 5e-324, "true": True, "false": False,
    "decimal": decimal.Decimal("NaN"), "rational": fractions.Fraction(-1, 3), "numpy": numpy.float32(-2.5),
    "mixed": [1, "a", -3.5], "nested": [[1], [2]], "wrong keys": {1: 2, "a": object()},
}
# A figure of the model that a value drives out of range names the place where it does.
SITE = re.compile(r"\((\w+\[\d+\][\w.]*|head)\)")
# Options whose word or number decides how long it works, with what is right and long.
LONG = {("seeds", "huge"), ("samples", "huge"), ("time_limit", "huge")}


def shown(name):
    return {name, name.rstrip("_"), name.replace("_", " "), "--" + name.rstrip("_").replace("_", "-"), name.upper()}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Where a call that is right has its files."""
    import json
    import struct

    monkeypatch.chdir(tmp_path)
    planned = scalecalc.init("mlp-relu", layers=2, width=16).parameters
    header, at = {}, 0
    for row in planned:
        sizes = [int(size) for size in row.shape.split("x")]
        count = 4 * math.prod(sizes)
        header[row.path] = {"dtype": "F32", "shape": sizes, "data_offsets": [at, at + count]}
        at += count
    text = json.dumps(header).encode()
    values = numpy.random.default_rng(0).normal(size=at // 4).astype("<f4").tobytes()
    pathlib.Path("weights.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + values)
    pathlib.Path("claims.toml").write_text('[[claim]]\nname = "one"\nassert = "1 + 1 == 2"\n')


def call_with(command, name, value):
    arguments, options = CALLS[command]
    spec = getattr(_commands, "_" + command.upper())
    positional = [one for one, _, joins in spec if joins == "words"]
    given = {**options, name: value}
    placed = list(arguments)
    if name in positional:
        at = positional.index(name)
        placed = [*placed[:at], given.pop(name), *placed[at + 1:]]
    if "time_limit" in {one for one, _, _ in spec} and name != "time_limit":
        given["time_limit"] = 5
    return getattr(scalecalc, command)(*placed, **given)


def stop(number, frame):
    raise TimeoutError("it works for longer than that")


@pytest.mark.parametrize("command", sorted(CALLS))
def test_wrong_input_is_one_line(command, files):
    missed = []
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for name, _, _ in getattr(_commands, "_" + command.upper()):
            for kind, value in WRONG.items():
                if (name, kind) in LONG:
                    continue
                signal.alarm(SECONDS)
                try:
                    call_with(command, name, value)
                except TimeoutError as error:
                    missed.append((name, kind, f"{error}"))
                except (ValueError, OSError) as error:
                    line = str(error)
                    if "\n" in line or len(line) > 2000:
                        missed.append((name, kind, "several lines: " + line[:200]))
                    elif "defect" in line:
                        missed.append((name, kind, "a defect: " + line[:200]))
                    elif getattr(error, "argument", None) != name and not SITE.search(line) \
                            and not any(word in line for word in shown(name)):
                        missed.append((name, kind, "does not name it: " + line[:200]))
                except BaseException as error:
                    missed.append((name, kind, f"{type(error).__name__}: {str(error)[:200]}"))
                finally:
                    signal.alarm(0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not missed, f"{len(missed)}:\n" + "\n".join(map(str, missed))
