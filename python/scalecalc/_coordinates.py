"""The coordinate check on a module of PyTorch: real steps of its own optimizer at several sizes, each
site's size and movement beside what is predicted, and the parameter that is behind what grows."""

from __future__ import annotations

import csv
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scalecalc

from . import _arguments as arguments
from ._batch import input_options
from ._errors import InputError, ScalecalcError, wrong_type
from ._first_step import FirstStep, first_step, step_options
from ._groups import groups_of, std_factor, std_of, steps_of
from ._module import read
from ._result import Record
from ._steps import Run, optimizers_of, rule_of, train

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# As the command judges a table: a power of the size that is steady.
STEADY = 0.15

class Coordinates(Record):
    """What coordinates() found.

    `passed`; `culprit`: the first module whose output grows or moves ever more with the size, or None;
    `why`: what grows and the number behind it; `sites`: of each module its `points`, one a size, with
    rms and change after every step and the prediction of both, and powers of the size; `numbers`: of each
    parameter how its learning rate goes with the size and how it should; `remarks`.
    """

    __slots__ = ()
    passed: bool
    culprit: str | None
    why: str
    axis: str
    sizes: list[int]
    sites: list[dict[str, Any]]
    numbers: list[dict[str, Any]]
    remarks: list[str]

    @property
    def summary(self) -> str:
        data = self._data
        if data["passed"]:
            return f"{len(data['sites'])} modules: none grows with the {data['axis']}"
        return f"{data['culprit']}: {data['why']}"

    def __repr__(self) -> str:
        from ._display import columns

        data = self._data
        sizes = data["sizes"]
        cells: list[tuple[str, ...]] = []
        for site in data["sites"]:
            last = [f"{point['change'][-1]:.4g}" for point in site["points"]]
            cells.append((site["name"], *last, _power(site["moves_first"]), _power(site["predicted"]),
                          _power(site["moves_last"]), _power(site["at_init"]), site["trend"]))
        head = ("moved (rms)", *(f"{size}" for size in sizes), "step 1 ~", "predicted", "last ~",
                "at init ~", "trend")
        remarks = [f"remark: {remark}" for remark in data["remarks"]]
        return "\n".join([self.summary, *columns(head, cells), *remarks])

    def to_pandas(self, field: str | None = "sites") -> Any:
        """A pandas.DataFrame of `sites` or of `numbers`. Needs pandas."""
        return super().to_pandas(field)


def _power(law: list[float] | None) -> str:
    return "" if law is None else f"{law[0]:.2f}" + (f" +- {law[1]:.2f}" if len(law) > 1 else "")


def _fit(sizes: Sequence[float], values: Sequence[float]) -> list[float] | None:
    """The power of the size, and its standard error where there are three sizes or more."""
    if any(not (value > 0 and math.isfinite(value)) for value in values) or len(values) < 2:
        return None
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    n, mx, my = len(x), sum(x) / len(x), sum(y) / len(y)
    square = sum((a - mx)**2 for a in x)
    slope = sum((a - mx) * (b - my) for a, b in zip(x, y)) / square
    if n < 3:
        return [slope]
    rest = sum((b - my - slope * (a - mx))**2 for a, b in zip(x, y))
    return [slope, math.sqrt(rest / (n - 2) / square)]


def _mean(values: Sequence[float]) -> float:
    return math.sqrt(sum(value * value for value in values) / len(values))


class _Prediction:
    """Of a size: rms at the start and movement by the first step, by the module."""

    def __init__(self) -> None:
        self.rms: dict[str, float] = {}
        self.change: dict[str, float] = {}
        self.truncation: dict[str, float] = {}  # of change: the orders left out


def _predicted(module: Any, batch: Any, step: FirstStep) -> _Prediction:
    model = read(module, batch)
    words = next((one.num_embeddings for one in module.modules()
                  if hasattr(one, "num_embeddings")), None)
    found = scalecalc.propagate(model, reduction="mean", **step_options(step, model.names, module),
                                **input_options(model.text, batch, words)).to_dict()["results"]
    made = _Prediction()
    modules = model.modules
    for site in found["sites"]:
        if site["path"] in modules and site["second"] is not None:
            made.rms[modules[site["path"]]] = math.sqrt(site["second"])
    for site in found["step"]["sites"]:
        if site["path"] in modules and site["change"] is not None:
            made.change[modules[site["path"]]] = site["change"]
            made.truncation[modules[site["path"]]] = site["truncation"] or 0.0
    return made


