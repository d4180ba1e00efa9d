"""How each parameter of a module should start, and a module that starts so.

The rule is that of the model which is given, of the library of the module's config, of the layers
beside it (three or more tensors of one name but for their numbers, and one shape), or of PyTorch's
own layers where most of the module's are as PyTorch draws them.
"""

from __future__ import annotations

import contextlib
import math
import re
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._errors import ScalecalcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Stds of a graph are rounded by up to 1%; those of layers beside each other differ by their draws.
ROUNDING = 0.03


@dataclass(frozen=True)
class Start:
    """Mean and std of a parameter's entries, and what was due; `due` is None without a rule."""

    name: str
    mean: float
    std: float
    due_mean: float = 0.0
    due: float | None = None
    rule: str = ""
    ok: bool = True

    @property
    def is_constant(self) -> bool:
        return self.std <= 1e-7 * abs(self.mean)

    @property
    def why(self) -> str:
        due = self.due or 0.0
        was = f"its std is {self.std:.3g}"
        if self.is_constant:
            was = f"all its values are {self.mean:.3g}"
        should = f"{self.due_mean:.3g}" if due == 0 else f"a std of {due:.3g}"
        times = f", {self.std / due:.3g} times" if due > 0 and self.std > 0 else ""
        return f"{self.name}: {was}{times}; {should} was due ({self.rule})"


def _measured(module: Any) -> dict[str, Start]:
    found = {}
    for name, parameter in module.named_parameters():
        values = parameter.detach().double()
        std = values.std(correction=0).item() if values.numel() else 0.0
        found[name] = Start(name, values.mean().item() if values.numel() else 0.0, std)
    return found


def _judged(start: Start, size: int, due: float, mean: float, rule: str, deviations: float,
            rounding: float = ROUNDING) -> Start:
    """A std of n values has a relative standard error of 1/sqrt(2n) or less; twice its variance
    where the rule is a sample too."""
    if due == 0:
        ok = (start.std <= 1e-6 + 1e-6 * abs(mean)
              and abs(start.mean - mean) <= 0.01 * max(abs(mean), 1e-3))
    else:
        second = math.hypot(start.std, start.mean - mean)
        ok = abs(second / due - 1) <= deviations / math.sqrt(size) + rounding
    return Start(start.name, start.mean, start.std, mean, due, rule, ok)


def _sizes(module: Any) -> dict[str, int]:
    return {name: one.numel() for name, one in module.named_parameters()}


def of_model(module: Any, rows: Any, deviations: float) -> list[Start]:
    """Beside the plan of the model that is given."""
    starts, sizes = _measured(module), _sizes(module)
    by_name: dict[str, list[Any]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    found = []
    for name, start in starts.items():
        plan = by_name.get(name, [])
        if len({(row.std, row.mean) for row in plan}) == 1:
            row = plan[0]
            start = _judged(start, sizes[name], row.std, row.mean, "the model's", deviations)
        found.append(start)
    return found


def of_library(module: Any, audit: Callable[..., Any], confidence: float) -> list[Start]:
    """Raises ScalecalcError where no library's rules are known."""
    found = _measured(module)
    for row in audit(module, confidence=confidence).parameters:
        start = found.get(row.path)
        if start is None or row.expected_std is None or not start.ok:
            continue
        found[row.path] = Start(start.name, start.mean, start.std, row.expected_mean or 0.0,
                                row.expected_std, row.expected_rule or "the library's", row.ok)
    return list(found.values())


def _torch_rule(one: Any, kind: str) -> tuple[float, float] | None:
    """(mean, std) as PyTorch's linear maps, convolutions and norms start."""
    if "Norm" in type(one).__name__:
        return (1.0 if kind == "weight" else 0.0), 0.0
    weight = getattr(one, "weight", None)
    if kind in ("weight", "bias") and (hasattr(one, "in_features") or hasattr(one, "in_channels")) \
            and weight is not None and weight.dim() > 1:
        return 0.0, 1 / math.sqrt(3 * weight[0].numel())
    return None


def _beside(module: Any, starts: dict[str, Start]) -> dict[str, tuple[float, float]]:
    """(mean, std) of the median of the layers beside, by name."""
    groups: dict[Any, list[str]] = {}
    for name, parameter in module.named_parameters():
        groups.setdefault((re.sub(r"\d+", "*", name), tuple(parameter.shape)), []).append(name)
    due: dict[str, tuple[float, float]] = {}
    for names in groups.values():
        if len(names) < 3:
            continue
        std = statistics.median(starts[name].std for name in names)
        constant = sum(starts[name].is_constant for name in names) * 2 > len(names)
        mean = statistics.median(starts[name].mean for name in names) if constant else 0.0
        for name in names:
            due[name] = mean, 0.0 if constant else std
    return due


def of_module(module: Any, deviations: float) -> list[Start]:
    starts, sizes = _measured(module), _sizes(module)
    beside = _beside(module, starts)
    of_torch: dict[str, Start] = {}
    for name, one in module.named_modules():
        for kind, _ in one.named_parameters(recurse=False):
            full = f"{name}.{kind}" if name else kind
            rule = _torch_rule(one, kind)
            if rule is not None and full in starts:
                of_torch[full] = _judged(starts[full], sizes[full], rule[1], rule[0],
                                         "PyTorch's layer", deviations, 0.0)
    maps = [start for start in of_torch.values() if (start.due or 0) > 0]
    are_torch = 2 * sum(start.ok for start in maps) > len(maps)
    found = []
    for name, start in starts.items():
        torch_start = of_torch.get(name)
        if torch_start is not None and (torch_start.due == 0 or are_torch and torch_start.ok):
            start = torch_start
        elif name in beside:
            mean, due = beside[name]
            start = _judged(start, sizes[name], due, mean, "as the layers beside it", deviations)
        elif torch_start is not None and are_torch:
            start = torch_start
        found.append(start)
    return found


def starts_of(module: Any, audit: Callable[..., Any], confidence: float,
              deviations: float) -> list[Start]:
    if hasattr(getattr(module, "config", None), "to_dict"):
        with contextlib.suppress(ScalecalcError):
            return of_library(module, audit, confidence)
    return of_module(module, deviations)


@contextlib.contextmanager
def as_due(module: Any, starts: list[Start]) -> Iterator[None]:
    """With the values of those that do not start as they should at their std; then as it was."""
    import torch

    known = dict(module.named_parameters())
    before = []
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for start in starts:
            if start.ok or start.due is None:
                continue
            parameter = known[start.name]
            before.append((parameter, parameter.detach().clone()))
            if start.due == 0:
                parameter.fill_(start.due_mean)
            elif start.is_constant:
                drawn = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(start.due_mean + start.due * drawn)
            else:
                parameter.sub_(start.mean).mul_(start.due / start.std).add_(start.due_mean)
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, values in before:
                parameter.copy_(values)
