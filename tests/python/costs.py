#!/usr/bin/env python3
"""What the wheel costs beside numpy's and ruff's: its size, from pip install to the first answer in a fresh
environment, import, and the start of its program. Medians of rounds in which all take turns. The peers' wheels
are downloaded before the clock runs, and nothing is afterwards.

usage: costs.py SCALECALC.whl [--rounds N] [--peers NAME==VERSION ...]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PEERS = ["numpy==2.4.6", "ruff==0.17.6"]
PYTHON = {"scalecalc": "import scalecalc; print(scalecalc.deepnorm(layers=1000, optimizer='adam').alpha)",
          "numpy": "import numpy; print(numpy.linalg.norm(numpy.arange(1000.0)))"}
PROGRAM = {"scalecalc": ["scalecalc", "deepnorm", "--layers", "1000", "--optimizer", "adam"],
           "ruff": ["ruff", "check", "--isolated", "--no-cache"]}


def seconds(words, **options):
    begin = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **options)
    return time.perf_counter() - begin


def download(peer, folder):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                    "--disable-pip-version-check", "--dest", str(folder), peer], check=True)
    return next(path for path in folder.iterdir() if path.name.startswith(peer.partition("=")[0]))


def answer_words(name, bin, one):
    """One question, by Python or by the program."""
    if name in PYTHON:
        return [str(bin / "python"), "-c", PYTHON[name]]
    return [str(bin / PROGRAM[name][0]), *PROGRAM[name][1:], str(one)]


def round_of(name, wheel, folder, one):
    environment = folder / name
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
    bin = environment / "bin"
    install = seconds([str(bin / "pip"), "install", "--quiet", "--no-index", "--no-deps",
                       "--disable-pip-version-check", str(wheel)])
    found = {"install": install, "answer": install + seconds(answer_words(name, bin, one))}
    if name in PYTHON:
        python = str(bin / "python")
        bare = statistics.median(seconds([python, "-c", "pass"]) for _ in range(5))
        found["import"] = statistics.median(
            seconds([python, "-c", f"import {name}"]) for _ in range(5)) - bare
    if name in PROGRAM:
        words = [str(bin / PROGRAM[name][0]), *PROGRAM[name][1:]]
        words += [str(one)] if name == "ruff" else []
        found["program"] = statistics.median(seconds(words) for _ in range(5))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", nargs="*", default=PEERS)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = folder / "one.py"
        one.write_text("print(1)\n")
        (folder / "wheels").mkdir()
        wheels = {"scalecalc": flags.wheel.resolve()}
        for peer in flags.peers:
            wheels[peer.partition("=")[0]] = download(peer, folder / "wheels")
        rounds = {peer: [] for peer in wheels}
        for _ in range(flags.rounds):
            for peer, wheel in wheels.items():
                rounds[peer].append(round_of(peer, wheel, folder, one))
        print("| wheel | MB | pip install, s | to the first answer, s | import, ms | program, ms |")
        print("|---|---|---|---|---|---|")
        for peer, wheel in wheels.items():
            found = {key: statistics.median(one[key] for one in rounds[peer]) for key in rounds[peer][0]}
            cells = [wheel.name.split("-")[0] + " " + wheel.name.split("-")[1],
                     f"{wheel.stat().st_size / 1e6:.2f}", f"{found['install']:.2f}", f"{found['answer']:.2f}",
                     *(f"{found[key] * 1e3:.0f}" if key in found else "" for key in ("import", "program"))]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
