"""A module's own forward and backward pass beside what is predicted of it."""

from __future__ import annotations

import contextlib
import math
import os
import tomllib
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import scalecalc

from . import _arguments as arguments
from ._commands import init
from ._errors import wrong_type
from ._module import Model, evaluating, inputs_of, main_input, parts_of
from ._module import read as read_module
from ._result import Record
from ._rules import Start, as_due, of_model, starts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._module import Part

# Variances of the logarithm of what is measured that the predicted spread has not, as those of
# right modules are (test_check.py --right): of signals, of which tied heads are widest; of
# gradients, whose sum over few sequences is one of few terms; 2/n of a mean of n squares besides.
FORWARD, BACKWARD, SEQUENCES = 0.005, 0.02, 0.2
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


@dataclass
class _Measured:
    """Second moments by site, in the order of the pass; gradients by site and by parameter."""

    outputs: dict[str, float] = field(default_factory=dict)
    inputs: dict[str, float] = field(default_factory=dict)
    order: list[tuple[str, str]] = field(default_factory=list)  # ("input" or "output", site)
    gradients: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, float] = field(default_factory=dict)


def _second(tensor: Any) -> float:
    return float(tensor.detach().double().pow(2).mean().item())


def tensor_of(value: Any) -> Any:
    """The first of what a module returns."""
    for name in ("logits", "last_hidden_state"):
        if getattr(value, name, None) is not None:
            return getattr(value, name)
    while not hasattr(value, "dim"):
        value = next(iter(value.values())) if hasattr(value, "values") else value[0]
    return value


def _split(tensor: Any, part: Part) -> list[tuple[str, Any]]:
    if len(part.sites) == 1:
        return [(part.sites[0], tensor)]
    if tensor.shape[-1] != sum(part.sizes):
        return []
    return list(zip(part.sites, tensor.split(list(part.sizes), -1)))


def _is_batch_norm(module: Any) -> bool:
    return "BatchNorm" in type(module).__name__


def _is_norm_of_stream(site: str) -> bool:
    last = site.rsplit(".", 1)[-1]
    return last.startswith("norm") or last == "final_norm"


