"""The step of each parameter of a module: its learning rate, decay and eps, as factors of those of the
same model at other sizes, which `init --transfer-from` plans.

A name that the plan has is its rule's. Beside these there are gains of norms that the rules of the model
leave out (of queries and keys), which go as the gains of its blocks, experts in one tensor, which go as
the experts of the plan, and tensors that have several names. What is still unknown is looked for in the
module's graph.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import scalecalc

from ._code import code_of
from ._errors import InputError, ScalecalcError
from ._module import described, example_of, read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Unknown(InputError):
    """A parameter without a step."""


def plan_of(path: Any, **options: Any) -> dict[str, Any]:
    """What the code defines that init writes for PyTorch."""
    return code_of(scalecalc.init(path, target="pytorch", **options).text)


def _names(module: Any) -> dict[int, list[str]]:
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return names


def _bare(shape: Sequence[int]) -> tuple[int, ...]:
    """As a matrix, and without dimensions of one entry in front: a class token is a row of words,
    a convolution a map of patches."""
    sizes = tuple(shape)
    while len(sizes) > 1 and sizes[0] == 1:
        sizes = sizes[1:]
    return sizes if len(sizes) < 3 else (sizes[0], math.prod(sizes[1:]))


def _agree(shape: Sequence[int], rule: Any) -> bool:
    """A table may have more rows than the plan: an example has fewer positions than the module."""
    if rule.shape is None:
        return True
    own, planned = _bare(shape), _bare(rule.shape)
    return own == planned or len(own) == len(planned) == 2 and own[1] == planned[1]


def _one_of(code: Mapping[str, Any], chosen: Any) -> Any:
    """The step that all rules of these names have, or None."""
    steps = {rule.step for rule in code["RULES"] if chosen(rule.name) and not rule.may_be_absent}
    return steps.pop() if len(steps) == 1 else None


def _is_gain(name: str) -> bool:
    return "norm" in name.lower() and not name.endswith("bias")


def _beside(name: str, parameter: Any, code: Mapping[str, Any]) -> Any:
    """The step of what has no name in the plan, and stands for what has one; or None."""
    if parameter.dim() == 1 and _is_gain(name.rpartition(".")[0].rpartition(".")[2]):
        return _one_of(code, lambda rule: _is_gain(rule) and "{i}" in rule)
    if parameter.dim() == 3 and "expert" in name and not name.endswith("bias"):
        return _one_of(code, lambda rule: "expert" in rule and "bias" not in rule)
    return None


def _known(module: Any, code: Mapping[str, Any]) -> tuple[dict[str, Any], set[int]]:
    """The step of each trained parameter, and the rules that were found. Raises Unknown."""
    steps: dict[str, Any] = {}
    used: set[int] = set()
    names = _names(module)
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        found = [match for one in names[id(parameter)] if (match := code["_find"](one))]
        used.update(number for number, _ in found)
        of = {rule.step for _, rule in found if not rule.may_be_absent or len(found) == 1}
        if len(of) > 1:
            raise Unknown(f"{' and '.join(names[id(parameter)])} are one tensor, and the plan has a step "
                          "for each")
        for _, rule in found:
            if not _agree(parameter.shape, rule):
                raise Unknown(f"{name} has shape {tuple(parameter.shape)}, and the plan "
                              f"{tuple(rule.shape)}")
        step = of.pop() if of else _beside(name, parameter, code)
        if step is None:
            raise Unknown(f"no rule has a learning rate for {name}")
        steps[name] = step
    return steps, used


def _complete(module: Any, code: Mapping[str, Any]) -> dict[str, Any]:
    steps, used = _known(module, code)
    packed = any(one.dim() == 3 and "expert" in name for name, one in module.named_parameters())
    for number, rule in enumerate(code["RULES"]):
        if number in used or rule.may_be_absent or packed and "expert" in rule.name:
            continue
        raise Unknown(f"the model has no trained {rule.name}, whose numbers the plan has")
    return steps


def _of(module: Any, path: Any, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    code = plan_of(path, **options)
    try:
        return _complete(module, code), code
    except Unknown as error:
        if not str(error).endswith(".bias") or "head_bias" in options:
            raise
        # A config does not say that the head has one.
        try:
            code = plan_of(path, head_bias=True, **options)
            return _complete(module, code), code
        except ScalecalcError:
            raise error from None


def steps_of(module: Any, *, model: Any = None, example: Any = None,
             **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The step of each trained parameter by its name, and the code whose plan it is of. Of `model`,
    else of the module's config, else of its graph. Raises InputError naming the first tensor that
    none has a step for."""
    first: ScalecalcError | None = None
    if model is not None or example is None:
        try:
            with described(module, model) as path:
                return _of(module, path, options)
        except InputError as error:
            first = error
    if example is None and isinstance(first, Unknown):
        example = example_of(module)
    if model is not None or example is None:
        raise first or InputError("give an example of the module's input")
    try:
        known = read(module, example)
        if first is not None and known.source != "graph":
            raise first
        return _of(module, known, options)
    except ScalecalcError as error:
        raise (first or error) from error


def groups_of(module: Any, steps: Mapping[str, Any], code: Mapping[str, Any], lr: float,
              weight_decay: float, eps: float, rule: str | None) -> list[dict[str, Any]]:
    """Groups for torch.optim, as the code makes them that the steps are of."""
    for name, value in (("lr", lr), ("weight_decay", weight_decay), ("eps", eps)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            refused = InputError(f"{name} = {value!r} is not a number of 0 or more")
            refused.argument = name
            raise refused
    pairs = [(parameter, steps[name]) for name, parameter in module.named_parameters() if name in steps]
    try:
        found: list[dict[str, Any]] = code["_groups"](pairs, lr, weight_decay, eps, rule)
    except ValueError as error:
        raise InputError(str(error)) from None
    return found


def std_of(parameter: Any) -> float:
    return float(parameter.detach().double().std(correction=0).item())


def std_factor(code: Mapping[str, Any], name: str) -> float:
    """By which the plan multiplies a std of the base: its formula is that times ratios."""
    found = code["_find"](name)
    if found is None:
        return 1.0
    part = found[1].parts[0]
    try:
        return float(part.value) / float(str(part.formula).partition("*")[0])
    except (ValueError, ZeroDivisionError):
        return 1.0
