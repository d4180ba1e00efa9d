#!/usr/bin/env python3
"""A list of values gives what its values give one by one.

usage: lists.py PROGRAM COMMAND   every option of COMMAND that takes lists, one after the other
       lists.py PROGRAM all       that these are all commands that have such options

For each option a list of two: in JSON each row has the inputs and results of its single run, in CSV
its records, and the table at 80 columns has every cell of the wide one.
"""

import csv
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios

PROGRAM = sys.argv[1]
TIMEOUT = 120  # seconds, of one run
COLUMNS = 80

# A small model of each kind.
TRANSFORMER = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny.toml")]
MLP = ["mlp-tanh", "--layers", "2", "--width", "16"]
BLOCK = ["--width", "16", "--heads", "2", "--ffn", "32", "--sequence", "4", "--vocab", "8"]

# What each command needs beside the option that is tried.
BASES = {
    "activation": ["gelu"],
    "solve": ["critical", "tanh"],
    "propagate": TRANSFORMER,
    "compare": TRANSFORMER,
    "init": TRANSFORMER,
    "verify": [*TRANSFORMER, "--seeds", "3"],
    "deepnorm": ["--layers", "4", *BLOCK],
    "sweep": ["--layers", "2,4", "--optimizer", "adam", "--engine", "quadrature", *BLOCK],
    "convention": ["torch.nn.init.xavier_normal_(w)", "--shape", "4x4x3x3"],
}

