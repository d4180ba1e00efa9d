"""Arguments of scalecalc.torch at the border: what is not what it should be is refused with one line that names
it, and so is what the caller's own code raises."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

from ._errors import InputError, ScalecalcError, wrong_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST = 2**31  # of a size


def refused(argument: str, why: str) -> InputError:
    return InputError(f"{argument} {why}").naming(argument)


def shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) < 60 else text[:57] + "..."


@contextlib.contextmanager
def of_caller(argument: str, what: str) -> Iterator[None]:
    """Around code of the caller's."""
    try:
        yield
    except ScalecalcError:
        raise
    except Exception as error:
        line = " ".join(str(error).split("\n")[0].split())[:200]
        raise refused(argument, f"{what}: {type(error).__name__}: {line}") from error


@contextlib.contextmanager
def as_base() -> Iterator[None]:
    """What the program says of --transfer-from is of `base`."""
    try:
        yield
    except ScalecalcError as error:
        if error.argument == "transfer_from":
            error.args = (str(error).replace("--transfer-from", "base"),)
            error.argument = "base"
        raise


def function(argument: str, value: Any) -> Callable[..., Any]:
    if not callable(value):
        raise wrong_type(argument, "a function", value)
    return value  # type: ignore[no-any-return]


def number(argument: str, value: Any, most: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(argument, "a number", value)
    if not 0 <= value <= most or math.isinf(value):
        raise refused(argument, f"must be a number of 0 or more (got {shown(value)})")
    return float(value)


def whole(argument: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or getattr(value, "ndim", 0) != 0:
        raise wrong_type(argument, "a whole number", value)
    found = int(value)
    if not least <= found <= LARGEST:
        raise refused(argument, f"must be a whole number of {least} to 2^31 (got {shown(found)})")
    return found


def sizes(argument: str, value: Any) -> list[int]:
    """Two or more that rise."""
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__") \
            or isinstance(value, type) or getattr(value, "ndim", 1) == 0:
        raise wrong_type(argument, "a list of sizes", value)
    found = [whole(argument, one) for one in value]
    if len(set(found)) < 2 or sorted(found) != found:
        raise refused(argument, f"must be two sizes or more that rise (got {shown(found)})")
    return found


def mapping(argument: str, value: Any) -> Any:
    if not isinstance(value, dict):
        raise wrong_type(argument, 'sizes by their axis, {"width": 256}', value)
    if not value:
        raise refused(argument, "is empty: it names no size")
    return value


def pair(argument: str, value: Any) -> list[float]:
    """(small, large), of numbers above 0."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise refused(argument, f"must be a pair, (small, large) (got {shown(value)})")
    found = [number(argument, one) for one in value]
    if min(found) <= 0:
        raise refused(argument, f"must be two numbers above 0 (got {shown(value)})")
    return [one if isinstance(one, int) else float(one) for one in value]


def module(argument: str, value: Any, *, with_values: bool = False) -> Any:
    """A torch.nn.Module with parameters; what is wrapped around it is taken off."""
    from ._module import bare

    if isinstance(value, type) or not hasattr(value, "named_parameters"):
        raise wrong_type(argument, "a torch.nn.Module", value)
    found = bare(value)
    parameters = list(found.named_parameters())
    if not parameters:
        raise refused(argument, f"{type(found).__name__} has no parameters")
    for name, parameter in parameters:
        if "Uninitialized" in type(parameter).__name__:
            raise refused(argument, f"{type(found).__name__} is lazy: {name} has no shape before a first call")
        if parameter.dtype.is_complex:
            raise refused(argument, f"{type(found).__name__} has complex numbers in {name}: rules are for real ones")
        if with_values and parameter.is_meta:
            raise refused(argument, f"{type(found).__name__}: {name} is on the device meta, and has no values; "
                          "module.to_empty(device='cpu') and init_ give it some")
        if with_values and not bool(parameter.detach().isfinite().all()):
            raise refused(argument, f"{type(found).__name__}: {name} has values that are infinite or no numbers")
    return found


def tensors(argument: str, value: Any) -> Any:
    """An input of a module: a tensor, a tuple of them, or a mapping by argument."""
    found = [value[key] for key in value.keys()] if hasattr(value, "keys") and not isinstance(value, type) \
        else list(value) if isinstance(value, (list, tuple)) else [value]
    if not found:
        raise refused(argument, "is empty: it has no input of the module")
    for one in found:
        if isinstance(one, type) or not hasattr(one, "is_floating_point"):
            if not hasattr(value, "keys"):
                raise wrong_type(argument, "a tensor, a tuple of tensors, or tensors by argument", one)
            continue
        if str(one.layout) != "torch.strided":
            raise refused(argument, f"is a tensor of {one.layout}: give a dense one")
        if one.numel() == 0:
            raise refused(argument, f"has no entries (its shape is {tuple(one.shape)})")
        if one.is_floating_point() and not one.is_meta and not bool(one.isfinite().all()):
            raise refused(argument, "has values that are infinite or no numbers")
    if not any(hasattr(one, "is_floating_point") for one in found):
        raise wrong_type(argument, "a tensor, a tuple of tensors, or tensors by argument", found[0])
    return value
