#!/usr/bin/env python3
"""Wrong and extreme numbers for every option of the commands that work things out, one at a time: an
answer, or one line with exit code 2 (1 where `solve` finds nothing) that names the option, or the place
in the model that its value drives out of range. No defect, no fault, and no infinity in the answer of a
finite value.

usage: extreme_values.py PROGRAM [WORD...]   (WORD...: only calls that begin with these words)
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

TRANSFORMER = ("pre-ln-12 --layers 2 --width 16 --heads 2 --ffn 32 --vocab 8 --sequence 4 --batch 1 "
               "--placement post")
MLP = "mlp-relu --layers 2 --width 16"
# Options of models are tried where moments are propagated, the others with every command.
CALLS = [
    (f"propagate {TRANSFORMER}", True), (f"propagate {MLP} --after-step adamw --lr 1e-3", True),
    ("deepnorm --layers 4 --width 16 --heads 2", True),
    (f"propagate {TRANSFORMER} --after-step adamw --lr 1e-3", False),
    ("deepnorm --layers 4 --width 16 --heads 2 --method exact", False),
    (f"verify {MLP} --seeds 2", False), (f"init {TRANSFORMER}", False),
    ("sweep mlp-relu --layers 1,2 --width 16 --seeds 2", False),
    ("solve fixed-point selu --weight-variance 1", False),
    ("solve critical tanh --bias-variance 0.1", False), ("solve tuned gelu", False),
    ("solve truncated-normal --bounds=-2,2", False),
    ("activation gelu --time-limit 2", False), ("activation elu --correlation 0.3 --time-limit 2", False), ("activation leaky_relu --time-limit 2", False),
    ("transfer --from width=16 --to width=32", False),
]
VALUES = ["0", "-1", "1", "5e-324", "1e-300", "1e-60", "1e60", "1e300", "inf", "nan",
          "99999999999999999999"]
# What is no number, and what takes as long as it says.
LEFT_OUT = {"--help", "--output", "--plot", "--device", "--format", "--color", "--curves", "--config",
            "--threads", "--time-limit"}
# Two draws have no standard error, which is infinite.
HAS_BANDS = ("verify", "sweep")
CALLED = {"--after-step": ("optimizer",), "--forecast": ("optimizer",)}
SITE = re.compile(r"\((\w+\[\d+\][\w.]*|head|input)\)")
INFINITE = re.compile(r"(?<![\w'-])-?inf(inity)?(?![\w'])", re.IGNORECASE)


def options_of(program, command, all_of_model):
    text = subprocess.run([program, command, "--help"], capture_output=True, text=True,
                          check=True).stdout
    if not all_of_model:
        text = text.split("\nModel\n")[0]
    found = re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)(?:, --[a-z0-9-]+)* [A-Z]", text, re.MULTILINE)
    return [option for option in found if option not in LEFT_OUT]


def with_value(call, option, value):
    words = call.split()
    kept = [word for word in words if not word.startswith(option + "=")]
    if option in kept:
        at = kept.index(option)
        del kept[at:at + 2]
    return [*kept, f"{option}={value}"]


def shown(option):
    name = option[2:]
    return (option, name.replace("-", "_"), name.replace("-", " "), *CALLED.get(option, ()))


def wrong_of(program, call, option, value):
    """What is wrong with the answer; None where nothing is."""
    words = with_value(call, option, value)
    line = " ".join(words)
    try:
        ended = subprocess.run([program, *words], capture_output=True, text=True, timeout=30,
                               stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return f"{line}: works for longer than 30 s"
    said = ended.stderr.strip()
    if ended.returncode not in (0, 1, 2) or "defect" in ended.stdout + ended.stderr:
        return f"{line}: {ended.returncode} {said[:300]}"
    if ended.returncode == 2:
        if "\n" in said or not said.startswith("scalecalc: "):
            return f"{line}: not one line: {said[:300]}"
        if not any(name in said for name in shown(option)) and not SITE.search(said):
            return f"{line}: does not say where: {said[:300]}"
    elif INFINITE.search(ended.stdout) and value not in ("inf", "nan") \
            and not call.startswith((*HAS_BANDS, "solve fixed-point")):
        return f"{line}: an infinity: {INFINITE.search(ended.stdout)}"
    return None


def main(program, *words):
    program, begins = os.path.abspath(program), " ".join(words)
    tried = [(program, call, option, value) for call, all_of_model in CALLS if call.startswith(begins)
             for option in options_of(program, call.split()[0], all_of_model) for value in VALUES]
    os.environ["OMP_NUM_THREADS"] = "1"
    # Numbers are names of files, too, of options that write some.
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        os.chdir(folder)
        wrong = [text for text in pool.map(lambda one: wrong_of(*one), tried) if text]
        os.chdir(os.path.dirname(program))
    print("\n".join(wrong))
    print(f"{len(tried)} calls, {len(wrong)} wrong")
    return bool(wrong) or len(tried) < 1000 * (not begins)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
