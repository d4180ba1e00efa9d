"""What each architecture's users are told, beside the library's own models: one table.

usage: architectures.py PROGRAM [--seeds N] [--audits N] [MODEL_TYPE...]
For every architecture: the lines of a model file that its config asks its user for; how many
untouched models of the library pass `audit`, with their config and alone (N seeds, 10, of all classes
and configs of make_models.py); how far `propagate` is from 32 passes of the library's own code
(real_models.py); and how many parameters of the library's models the code of `init` sets, of all that
they have. Models that the program does not describe have no passes; those of torchvision and timm are
left out where these are not installed. The last line counts the figures of all rows that are outside, by
the limits of deviations.py. Exit 1 where a model is left with a parameter that nothing has set, or fails
its audit more often than the confidence of 0.99 allows; where figures are outside for no cause that is
known, or more than one in twenty.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

import deviations
import real_models

import image_libraries  # they too read make_models
import seeds as audits  # beside make_models, whose folder real_models names
from make_models import CLASSES, SMALL, made

SHARE = 1 / 20  # of all figures, at most so many are outside


def is_installed(model_type):
    library = model_type.partition("_")[0]
    return library not in ("torchvision", "timm") or importlib.util.find_spec(library) is not None


def count_of(arguments, option, count):
    if option in arguments:
        at = arguments.index(option)
        count = int(arguments[at + 1])
        del arguments[at:at + 2]
    return count


def lines_asked(program, folder, model_type):
    """None where `propagate` answers from the config alone; a tower is named behind the path."""
    path = pathlib.Path(folder) / "config.json"
    path.write_text(json.dumps({"model_type": model_type}))
    for suffix in ("", "#text"):
        done = subprocess.run([program, "import", f"{path}{suffix}"], capture_output=True, check=False)
        if done.returncode == 0:
            return "0" if not suffix else "0 (#text, #vision)"
    return "refused"


def audited(program, folder, model_type, count):
    """(passed, of them all) with the config, and alone."""
    with_config, alone = [0, 0], [0, 0]
    beside = pathlib.Path(folder) / "weights"  # a config.json in their folder would be taken
    beside.mkdir(exist_ok=True)
    for values in SMALL[model_type]:
        for class_name in CLASSES[model_type]:
            right, by_itself, said = audits.row(program, beside, model_type, values, class_name, count)
            for line in said:
                print(f"{model_type} {class_name}: {line}"[:300], file=sys.stderr)
            with_config = [with_config[0] + right, with_config[1] + count]
            if by_itself is not None:
                alone = [alone[0] + by_itself, alone[1] + count]
    return with_config, alone


def initialise(program, folder, config, model):
    """How many entries' parameters are set by the code of `init`; all were NaN."""
    path, code = pathlib.Path(folder) / "config.json", pathlib.Path(folder) / "generated.py"
    path.write_text(json.dumps(config))
    code.write_text(subprocess.run([program, "init", str(path), "--target", "pytorch"], check=True,
                                   capture_output=True, text=True).stdout)
    spec = importlib.util.spec_from_file_location("generated", code)
    module = importlib.util.module_from_spec(spec)
    sys.modules["generated"] = module
    spec.loader.exec_module(module)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(float("nan"))
    module.initialize_(model, strict=True)
    return sum(not parameter.isnan().any() for parameter in model.parameters())


def initialised(program, folder, model_type):
    done, total = 0, 0
    for values in SMALL[model_type]:
        for class_name in CLASSES[model_type]:
            model, config = made(model_type, values, class_name, 0)
            done += initialise(program, folder, config, model)
            total += len(list(model.parameters()))
    return done, total


def passes(program, folder, model_type, count):
    """Of each description that real_models.py has of it, the row of its table."""
    if model_type in image_libraries.SIZES:
        return [deviations.Row(real_models.model_of(program, model_type, folder), count)]
    own = [model_type] + [more for more in real_models.MORE if more.partition("+")[0] == model_type]
    if model_type not in transformers.CONFIG_MAPPING or not real_models.described(
            program, model_type, folder):
        return []
    return [deviations.Row(real_models.model_of(program, one, folder), count) for one in own]


def main():
    arguments = sys.argv[1:]
    count, drawn = count_of(arguments, "--seeds", real_models.SEEDS), count_of(arguments, "--audits", 10)
    program, types = arguments[0], arguments[1:] or list(SMALL)
    for model_type in [one for one in types if not is_installed(one)]:
        print(f"{model_type}: its library is not installed", file=sys.stderr)
        types.remove(model_type)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    print("| architecture | lines | audit | alone | set by init | stream | cosine "
          "| gradients, median (noise) | largest | outside | which |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    figures = outside = 0
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for model_type in types:
            lines = lines_asked(program, folder, model_type)
            with_config, alone = audited(program, folder, model_type, drawn)
            done, total = initialised(program, folder, model_type)
            unlucky = with_config[0] < with_config[1] - max(1, with_config[1] // 50)
            failed = failed or done < total or unlucky
            begin = (f"| {model_type} | {lines} | {with_config[0]}/{with_config[1]} | "
                     f"{alone[0]}/{alone[1]} | {done}/{total} |")
            rows = passes(program, folder, model_type, count)
            if not rows:
                print(f"{begin} | | | | | |", flush=True)
            for row in rows:
                measured = row.figures()
                # Rows of +passes are of the description, not of the rules.
                if not row.type.endswith("+passes"):
                    figures += measured[0]
                    outside += measured[1]
                    unexplained = set(row.outside()) - row.explained
                    failed = failed or bool(unexplained) and row.type not in deviations.CAUSES
                if row.type != model_type:
                    begin = f"| {row.type} | | | | |"
                print(f"{begin} {row.text().split('|', 2)[2].strip()}", flush=True)
    print(f"\n{outside} of {figures} figures are outside.")
    sys.exit(failed or outside > figures * SHARE)


if __name__ == "__main__":
    main()
