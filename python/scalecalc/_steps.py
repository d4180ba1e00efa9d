"""Real steps of a module of PyTorch on one batch: how large its outputs are, and how far they move."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._arguments import of_caller
from ._errors import InputError, wrong_type
from ._groups import std_of
from ._module import inputs_of
from ._pass import checked_loss, loss_of, tensor_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Rules of the solver by the class of torch.optim.
RULES = {"Adam": "adam", "AdamW": "adamw", "NAdam": "adam", "RAdam": "adam", "Adamax": "adam",
          "RMSprop": "rmsprop", "Adagrad": "adagrad", "SGD": "sgd", "Muon": "muon", "Lion": "lion"}


@dataclass
class Run:
    """Of one draw: each site's output at step 0, and its rms and movement after each step."""

    start: dict[str, Any] = field(default_factory=dict)
    rms: dict[str, list[float]] = field(default_factory=dict)
    change: dict[str, list[float]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    stds: dict[str, float] = field(default_factory=dict)


def _is_site(name: str, one: Any, parents: set[str]) -> bool:
    """A module with parameters of its own, or one of a list of blocks."""
    own = next(iter(one.parameters(recurse=False)), None) is not None
    return bool(name) and (own or name.rpartition(".")[0] in parents
                           and next(iter(one.parameters()), None) is not None)


def _sites(module: Any) -> Iterator[tuple[str, Any]]:
    parents = {name for name, one in module.named_modules() if type(one).__name__ in
               ("ModuleList", "Sequential", "ModuleDict")}
    for name, one in module.named_modules():
        if _is_site(name, one, parents):
            yield name, one


def _rms(tensor: Any) -> float:
    return float(tensor.detach().double().square().mean().sqrt().item())


def train(module: Any, optimizers: Sequence[Any], batch: Any, loss: Callable[..., Any] | None,
           steps: int) -> Run:
    found = Run()
    of = {id(parameter): group for one in optimizers for group in one.param_groups
          for parameter in group["params"]}
    for name, parameter in module.named_parameters():
        group = of.get(id(parameter))
        if group is not None:
            found.rates[name] = float(group["lr"])
        found.stds[name] = std_of(parameter)

    seen: set[str] = set()

    def keep(name: str, kind: str) -> Callable[..., None]:
        def hook(_: Any, __: Any, output: Any) -> None:
            if name in seen:  # shared: its first call
                return
            seen.add(name)
            tensor = tensor_of(output)
            if not tensor.is_floating_point():
                return
            value = tensor.detach()
            if name not in found.start:
                found.start[name], found.types[name] = value.clone(), kind
            found.rms.setdefault(name, []).append(_rms(value))
            start = found.start[name]
            found.change.setdefault(name, []).append(
                _rms(value - start) if value.shape == start.shape else math.nan)
        return hook

    handles = [one.register_forward_hook(keep(name, type(one).__name__))
               for name, one in _sites(module)]
    args, named = inputs_of(batch)
    try:
        for step in range(steps + 1):
            seen.clear()
            for one in optimizers:
                one.zero_grad()
            with of_caller("batch", f"is not what {type(module).__name__} runs on"):
                output = module(*args, **named)
            if step < steps:
                checked_loss(loss_of(output, batch, loss, "mean")).backward()
                with of_caller("optimizer", "makes an optimizer whose step raises"):
                    for one in optimizers:
                        one.step()
    finally:
        for handle in handles:
            handle.remove()
    return found


def rule_of(optimizers: Sequence[Any]) -> str | None:
    """As the solver names it, of one optimizer or of Muon beside another."""
    rules = list(dict.fromkeys(RULES.get(type(one).__name__, "") for one in optimizers))
    if len(rules) == 2 and "muon" in rules:
        rules.sort(key=lambda rule: rule != "muon")
        return "+".join(rules) if all(rules) else None
    return (rules[0] or None) if len(rules) == 1 else None


def optimizers_of(name: str, lr: float, parameters: Any) -> list[Any]:
    """What torch.optim has of that name, without decay."""
    import torch

    classes = {rule: kind for kind, rule in reversed(RULES.items()) if hasattr(torch.optim, kind)}
    if not isinstance(name, str):
        raise wrong_type("optimizer", "a name or a function of the module", name)
    if name not in classes or name == "muon":
        raise InputError(f"optimizer {name!r} is not one of {', '.join(sorted(classes))}; give a function "
                         "of the module that returns optimizers of torch.optim")
    options = {} if name in ("rmsprop", "adagrad") else {"weight_decay": 0.0}
    return [getattr(torch.optim, classes[name])(parameters, lr=lr, **options)]
