"""The first step of optimizers of torch.optim as `propagate --after-step` takes it: a rule, and the learning
rate and eps of each parameter by the groups it is in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# eps of the rules that have one.
EPS = {"adam": 1e-8, "adamw": 1e-8, "muon": 1e-8, "rmsprop": 1e-8, "adagrad": 1e-10}


@dataclass
class FirstStep:
    """A rule of `--after-step`, and numbers by the name of a parameter; those that no optimizer has do
    not move."""

    rule: str = ""
    lr: dict[str, float] = field(default_factory=dict)
    eps: dict[str, float] = field(default_factory=dict)
    decay: float = 0.0  # the largest
    muon: set[str] = field(default_factory=set)  # what Muon steps


@dataclass(frozen=True)
class _Own:
    """Of one parameter in one group."""

    rule: str
    lr: float
    eps: float | None = None


def _adam(group: Mapping[str, Any], _: Any) -> _Own:
    return _Own("adam", float(group["lr"]), float(group["eps"]))


def _adamw(group: Mapping[str, Any], _: Any) -> _Own:
    return _Own("adamw", float(group["lr"]), float(group["eps"]))


def _nadam(group: Mapping[str, Any], _: Any) -> _Own:
    """Adam's, and a share of the average that the gradient has begun."""
    beta = group["betas"][0]
    now, then = (beta * (1 - 0.5 * 0.96**(step * group["momentum_decay"])) for step in (1, 2))
    return _Own("adam", float(group["lr"]) * (1 + then * (1 - beta) / (1 - now * then)),
                float(group["eps"]))


def _radam(group: Mapping[str, Any], _: Any) -> _Own:
    """Not divided by sizes before the sixth step."""
    return _Own("sgd", float(group["lr"]))


def _rmsprop(group: Mapping[str, Any], _: Any) -> _Own:
    if group["centered"]:
        raise InputError("the first step of RMSprop with centered=True has no rule")
    ratio = math.sqrt((1 - 0.99) / (1 - group["alpha"]))  # the rule's average is of 0.99
    return _Own("rmsprop", float(group["lr"]) * ratio, float(group["eps"]) * ratio)


def _adagrad(group: Mapping[str, Any], _: Any) -> _Own:
    if group["initial_accumulator_value"] != 0:
        raise InputError("the first step of Adagrad with an initial_accumulator_value has no rule")
    return _Own("adagrad", float(group["lr"]), float(group["eps"]))


def _sgd(group: Mapping[str, Any], _: Any) -> _Own:
    """Momentum begins with the gradient; Nesterov's looks ahead by it."""
    return _Own("sgd", float(group["lr"]) * (1 + group["momentum"] * group["nesterov"]))


def _lion(group: Mapping[str, Any], _: Any) -> _Own:
    return _Own("lion", float(group["lr"]))


def _muon(group: Mapping[str, Any], parameter: Any) -> _Own:
    if group.get("ns_steps", 5) != 5:
        raise InputError(f"the first step of Muon has a rule for ns_steps=5 (got {group['ns_steps']})")
    rate, (rows, columns) = float(group["lr"]), parameter.shape
    if group.get("adjust_lr_fn") == "match_rms_adamw":
        rate *= 0.2 * math.sqrt(max(rows, columns)) / math.sqrt(max(1, rows / columns))
    return _Own("muon", rate)


_OF: dict[str, Callable[[Mapping[str, Any], Any], _Own]] = {
    "Adam": _adam, "AdamW": _adamw, "Adamax": _adam, "NAdam": _nadam, "RAdam": _radam,
    "RMSprop": _rmsprop, "Adagrad": _adagrad, "SGD": _sgd, "Lion": _lion, "Muon": _muon}


def first_step(module: Any, optimizers: Sequence[Any]) -> FirstStep:
    """Raises InputError where no rule has it."""
    found = FirstStep()
    of: dict[int, _Own] = {}
    for one in optimizers:
        kind = type(one).__name__
        if kind not in _OF:
            raise InputError(f"the first step of {kind} has no rule; those that have: {', '.join(_OF)}")
        for group in one.param_groups:
            found.decay = max(found.decay, float(group.get("weight_decay", 0.0)))
            for parameter in group["params"]:
                of[id(parameter)] = _OF[kind](group, parameter)
    rules = {own.rule for own in of.values()}
    if "muon" in rules and rules <= {"muon", "adam", "adamw"}:
        found.rule = "muon"
    elif rules <= {"adam", "adamw"} and rules:
        found.rule = "adamw" if "adamw" in rules else "adam"
    elif len(rules) == 1:
        found.rule = rules.pop()
    else:
        raise InputError("the first step of several optimizers is predicted for Muon with AdamW "
                         f"(got {' and '.join(sorted(rules)) or 'none'})")
    for name, parameter in module.named_parameters(remove_duplicate=False):
        own = of.get(id(parameter))
        found.lr[name] = 0.0 if own is None else own.lr
        if own is not None and own.eps is not None:
            found.eps[name] = own.eps
        if own is not None and own.rule == "muon":
            found.muon.add(name)
    return found


def _check_muon(step: FirstStep, names: Mapping[str, str], parameters: Mapping[str, Any]) -> None:
    """The rule has it for matrices between features."""
    for path, name in names.items():
        if parameters[name].dim() < 2 or step.lr[name] == 0:
            continue
        is_hidden = not path.startswith(("embedding", "head"))
        if is_hidden != (name in step.muon):
            what = "steps" if name in step.muon else "does not step"
            raise InputError(f"Muon {what} {name}, and its rule is for hidden matrices, all of them")


def step_options(step: FirstStep, names: Mapping[str, str], module: Any) -> dict[str, Any]:
    """Of propagate, where `names` has the parameter's name by its path in the model."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    if step.rule == "muon":
        _check_muon(step, names, parameters)
    rates = {path: step.lr[name] for path, name in names.items()}
    made: dict[str, Any] = {"after_step": step.rule, "lr": max(rates.values(), default=0.0)}
    if len(set(rates.values())) > 1:
        made["lr_of"] = rates
    usual = EPS.get(step.rule)
    eps = {path: step.eps[name] for path, name in names.items()
           if name in step.eps and step.eps[name] not in (usual, 0.0)}
    return {**made, "eps_of": eps} if eps else made
