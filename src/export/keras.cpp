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

}  // namespace

std::string keras_text(const CodePlan& plan, const ExportOptions& options) {
  return python_text(plan, "keras", options, imports, body);
}

}  // namespace scalecalc::export_room
