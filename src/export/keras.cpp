#include "export/python.hpp"

namespace scalecalc::export_room {
namespace {

const char* const imports = R"py(
import collections
import dataclasses
import re
import typing
import zlib

import keras
import numpy

)py";

const char* const body = R"py(

def _draw(shape, part, seed):
    start, numbers = part.start, part.numbers
    if start == "normal":
        initial = keras.initializers.RandomNormal(*numbers, seed)
    elif start == "uniform":
        initial = keras.initializers.RandomUniform(*numbers, seed)
    elif start == "truncated_normal":
        initial = keras.initializers.TruncatedNormal(0.0, numbers[0], seed)
    elif start == "orthogonal":
        rows = 1
        for size in shape[:-1]:
            rows *= size
        initial = keras.initializers.Orthogonal(numbers[0] * max(rows, shape[-1]) ** 0.5, seed)
    else:
        initial = keras.initializers.Constant(numbers[0])
    values = keras.ops.convert_to_numpy(initial(shape, dtype="float32"))
    # Keras on PyTorch lets one draw of a truncated normal in 230,000 past its bound.
    return numpy.clip(values, *numbers[1:]) if start == "truncated_normal" else values


def _fill(rule, shape, seed):
    axis, parts = rule.axis, []
    for number, part in enumerate(rule.parts):
        piece = tuple(part.entries if i == axis else size for i, size in enumerate(shape))
        parts.append(_draw(piece, part, seed + number))
    return numpy.concatenate(parts, axis=axis)


def _seed_of(name, seed):
    return (zlib.crc32(name.encode()) + 7919 * seed) % (2**31 - 1000)


class _Initializer(keras.initializers.Initializer):
    def __init__(self, name, rule, seed):
        self.name, self.rule, self.seed = name, rule, seed

    def __call__(self, shape, dtype=None, **unused):
        _check_shape(self.name, shape, self.rule)
        values = _fill(self.rule, tuple(shape), _seed_of(self.name, self.seed))
        return keras.ops.convert_to_tensor(values, dtype=dtype or "float32")


def initializer(name, seed=None):
    """The initialiser of one parameter, as kernel_initializer= and the like take it."""
    found = _find(name)
    if found is None:
        raise ValueError(f"no rule for {name}")
    return _Initializer(name, found[1], (SEED or 0) if seed is None else seed)


def _match(path):
    """(name, what _find gives): of the whole path, or without the names of the models around it."""
    steps = path.split("/")
    for first in range(len(steps)):
        name = "/".join(steps[first:])
        found = _find(name)
        if found is not None:
            return name, found
    return None


def initialize(model, seed=None, strict=False):
    """Fills every trainable weight of `model` that the plan knows, in place; returns a Report.

    Weights are found by their path, with or without the names of the models around them. Each draws
    from `seed` (default: SEED, else 0) and its name. Raises ValueError as initializer() does, and,
    with `strict`, unless every weight was set and every rule found its weights.
    """
    seed = (SEED or 0) if seed is None else seed
    report, used = Report(), collections.Counter()
    for variable in model.trainable_variables:
        matched = _match(variable.path)
        if matched is None:
            (report.left_alone if _extra(variable.path) else report.unmatched).append(variable.path)
            continue
        name, (number, rule) = matched
        _check_shape(variable.path, variable.shape, rule)
        used[number] += 1
        variable.assign(_fill(rule, tuple(variable.shape), _seed_of(name, seed)))
        report.set[variable.path] = tuple(part.value for part in rule.parts)
    return _finish(report, used, strict)
)py";

const char* const steps = R"py(

def make_optimizer(model, make, lr, weight_decay=0.0, eps=1e-7, **settings):
    """An optimizer of the class `make` (keras.optimizers.AdamW) for `model`, which is built, from the
    numbers that are right for the base.

    Each weight is stepped with the given numbers times the factors of its rule; lr may be a
    schedule. Of a mixture (muon+adamw) `make` is keras.optimizers.Muon, which steps by AdamW what
    is not muon's, and any of the numbers may be a dict by the name of what steps:
    {"muon": ..., "adamw": ...}. `settings` go to `make` as they are. The optimizer knows the
    weights of this model alone: save weights, and make it anew. Raises ValueError for a trained
    weight that no rule knows, for a rule without a weight, and where a shape is not the plan's.
    """
    found, used = {}, set()
    for variable in model.trainable_variables:
        matched = _match(variable.path)
        if matched is None:
            raise ValueError(f"no rule has a learning rate for {variable.path}")
        number, rule = matched[1]
        _check_shape(variable.path, variable.shape, rule)
        used.add(number)
        found[id(variable)] = rule.step
    for number, rule in enumerate(RULES):
        if number not in used and not rule.may_be_absent:
            raise ValueError(f"the model has no trained {rule.name}, whose numbers the plan has")
    main = RULES[0].step.rule if all(s.rule != "muon" for s in found.values()) else "muon"

    def own(value, step):
        return value[step.rule] if isinstance(value, dict) else value

    def base(value):
        return value[main] if isinstance(value, dict) else value

    def rate(step):
        """Of the learning rate that the optimizer has."""
        return step.lr * (own(lr, step) / base(lr) if isinstance(lr, dict) else 1.0)

    class Transferred(make):
        """`make` with the numbers of each weight."""

        def update_step(self, gradient, variable, learning_rate):
            step = found[id(variable)]
            if step.eps is None:
                return super().update_step(gradient, variable, learning_rate * rate(step))
            kept, self.epsilon = self.epsilon, own(eps, step) * step.eps
            try:
                super().update_step(gradient, variable, learning_rate * rate(step))
            finally:
                self.epsilon = kept

        def _apply_weight_decay(self, variables):
            # Keras multiplies it by its learning rate, of which the weight has a multiple.
            names = [n for n in ("weight_decay", "adam_weight_decay") if hasattr(self, n)]
            kept = [getattr(self, name) for name in names]
            try:
                for variable in variables:
                    step = found[id(variable)]
                    for name in names:
                        setattr(self, name, own(weight_decay, step) * step.weight_decay * rate(step))
                    super()._apply_weight_decay([variable])
            finally:
                for name, value in zip(names, kept):
                    setattr(self, name, value)

        def _should_use_adamw(self, variable):
            """What keras.optimizers.Muon leaves to AdamW."""
            return found[id(variable)].rule != "muon"

    if any(step.eps is not None for step in found.values()):
        settings["epsilon"] = base(eps)
    return Transferred(learning_rate=base(lr), weight_decay=base(weight_decay), **settings)
)py";

}  // namespace

std::string keras_text(const CodePlan& plan, const ExportOptions& options) {
  const std::string text = python_text(plan, "keras", options, imports, body);
  return plan.transfer.empty() ? text : text + steps;
}

}  // namespace scalecalc::export_room
