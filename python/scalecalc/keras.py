"""Keras: initial values, optimizers and audits of models that are built, on any backend.

The model is what `model` names: a preset, a model file or a config.json. Its weights have the paths
that `scalecalc init MODEL --target keras` lists (block_0/attn/q/kernel), with or without the names of
the models around them, or those of the [names] of a model file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._trees import audit_of, code_for, groups_for

if TYPE_CHECKING:
    from ._commands import AuditResult

__all__ = ["audit", "init_", "make_optimizer"]


def init_(network: Any, *, model: Any, seed: int | None = None, strict: bool = False,
          **options: Any) -> Any:
    """Fills the trainable weights of `network` in place as scalecalc.init(model, **options) plans them,
    and returns a report: `set` (paths, with the std of each part), `unmatched`, `missing`. With `strict`
    what is not matched raises ValueError."""
    return code_for("keras", model, **options)["initialize"](network, seed=seed, strict=strict)


def make_optimizer(network: Any, make: Any, lr: Any, *, model: Any, base: Any, optimizer: str = "adamw",
                   weight_decay: Any = 0.0, eps: Any = 1e-7, parametrization: str | None = None,
                   settings: dict[str, Any] | None = None, **options: Any) -> Any:
    """One optimizer of the class `make` (keras.optimizers.AdamW), in which each weight has its own lr,
    weight_decay and eps, from those that are right for the same model at the sizes `base`. lr may be a
    schedule. Of a mixture ("muon+adamw") `make` is keras.optimizers.Muon, and the numbers may be dicts
    by the name of what steps. `settings` go to `make`. Raises ValueError for a weight that no rule
    knows."""
    code = groups_for("keras", model, base, optimizer, parametrization, **options)
    return code["make_optimizer"](network, make, lr, weight_decay=weight_decay, eps=eps,
                                  **(settings or {}))


def audit(network: Any, *, model: Any, **options: Any) -> AuditResult:
    """The trainable weights of `network` beside the rules of `model`, as scalecalc.audit() finds them:
    `passed`, `findings`, `conclusions`."""
    code = code_for("keras", model)

    def name_of(variable: Any) -> str:
        matched = code["_match"](variable.path)
        return str(variable.path if matched is None else matched[0])

    import keras

    return audit_of(((name_of(one), keras.ops.convert_to_numpy(one))
                     for one in network.trainable_variables), model, **options)
