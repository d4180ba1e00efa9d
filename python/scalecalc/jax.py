"""JAX: initial values, groups of optax and audits of trees of parameters, of Flax linen or nnx.

The model is what `model` names: a preset, a model file or a config.json. Its parameters have the names
that `scalecalc init MODEL --target flax` lists (block_0/attn/q/kernel), or those of the [names] of a
model file. Nothing is traced: names and shapes say what a leaf is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._trees import audit_of, code_for, groups_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._commands import AuditResult

__all__ = ["audit", "init_", "initialize", "labels", "multi_transform"]


def _is_module(value: Any) -> bool:
    return any(kind.__module__.startswith("flax.nnx") and kind.__name__ == "Module"
               for kind in type(value).__mro__)


def _tree(value: Any) -> Any:
    """Of a module of nnx the tree of its parameters."""
    if not _is_module(value):
        return value
    from flax import nnx

    return nnx.to_pure_dict(nnx.state(value, nnx.Param))


def _pure(params: Any) -> Any:
    """The tree that nnx.Optimizer gives to optax: of a module or its state the arrays alone."""
    if not any(kind.__module__.startswith("flax.nnx") for kind in type(params).__mro__):
        return params
    from flax import nnx

    return nnx.pure(nnx.state(params, nnx.Param) if _is_module(params) else params)


def _groups(model: Any, base: Any, optimizer: str, parametrization: str | None,
            **options: Any) -> dict[str, Any]:
    """The code, in which a leaf of a State of nnx has the name of its variable."""
    code = groups_for("flax", model, base, optimizer, parametrization, **options)
    plain = code["_name"]

    def name_of(path: Any) -> str:
        name: str = plain(path)
        bare = name.removesuffix("/value")
        return bare if code["_find"](name) is None else name

    code["_name"] = name_of
    return code


def initialize(params: Any, key: Any = None, *, model: Any, strict: bool = False,
               **options: Any) -> tuple[Any, Any]:
    """A tree like `params` with every leaf that the plan of scalecalc.init(model, **options) knows
    drawn anew, and a report: `set` (names, with the std of each part), `unmatched`, `missing`.

    Each leaf draws from `key` (default: of seed 0, or `seed`) and its name. With `strict` what is not
    matched raises ValueError.
    """
    tree, report = code_for("flax", model, **options)["initialize"](_tree(params), key, strict)
    return tree, report


def init_(module: Any, key: Any = None, *, model: Any, strict: bool = False, **options: Any) -> Any:
    """Fills the parameters of a module of Flax nnx in place, as initialize() draws them; the report."""
    from flax import nnx

    tree, report = initialize(module, key, model=model, strict=strict, **options)
    state = nnx.state(module, nnx.Param)
    nnx.replace_by_pure_dict(state, tree)
    nnx.update(module, state)
    return report


def labels(params: Any, *, model: Any, base: Any, optimizer: str = "adamw",
           parametrization: str | None = None, **options: Any) -> tuple[Any, dict[str, Any]]:
    """For optax.multi_transform: a tree like `params` with the label of each leaf, and by label what
    lr, weight_decay and eps are multiplied by (eps None where the rule has none), and the `rule` that
    steps them. The numbers are those that are right for the same model at the sizes `base`."""
    import jax

    code = _groups(model, base, optimizer, parametrization, **options)
    factors: dict[str, Any] = {}
    by_step: dict[Any, str] = {}

    def label(path: Any, leaf: Any) -> str:
        name = code["_name"](path)
        found = code["_find"](name)
        if found is None:
            raise ValueError(f"no rule has a learning rate for {name}")
        code["_check_shape"](name, leaf.shape, found[1])
        step = found[1].step
        if step not in by_step:
            by_step[step] = f"group {len(by_step)}"
            factors[by_step[step]] = {"lr": step.lr, "weight_decay": step.weight_decay, "eps": step.eps,
                                      "rule": step.rule}
        return by_step[step]

    return jax.tree_util.tree_map_with_path(label, _pure(params)), factors


def multi_transform(params: Any, make: Any, lr: Any, *, model: Any, base: Any, optimizer: str = "adamw",
                    weight_decay: Any = 0.0, eps: Any = 1e-8, parametrization: str | None = None,
                    **options: Any) -> Any:
    """optax.multi_transform for a tree like `params`, or for the state of a module of nnx: make(learning_rate=, weight_decay=, eps=), as
    optax.adamw is, with each group's numbers. lr may be a schedule. Of a mixture ("muon+adamw") `make`
    and the numbers may be dicts by the name of what steps."""
    code = _groups(model, base, optimizer, parametrization, **options)
    return code["multi_transform"](_pure(params), make, lr, weight_decay=weight_decay, eps=eps)


def _leaves(params: Any) -> Iterator[tuple[str, Any]]:
    import jax

    for path, leaf in jax.tree_util.tree_flatten_with_path(_tree(params))[0]:
        keys = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))
                for key in path]
        yield "/".join(keys[1:] if keys and keys[0] == "params" else keys), leaf


def audit(params: Any, *, model: Any, **options: Any) -> AuditResult:
    """The leaves of `params`, or of a module of nnx, beside the rules of `model`, as
    scalecalc.audit() finds them: `passed`, `findings`, `conclusions`."""
    return audit_of(_leaves(params), model, **options)