@contextlib.contextmanager
def _hooks(module: Any, parts: list[Part], found: _Measured) -> Iterator[None]:
    known = dict(module.named_modules())

    def after(part: Part) -> Callable[..., None]:
        def keep(_: Any, __: Any, output: Any) -> None:
            for site, tensor in _split(tensor_of(output), part):
                if site in found.outputs:
                    continue
                found.outputs[site] = _second(tensor)
                found.order.append(("output", site))
                if tensor.requires_grad:
                    def keep_gradient(gradient: Any, site: str = site) -> None:
                        found.gradients[site] = _second(gradient)
                    tensor.register_hook(keep_gradient)
        return keep

    def before(site: str) -> Callable[..., None]:
        def keep(_: Any, inputs: Any) -> None:
            if inputs and site not in found.inputs:
                found.inputs[site] = _second(inputs[0])
                found.order.append(("input", site))
        return keep

    handles = []
    for part in parts:
        one = known[part.name]
        if len(part.sites) == 1 and _is_norm_of_stream(part.sites[0]):
            handles.append(one.register_forward_pre_hook(before(part.sites[0])))
        handles.append(one.register_forward_hook(after(part)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _undisturbed(module: Any) -> Iterator[None]:
    """Norms over the batch as in training; gradients, buffers and flags as they were afterwards."""
    import torch

    gradients = [(parameter, parameter.grad) for parameter in module.parameters()]
    buffers = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    with evaluating(module):
        for one in module.modules():
            if _is_batch_norm(one):
                one.training = True
        for parameter, _ in gradients:
            parameter.grad = None
        try:
            yield
        finally:
            for parameter, gradient in gradients:
                parameter.grad = gradient
            with torch.no_grad():
                for buffer, values in buffers:
                    buffer.copy_(values)


def loss_of(output: Any, batch: Any, loss: Callable[..., Any] | None, reduction: str) -> Any:
    """The caller's; the model's own, where the batch has labels; or cross-entropy with targets that
    are drawn evenly."""
    import torch

    if loss is not None:
        with arguments.of_caller("loss", "is a function that raises"):
            return checked_loss(loss(output, batch))
    if getattr(output, "loss", None) is not None:
        return output.loss
    logits = tensor_of(output)
    logits = logits.reshape(-1, logits.shape[-1]).float()
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(0, logits.shape[-1], logits.shape[:1], generator=generator)
    return torch.nn.functional.cross_entropy(logits, targets.to(logits.device), reduction=reduction)


def checked_loss(value: Any) -> Any:
    if not hasattr(value, "requires_grad") or value.numel() != 1:
        got = tuple(value.shape) if hasattr(value, "shape") else type(value).__name__
        raise arguments.refused("loss", f"must return a tensor of one number (got {got})")
    if not value.requires_grad:
        raise arguments.refused("loss", "depends on no parameter of the module that is trained (requires_grad)")
    if not bool(value.detach().isfinite().all()):
        raise arguments.refused("loss", f"is {value.item()}, and no finite number")
    return value


def _measure(module: Any, batch: Any, parts: list[Part],
             loss: Callable[..., Any] | None) -> _Measured:
    import torch

    args, named = inputs_of(batch)
    found = _Measured()
    with torch.inference_mode(False), _undisturbed(module), _hooks(module, parts, found), \
            torch.enable_grad():
        with arguments.of_caller("batch", f"is not what {type(module).__name__} runs on"):
            output = module(*args, **named)
        checked_loss(loss_of(output, batch, loss, "sum")).backward()
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                found.parameters[name] = _second(parameter.grad)
    return found


def _zipf(ids: Any, words: int) -> float:
    """The exponent under which two words of a sequence are as often equal as these."""
    tokens = ids.shape[-1]
    equal = (ids.unsqueeze(-1) == ids.unsqueeze(-2)).double().sum((-1, -2)).mean().item() - tokens
    share = equal / max(tokens * (tokens - 1), 1)
    error = math.sqrt(2 / words / max(tokens * (tokens - 1) * max(ids.numel() // tokens, 1), 1))
    if share <= 1 / words + 3 * error:
        return 0.0
    low, high = 0.0, 4.0
    for _ in range(30):
        middle = (low + high) / 2
        weights = [k**-middle for k in range(1, words + 1)]
        if sum(w * w for w in weights) / sum(weights)**2 < share:
            low = middle
        else:
            high = middle
    return round(low, 3)


def _lengths(text: str, batch: Any, given: Any) -> dict[str, int]:
    """A graph has the example's; a config has the longest sequence that the model reads."""
    decoded = inputs_of(batch)[1].get("decoder_input_ids")
    tables = tomllib.loads(text)
    model, memory = tables.get("model", {}), tables.get("memory", {})
    found = {"sequence": (model.get("sequence"), (given if decoded is None else decoded).shape[1]),
             "batch": (model.get("batch"), given.shape[0])}
    if decoded is not None and model.get("encoder_decoder"):
        found["memory_sequence"] = (memory.get("sequence"), given.shape[1])
    return {key: int(size) for key, (known, size) in found.items() if known not in (None, size)}


def input_options(text: str, batch: Any, words: int | None) -> dict[str, Any]:
    """What the batch is: its mean square and what tokens share, or how often words are equal."""
    given = main_input(batch)
    if 'kind = "tokens"' in text:
        zipf = _zipf(given, words) if words and given.dim() == 2 else 0.0
        sizes = _lengths(text, batch, given) if given.dim() == 2 else {}
        return {**sizes, **({"zipf": zipf} if zipf > 0 else {})}
    if not given.is_floating_point():
        return {}
    options: dict[str, Any] = {"second": _second(given)}
    if given.dim() == 3 and given.shape[1] > 1:
        values = given.detach().double()
        pairs = values.sum(1).pow(2).sum(-1) - values.pow(2).sum((1, 2))
        tokens, features = given.shape[1:]
        options["cross"] = max(0.0, pairs.mean().item() / (tokens * (tokens - 1) * features))
    return options


class _Judge:
    def __init__(self, deviations: float) -> None:
        self.deviations = deviations

    def row(self, name: str, what: str, path: str, measured: float, predicted: float, spread: float,
            error: float, rest: float) -> dict[str, Any]:
        """A lognormal of this variance around its typical value; the prediction's error beside."""
        typical = math.exp(-min(spread, 20.0) / 2)
        width = self.deviations * math.sqrt(spread + rest)
        share = error / predicted if predicted > 0 else 0.0
        low = predicted * typical * math.exp(-width) * max(0.0, 1 - share)
        high = predicted * math.exp(width) * (1 + share)
        ok = math.isfinite(measured) and low <= measured <= high
        return {"name": name, "what": what, "path": path, "measured": measured,
                "predicted": predicted, "low": low, "high": high, "spread": spread, "ok": ok}


def _rows(module: Any, model_parts: list[Part], names: dict[str, str], predicted: Any,
          measured: _Measured, judge: _Judge, sequences: int) -> list[dict[str, Any]]:
    sites = predicted.to_dict()["results"]["sites"]
    at = {site["path"]: i for i, site in enumerate(sites)}
    modules = {site: part.name for part in model_parts for site in part.sites}
    rows = []
    for what, path in measured.order:
        i = at.get(path)
        if i is None:
            continue
        values = measured.outputs
        if what == "input":
            i -= 1
            if i < 0 or sites[i]["kind"] not in ("embedding", "residual", "input"):
                continue
            values = measured.inputs
        site = sites[i]
        if site["second"] and site["second"] > 1e-20:
            error = site["error"]["second"] + site["truncation"]["second"]
            rows.append(judge.row(modules[path], what, path, values[path], site["second"],
                                  site["spread"] or 0.0, error, FORWARD))
    backward = [path for what, path in reversed(measured.order)
                if what == "output" and path in measured.gradients and path in at
                and (sites[at[path]]["grad_second"] or 0) > 0]
    if not backward:
        return rows
    # Whatever the loss: gradients in units of that at the last module.
    anchor = backward[0]
    unit = measured.gradients[anchor] / sites[at[anchor]]["grad_second"]
    if not unit > 0:
        return rows

    def take(name: str, what: str, path: str, value: float, of: dict[str, Any], error: float,
             rest: float = BACKWARD) -> None:
        second = of["grad_second"]
        if second is None or second <= 1e-20:
            return
        spread = (of["grad_spread"] or 0.0) + (sites[at[anchor]]["grad_spread"] or 0.0)
        rows.append(judge.row(name, what, path, value, second * unit, spread, error * unit, rest))

    for path in backward[1:]:
        site = sites[at[path]]
        take(modules[path], "gradient of output", path, measured.gradients[path], site,
             site["error"]["grad_second"] + (site["truncation"]["grad_second"] or 0.0))
    alone: dict[str, int] = {}
    for name in names.values():
        alone[name] = alone.get(name, 0) + 1
    trained = dict(module.named_parameters())
    for row in reversed(predicted.to_dict()["results"]["parameters"]):
        name = names.get(row["path"], "")
        if alone.get(name) == 1 and name in measured.parameters and name in trained:
            take(name, "gradient", row["path"], measured.parameters[name], row,
                 (row["grad_error"] or 0.0) + (row["grad_truncation"] or 0.0),
                 BACKWARD + SEQUENCES / sequences + 2 / trained[name].numel())
    return rows


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
    deviations = NormalDist().inv_cdf(1 - (1 - confidence) / (2 * count))
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
        rows: list[Any] = list(init(os.fspath(described)).parameters)
        if isinstance(described, Model):
            names, text, remarks = described.names, described.text, described.remarks
            rows = [row for row in rows if row.path in names]
        else:
            names, text, remarks = {row.path: row.name for row in rows}, "", []
        parts = parts_of(module, [(row.path, row.name, row.shape) for row in rows])
        starts = of_model(module, rows, deviations)
    words = next((one.num_embeddings for one in module.modules()
                  if hasattr(one, "num_embeddings")), None)
    found_options = input_options(text, batch, words)
    if any(_is_batch_norm(one) for one in module.modules()):
        # The rule of norms over the batch leaves out what gradients share in small batches.
        found_options.update(engine="passes", seeds=64)
    predicted = scalecalc.propagate(described, **{**found_options, **options})
    measured = _measure(module, batch, parts, loss)
    found = _rows(module, parts, names, predicted, measured, _Judge(deviations),
                  main_input(batch).shape[0])
    first, why = _first(found, starts)
    passed = all(row["ok"] for row in found) and all(start.ok for start in starts)
    parameters = [{"name": one.name, "mean": one.mean, "std": one.std, "due_mean": one.due_mean,
                   "due": one.due, "rule": one.rule, "ok": one.ok} for one in starts]
    return Check({"passed": passed, "first": first, "why": why, "rows": found,
                  "parameters": parameters, "remarks": list(remarks)})
