#include "export/python.hpp"

namespace scalecalc::export_room {
namespace {

const char* const imports = R"py(
import collections
import dataclasses
import re
import typing
import zlib

import jax
import jax.numpy as jnp

)py";

const char* const body = R"py(

def _draw(key, shape, part, dtype):
    start, numbers = part.start, part.numbers
    if start == "normal":
        mean, std = numbers
        return mean + std * jax.random.normal(key, shape, dtype)
    if start == "uniform":
        return jax.random.uniform(key, shape, dtype, *numbers)
    if start == "truncated_normal":
        std, low, high = numbers
        return std * jax.random.truncated_normal(key, low / std, high / std, shape, dtype)
    if start == "orthogonal":
        rows = 1
        for size in shape[:-1]:
            rows *= size
        return jax.nn.initializers.orthogonal(numbers[0] * max(rows, shape[-1]) ** 0.5)(
            key, shape, dtype)
    return jnp.full(shape, numbers[0], dtype)


def _fill(rule, key, shape, dtype):
    axis, parts = rule.axis, []
    for number, part in enumerate(rule.parts):
        piece = tuple(part.entries if i == axis else size for i, size in enumerate(shape))
        parts.append(_draw(jax.random.fold_in(key, number), piece, part, dtype))
    return jnp.concatenate(parts, axis=axis) if len(parts) > 1 else parts[0]


def initializer(name):
    """The initialiser of one parameter, as kernel_init= and the like take it."""
    found = _find(name)
    if found is None:
        raise ValueError(f"no rule for {name}")
    rule = found[1]

    def initialize_one(key, shape, dtype=jnp.float32, out_sharding=None):
        del out_sharding
        _check_shape(name, shape, rule)
        return _fill(rule, key, tuple(shape), dtype)

    return initialize_one


def _name(path):
    """The path of a leaf as names with / between them; "params" in front is left out."""
    keys = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))
            for key in path]
    if keys and keys[0] == "params":
        keys = keys[1:]
    return "/".join(keys)


def initialize(params, key=None, strict=False):
    """A tree like `params` with every leaf that the plan knows drawn anew, and a Report.

    Leaves are found by their path. Each draws from `key` folded with its name, so that the values do
    not depend on the order of the tree; without a key, SEED is used.
    """
    if key is None:
        key = jax.random.PRNGKey(0 if SEED is None else SEED)
    report, used = Report(), collections.Counter()

    def one(path, leaf):
        name = _name(path)
        found = _find(name)
        if found is None:
            (report.left_alone if _extra(name) else report.unmatched).append(name)
            return leaf
        number, rule = found
        _check_shape(name, leaf.shape, rule)
        used[number] += 1
        report.set[name] = tuple(part.value for part in rule.parts)
        return _fill(rule, jax.random.fold_in(key, zlib.crc32(name.encode()) & 0x7fffffff),
                     tuple(leaf.shape), leaf.dtype)

    tree = jax.tree_util.tree_map_with_path(one, params)
    return tree, _finish(report, used, strict)
)py";

const char* const groups = R"py(

def multi_transform(params, make, lr, weight_decay=0.0, eps=1e-8):
    """optax.multi_transform for a tree like `params`, from the numbers that are right for the base.

    `make(learning_rate=, weight_decay=, eps=)` gives what steps the parameters of one group
    (optax.adamw); where the rule has no eps it is not given one. lr may be a schedule. Each group
    has the given numbers times the factors of its rule. Of a mixture (muon+adamw) `make` and any
    of the numbers may be a dict by the name of what steps: {"muon": ..., "adamw": ...}. Raises ValueError for a leaf that no rule
    knows, for a rule without a leaf, and where a shape is not the plan's.
    """
    import optax

    steps, used = {}, set()

    def label(path, leaf):
        name = _name(path)
        found = _find(name)
        if found is None:
            raise ValueError(f"no rule has a learning rate for {name}")
        _check_shape(name, leaf.shape, found[1])
        used.add(found[0])
        return steps.setdefault(found[1].step, f"group {len(steps)}")

    labels = jax.tree_util.tree_map_with_path(label, params)
    for number, rule in enumerate(RULES):
        if number not in used and not rule.may_be_absent:
            raise ValueError(f"the tree has no {rule.name}, whose numbers the plan has")

    def made(step):
        own_make, own_lr, own_decay, own_eps = (
            value[step.rule] if isinstance(value, dict) else value
            for value in (make, lr, weight_decay, eps))
        rate = (lambda count: own_lr(count) * step.lr) if callable(own_lr) else own_lr * step.lr
        numbers = {"learning_rate": rate, "weight_decay": own_decay * step.weight_decay}
        if step.eps is not None:
            numbers["eps"] = own_eps * step.eps
        return own_make(**numbers)

    return optax.multi_transform({group: made(step) for step, group in steps.items()}, labels)
)py";

}  // namespace

std::string flax_text(const CodePlan& plan, const ExportOptions& options) {
  const std::string text = python_text(plan, "flax", options, imports, body);
  return plan.transfer.empty() ? text : text + groups;
}

}  // namespace scalecalc::export_room