class _Check:
    def __init__(self, factory: Callable[[int], Any], axis: str, sizes: Sequence[int], batch: Any,
                 optimizer: Any, lr: float, parametrization: str | None,
                 loss: Callable[..., Any] | None, steps: int, seeds: int) -> None:
        self.factory, self.axis, self.sizes = factory, axis, list(sizes)
        self.batch, self.optimizer, self.lr = batch, optimizer, lr
        self.parametrization, self.loss, self.steps, self.seeds = parametrization, loss, steps, seeds
        self.remarks: list[str] = []
        self.stds: dict[str, float] = {}
        self.scales: list[Any] = []
        self.rule: str | None = optimizer if isinstance(optimizer, str) else None

    def batch_at(self, size: int) -> Any:
        if not callable(self.batch) or hasattr(self.batch, "is_floating_point"):
            return arguments.tensors("batch", self.batch)
        with arguments.of_caller("batch", f"is a function that raises, of {self.axis} {size}"):
            return arguments.tensors("batch", self.batch(size))

    def module_at(self, size: int) -> Any:
        with arguments.of_caller("module_factory", f"raises, of {self.axis} {size}"):
            made = self.factory(size)
        if isinstance(made, type) or not hasattr(made, "named_parameters"):
            raise arguments.refused("module_factory", "must return a torch.nn.Module "
                                    f"(of {self.axis} {size} it is {arguments.shown(made)})")
        return arguments.module("module_factory", made, with_values=True)

    @property
    def base(self) -> dict[str, int]:
        return {"layers" if self.axis == "depth" else self.axis: self.sizes[0]}

    def set_up(self, module: Any, size: int) -> list[Any]:
        if callable(self.optimizer):
            with arguments.of_caller("optimizer", "is a function that raises"):
                made = self.optimizer(module)
            made = list(made) if isinstance(made, (list, tuple)) else [made]
            own = {id(one) for one in module.parameters()}
            if not made or any(isinstance(one, type) or not hasattr(one, "param_groups") for one in made):
                raise arguments.refused("optimizer", "must return optimizers of torch.optim "
                                        f"(got {arguments.shown(made)})")
            if not any(id(one) in own for of in made for group in of.param_groups for one in group["params"]):
                raise arguments.refused("optimizer", "steps no parameter of the module")
            self.rule = rule_of(made)
            return made
        if self.parametrization is None:
            return optimizers_of(self.optimizer, self.lr, module.parameters())
        steps, code = self.planned(module, size)
        if size == self.sizes[0]:
            self.stds = {name: std_of(one) for name, one in module.named_parameters()}
        else:
            self.scale(module, code, size)
        return optimizers_of(self.optimizer, 1.0, groups_of(module, steps, code, self.lr, 0.0, 1e-8, None))

    def scale(self, module: Any, code: Mapping[str, Any], size: int) -> None:
        """Weights as those of the first size, times the parametrization's factor."""
        import torch

        with torch.no_grad():
            for name, parameter in module.named_parameters():
                std = std_of(parameter)
                if parameter.dim() > 1 and std > 0 and name in self.stds:
                    parameter.mul_(std_factor(code, name) * self.stds[name] / std)
        self.scales = code["SCALES"]
        for what, where, value, _ in code["SCALES"]:
            remark = f"the forward pass must have at {self.axis} {size}: {what} of {where} {value:.6g}"
            if size == self.sizes[-1]:
                self.remark(remark)

    def planned(self, module: Any, size: int) -> tuple[dict[str, Any], dict[str, Any]]:
        example = None if hasattr(getattr(module, "config", None), "to_dict") else self.batch_at(size)
        return steps_of(module, example=example, transfer_from=self.base, optimizer=self.rule,
                        parametrization=self.parametrization)

    def run(self) -> Coordinates:
        import torch

        runs: dict[int, list[Run]] = {}
        predictions: dict[int, _Prediction] = {}
        for size in self.sizes:
            for seed in range(self.seeds):
                torch.manual_seed(seed)
                module = self.module_at(size)
                optimizers = self.set_up(module, size)
                batch = self.batch_at(size)
                if seed == 0 and self.parametrization is None:
                    predictions[size] = self.predict(module, batch, optimizers)
                runs.setdefault(size, []).append(
                    train(module, optimizers, batch, self.loss, self.steps))
        if self.parametrization is not None:
            predictions = self.predict_all()
        return self.judge(runs, predictions)

    def predict(self, module: Any, batch: Any, optimizers: Sequence[Any]) -> _Prediction:
        try:
            step = first_step(module, optimizers)
            if self.loss is not None and step.rule == "sgd":
                raise InputError("a step of sgd goes with the loss, and this one is the caller's")
            found = _predicted(module, batch, step)
        except ScalecalcError as error:
            self.remark(f"no prediction: {error}")
            return _Prediction()
        if step.decay > 0:
            self.remark(f"the decay of weights, {step.decay:g}, is not in the prediction")
        return found

    def remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)

    def predict_all(self) -> dict[int, _Prediction]:
        """As the command predicts it, of the model at the first size."""
        made = {size: _Prediction() for size in self.sizes}
        sizes: dict[str, Any] = {"depths" if self.axis == "depth" else "widths": self.sizes}
        try:
            model = read(self.module_at(self.sizes[0]), self.batch_at(self.sizes[0]))
            found = scalecalc.coordinates(
                model, optimizer=self.rule, lr=self.lr, parametrization=self.parametrization, steps=1,
                seeds=1, reduction="mean", **sizes).to_dict()["results"]
        except ScalecalcError as error:
            self.remarks.append(f"no prediction: {error}")
            return made
        together: dict[str, list[str]] = {}
        for path, name in model.modules.items():
            together.setdefault(_pattern(path), []).append(name)
        for site in found["checks"][0]["sites"]:
            for name in together.get(site["path"], []):
                for point in site["points"]:
                    one = made[int(point["size"])]
                    if point["predicted_rms"] is not None:
                        one.rms[name] = point["predicted_rms"]
                    if point["predicted_change"] is not None:
                        one.change[name] = point["predicted_change"]
        return made

    def judge(self, runs: dict[int, list[Run]], predictions: dict[int, _Prediction]) -> Coordinates:
        first = runs[self.sizes[0]][0]
        names = [name for name in first.rms
                 if all(name in run.rms for of in runs.values() for run in of)]
        if not names:
            raise arguments.refused("module_factory", f"makes modules of other names at each {self.axis}: "
                                    "none is at all of them")
        verdicts = self.judged(names, runs)
        sites = [self.site(name, first.types[name], runs, predictions, verdicts[name], name == names[-1])
                 for name in names]
        numbers = self.numbers(runs)
        # The command of tables lets the head fall; what moves ever more is seen in movements first.
        wrong = next((site for site in sites if site["grows"]), None)
        why = "" if wrong is None else self.why(wrong, numbers)
        steady = [{key: value for key, value in site.items() if key != "grows"} for site in sites]
        return Coordinates({"passed": wrong is None, "culprit": wrong and wrong["name"], "why": why,
                            "axis": self.axis, "sizes": self.sizes, "sites": steady,
                            "numbers": numbers, "remarks": self.remarks})

    def judged(self, names: list[str], runs: dict[int, list[Run]]) -> dict[str, dict[str, Any]]:
        """Sizes at each step, as `coordinates --measured` judges them."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "measured.csv"
            with open(path, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(("site", self.axis, "step", "rms"))
                for name in names:
                    for size, of in runs.items():
                        for run in of:
                            writer.writerows((name, size, step, value)
                                             for step, value in enumerate(run.rms[name]))
            found = scalecalc.coordinates(measured=path).to_dict()["results"]["measured"]
        return {site["path"]: site for site in found["sites"]}

    def site(self, name: str, kind: str, runs: dict[int, list[Run]],
             predictions: dict[int, _Prediction], verdict: dict[str, Any],
             is_head: bool) -> dict[str, Any]:
        points: list[dict[str, Any]] = []
        for size, of in runs.items():
            steps = range(self.steps + 1)
            points.append({"size": size, "rms": [_mean([run.rms[name][i] for run in of]) for i in steps],
                           "change": [_mean([run.change[name][i] for run in of]) for i in steps],
                           "predicted_rms": predictions[size].rms.get(name),
                           "predicted_change": predictions[size].change.get(name),
                           "predicted_truncation": predictions[size].truncation.get(name)})

        def law(values: list[Any]) -> list[float] | None:
            return None if any(value is None for value in values) else _fit(self.sizes, values)

        last = law([point["change"][-1] for point in points])
        infinite = any(not math.isfinite(value) for point in points for value in point["rms"])
        moves = last is not None and last[0] > STEADY and last[0] > 2 * (last + [0.0])[1]
        trend = verdict["trend"]
        grows = infinite or "grows" in trend or moves
        if moves and "grows" not in trend:
            trend = "moves ever more"
        return {"name": name, "type": kind, "points": points, "at_init":
                law([point["rms"][0] for point in points]),
                "moves_first": law([point["change"][1] for point in points]),
                "predicted": law([point["predicted_change"] for point in points]),
                "moves_last": last, "trend": "infinite" if infinite else trend,
                "advice": verdict["advice"], "is_head": is_head, "grows": grows}

    def numbers(self, runs: dict[int, list[Run]]) -> list[dict[str, Any]]:
        """Learning rates and stds at the first and last size, and what the solver wants of the last."""
        first, last = runs[self.sizes[0]][0], runs[self.sizes[-1]][0]
        due: dict[str, Any] = {}
        code: dict[str, Any] = {}
        module = self.module_at(self.sizes[-1])
        if self.rule is not None:
            try:
                due, code = self.planned(module, self.sizes[-1])
            except ScalecalcError as error:
                self.remarks.append(f"no rules of parameters: {error}")
        made: list[dict[str, Any]] = []
        for name, rate in last.rates.items():
            if name not in first.rates:
                continue
            wanted = first.rates[name] * due[name].lr if name in due else None
            made.append({"name": name, "lr": [first.rates[name], rate], "lr_due": wanted,
                         "std": [first.stds[name], last.stds[name]],
                         "std_due": std_factor(code, name) * first.stds[name] if code else None})
        return made

    def why(self, site: dict[str, Any], numbers: list[dict[str, Any]]) -> str:
        name, law = site["name"], site["moves_last"]
        what = f"its output {site['trend']}"
        if site["trend"] == "moves ever more" or "training" in site["trend"]:
            power = "" if law is None else f", as {self.axis}^{law[0]:.2f}"
            what = f"its output moves ever more{power}"
        output = next((scale for scale in self.scales if scale[0] == "output"), None)
        if site["is_head"] and output is not None:
            return f"{what}: the forward pass must multiply it by {output[2]:.6g} ({output[3]})"
        ranges = f"{self.axis} {self.sizes[0]} to {self.sizes[-1]}"
        inside = [row for row in numbers if row["lr_due"] is not None
                  and (row["name"].rpartition(".")[0] == name or row["name"].startswith(name + "."))]
        wrong = [row for row in inside if row["lr"][1] > 1.5 * row["lr_due"]]
        if wrong and "init" not in site["trend"]:
            row = max(wrong, key=lambda one: one["lr"][1] / one["lr_due"])
            return (f"{what}: over {ranges} the learning rate of {row['name']} goes from "
                    f"{row['lr'][0]:.4g} to {row['lr'][1]:.4g}, and {row['lr_due']:.4g} is due")
        wide = [row for row in inside if row["std_due"] and row["std"][1] > 1.25 * row["std_due"]
                and row["name"].endswith("weight")]
        if wide:
            row = max(wide, key=lambda one: one["std"][1] / one["std_due"])
            return (f"{what}: over {ranges} the std of {row['name']} goes from {row['std'][0]:.4g} to "
                    f"{row['std'][1]:.4g}, and {row['std_due']:.4g} is due")
        return what + (f": {site['advice']}" if site["advice"] else f" over {ranges}")


def _pattern(path: str) -> str:
    import re

    return re.sub(r"\[\d+\]", "[*]", path)


def coordinates(factory: Callable[[int], Any], *, widths: Sequence[int] | None,
                depths: Sequence[int] | None, batch: Any, optimizer: Any, lr: float, steps: int,
                seeds: int, parametrization: str | None,
                loss: Callable[..., Any] | None) -> Coordinates:
    """See scalecalc.torch.coordinates."""
    if (widths is None) == (depths is None):
        raise InputError("give widths or depths, and one of the two").naming("widths")
    axis = "width" if widths is not None else "depth"
    found = arguments.sizes(axis + "s", widths if widths is not None else depths)
    arguments.function("module_factory", factory)
    if not callable(optimizer) and not isinstance(optimizer, str) or isinstance(optimizer, type):
        raise wrong_type("optimizer", "a name or a function of the module", optimizer)
    if loss is not None:
        arguments.function("loss", loss)
    return _Check(factory, axis, found, batch, optimizer, arguments.number("lr", lr), parametrization, loss,
                  arguments.whole("steps", steps), arguments.whole("seeds", seeds)).run()
