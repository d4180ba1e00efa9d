#!/usr/bin/env python3
"""Every option of a model, given beside a list of layers, changes an answer or is refused in one line
with exit code 2. Tried over lists that leave all they can to the model, name all they can
themselves, and have no layer that could read it.

usage: list_model_options.py PROGRAM
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HEAD = '[model]\nkind = "layers"\nfeatures = 8\nclasses = 5\nsequence = 4\n'
# Of two stages; what each layer leaves out is the model's.
LEFT = HEAD + """layers = 2
norm = "layernorm"

[[layer]]
type = "linear"
width = 8
[[layer]]
type = "repeat"
times = "N"
[[layer.layers]]
type = "residual"
skip = "alpha"
[[layer.layers.layers]]
type = "norm"
[[layer.layers.layers]]
type = "attention"
heads = 2
[[layer.layers]]
type = "residual"
skip = "alpha"
[[layer.layers.layers]]
type = "gated"
width = 12
[[layer.layers.layers]]
type = "linear"
width = 8
"""
NAMED = HEAD + """
[[layer]]
type = "linear"
width = 8
gain = 1
bias = false
[[layer]]
type = "residual"
norm = "rmsnorm"
eps = 1e-6
affine = false
[[layer.layers]]
type = "attention"
heads = 2
scale = 1
gain = 1
bias = false
[[layer]]
type = "gated"
width = 8
activation = "silu"
gain = 1
bias = false
"""
LINEAR = HEAD + """
[[layer]]
type = "linear"
width = 8
gain = 1
"""
WORDS = HEAD.replace("features = 8\n", "") + """
[input]
kind = "tokens"

[[layer]]
type = "embedding"
vocab = 6
width = 8
[[layer]]
type = "norm"
norm = "rmsnorm"
"""
# The one linear is the head, and stands outside of the branch.
OUTSIDE = HEAD.replace("classes = 5\n", "") + """
[[layer]]
type = "residual"
[[layer.layers]]
type = "activation"
activation = "tanh"
[[layer]]
type = "linear"
width = 5
"""
MODELS = {"outside.toml": OUTSIDE, "left.toml": LEFT, "named.toml": NAMED, "linear.toml": LINEAR, "words.toml": WORDS}

# What lists leave to the model: option, and the models of the above that read it. Of any other of
# those it is refused.
READ_BY = {
    "--layers": {"left.toml"},
    "--alpha": {"left.toml"},
    "--lambda": {"left.toml"},
    "--activation": {"left.toml"},
    "--norm": {"left.toml"},
    "--norm-affine": {"left.toml", "words.toml"},
    "--norm-eps": {"left.toml", "words.toml"},
    "--gain-offset": {"left.toml", "named.toml", "words.toml"},
    "--attention-scale": {"left.toml"},
    "--features": {"left.toml", "named.toml", "linear.toml", "outside.toml"},
    "--bias": {"left.toml", "linear.toml"},
    "--bias-variance": {"left.toml", "linear.toml"},
}
# These say how numbers are found, and need not change them.
OF_THE_ANSWER = {
    "--optimizer": "what auto is solved for, and no scale is auto",
    "--gain-offset": "of trained gains: tried with them",
}
# A value that is none of the defaults, of what is no number.
NAMES = {
    "--activation": "relu", "--norm": "rmsnorm", "--scheme": "he", "--distribution": "uniform",
    "--loss": "mse", "--reduction": "mean", "--placement": "post",
    "--optimizer": "sgd", "--pool": "mean", "--dropout-place": "stream", "--window-pattern": "LG",
}
NUMBERS = ("3", "0.5", "1e-2")
COMMANDS = (("propagate", "--format", "json"), ("init", "--target", "json"))


def run(program, command, *arguments):
    made = subprocess.run([program, command[0], *arguments, *command[1:]], capture_output=True,
                          text=True, check=False)
    return made.returncode, made.stdout, made.stderr


def results(program, model, *options):
    """Of each command: its results, or its refusal."""
    found = []
    for command in COMMANDS:
        code, out, err = run(program, command, model, *options)
        if code == 0:
            document = json.loads(out)
            found.append(json.dumps(document.get("results", document)))
        else:
            if code != 2 or err.count("\n") != 1:
                raise ValueError(f"{' '.join([*command, model, *options])}: exit {code}: {err}")
            found.append(None)
    return found


def model_options(program):
    """Option and whether it takes a value, of `propagate --help`."""
    page = run(program, ("propagate", "--help"))[1]
    for section in ("Options", "Model", "Model in detail"):
        text = re.search(rf"^{section}\n(.*?)(?:^\S|\Z)", page, re.M | re.S).group(1)
        for match in re.finditer(r"^  (--[a-z-]+)(?:, --[a-z-]+)*( [A-Z]\S*)?", text, re.M):
            yield match.group(1), match.group(2) is not None


def main():
    program = os.path.abspath(sys.argv[1])
    of_init = run(program, ("init", "--help"))[1]
    options = [(name, takes) for name, takes in model_options(program) if f" {name}" in of_init]
    problems = [f"{option}: no option" for option in READ_BY if option not in dict(options)]
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for model, text in MODELS.items():
            with open(model, "w", encoding="utf-8") as file:
                file.write(text)
            plain = results(program, model)
            if None in plain:
                problems.append(f"{model}: refused")
            for option, takes in options:
                values = [NAMES[option]] if option in NAMES else NUMBERS
                if option == "--input":
                    values = ["gaussian" if model == "words.toml" else "tokens"]
                answers = []
                for words in [[option, value] for value in values] if takes else [[option]]:
                    tried += 1
                    answers.append(results(program, model, *words))
                refused = all(answer == [None, None] for answer in answers)
                same = all(answer in (plain, [None, None]) for answer in answers)
                if same and not refused and option not in OF_THE_ANSWER:
                    problems.append(f"{model} {option}: changes nothing, and is taken")
                if option in READ_BY and refused == (model in READ_BY[option]):
                    problems.append(f"{model} {option}: {'refused' if refused else 'not refused'}")
        # sweep has depths and scales of its own.
        for option in ("--layers", "--alpha", "--lambda"):
            for model in MODELS:
                beside = [] if option == "--layers" else ["--layers", "2"]
                tried += 1
                code, out, err = run(program, ("sweep", "--seeds", "1", "--quiet"), model, option,
                                     "2", *beside)
                idle = [name for name in ("--layers", option) if model not in READ_BY[name]]
                if idle and (code != 2 or out or "changes nothing of this list" not in err):
                    problems.append(f"sweep {model} {option}: not refused (exit {code})")
                if not idle and code != 0:
                    problems.append(f"sweep {model} {option}: {err.strip()}")
    for problem in problems:
        print(problem)
    print(f"{len(options)} options, {tried} lines, {len(problems)} problems")
    return 1 if problems or len(options) < len(READ_BY) else 0


if __name__ == "__main__":
    sys.exit(main())
