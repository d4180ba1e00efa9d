"""Numbers of a large module from those that were tuned on a small one."""

from __future__ import annotations

import contextlib
import re
import tomllib
from typing import TYPE_CHECKING, Any

import scalecalc

from . import _arguments as arguments
from . import _core
from ._errors import InputError, ScalecalcError
from ._groups import groups_of, std_factor, std_of, steps_of
from ._module import described, example_of, read
from ._result import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Axes of the solver by the keys of a model file.
_AXES = {"width": "width", "layers": "layers", "heads": "heads", "experts": "experts"}


class Transfer(Record):
    """What transfer() found.

    `axes`: what differs between the modules, {"width": [64, 256]}; `rows`: of each parameter its lr,
    weight_decay, eps, by what the lr was multiplied, the std that it has and the std that goes with
    these numbers; `factors`: what the forward pass must have; `remarks`: what differs and has no rule,
    and stds that are not those of the rule; `groups`: for torch.optim.
    """

    __slots__ = ("groups", "tensors")
    axes: dict[str, list[float]]
    rows: list[dict[str, Any]]
    factors: list[dict[str, Any]]
    remarks: list[str]
    groups: list[dict[str, Any]]

    def __init__(self, data: dict[str, Any], groups: list[dict[str, Any]],
                 tensors: dict[str, Any]) -> None:
        super().__init__(data)
        self.groups, self.tensors = groups, tensors

    def scale_(self) -> None:
        """Multiplies every weight of the large module by what its std is off, in place."""
        import torch

        with torch.no_grad():
            for row in self._data["rows"]:
                parameter = self.tensors[row["name"]]
                if parameter.dim() > 1 and row["std"] > 0 and row["due_std"] > 0:
                    parameter.mul_(row["due_std"] / row["std"])
                    row["std"] = row["due_std"]

    def __repr__(self) -> str:
        from ._display import columns

        data = self._data
        axes = ", ".join(f"{axis} {of[0]:g} to {of[1]:g}" for axis, of in data["axes"].items())
        cells: list[tuple[str, ...]] = [
            (row["name"], f"{row['lr']:.4g}", f"{row['weight_decay']:.4g}",
             "" if row["eps"] is None else f"{row['eps']:.4g}", f"x {row['lr_factor']:.4g}",
             f"{row['std']:.4g}", f"{row['due_std']:.4g}") for row in data["rows"]]
        head = ("parameter", "lr", "decay", "eps", "of the lr", "std", "std due")
        factors = [f"forward pass: {one['what']} of {one['where']} is {one['value']:.6g} "
                   f"({one['formula']})" for one in data["factors"]]
        return "\n".join([axes or "modules of one size", *columns(head, cells), *factors,
                          *(f"remark: {remark}" for remark in data["remarks"])])

    def to_pandas(self, field: str | None = "rows") -> Any:
        """A pandas.DataFrame of `rows`. Needs pandas."""
        return super().to_pandas(field)


@contextlib.contextmanager
def _path(module: Any, example: Any, model: Any) -> Iterator[Any]:
    if example is not None and model is None:
        yield read(module, example)
        return
    with described(module, model) as path:
        yield path


def _text(module: Any, example: Any) -> dict[str, Any]:
    """The module as a model file."""
    with _path(module, example, None) as path:
        text: str = _core.call(["import", str(getattr(path, "path", path))], None)[3]
    return tomllib.loads(text)


def _layer_sizes(layers: list[dict[str, Any]], key: str) -> list[float]:
    found: list[float] = []
    for layer in layers:
        if key in layer:
            found.append(layer[key])
        for inner in ("layers", "shortcut"):
            found += _layer_sizes(layer.get(inner, []), key)
    return found


def _listed(small: dict[str, Any], large: dict[str, Any], key: str) -> list[float] | None:
    """The least of the sizes that layers of both have, where all of them grow as one."""
    before, after = (_layer_sizes(text["layer"], key) for text in (small, large))
    if key == "width":  # the head's is the number of classes
        before, after = before[:-1], after[:-1]
    if len(before) != len(after):
        raise InputError(f"the layers of the modules are not the same: {len(before)} have a {key} in "
                         f"one, {len(after)} in the other")
    if before == after:
        return None
    ratios = {b / a for a, b in zip(before, after)}
    if len(ratios) > 1:
        raise InputError(f"the {key} of the layers goes from {_short(before)} to {_short(after)}: they do "
                         "not grow as one; give axes, what they grow by")
    return [min(before), min(after)]


def _short(sizes: list[float]) -> str:
    return ", ".join(f"{size:g}" for size in sizes[:6]) + (", ..." if len(sizes) > 6 else "")


def axes_between(small: dict[str, Any], large: dict[str, Any],
                 remarks: list[str]) -> dict[str, list[float]]:
    """By the model files of both."""
    before, after = small["model"], large["model"]
    if before.get("kind") != after.get("kind"):
        raise InputError(f"the modules are not of one kind: {before.get('kind')} and {after.get('kind')}")
    axes: dict[str, list[float]] = {}
    for key, axis in _AXES.items():
        if key in before and key in after and before[key] != after[key]:
            axes[axis] = [before[key], after[key]]
    if before.get("kind") == "layers":
        for key in ("width", "heads"):
            found = _listed(small, large, key)
            if found:
                axes[key] = found
    for key, grows in (("ffn", "width"), ("expert_ffn", "width"), ("kv_heads", "heads"),
                       ("head_width", "width")):
        a, b = before.get(key), after.get(key)
        due = axes.get(grows, [1, 1])
        if a and b and abs(b / a * due[0] / due[1] - 1) > 0.01:
            remarks.append(f"{key} goes from {a:g} to {b:g}, not as the {grows}: it has no rule, and is "
                           "taken as it is in the large module")
    for key in ("placement", "norm", "activation", "gated", "tie_head"):
        if before.get(key) != after.get(key):
            raise InputError(f"the modules differ in {key}: {before.get(key)} and {after.get(key)}; "
                             "numbers transfer between sizes of one model")
    return axes


