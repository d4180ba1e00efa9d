"""A module's own forward and backward pass beside what is predicted of it."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import scalecalc

from . import _arguments as arguments
from ._batch import input_options
from ._commands import init
from ._errors import wrong_type
from ._module import Model, parts_of
from ._module import read as read_module
from ._pass import Figure, Gradient, Measured, is_batch_norm, measure, of_samples
from ._result import Record
from ._rules import Start, as_due, of_model, starts_of
from ._student import Variance, degrees_of, quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._module import Part

DISPLAYED = 60  # rows, at most


class Check(Record):
    """What check() found.

    `passed`; `first`: the first module that departs, forward and then backward, or None; `why`:
    what it was and what it should be; `rows`: every figure beside its prediction and band;
    `parameters`: every parameter's start beside its rule; `remarks`: of the model that was read.
    """

    __slots__ = ()
    passed: bool
    first: str | None
    why: str
    rows: list[dict[str, Any]]
    parameters: list[dict[str, Any]]
    remarks: list[str]

    @property
    def summary(self) -> str:
        data = self._data
        count = len(data["rows"]) + sum(row["due"] is not None for row in data["parameters"])
        if data["passed"]:
            return f"{count} comparisons: all within their bands"
        wrong = sum(not row["ok"] for row in data["rows"] + data["parameters"])
        return f"{wrong} of {count} comparisons are not within their bands; the first is of " \
               f"{data['first'] or 'the module'}: {data['why']}"

    def __repr__(self) -> str:
        from ._display import columns

        rows = self._data["rows"]
        shown = rows
        if len(rows) > DISPLAYED:
            shown = [row for row in rows if not row["ok"]][:DISPLAYED]
        cells: list[tuple[str, ...]] = [
            (row["name"], row["what"], f"{row['measured']:.4g}", f"{row['predicted']:.4g}",
             f"{row['low']:.4g} to {row['high']:.4g}", "ok" if row["ok"] else "departs")
            for row in shown]
        head = ("name", "second moment of", "measured", "predicted", "band", "verdict")
        more = [f"... and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else []
        return "\n".join([self.summary, *(columns(head, cells) if cells else []), *more])

    def to_pandas(self, field: str | None = "rows") -> Any:
        """A pandas.DataFrame of `rows` or of `parameters`. Needs pandas."""
        return super().to_pandas(field)


class _Judge:
    def __init__(self, level: float) -> None:
        self.level = level  # that one row of a right module is outside

    def row(self, name: str, what: str, path: str, measured: float, predicted: float, spread: float,
            error: float, own: Sequence[Variance]) -> dict[str, Any]:
        """A lognormal around its typical value, of the predicted variance and of those that the pass
        itself shows, by Student's quantile; the prediction's error beside."""
        added = math.fsum(one.value for one in own)
        variance = spread + added
        typical = math.exp(-min(variance, 20.0) / 2)
        width = min(quantile(self.level, degrees_of(variance, own)) * math.sqrt(min(variance, 1e4)), 300.0)
        share = error / predicted if predicted > 0 else 0.0
        low = predicted * typical * math.exp(-width) * max(0.0, 1 - share)
        high = predicted * math.exp(width) * (1 + share)
        # Nothing at all is no error of a prediction that is of something.
        ok = math.isfinite(measured) and low <= measured <= high and measured > 0
        return {"name": name, "what": what, "path": path, "measured": measured,
                "predicted": predicted, "low": low, "high": high, "spread": spread, "own_spread": added,
                "ok": ok}


def _forward(modules: dict[str, str], sites: list[dict[str, Any]], at: dict[str, int],
             measured: Measured, judge: _Judge) -> list[dict[str, Any]]:
    rows = []
    for what, path in measured.order:
        i = at.get(path)
        if i is None:
            continue
        figure = measured.outputs[path] if what == "output" else measured.inputs[path]
        if what == "input":
            i -= 1
            if i < 0 or sites[i]["kind"] not in ("embedding", "residual", "input"):
                continue
        site = sites[i]
        if site["second"] and site["second"] > 1e-20:
            error = site["error"]["second"] + site["truncation"]["second"] \
                + figure.rounding * site["second"]
            spread = site["spread"] or 0.0
            # The predicted spread is of the mean over a batch, of Gaussian inputs or drawn words.
            own = [of_samples(figure).beyond(spread)]
            given = measured.inputs.get(path)
            if what == "output" and site["kind"] == "norm" and given is not None:
                # Of its input's size a norm leaves the share eps/(m + eps), 1 less its mean square.
                own.append(given.features.times(max(0.0, 1 - site["second"])**2))
            else:
                own.append(figure.features)
            rows.append(judge.row(modules[path], what, path, figure.second, site["second"], spread,
                                  error, own))
    return rows


def _backward(modules: dict[str, str], names: dict[str, str], found: dict[str, Any], at: dict[str, int],
              measured: Measured, judge: _Judge) -> list[dict[str, Any]]:
    """Whatever the loss: gradients in units of that at the last module."""
    sites = found["sites"]
    rows: list[dict[str, Any]] = []
    paths = [path for what, path in reversed(measured.order)
             if what == "output" and path in measured.gradients and path in at
             and (sites[at[path]]["grad_second"] or 0) > 0]
    if not paths:
        return rows
    anchor, last = measured.gradients[paths[0]], sites[at[paths[0]]]
    unit = anchor.second / last["grad_second"]
    if not unit > 0:
        return rows

    def take(name: str, what: str, path: str, value: Figure | Gradient, of: dict[str, Any],
             error: float, own: Sequence[Variance]) -> None:
        second = of["grad_second"]
        if second is not None and second > 1e-20:
            spread = (of["grad_spread"] or 0.0) + (last["grad_spread"] or 0.0)
            error += value.rounding * second
            rows.append(judge.row(name, what, path, value.second, second * unit, spread, error * unit,
                                  own))

    for path in paths[1:]:
        site, gradient = sites[at[path]], measured.gradients[path]
        take(modules[path], "gradient of output", path, gradient, site,
             site["error"]["grad_second"] + (site["truncation"]["grad_second"] or 0.0),
             [gradient.features, of_samples(gradient, anchor)])
    alone = Counter(names.values())
    for row in reversed(found["parameters"]):
        name = names.get(row["path"], "")
        if alone[name] == 1 and name in measured.parameters:
            of = measured.parameters[name]
            take(name, "gradient", row["path"], of, row,
                 (row["grad_error"] or 0.0) + (row["grad_truncation"] or 0.0), [of.features, of.targets])
    return rows


def _rows(parts: list[Part], names: dict[str, str], predicted: Any, measured: Measured,
          judge: _Judge) -> list[dict[str, Any]]:
    found = predicted.to_dict()["results"]
    at = {site["path"]: i for i, site in enumerate(found["sites"])}
    modules = {site: part.name for part in parts for site in part.sites}
    return [*_forward(modules, found["sites"], at, measured, judge),
            *_backward(modules, names, found, at, measured, judge)]


def _first(rows: list[dict[str, Any]], starts: list[Start]) -> tuple[str | None, str]:
    """In forward order: a module's parameters, then its output; then backward."""
    wrong: dict[str, Start] = {}
    for start in starts:
        if not start.ok:
            wrong.setdefault(start.name.rpartition(".")[0], start)
    for row in rows:
        name = row["name"] if row["what"] in ("input", "output") else None
        if name in wrong and row["what"] == "output":
            return name, wrong[name].why
        if row["ok"]:
            continue
        if not name and wrong:
            break
        text = {"input": "of what it is given", "output": "of its output",
                "gradient of output": "of the gradient at its output",
                "gradient": "of its gradient"}[row["what"]]
        inside = next((start for key, start in wrong.items()
                       if name and key.startswith(name + ".")), None)
        if inside is not None:
            return inside.name.rpartition(".")[0], inside.why
        due = "" if wrong else "; parameters start as they should: what is computed does not"
        return row["name"], (f"the second moment {text} is {row['measured']:.3g}, "
                             f"{row['low']:.3g} to {row['high']:.3g} was due{due}")
    for name, start in wrong.items():
        return name, start.why
    return None, ""


