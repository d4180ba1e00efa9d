"""Functions for an activation that is written in Python: `lambda x: x * sigmoid(1.7 * x)`.

They take the symbol that an activation is traced with; of a number they are the function's value.
"""

from __future__ import annotations

import math
from typing import Any

from ._trace import Symbol

__all__ = ["cos", "erf", "exp", "log", "maximum", "minimum", "relu", "sigmoid", "sin", "softplus",
           "sqrt", "tanh"]


def _one(name: str, value: Any, number: Any) -> Any:
    return Symbol.apply(name, value) if isinstance(value, Symbol) else number(value)


def exp(x: Any) -> Any:
    return _one("exp", x, math.exp)


def log(x: Any) -> Any:
    return _one("log", x, math.log)


def sqrt(x: Any) -> Any:
    return _one("sqrt", x, math.sqrt)


def sin(x: Any) -> Any:
    return _one("sin", x, math.sin)


def cos(x: Any) -> Any:
    return _one("cos", x, math.cos)


def tanh(x: Any) -> Any:
    return _one("tanh", x, math.tanh)


def erf(x: Any) -> Any:
    return _one("erf", x, math.erf)


def sigmoid(x: Any) -> Any:
    return _one("sigmoid", x, lambda value: 0.5 + 0.5 * math.tanh(0.5 * value))


def relu(x: Any) -> Any:
    return _one("relu", x, lambda value: max(value, 0.0))


def softplus(x: Any) -> Any:
    return _one("softplus", x, lambda value: max(value, 0.0) + math.log1p(math.exp(-abs(value))))


def maximum(x: Any, y: Any) -> Any:
    if isinstance(x, Symbol) or isinstance(y, Symbol):
        return Symbol.apply("maximum", x, y)
    return max(x, y)


def minimum(x: Any, y: Any) -> Any:
    if isinstance(x, Symbol) or isinstance(y, Symbol):
        return Symbol.apply("minimum", x, y)
    return min(x, y)