# Two values of an option, and what it needs beside them.
FLAG = (["true", "false"], [])
MODULATED = ["--placement", "pre", "--modulation", "adaln"]
FRAMES = ["--memory-features", "4", "--encoder-decoder", "--input", "tokens"]
VALUES = {
    "ACTIVATION": (["gelu", "tanh"], []),
    "MODEL": (["pre-ln-12", "no-ln-12"], []),
    "LINE": (["torch.nn.init.xavier_normal_(w)", "torch.nn.init.kaiming_normal_(w)"], []),
    "--seed": (["1", "2"], []),
    "--device": (["cpu", "auto"], []),
    "--layers": (["2", "3"], []),
    "--placement": (["pre", "deepnorm"], []),
    "--alpha": (["1", "(2*N)^(1/4)"], []),
    "--lambda": (["1", "1/2"], []),
    "--optimizer": (["sgd", "sign(g)"], []),
    "--width": (["16", "32"], []),
    "--heads": (["1", "2"], []),
    "--kv-heads": (["1", "2"], []),
    "--ffn": (["32", "48"], []),
    "--vocab": (["8", "16"], []),
    "--sequence": (["4", "6"], []),
    "--batch": (["1", "2"], []),
    "--activation": (["relu", "max(x,0)"], []),
    "--norm": (["layernorm", "rmsnorm"], []),
    "--cross": (["0", "0.1"], ["--input", "gaussian"]),
    "--norm-eps": (["0", "1e-5"], []),
    "--head-dim": (["8", "16"], []),
    "--branch-norms": (["true", "false"], ["--parallel", "--placement", "pre"]),
    "--scale": (["1/head_width", "head_width^(-1/2)"], []),
    "--dropout": (["0", "0.1"], []),
    "--dropout-place": (["branch", "input+branch"], ["--dropout", "0.1"]),
    "--attention-dropout": (["0", "0.1"], []),
    "--value-residual": (["0", "0.5"], []),
    "--rotary-base": (["0", "10000"], []),
    "--window": (["2", "3"], ["--causal"]),
    "--window-pattern": (["L", "LG"], ["--causal", "--window", "2"]),
    "--alibi": (["0", "1"], ["--causal"]),
    "--relative-buckets": (["4", "8"], []),
    "--relative-distance": (["16", "32"], ["--relative-buckets", "8"]),
    "--relative-std": (["1/width", "0.5"], ["--relative-buckets", "8"]),
    "--attention-softcap": (["0", "5"], []),
    "--logit-softcap": (["0", "5"], []),
    "--rotary-fraction": (["0.5", "1"], ["--rotary-base", "10000"]),
    "--rotary-scaling": (["none", "linear"], ["--rotary-base", "10000"]),
    "--rope-type": (["none", "linear"], ["--rotary-base", "10000"]),
    "--rotary-factor": (["2", "8"], ["--rotary-base", "10000", "--rotary-scaling", "linear"]),
    "--rotary-original": (["2", "8"], ["--rotary-base", "10000", "--rotary-scaling", "dynamic"]),
    "--rotary-low": (["1", "2"], ["--rotary-base", "10000", "--rotary-scaling", "llama3",
                                  "--rotary-original", "8"]),
    "--rotary-high": (["3", "4"], ["--rotary-base", "10000", "--rotary-scaling", "llama3",
                                   "--rotary-original", "8"]),
    "--rotary-truncate": (["true", "false"], ["--rotary-base", "10000", "--rotary-scaling", "yarn",
                                              "--rotary-original", "8"]),
    "--rotary-attention": (["1", "1.2"], ["--rotary-base", "10000", "--rotary-scaling", "yarn",
                                          "--rotary-original", "8"]),
    "--rotary-short": (["1", "1.5"], ["--rotary-base", "10000", "--rotary-scaling", "longrope",
                                      "--head-width", "2", "--rotary-original", "8",
                                      "--rotary-long", "4"]),
    "--rotary-long": (["2", "4"], ["--rotary-base", "10000", "--rotary-scaling", "longrope",
                                   "--head-width", "2", "--rotary-original", "8",
                                   "--rotary-short", "1"]),
    "--rotary-local-base": (["100", "10000"], ["--rotary-base", "1000000", "--causal",
                                               "--window", "2"]),
    "--class-tokens": (["1", "2"], ["--input", "gaussian", "--norm-eps", "1e-6"]),
    "--class-std": (["0.5", "1"], ["--input", "gaussian", "--class-tokens", "1"]),
    "--pool": (["class", "mean"],
               ["--input", "gaussian", "--class-tokens", "1", "--class-std", "1"]),
    "--head-classes": (["8", "16"], ["--input", "tokens"]),
    "--patch": (["8", "16"], ["--input", "gaussian"]),
    "--patch-bias": (["true", "false"], ["--input", "gaussian", "--patch", "8"]),
    "--experts": (["2", "4"], []),
    "--num-experts-per-tok": (["1", "2"], ["--experts", "4"]),
    "--moe-intermediate-size": (["8", "16"], ["--experts", "4"]),
    "--norm-topk-prob": (["true", "false"], ["--experts", "4"]),
    "--shared-ffn": (["8", "16"], ["--experts", "4"]),
    "--shared-gate": (["true", "false"], ["--experts", "4", "--shared-ffn", "8"]),
    "--qk-norm-all": (["true", "false"], ["--qk-norm"]),
    "--gain-offset": (["true", "false"], ["--norm-affine"]),
    "--layer-scale": (["0.5", "1"], ["--placement", "pre"]),
    "--norm-alpha": (["0.5", "1"], ["--norm", "dyt"]),
    "--norm-scale": (["1", "l^(-1/2)"], ["--placement", "pre"]),
    "--modulation": (["adaln", "adaln-zero"], ["--placement", "pre"]),
    "--condition-features": (["8", "16"], MODULATED),
    "--condition-second": (["1", "2"], MODULATED),
    "--condition-cross": (["0", "0.1"], MODULATED),
    "--condition-classes": (["2", "4"], MODULATED),
    "--condition-class-std": (["0.5", "1"], MODULATED + ["--condition-classes", "4"]),
    "--drop-path": (["0.1", "0.2"], ["--placement", "pre"]),
    "--scheme": (["lecun", "he"], []),
    "--std": (["0.02", "0.05"], []),
    "--weight-variance": (["1", "2"], []),
    "--bias-variance": (["0.05", "0.1"], []),
    "--distribution": (["normal", "uniform"], []),
    "--input": (["gaussian", "tokens"], []),
    "--second": (["1", "2"], []),
    "--zipf": (["0.5", "1"], ["--input", "tokens"]),
    "--sinusoids": (["true", "false"], ["--input", "gaussian", "--sequence", "4"]),
    "--positions": (["0", "0.5"], ["--input", "tokens"]),
    "--tie-head": (["true", "false"], ["--input", "tokens"]),
    "--segments": (["1", "2"], ["--input", "tokens"]),
    "--embedding-width": (["8", "16"], ["--input", "tokens"]),
    "--embedding-multiplier": (["1", "16"], ["--input", "tokens"]),
    "--memory-sequence": (["3", "4"], ["--cross-attention"]),
    "--memory-second": (["1", "2"], ["--cross-attention"]),
    "--memory-cross": (["0", "0.1"], ["--cross-attention"]),
    "--memory-features": (["4", "8"], FRAMES[2:]),
    "--memory-conv-kernel": (["3", "5"], FRAMES),
    "--memory-conv-strides": (["1", "2"], FRAMES),
    "--memory-sinusoids": (["true", "false"], FRAMES),
    "--loss": (["cross-entropy", "mse"], []),
    "--target-second": (["1", "2"], ["--loss", "mse"]),
    "--reduction": (["sum", "mean"], []),
    "--ramp": (["0.5", "1"], ["--placement", "branchnorm"]),
    "--constraint": (["symmetric", "alpha=1"], []),
    "--method": (["scaling", "exact"], []),
    "--rule": (["derived", "deepnet"], []),
    "--arch": (["encoder", "decoder"], []),
    "--reference-layers": (["1", "2"], ["--method", "exact"]),
    "--decoder-layers": (["2", "3"], ["--encoder-decoder"]),
    "--decoder-alpha": (["1", "(3*M)^(1/4)"], ["--encoder-decoder"]),
    "--decoder-lambda": (["1", "lambda/2"], ["--encoder-decoder"]),
    "--model": (["pre-ln-12", "post-ln-12"], []),
    "--engine": (["quadrature", "passes"], []),
    "--seeds": (["2", "3"], ["--engine", "passes"]),
    "--samples": (["64", "128"], ["--engine", "montecarlo"]),
    "--after-step": (["sgd", "muon+adamw"], ["--lr", "1e-3"]),
    "--forecast": (["sgd", "muon+adamw"], ["--lr", "1e-3"]),
    "--warmup": (["0", "10"], ["--forecast", "adam", "--lr", "1e-3"]),
    "--lr": (["1e-3", "1e-4"], ["--after-step", "adam"]),
    "--steps": (["1", "3"], ["--after-step", "sgd", "--lr", "1e-3"]),
    "--names": (["scalecalc", "torch"], []),
    "--transfer-from": (["width=128", "layers=2"], ["--target", "pytorch"]),
    "--quantity": (["delta_loss", "grad_norm"], []),
    "--parameters": (["branch", "all"], []),
    "--eta": (["1e-4", "1e-5"], ["--quantity", "actual_delta_loss", "--engine", "passes"]),
    "--dtype": (["float", "double"], []),
    "--confidence": (["0.9", "0.99"], []),
    "--expr": (["max(x,0)", "x*sigmoid(x)"], []),
    "--mean": (["0", "1/2"], []),
    "--variance": (["1", "2"], []),
    "--correlation": (["0", "1/2"], []),
    "--family": (["selu", "max(x,0)+a*min(exp(x)-1,0)"], ["self-normalizing"]),
    "--layer": (["conv", "transposed"], []),
    "--framework": (["pytorch", "mlx"], ["nn.Linear(4, 8)"]),
    "--groups": (["1", "2"], ["--layer", "conv"]),
    "--stride": (["1", "2"], ["--layer", "conv"]),
}

