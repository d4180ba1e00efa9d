#include "export/python.hpp"

namespace scalecalc::export_room {
namespace {

const char* const imports = R"py(
import collections
import dataclasses
import math
import re
import typing

import torch

)py";

const char* const body = R"py(

def _as_map(shape, rule):
    """Of a convolution of patches, which is a map in the plan: all entries of a window in one row."""
    is_map = rule.shape is not None and len(rule.shape) == 2 < len(shape)
    return (shape[0], math.prod(shape[1:])) if is_map else shape


def _listed(shape, start, steps=1.0):
    """log_range: log(1 + column); sinusoids: the sines, then the cosines of row*10000^(-i/steps);
    sinusoid_pairs: the same i after i."""
    if start == "log_range":
        return torch.arange(1, shape[-1] + 1, dtype=torch.float64).log().expand(shape)
    rates = 1e4 ** -(torch.arange(shape[1] // 2, dtype=torch.float64) / max(steps, 1.0))
    angles = torch.arange(shape[0], dtype=torch.float64)[:, None] * rates
    if start == "sinusoids":
        return torch.cat((angles.sin(), angles.cos()), dim=1)
    return torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)


def _draw(shape, part, device, generator):
    """One part in float32 (or in double where entries are listed), whatever the model's type."""
    start, numbers = part.start, part.numbers
    tensor = torch.empty(shape, dtype=torch.float32, device=device)
    if start == "normal":
        return tensor.normal_(*numbers, generator=generator)
    if start == "uniform":
        return tensor.uniform_(*numbers, generator=generator)
    if start == "truncated_normal":
        return torch.nn.init.trunc_normal_(tensor, 0.0, *numbers, generator=generator)
    if start == "orthogonal":
        square = tensor.reshape(shape[0], -1)
        torch.nn.init.orthogonal_(square, gain=numbers[0] * max(square.shape) ** 0.5,
                                  generator=generator)
        return tensor
    if start == "time_step":  # t + log(1 - exp(-t)), t = max(least, exp(uniform))
        low, high, least = numbers
        steps = tensor.uniform_(math.log(low), math.log(high), generator=generator).exp_()
        steps.clamp_(min=least)
        return steps + torch.log(-torch.expm1(-steps))
    if start in ("log_range", "sinusoids", "sinusoid_pairs"):
        return _listed(shape, start, *numbers)
    return tensor.fill_(numbers[0])


@torch.no_grad()
def initialize_(model, generator=None, strict=False):
    """Fills every parameter of `model` that the plan knows, in place, and returns a Report.

    Parameters are found by name, with or without PREFIXES. `generator` draws the numbers (default:
    one with SEED where there is a seed, else PyTorch's own). Raises ValueError where a shape is not
    the plan's, and, with `strict`, unless every parameter that requires a gradient was set and every
    rule found its parameters.
    """
    report, used, frozen = Report(), collections.Counter(), set()
    if generator is None and SEED is not None:
        device = next((p.device for p in model.parameters()), torch.device("cpu"))
        generator = torch.Generator(device=device).manual_seed(SEED)
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            frozen.add(name)
        found = _find(name)
        if found is None:
            (report.left_alone if _extra(name) else report.unmatched).append(name)
            continue
        number, rule = found
        _check_shape(name, _as_map(parameter.shape, rule), rule)
        used[number] += 1
        start = 0
        for part in rule.parts:
            piece = parameter.narrow(rule.axis, start, part.entries) if rule.shape else parameter
            piece.copy_(_draw(tuple(piece.shape), part, parameter.device, generator))
            start += part.entries
        if rule.zero_row is not None:
            parameter[rule.zero_row].zero_()
        report.set[name] = tuple(part.value for part in rule.parts)
    return _finish(report, used, strict, frozen)
)py";

const char* const groups = R"py(

def _groups(steps, lr, weight_decay, eps, rule):
    """Of pairs of a parameter and its step: those with the same numbers in one."""
    rules = sorted({step.rule for _, step in steps})
    if rule not in (rules if len(rules) > 1 else [None, *rules]):
        raise ValueError(f"rule is {rule!r}, and the plan is for {' and '.join(rules)}")
    members = {}
    for parameter, step in steps:
        if rule in (None, step.rule):
            members.setdefault(step, []).append(parameter)
    groups = []
    for step, parameters in members.items():
        group = {"params": parameters, "lr": lr * step.lr,
                 "weight_decay": weight_decay * step.weight_decay}
        if step.eps is not None:
            group["eps"] = eps * step.eps
        groups.append(group)
    return groups


def param_groups(model, lr, weight_decay=0.0, eps=1e-8, rule=None):
    """Parameter groups for a torch.optim optimizer, from the numbers that are right for the base.

    Each group has the lr, weight_decay and, where the rule has one, eps of its parameters: those
    given times the factors of their rule. Of a mixture (muon+adamw) each of the two has its own
    optimizer and numbers: `rule` says whose groups these are. Raises ValueError for a parameter
    that is trained and that no rule knows, for a rule without a parameter (a head that the model
    ties, and the plan does not), where a shape is not the plan's, and for another `rule`.
    """
    steps, used = [], set()
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        found = _find(name)
        if found is None:
            raise ValueError(f"no rule has a learning rate for {name}")
        _check_shape(name, _as_map(parameter.shape, found[1]), found[1])
        used.add(found[0])
        steps.append((parameter, found[1].step))
    for number, one in enumerate(RULES):
        if number not in used and not one.may_be_absent:
            raise ValueError(f"the model has no trained {one.name}, whose numbers the plan has")
    return _groups(steps, lr, weight_decay, eps, rule)
)py";

}  // namespace

std::string pytorch_text(const CodePlan& plan, const ExportOptions& options) {
  const std::string text = python_text(plan, "pytorch", options, imports, body);
  return plan.transfer.empty() ? text : text + groups;
}

}  // namespace scalecalc::export_room