def _of_tokens(path: Any, tokens: list[float], remarks: list[str],
               **options: Any) -> tuple[float, float, float]:
    """By what tokens change lr, decay and eps: alike for all kinds."""
    found = scalecalc.transfer(path, from_={"tokens": tokens[0]}, to={"tokens": tokens[1]}, **options)
    kinds = found.to_dict()["results"]["kinds"].values()
    factors = {tuple(kind[key]["factor"] if kind.get(key) else 1.0 for key in ("lr", "decay", "eps"))
               for kind in kinds}
    if len(factors) > 1:
        raise InputError("tokens change the kinds of parameters in different ways: scalecalc.transfer() has "
                         "the numbers of each")
    betas = {kind["one_minus_beta"]["formula"] for kind in kinds if kind.get("one_minus_beta")}
    remarks += [f"1 - beta goes as {beta} (tokens)" for beta in betas - {"1"}]
    of_lr, of_decay, of_eps = factors.pop()
    return of_lr, of_decay, of_eps


def transfer(lr: float, small: Any, large: Any, *, optimizer: str, weight_decay: float, eps: float,
             parametrization: str | None, rule: str | None, batch: Any, tokens: Any, axes: Any,
             example: Any, model: Any, **options: Any) -> Transfer:
    """See scalecalc.torch.transfer."""
    arguments.number("lr", lr)
    small = arguments.module("from_", small, with_values=True)
    large = arguments.module("to", large, with_values=True)
    batch = None if batch is None else arguments.pair("batch", batch)
    tokens = None if tokens is None else arguments.pair("tokens", tokens)
    if axes is not None:
        axes = {axis: arguments.pair("axes", of) for axis, of in arguments.mapping("axes", axes).items()}
    remarks: list[str] = []
    example_small = example_large = example
    if isinstance(example, tuple) and len(example) == 2:
        example_small, example_large = example
    found: dict[str, list[float]] = {key: list(of) for key, of in (axes or {}).items()}
    if axes is None:
        texts = [_sized(module, one) for module, one in ((small, example_small),
                                                         (large, example_large))]
        found = axes_between(texts[0], texts[1], remarks)
    chosen: dict[str, Any] = {**options, "optimizer": optimizer, "parametrization": parametrization}
    base = {axis: of[0] for axis, of in found.items()}
    if batch is not None:
        found["batch"] = list(batch)
        base["batch"], chosen["batch"] = batch
    if not base:
        base = {"batch": 1}
        chosen["batch"] = 1
    steps, code = steps_of(large, model=model, example=example_large, transfer_from=base, **chosen)
    of_lr = of_decay = of_eps = 1.0
    if tokens is not None:
        found["tokens"] = list(tokens)
        with _path(large, example_large, model) as path:
            of_lr, of_decay, of_eps = _of_tokens(path, list(tokens), remarks, optimizer=optimizer,
                                                 parametrization=parametrization)
    groups = groups_of(large, steps, code, lr * of_lr, weight_decay * of_decay, eps * of_eps, rule)
    return Transfer({"axes": found, "rows": _rows(small, large, steps, groups, code, lr, remarks),
                     "factors": [dict(zip(("what", "where", "value", "formula"), scale))
                                 for scale in code["SCALES"]],
                     "remarks": remarks}, groups, dict(large.named_parameters()))


def _sized(module: Any, example: Any) -> dict[str, Any]:
    try:
        return _text(module, example)
    except ScalecalcError:
        made = example_of(module) if example is None else None
        if made is None:
            raise
        return _text(module, made)


def _rows(small: Any, large: Any, steps: Mapping[str, Any], groups: list[dict[str, Any]],
          code: Mapping[str, Any], lr: float, remarks: list[str]) -> list[dict[str, Any]]:
    """The std that is due is that of the small module, in the same place, times the rule's factor."""
    of = {id(parameter): group for group in groups for parameter in group["params"]}
    before = {name: std_of(one) for name, one in small.named_parameters()}
    alike = {re.sub(r"\d+", "*", name): std for name, std in before.items()}
    rows: list[dict[str, Any]] = []
    for name, parameter in large.named_parameters():
        group = of.get(id(parameter))
        if group is None:
            continue
        std = std_of(parameter)
        due = std_factor(code, name) * before.get(name, alike.get(re.sub(r"\d+", "*", name), std))
        rows.append({"name": name, "lr": group["lr"], "weight_decay": group["weight_decay"],
                     "eps": group.get("eps"), "lr_factor": group["lr"] / lr if lr else 1.0,
                     "std": std, "due_std": due})
    matrices = {name for name, parameter in large.named_parameters() if parameter.dim() > 1}
    off = [row for row in rows if row["name"] in matrices and row["std"] > 0 and row["due_std"] > 0
           and not 0.8 < row["std"] / row["due_std"] < 1.25]
    if off:
        remarks.append(f"{len(off)} of {len(matrices)} matrices start with another std than goes with these "
                       f"numbers, {off[0]['name']} first ({off[0]['std']:.3g}, due "
                       f"{off[0]['due_std']:.3g}): scale_() of this result mends them")
    return rows
