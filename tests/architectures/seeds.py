"""Untouched models of every architecture, as its library draws them, beside `scalecalc audit`.

usage: seeds.py PROGRAM [--seeds N] [MODEL_TYPE...]   (with what make_models.py needs)
For each config of make_models.py, its small models with seeds 0 to N - 1 (10) are written as
safetensors and audited with their config and by names and shapes alone. Prints a row for each class:
how many of them pass. An audit passes untouched weights with the confidence that it prints, 0.99 for
all comparisons of a file together: of 10 files all, or all but one, should. Exit 1 where fewer do.
Without a config a model is left out whose config has another initializer_range than its library.
"""
import json
import os
import subprocess
import sys
import tempfile

import transformers
from safetensors.torch import save_file

from make_models import CLASSES, SMALL, config_of, made


def save(model, path):
    """Without tensors that are others once more, as save_pretrained does."""
    tensors = {}
    seen = set()
    for name, tensor in model.named_parameters():
        if tensor.data_ptr() in seen:
            continue
        seen.add(tensor.data_ptr())
        tensors[name] = tensor.detach().contiguous().clone()
    for name, tensor in model.named_buffers():
        if name in model.state_dict():
            tensors[name] = tensor.detach().contiguous().clone()
    save_file(tensors, path)


def audit(program, arguments):
    done = subprocess.run([program, "audit", *arguments, "--format", "json"], capture_output=True,
                          text=True, check=False)
    if done.returncode not in (0, 1):
        return False, done.stdout[:300] + done.stderr[:300]
    results = json.loads(done.stdout)["results"]
    said = "; ".join(f"{finding['what']} {finding['verdict']}" for finding in results["findings"])
    return done.returncode == 0, said


def has_default_range(model_type, values):
    """Of the config and of those inside it."""
    if model_type not in transformers.CONFIG_MAPPING:
        return True

    def same(config):
        plain = type(config)()
        inner = [getattr(config, key) for key in getattr(config, "sub_configs", {})]
        return all(map(same, inner)) and (getattr(config, "initializer_range", None) ==
                                          getattr(plain, "initializer_range", None))
    return same(config_of(model_type, values))


def row(program, folder, model_type, values, class_name, seeds):
    weights, config_file = os.path.join(folder, "w.safetensors"), os.path.join(folder, "c.json")
    passed, alone, said = 0, 0, []
    is_told = has_default_range(model_type, values)
    for seed in range(seeds):
        model, config = made(model_type, values, class_name, seed)
        save(model, weights)
        with open(config_file, "w") as file:
            json.dump(config, file)
        right, why = audit(program, [weights, "--model", config_file])
        passed += right
        if why:
            said.append(f"seed {seed}: {why}")
        if is_told:
            right, why = audit(program, [weights])
            alone += right
            if why:
                said.append(f"seed {seed}, alone: {why}")
    return passed, alone if is_told else None, said


def main():
    arguments = sys.argv[1:]
    seeds = 10
    if "--seeds" in arguments:
        at = arguments.index("--seeds")
        seeds = int(arguments[at + 1])
        del arguments[at:at + 2]
    program, types = arguments[0], arguments[1:] or list(SMALL)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for model_type in types:
            for index, values in enumerate(SMALL[model_type]):
                for class_name in CLASSES[model_type]:
                    passed, alone, said = row(program, folder, model_type, values, class_name,
                                              seeds)
                    without = "-" if alone is None else f"{alone}/{seeds}"
                    print(f"{model_type:14} {index} {class_name:34} {passed}/{seeds} {without}",
                          flush=True)
                    for line in said:
                        print("   ", line[:400])
                    failed = failed or min(passed, passed if alone is None else alone) < seeds - 1
    sys.exit(failed)


if __name__ == "__main__":
    main()
