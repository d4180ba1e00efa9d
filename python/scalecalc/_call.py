"""From keywords to the words of a command, and from its reply to a result."""

from __future__ import annotations

import os

from . import _core
from ._errors import InputError, ScalecalcError, wrong_type

TYPE_CHECKING = False  # typing's, which takes a third of the import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from fractions import Fraction
    from typing import Any, TypeAlias, TypeVar

    from ._result import Result
    from ._sample import Sample

    Value: TypeAlias = str | int | float | Fraction | os.PathLike[str]
    Function: TypeAlias = Callable[[Any], Any]
    # Keyword, option, and how values are said: "flag" takes none, "words" are arguments.
    Spec: TypeAlias = tuple[tuple[str, str, str], ...]

    Kind = TypeVar("Kind", bound=Result)


def _text(name: str, value: str) -> str:
    if "\0" in value:
        raise InputError(f"{name} has a character of code 0 (got {value[:40]!r})").naming(name)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{name} has characters that are no text (got {value[:40]!r})").naming(name) from None
    return value


def _number(value: Any) -> str | None:
    """Of anything that is a number for Python; None of what is none."""
    if not isinstance(value, (int, float)) and getattr(value, "ndim", 1) == 0 and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float.__repr__(value)
    try:
        if hasattr(value, "__index__"):
            return str(value.__index__())
        if hasattr(value, "numerator"):
            return f"{value.numerator}/{value.denominator}"
        if hasattr(value, "__float__"):
            return float.__repr__(float(value))
    except (TypeError, ValueError, ArithmeticError):
        pass
    return None


def _word(name: str, value: Any) -> str:
    if isinstance(value, str):
        return _text(name, value)
    if isinstance(value, os.PathLike):
        try:
            return _text(name, os.fsdecode(value))
        except TypeError:
            raise wrong_type(name, "a text, a number or a path", value) from None
    number = _number(value)
    if number is None:
        if isinstance(value, int):
            raise InputError(f"{name} has too many digits").naming(name)
        raise wrong_type(name, "a text, a number or a path", value)
    return number


def _words(name: str, value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        return [f"{_word(name, key)}={_word(name, one)}" for key, one in value.items()]
    if isinstance(value, (list, tuple, range)) or type(value).__name__ == "ndarray" and value.ndim == 1:
        return [_word(name, one) for one in value]
    return [_word(name, value)]


def words_of(command: str, spec: Spec, given: dict[str, Any]) -> list[str]:
    """The command line, without the program's name."""
    arguments: list[str] = []
    options: list[str] = []
    for name, option, joins in spec:
        value = given[name]
        if value is None:
            continue
        if joins == "flag":
            if isinstance(value, bool) or _number(value) in ("true", "false"):
                options += [option] if value else []
                continue
            raise wrong_type(name, "True or False", value)
        words = list(_words(name, value))
        if not words:
            raise InputError(f"{name} is empty").naming(name)
        if joins == "words":
            if option_like := next((word for word in words if word[:1] == "-" and len(word) > 1), None):
                raise InputError(f"{name} must not begin with '-' (got {option_like[:40]!r})").naming(name)
            arguments += words
        elif joins == "comma":
            options.append(option + "=" + ",".join(words))
        else:
            options += [f"{option}={word}" for word in words]
    return [command, *arguments, *options]


def _is_function(name: str, value: Any) -> bool:
    return ("activation" in name or name == "expr") and callable(value) and not isinstance(value, type)


def _functions(spec: Spec, given: dict[str, Any]) -> list[Sample]:
    """Puts an expression in the place of each function, and tells of those that were sampled."""
    samples: list[Sample] = []

    def text_of(name: str, function: Any) -> str:
        from ._trace import NotTraced, traced

        try:
            return traced(name, function)
        except NotTraced as why:
            from ._sample import sampled

            samples.append(sampled(name, function, str(why)))
            return samples[-1].text

    for name, _, _ in spec:
        value = given[name]
        if _is_function(name, value):
            given[name] = text_of(name, value)
        elif isinstance(value, (list, tuple)) and any(_is_function(name, one) for one in value):
            given[name] = [text_of(name, one) if _is_function(name, one) else one for one in value]
    return samples


def _shows(line: str, word: str) -> bool:
    """Quoted or in brackets, as the program prints it: long ones are cut."""
    begin = "".join(one if one.isprintable() else "?" for one in word[:40])
    if len(word) < 3:
        return f"({begin})" in line or f"'{begin}'" in line
    return f"({begin}" in line or f"'{begin}" in line


def _name_argument(error: ScalecalcError, spec: Spec, given: dict[str, Any]) -> None:
    """Of a line that shows a value, and not which argument it is of."""
    line = str(error)
    for name, _, joins in spec:
        value = given[name]
        if value is None or joins == "flag":
            continue
        if any(_shows(line, word) for word in _words(name, value)):
            error.argument = name
            return


def _call(spec: Spec, given: dict[str, Any], command: str) -> tuple[int, Any, Any, str, list[str]]:
    from ._progress import bar

    words = words_of(command, spec, given)
    try:
        with bar() as progress:
            return _core.call(words, progress)
    except ScalecalcError as error:
        if not error.argument:
            _name_argument(error, spec, given)
        raise


def run(kind: type[Kind], command: str, spec: Spec, given: dict[str, Any]) -> Kind:
    if given.get("plot") is True:
        return _with_figure(kind, command, spec, given)
    samples = _functions(spec, given)
    code, inputs, results, text, messages = _call(spec, given, command)
    result = kind(results or {}, command, inputs, code, text, messages)
    if samples:
        from ._sample import state_errors

        coarse = {sample.text: sample.coarse for sample in samples}
        beside = {name: [coarse.get(one, one) if isinstance(one, str) else one for one in value]
                  if isinstance(value, list)
                  else coarse.get(value, value) if isinstance(value, str) else value
                  for name, value in given.items()}
        state_errors(result, _call(spec, beside, command)[2] or {}, samples)
    return result


def _with_figure(kind: type[Kind], command: str, spec: Spec, given: dict[str, Any]) -> Kind:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.svg"
        result = run(kind, command, spec, {**given, "plot": path})
        result.svg = path.read_text(encoding="utf-8")
    return result
