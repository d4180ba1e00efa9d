"""A reference calculator for signal propagation in deep networks.

Each function is a command of the program `scalecalc`: its arguments first, its options as keywords,
and what it prints with --format json as an object.

    >>> import scalecalc
    >>> scalecalc.deepnorm(layers=1000, optimizer="adam").alpha
    44.721359549995796

Bad input raises ValueError (a wrong type, what is a TypeError too), a fault outside OSError, with the
program's one line. A check that fails is no exception: `passed`, `holds` or `exit_code` says so.
"""

from ._commands import (
    activation,
    audit,
    check,
    convention,
    coordinates,
    deepnorm,
    init,
    propagate,
    solve,
    sweep,
    transfer,
    verify,
)
from ._core import version as _version
from ._errors import FaultError, InputError, NoSolutionError, ScalecalcError, WrongTypeError
from ._result import Formula, Record, Result

__version__ = _version()

__all__ = [
    "FaultError",
    "Formula",
    "InputError",
    "NoSolutionError",
    "Record",
    "Result",
    "ScalecalcError",
    "WrongTypeError",
    "__version__",
    "activation",
    "audit",
    "check",
    "convention",
    "coordinates",
    "deepnorm",
    "init",
    "propagate",
    "solve",
    "sweep",
    "transfer",
    "verify",
]
