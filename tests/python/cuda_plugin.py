"""The package of CUDA beside that of scalecalc, in this Python (tools/wheel --cuda): the program and the
module open its plug-in, whether there is a device or not."""

import csv
import os
import subprocess
import sys
import tempfile

import scalecalc
from scalecalc import _program

MODEL = """
[model]
kind = "mlp"
layers = 2
width = 16
"""


def listed():
    """What `devices` says of the first device of CUDA."""
    done = subprocess.run([str(_program.path()), "devices", "--format", "csv"], check=True,
                          stdout=subprocess.PIPE, text=True)
    rows = csv.DictReader(done.stdout.splitlines())
    return next(row for row in rows if row["device"].startswith("cuda"))


def asked(folder):
    """The program's line and the module's about a pass on a device; None where it has worked."""
    model = os.path.join(folder, "mlp.toml")
    with open(model, "w", encoding="utf-8") as file:
        file.write(MODEL)
    done = subprocess.run([str(_program.path()), "verify", model, "--device", "cuda", "--seeds", "2"],
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = done.stderr.strip().splitlines()
    program = None if done.returncode in (0, 1) else lines[-1]
    try:
        scalecalc.verify(model, device="cuda", seeds=2)
    except OSError as error:
        return program, str(error), len(lines)
    return program, None, len(lines)


def main():
    row = listed()
    with tempfile.TemporaryDirectory() as folder:
        program, module, count = asked(folder)
    print(f"device: {row}\nprogram: {program}\nmodule: {module}")
    if row["available"] == "true":
        return 0 if program is None and module is None else 1
    # What is missing is a device, its driver or cuBLAS.
    is_found = all(said is not None and "plug-in" not in said and row["note"] in said
                   for said in (program, module)) and "plug-in" not in row["note"]
    return 0 if is_found and row["note"] and count == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
