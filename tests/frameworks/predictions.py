"""What the program says of a model, and how far a measurement may be from it."""
import importlib.util
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
SEEDS = 24


def truncated_kurtosis(bound=2.0):
    """E z^4/(E z^2)^2 of a standard normal within +-bound, by parts."""
    normal = statistics.NormalDist()
    edge = 2 * bound * normal.pdf(bound) / (2 * normal.cdf(bound) - 1)
    second = 1 - edge
    return (3 * second - bound**2 * edge) / second**2


# The fourth moment of an entry over the square of the second; of orthogonal matrices it is at most
# that of a normal.
KURTOSIS = {"normal": 3.0, "uniform": 9 / 5, "truncated_normal": truncated_kurtosis(),
            "orthogonal": 3.0}


def program(*arguments):
    return subprocess.run([sys.argv[1], *arguments], check=True, capture_output=True,
                          text=True).stdout


def model(name):
    return str(FOLDER / "models" / f"{name}.toml")


def generated(name, target, *options):
    """The module that `init --target` writes of a model of this folder, imported as it is."""
    return generated_of(model(name), target, *options)


def generated_of(argument, target, *options):
    """Likewise of a preset, or any model."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"init_{pathlib.Path(argument).stem}.py"
        path.write_text(program("init", argument, "--target", target, *options))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module


def results(command, name, *options):
    return json.loads(program(command, model(name), "--format", "json", *options))["results"]


def plan(name, names):
    """The plan's parameters by the name of the tensor they are in."""
    tensors = {}
    for parameter in results("init", name, "--names", names)["parameters"]:
        tensors.setdefault(parameter["name"], []).append(parameter)
    return tensors


def scale(name, what):
    values = {s["value"] for s in results("init", name)["scales"] if s["factor"] == what}
    return values.pop() if values else 1.0


def check_entries(name, values, parameter):
    """Raises unless the mean and std of a part are within 4 standard errors of the plan."""
    values = values.astype("float64").ravel()
    planned, start = parameter["std"], parameter["distribution"]
    if planned == 0:
        assert (values == parameter["mean"]).all(), f"{name} is not {parameter['mean']} throughout"
        return
    error = planned * math.sqrt((KURTOSIS[start] - 1) / (4 * values.size))
    assert abs(values.std() - planned) <= 4 * error, (
        f"{name}: std {values.std()}, planned {planned} +- {error}")
    assert abs(values.mean()) <= 4 * planned / math.sqrt(values.size), f"{name}: {values.mean()}"
    if parameter["bound"] is not None:
        assert abs(values).max() <= parameter["bound"] * (1 + 1e-6), f"{name} leaves its bound"


def check_tensor(name, values, parts, axis):
    """Every part of a stored tensor against the plan."""
    first = 0
    for parameter in parts:
        size = values.shape[axis]
        if len(parts) > 1:
            size = [int(n) for n in parameter["shape"].split("x")][axis]
        check_entries(f"{name} ({parameter['path']})",
                      values.take(range(first, first + size), axis=axis), parameter)
        first += size


def quantile(comparisons, confidence=0.99):
    """Of Student's t with SEEDS - 1 degrees, for that many comparisons at once (Cornish-Fisher)."""
    z = statistics.NormalDist().inv_cdf(1 - (1 - confidence) / (2 * comparisons))
    n = SEEDS - 1
    return (z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3))


def check_passes(name, sites, parameters):
    """Second moments and gradients measured over SEEDS draws beside those of `propagate`.

    `sites` and `parameters`: path -> one value a seed.
    """
    predicted = results("propagate", name)
    compared = []
    for site in predicted["sites"]:
        if site["path"] in sites:
            compared.append((site["path"], sites[site["path"]], site["second"], site["spread"],
                             site["error"]["second"], site["truncation"]["second"]))
    for parameter in predicted["parameters"]:
        if parameter["path"] in parameters:
            compared.append((parameter["path"] + " grad", parameters[parameter["path"]],
                             parameter["grad_second"], parameter["grad_spread"],
                             parameter["grad_error"], parameter["grad_truncation"]))
    assert len(compared) == len(sites) + len(parameters), "a path that propagate does not have"
    width, failures = quantile(len(compared)), []
    for path, values, expected, spread, error, truncation in compared:
        assert len(values) == SEEDS
        mean = statistics.fmean(values)
        standard = statistics.stdev(values) / math.sqrt(SEEDS)
        band = width * math.hypot(standard, expected * math.sqrt(spread / SEEDS))
        band += error + abs(truncation) + 1e-6 * abs(expected)
        if abs(mean - expected) > band:
            failures.append(f"{path}: measured {mean:.6g}, predicted {expected:.6g} +- {band:.2g}")
    assert not failures, "\n".join(failures)
    print(f"{name}: {len(compared)} moments of real passes agree with propagate")
