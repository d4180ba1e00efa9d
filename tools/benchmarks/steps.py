#!/usr/bin/env python3
"""First steps, predicted beside measured: bands, errors and powers of the size.

    steps.py PROGRAM MODEL --widths 256,512,1024 [--seeds 8] [--steps 4]
    steps.py PROGRAM MODEL --depths 2,4,8,16

A line for each family, parametrisation and step: at each size the widest band and the median and the
largest difference of a root mean square from its prediction, in percent; how many sites lie outside of
band and three standard errors; of all sites' powers of the size the largest difference, also less
three standard errors.
"""

import argparse
import json
import statistics
import subprocess

FAMILIES = "sgd:1e-4,adamw:2e-6,lion:2e-6,muon+adamw:2e-5+2e-6,lamb:2e-5"
PARAMETRIZATIONS = "standard,mup,ntk,spectral"
ERRORS = 3


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("model")
    axis = parser.add_mutually_exclusive_group(required=True)
    axis.add_argument("--widths")
    axis.add_argument("--depths")
    parser.add_argument("--seeds", default="8")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--families", default=FAMILIES, help="NAME:LR,...")
    parser.add_argument("--parametrizations", default=PARAMETRIZATIONS)
    return parser.parse_args()


def check(given, family, lr, parametrization):
    axis = ["--widths", given.widths] if given.widths else ["--depths", given.depths]
    call = [given.program, "coordinates", given.model, *axis, "--optimizer", family, "--lr", lr,
            "--parametrization", parametrization, "--steps", str(given.steps), "--seeds",
            given.seeds, "--threads", given.threads, "--format", "json"]
    done = subprocess.run(call, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)["results"]["checks"][0]


def sizes_text(found, step):
    text = []
    for i, size in enumerate(found["sizes"]):
        bands, differences, outside = [], [], 0
        for site in found["sites"]:
            point = site["points"][i]
            said, seen = point["predicted_changes"][step], point["change"][step]
            if not said or not seen:
                continue
            band = point["predicted_changes_truncation"][step] / said
            error = point["change_error"][step] / seen
            bands.append(band)
            differences.append(abs(said / seen - 1))
            outside += differences[-1] > band + ERRORS * error
        text.append(f"{size:.0f}: band {100 * max(bands):.1f}, off {100 * statistics.median(differences):.1f}"
                    f" to {100 * max(differences):.1f}, outside {outside}")
    return "; ".join(text)


def powers_text(found, step):
    all_off, beyond = (0, ""), 0
    for site in found["sites"]:
        law, said = site["change_laws"][step], site["predicted_change_exponents"][step]
        if not law or said is None:
            continue
        off = abs(law["exponent"] - said)
        all_off = max(all_off, (off, site["path"]))
        beyond = max(beyond, off - ERRORS * law["standard_error"])
    return f"powers off {all_off[0]:.3f} ({all_off[1]}), beyond errors {beyond:.3f}"


def main():
    given = options()
    for entry in given.families.split(","):
        family, lr = entry.rsplit(":", 1)
        for parametrization in given.parametrizations.split(","):
            found = check(given, family, lr, parametrization)
            for step in sorted({1, given.steps}):
                print(f"{family}, {parametrization}, step {step}: {sizes_text(found, step)}; "
                      f"{powers_text(found, step)}", flush=True)


if __name__ == "__main__":
    main()
