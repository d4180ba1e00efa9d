"""What JAX and Keras share: the code of init for a target, and an audit of named arrays."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scalecalc

from ._code import code_of
from ._errors import InputError
from ._weights import write_safetensors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._commands import AuditResult


def code_for(target: str, model: Any, **options: Any) -> dict[str, Any]:
    if model is None:
        raise InputError("give model: a preset, a model file or a config.json whose parameters have the "
                         f"names of {target}'s (scalecalc init MODEL --target {target} lists them)")
    return code_of(scalecalc.init(model, target=target, **options).text)


def groups_for(target: str, model: Any, base: Any, optimizer: str, parametrization: str | None,
               **options: Any) -> dict[str, Any]:
    return code_for(target, model, transfer_from=base, optimizer=optimizer,
                    parametrization=parametrization, **options)


def audit_of(arrays: Iterable[tuple[str, Any]], model: Any, **options: Any) -> AuditResult:
    import numpy

    def tensors() -> Iterable[tuple[str, str, tuple[int, ...], Any]]:
        for name, array in arrays:
            values = numpy.ascontiguousarray(numpy.asarray(array).astype("float32"))
            yield name, "F32", tuple(values.shape), values.reshape(-1).view("uint8")

    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "model.safetensors"
        write_safetensors(weights, tensors())
        return scalecalc.audit(weights, model=model, **options)
