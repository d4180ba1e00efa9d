"""The module that `init config.json --target pytorch` writes, run on stand-ins of every architecture's
model: modules that have its parameters, by name and shape, and nothing else."""
import importlib.util
import json
import math
import pathlib
import sys
import tempfile

import torch
from torch import nn

import predictions as p

MODELS = p.FOLDER.parent / "architectures" / "models"
KEPT_SEEDS = 4  # over which the kept moments are taken (make_models.py)
# Standard errors: 3700 tensors with two moments each leave one in 10^4 beyond.
LIMIT = 5.5
DIGITS = 1e-5  # of the kept moments


def stand_in(parameters):
    """Nested modules with these parameters, all of them NaN."""
    whole = nn.Module()
    for name, shape, *_ in parameters:
        *path, own = name.split(".")
        module = whole
        for step in path:
            if step not in module._modules:
                module.add_module(step, nn.Module())
            module = module._modules[step]
        module.register_parameter(own, nn.Parameter(torch.full(shape, float("nan"))))
    return whole


def generated(config, folder, *options):
    path = pathlib.Path(folder) / "config.json"
    path.write_text(json.dumps(config))
    code = pathlib.Path(folder) / "generated.py"
    code.write_text(p.program("init", str(path), "--target", "pytorch", *options))
    spec = importlib.util.spec_from_file_location("generated", code)
    module = importlib.util.module_from_spec(spec)
    sys.modules["generated"] = module
    spec.loader.exec_module(module)
    return module


def check_moments(model, parameters):
    """Against those of the library's own models. No draw has a larger kurtosis than a normal."""
    named = dict(model.named_parameters())
    for name, _, kept_mean, kept_std in parameters:
        values = named[name].detach().double()
        assert not values.isnan().any(), f"{name} was not set"
        mean, std = values.mean().item(), values.std(unbiased=False).item()
        rounding = DIGITS * math.hypot(kept_mean, kept_std)
        error = kept_std * math.sqrt((1 + 1 / KEPT_SEEDS) / values.numel())
        assert abs(mean - kept_mean) <= LIMIT * error + rounding, f"{name}: {mean}, not {kept_mean}"
        # The std of few entries is far from normal: their square is compared alone.
        few = kept_std if values.numel() < 50 else 0
        band = LIMIT * error * math.sqrt((p.KURTOSIS["normal"] - 1) / 4) + rounding + few
        assert abs(std - kept_std) <= band, f"{name}: {std}, not {kept_std}"


def refused(module, model):
    try:
        module.initialize_(model, strict=True)
    except ValueError as error:
        return str(error)
    raise AssertionError("a model that is not set as a whole was accepted")


def check_refusals(module, parameters):
    name = parameters[len(parameters) // 2][0]
    missing = [row for row in parameters if row[0] != name]
    assert "1 rules of the plan" in refused(module, stand_in(missing))
    more = parameters + [["another.weight", [2, 2]]]
    assert "not matched: another.weight" in refused(module, stand_in(more))


def check_part(module, parameters):
    """The model without its head has names without what they begin with."""
    prefix = module.OWN_PREFIX
    part = [[row[0][len(prefix):], row[1]] for row in parameters
            if prefix and row[0].startswith(prefix)]
    for model, wrapper in ((stand_in(part), ""),
                           (nn.ModuleDict({"module": stand_in(part)}), "module.")):
        report = module.initialize_(model)
        assert sorted(report.set) == sorted(wrapper + name for name, _ in part), str(report)


def main():
    tensors = 0
    files = sorted(MODELS.glob("*.json"))
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            kept = json.loads(path.read_text())
            parameters = kept["parameters"]
            module, model = generated(kept["config"], folder), stand_in(parameters)
            try:
                module.initialize_(model, strict=True)
                check_moments(model, parameters)
                check_refusals(module, parameters)
                check_part(module, parameters)
            except (AssertionError, ValueError) as error:
                raise AssertionError(f"{path.stem}: {error}") from error
            tensors += len(parameters)
    assert files, f"no models in {MODELS}"
    print(f"{len(files)} models, {tensors} tensors: all as their libraries draw them")


if __name__ == "__main__":
    sys.exit(main())