def _plan(path: str) -> list[Any]:
    """A config alone has names of its library where they are asked for."""
    rows: list[Any] = list(init(path).parameters)
    if rows and "path" not in rows[0].to_dict():
        rows = list(init(path, names="hf").parameters)
    return rows


def _heads(predicted: Any, parts: list[Part]) -> dict[str, int]:
    """Of the maps to queries, keys and values."""
    inputs = predicted.to_dict()["inputs"]
    heads = inputs.get("heads") or 0
    of_keys = inputs.get("kv_heads") or heads
    return {site: heads if site.endswith(".q") else of_keys for part in parts for site in part.sites
            if re.search(r"\b(attn|cross)\.[qkv]$", site)}


def _without_dropout(text: str) -> dict[str, Any]:
    """As the pass runs; a model that is described by its config has that of its training."""
    return {name: 0 for name in ("dropout", "attention_dropout")
            if (found := re.search(rf"^{name} = ([^\s#]+)", text, re.MULTILINE)) and float(found[1]) > 0}


def check(module: Any, batch: Any, audit: Callable[..., Any], *, model: Any = None,
          loss: Callable[..., Any] | None = None, confidence: float = 0.99,
          **options: Any) -> Check:
    """See scalecalc.torch.check."""
    module = arguments.module("module", module, with_values=True)
    arguments.tensors("batch", batch)
    if loss is not None:
        arguments.function("loss", loss)
    if isinstance(confidence, bool) or not isinstance(confidence, float) or not 0 < confidence < 1:
        raise arguments.refused("confidence", "must be a number above 0 and below 1 "
                                f"(got {arguments.shown(confidence)})")
    count = sum(1 for _ in module.parameters()) * 4
    level = (1 - confidence) / count
    deviations = NormalDist().inv_cdf(1 - level / 2)
    text: str
    if model is None:
        # A half of what may fail is left to the starts of parameters.
        starts = starts_of(module, audit, (1 + confidence) / 2, deviations)
        with as_due(module, starts):
            read = read_module(module, batch)
        names, parts, text = read.names, read.parts, read.text
        remarks, described = read.remarks, read
    else:
        described = read_module(arguments.module("model", model), batch) \
            if hasattr(model, "named_parameters") or isinstance(model, type) else model
        if not isinstance(described, (str, os.PathLike)):
            raise wrong_type("model", "a module, what read() returns, or a path", described)
        rows = _plan(os.fspath(described))
        if isinstance(described, Model):
            names, text, remarks = described.names, described.text, described.remarks
            rows = [row for row in rows if row.path in names]
        else:
            names, text, remarks = {row.path: row.name for row in rows}, "", []
        parts = parts_of(module, [(row.path, row.name, row.shape) for row in rows])
        starts = of_model(module, rows, deviations)
    words = next((one.num_embeddings for one in module.modules()
                  if hasattr(one, "num_embeddings")), None)
    found_options = {**input_options(text, batch, words), **_without_dropout(text)}
    if any(is_batch_norm(one) for one in module.modules()):
        # The rule of norms over the batch leaves out what gradients share in small batches.
        found_options.update(engine="passes", seeds=64)
    predicted = scalecalc.propagate(described, **{**found_options, **options})
    measured = measure(module, batch, parts, loss, _heads(predicted, parts))
    found = _rows(parts, names, predicted, measured, _Judge(level))
    first, why = _first(found, starts)
    passed = all(row["ok"] for row in found) and all(start.ok for start in starts)
    parameters = [{"name": one.name, "mean": one.mean, "std": one.std, "due_mean": one.due_mean,
                   "due": one.due, "rule": one.rule, "ok": one.ok} for one in starts]
    return Check({"passed": passed, "first": first, "why": why, "rows": found,
                  "parameters": parameters, "remarks": list(remarks)})