# Where a command means something else by the option, or needs something else.
OF_COMMAND = {
    ("deepnorm", "--optimizer"): (["sgd", "max(g,0)"], []),
    ("deepnorm", "--seeds"): (["2", "3"], []),
    ("deepnorm", "--placement"): (["post", "pre"], []),
    ("sweep", "--seeds"): (["2", "3"], []),
    ("verify", "--seeds"): (["2", "3"], []),
    ("activation", "--samples"): (["100", "200"], []),
    ("init", "--parametrization"): (["mup", "standard"],
                                    ["--target", "pytorch", "--transfer-from", "width=128"]),
    ("init", "--muon-scale"): (["none", "match_rms"],
                               ["--target", "pytorch", "--transfer-from", "width=128",
                                "--optimizer", "muon+adamw"]),
    ("solve", "--bias-variance"): (["0.05", "0.1"], []),
    ("solve", "--weight-variance"): (["2", "3"], ["fixed-point", "tanh"]),
    ("deepnorm", "--decoder-layers"): (["2", "3"], ["--arch", "encoder-decoder"]),
    ("solve", "--variance"): (["1", "2"], ["tuned", "gelu"]),
    ("solve", "--expr"): (["tanh(x)", "x*sigmoid(x)"], ["tuned"]),
}
# Of models that the command refuses.
REFUSED = {("deepnorm", "--norm-alpha"), ("deepnorm", "--norm-scale")}
OF_MLP = {"--features": ["8", "16"], "--classes": ["4", "5"]}


def words_without(words, name):
    """Without the option and its value."""
    if name in words:
        at = words.index(name)
        words = words[:at] + words[at + 2:]
    return words


def call_of(command, option):
    """The words of a call without the option's values, and these."""
    name = option["names"][-1]
    if name in OF_MLP:
        return [command, *MLP], OF_MLP[name]
    values, needs = OF_COMMAND.get((command, name)) or VALUES.get(name) or FLAG
    assert option["type"] is None or values is not FLAG[0], f"no values of {name}"
    base = BASES[command]
    if not name.startswith("-"):
        base = {"solve": ["critical"], "sweep": base}.get(command, base[1:])
    elif command == "activation" and name == "--expr":
        base = []
    elif needs and not needs[0].startswith("-"):
        base = []
    for word in [name, *needs]:
        if word.startswith("-"):
            base = words_without(base, word)
    return [command, *base, *needs], values


