#!/usr/bin/env python3
"""Weights that `init CONFIG OPTIONS --weights` draws pass `audit --model CONFIG OPTIONS`, of every
config that is described, and fail it without the options. Options that change experts, which one
tensor packs, are refused.

usage: audit_options.py PROGRAM MODELS   (MODELS: tests/architectures/models)
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# At confidence 1 - 1e-9 chance fails none of some 300 audits.
SURE = ["--confidence", "0.999999999"]
# What changes every matrix, parts of packed ones, shapes.
LISTS = {"layer_types", "attention_types"}  # of as many layers as the config has
OF_DRAWS = [["--scheme", "he"], ["--lambda", "1/2"]]
OPTIONS = [*OF_DRAWS, ["--layers", "3"]]
OF_LISTS = [["--lambda", "1/2"]]


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def check(program, name, config, options, folder):
    """What is wrong, a line each."""
    weights = os.path.join(folder, "w.safetensors")
    drawn = run(program, "init", config, *options, "--weights", weights, "--quiet")
    if drawn.returncode != 0:
        return [f"{name} {' '.join(options)}: init: {drawn.stderr.strip()}"]
    audited = run(program, "audit", weights, "--model", config, *options, *SURE)
    if audited.returncode != 0:
        return [f"{name} {' '.join(options)}: {audited.stdout[:900]}{audited.stderr}"]
    if run(program, "audit", weights, "--model", config, *SURE).returncode != 1:
        return [f"{name} {' '.join(options)}: passes without the options"]
    return []


def check_refusal(program, name, config, options):
    """The same where the options would change some of what one tensor packs."""
    made = run(program, "init", config, *options, "--target", "pytorch")
    if made.returncode == 2 and "expert" in made.stderr and "by itself" in made.stderr:
        return []
    return [f"{name} {' '.join(options)}: not refused: {made.stderr.strip()}"]


def main():
    program, models = sys.argv[1:]
    problems, described = [], 0
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.json")
        for path in sorted(pathlib.Path(models).glob("*.json")):
            values = json.loads(path.read_text())["config"]
            pathlib.Path(config).write_text(json.dumps(values))
            imported = run(program, "import", config)
            if imported.returncode != 0:
                continue
            packs = "\nexperts = " in imported.stdout
            described += 1
            # Weights of a list have stds of their own, and no depth.
            is_list = 'kind = "layers"' in imported.stdout
            for options in OF_LISTS if is_list else OPTIONS:
                texts = values.get("text_config", {})
                if "--layers" in options and LISTS & {*values, *texts}:
                    continue
                if packs and options in OF_DRAWS:
                    problems += check_refusal(program, path.stem, config, options)
                else:
                    problems += check(program, path.stem, config, options, folder)
    print("\n".join(problems))
    print(f"{described} configs, {len(problems)} problems")
    sys.exit(bool(problems) or described == 0)


if __name__ == "__main__":
    main()
