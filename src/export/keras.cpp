#include "export/python.hpp"

namespace scalecalc::export_room {
namespace {

const char* const imports = R"py(
import dataclasses
import re
import zlib

import keras
import numpy

)py";

const char* const body = R"py(

def _draw(shape, part, seed):
    _, start, value, untruncated, bound, _ = part
    if start == "normal":
        initial = keras.initializers.RandomNormal(0.0, value, seed)
    elif start == "uniform":
        initial = keras.initializers.RandomUniform(-bound, bound, seed)
    elif start == "truncated_normal":
        initial = keras.initializers.TruncatedNormal(0.0, untruncated, seed)
    elif start == "orthogonal":
        rows = 1
        for size in shape[:-1]:
            rows *= size
        initial = keras.initializers.Orthogonal(value * max(rows, shape[-1]) ** 0.5, seed)
    else:
        initial = keras.initializers.Constant(value)
    values = keras.ops.convert_to_numpy(initial(shape, dtype="float32"))
    # Keras on PyTorch lets one draw of a truncated normal in 230,000 past its bound.
    return values if bound is None else numpy.clip(values, -bound, bound)


def _fill(rule, shape, seed):
    axis, parts = rule[3], []
    for number, part in enumerate(rule[5]):
        piece = tuple(part[0] if i == axis else size for i, size in enumerate(shape))
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
    with `strict`, where a weight has no rule or a rule no weight.
    """
    seed = (SEED or 0) if seed is None else seed
    report, used = Report(), set()
    for variable in model.trainable_variables:
        matched = _match(variable.path)
        if matched is None:
            (report.left_alone if _extra(variable.path) else report.unmatched).append(variable.path)
            continue
        name, (number, rule) = matched
        _check_shape(variable.path, variable.shape, rule)
        used.add(number)
        variable.assign(_fill(rule, tuple(variable.shape), _seed_of(name, seed)))
        report.set[variable.path] = tuple(part[2] for part in rule[5])
    return _finish(report, used, strict)
)py";

}  // namespace

std::string keras_text(const NamedPlan& plan, const ExportOptions& options) {
  return python_text(plan, "keras", options, imports, body);
}

}  // namespace scalecalc::export_room
