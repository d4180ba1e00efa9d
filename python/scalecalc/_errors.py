"""What the functions raise."""

from __future__ import annotations

TYPE_CHECKING = False  # typing's, which takes a third of the import
if TYPE_CHECKING:
    from typing import Self


class ScalecalcError(Exception):
    """One line: what went wrong, where, and what would be right.

    `message`, `where` and `hint` are its parts; `argument` is the keyword that it names, or "".
    """

    message: str = ""
    where: str = ""
    hint: str = ""
    argument: str = ""

    def naming(self, argument: str) -> Self:
        self.argument = argument
        return self


class InputError(ScalecalcError, ValueError):
    """A value, a file or a formula that cannot be used, or options that do not fit together."""


class WrongTypeError(InputError, TypeError):
    """A value of a type that the argument does not take."""


class NoSolutionError(ScalecalcError, ValueError):
    """A well-posed question without a solution."""


class FaultError(ScalecalcError, OSError):
    """Something outside failed: a write, a device, memory."""


_KINDS: dict[str, type[ScalecalcError]] = {
    "usage": InputError, "input": InputError, "unsolvable": NoSolutionError, "fault": FaultError}


def error(kind: str, line: str, message: str, where: str, hint: str) -> ScalecalcError:
    import re

    made = _KINDS[kind](line)
    made.message, made.where, made.hint = message, where, hint
    named = re.search(r"--([a-z][a-z0-9-]*)", where) or re.search(r"--([a-z][a-z0-9-]*)", message)
    if named:
        made.argument = named.group(1).replace("-", "_")
    return made


def wrong_type(argument: str, wanted: str, value: object) -> WrongTypeError:
    shown = "a function" if callable(value) and not isinstance(value, type) else type(value).__name__
    return WrongTypeError(f"{argument} must be {wanted} (got {shown})").naming(argument)
