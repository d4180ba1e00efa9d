"""From keywords to the words of a command, and from its reply to a result."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from . import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from fractions import Fraction
    from typing import TypeAlias

    from ._result import Result

    Value: TypeAlias = str | int | float | Fraction | os.PathLike[str]
    Function: TypeAlias = Callable[[Any], Any]
    # Keyword, option, and how several values are said.
    Spec: TypeAlias = tuple[tuple[str, str, str], ...]

    Kind = TypeVar("Kind", bound=Result)


def _word(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return float.__repr__(value)
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if hasattr(value, "numerator"):
        return f"{value.numerator}/{value.denominator}"
    if callable(value):
        from ._trace import traced

        return traced(name, value)
    if hasattr(value, "__float__"):
        return repr(float(value))
    raise TypeError(f"{name} must be a text, a number or a path (got {type(value).__name__})")


def _words(name: str, value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        return [f"{key}={_word(name, one)}" for key, one in value.items()]
    if isinstance(value, (list, tuple, range)) or type(value).__name__ == "ndarray":
        return [_word(name, one) for one in value]
    return [_word(name, value)]


def words_of(command: str, spec: Spec, given: dict[str, Any]) -> list[str]:
    """The command line, without the program's name."""
    arguments, options = [], []
    for name, option, joins in spec:
        value = given[name]
        if value is None or value is False:
            continue
        if value is True:
            options.append(option)
            continue
        words = list(_words(name, value))
        if joins == "words":
            arguments += words
        elif joins == "comma":
            options.append(option + "=" + ",".join(words))
        else:
            options += [f"{option}={word}" for word in words]
    return [command, *arguments, *options]


def run(kind: type[Kind], command: str, spec: Spec, given: dict[str, Any]) -> Kind:
    if given.get("plot") is True:
        return _with_figure(kind, command, spec, given)
    from ._progress import bar

    with bar() as progress:
        code, inputs, results, text, messages = _core.call(words_of(command, spec, given), progress)
    return kind(results or {}, command, inputs, code, text, messages)


def _with_figure(kind: type[Kind], command: str, spec: Spec, given: dict[str, Any]) -> Kind:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.svg"
        result = run(kind, command, spec, {**given, "plot": path})
        result.svg = path.read_text(encoding="utf-8")
    return result