def with_values(call, name, values):
    if not name.startswith("-"):
        return [*call[:1], *values, *call[1:]] if call[0] != "solve" else [*call, *values]
    return [*call, f"{name}=" + ",".join(values)]


def run(words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode in (0, 1) and not done.stderr, (words, done.returncode, done.stderr)
    return done.returncode, done.stdout


def on_terminal(words):
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        os.execv(PROGRAM, [PROGRAM, *words, "--quiet", "--no-pager", "--color", "never"])
    text = b""
    try:
        while block := os.read(terminal, 65536):
            text += block
    except OSError:  # the end of a terminal
        pass
    os.waitpid(child, 0)
    return text.decode("utf-8", "replace").replace("\r", "")


def cells_of(text):
    """Every cell of every table: by the title above it, the column's name and the row's."""
    cells, lines, title, seen = {}, text.splitlines(), "", 0
    for at, line in enumerate(lines):
        if at + 1 < len(lines) and lines[at + 1].strip().startswith("---"):
            if at > 0 and lines[at - 1]:
                title = lines[at - 1]
            rule, starts = lines[at + 1], []
            for k, letter in enumerate(rule):
                if letter == "-" and (k == 0 or rule[k - 1] == " "):
                    starts.append(k)
            ends = [rule.find(" ", k) if " " in rule[k:] else None for k in starts]
            names = [line[a:b].strip() for a, b in zip(starts, ends)]
            for row in range(at + 2, len(lines)):
                if not lines[row]:
                    break
                found = [lines[row][a:b].strip() for a, b in zip(starts, ends)]
                for name, cell in zip(names[2:], found[2:]):
                    cells[title, name, found[0]] = cell
    return cells


def check(command, option):
    name = option["names"][-1]
    call, values = call_of(command, option)
    words = with_values(call, name, values)
    code, text = run([*words, "--format", "json"])
    rows = json.loads(text)["results"]["rows"]
    assert len(rows) == len(values), words
    _, text = run([*words, "--format", "csv"])
    records = list(csv.DictReader(io.StringIO(text)))
    axis = list(rows[0])[0]
    codes = []
    for value, row in zip(values, rows):
        if command != "compare":  # which has no single run
            single = with_values(call, name, [value])
            alone, text = run([*single, "--format", "json"])
            codes.append(alone)
            document = json.loads(text)
            assert row["inputs"] == document["inputs"], (words, value)
            assert row["results"] == document["results"], (words, value)
            check_records(records, axis, value, run([*single, "--format", "csv"])[1], words)
    assert command == "compare" or code == max(codes), (words, code, codes)
    narrow, wide = on_terminal(words), on_terminal([*words, "--wide"])
    assert max(map(len, narrow.splitlines())) <= COLUMNS, words
    shown = cells_of(narrow)
    assert shown == cells_of(wide), (words, narrow, wide)
    assert shown or "equal in every column" in narrow, (words, narrow)


def number_or_text(text):
    try:
        return float(text)
    except ValueError:
        return text


def check_records(records, axis, value, text, words):
    """Those of one value are the records of its single run, or its lines "name,value" as one."""
    own = [record for record in records
           if number_or_text(record[axis]) == number_or_text(value)]
    single = list(csv.DictReader(io.StringIO(text)))
    if single and list(single[0]) == ["name", "value"]:
        single = [{record["name"]: record["value"] for record in single}]
    assert len(own) == len(single), (words, value, len(own), len(single))
    for mine, theirs in zip(own, single):
        for column, cell in theirs.items():
            column = "results." + column if column == axis else column
            assert mine[column] == cell, (words, value, column, mine[column], cell)


def listed(command):
    text = run(["help", command, "--format", "json"])[1]
    return [option for option in json.loads(text)["results"]["options"]
            if option["list"] and (command, option["names"][-1]) not in REFUSED]


def main():
    if sys.argv[2] == "all":
        commands = [entry["name"] for entry in
                    json.loads(run(["help", "--format", "json"])[1])["results"]["commands"]]
        found = {command for command in commands if listed(command)}
        assert found == set(BASES), found ^ set(BASES)
        return
    failed = []
    options = listed(sys.argv[2])
    for option in options:
        try:
            check(sys.argv[2], option)
        except (AssertionError, KeyError) as error:
            failed.append((option["names"][-1], error))
    for name, error in failed:
        print(name, repr(error)[:1500], file=sys.stderr)
    print(f"{len(options)} options, {len(failed)} failed")
    sys.exit(1 if failed or not options else 0)


main()
