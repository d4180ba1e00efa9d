"""An activation that is a Python function, as an expression in x: it is called once with a symbol.

Operators, numpy's and PyTorch's functions of their names, and those of scalecalc.functions are
followed: `lambda x: x * sigmoid(1.7 * x)`. What looks at the value (an `if`, `float(x)`) cannot be, and
is sampled (_sample.py).
"""

from __future__ import annotations

import math
from typing import Any


class NotTraced(Exception):
    """Why a function cannot be followed."""


# Of the formula language, by the names that numpy and PyTorch have.
_FUNCTIONS = {
    "exp": "exp", "log": "log", "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt", "abs": "abs",
    "absolute": "abs", "fabs": "abs", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh", "sin": "sin",
    "cos": "cos", "arctan": "atan", "atan": "atan", "erf": "erf", "erfc": "erfc",
    "sigmoid": "sigmoid", "relu": "relu", "softplus": "softplus", "gelu": "gelu", "silu": "silu",
    "sign": "sign", "square": "square", "negative": "negative", "neg": "negative",
    "maximum": "max", "minimum": "min", "max": "max", "min": "min", "power": "power", "pow": "power",
    "add": "add", "subtract": "subtract", "sub": "subtract", "multiply": "multiply",
    "mul": "multiply", "divide": "divide", "true_divide": "divide", "div": "divide"}
_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "^"}
_REWRITTEN = {"relu": "max(0,{0})", "square": "({0})^2", "negative": "-({0})", "log1p": "log(1+({0}))",
              "expm1": "(exp({0})-1)"}


class Symbol:
    """An expression that is being built."""

    __array_priority__ = 1000

    def __init__(self, text: str) -> None:
        self.text = text

    @staticmethod
    def text_of(value: Any) -> str:
        if isinstance(value, Symbol):
            return value.text
        number = value.item() if hasattr(value, "item") else value
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise TypeError(f"{type(value).__name__} is no number")
        if not math.isfinite(number):
            raise TypeError(f"the constant {number!r} is not finite")
        return f"({number!r})"

    @classmethod
    def apply(cls, name: str, *values: Any) -> Symbol:
        texts = [cls.text_of(value) for value in values]
        known = _FUNCTIONS.get(name)
        if known is None:
            raise TypeError(f"the function {name} is not known")
        count = 2 if known in _OPERATORS or known in ("max", "min") else 1
        if len(texts) != count:
            raise TypeError(f"{name} of {len(texts)} values is not known")
        if known in _OPERATORS:
            return cls(f"({texts[0]}{_OPERATORS[known]}{texts[1]})")
        if known in _REWRITTEN:
            return cls("(" + _REWRITTEN[known].format(*texts) + ")")
        return cls(f"{known}({','.join(texts)})")

    def __add__(self, other: Any) -> Symbol:
        return self.apply("add", self, other)

    def __radd__(self, other: Any) -> Symbol:
        return self.apply("add", other, self)

    def __sub__(self, other: Any) -> Symbol:
        return self.apply("subtract", self, other)

    def __rsub__(self, other: Any) -> Symbol:
        return self.apply("subtract", other, self)

    def __mul__(self, other: Any) -> Symbol:
        return self.apply("multiply", self, other)

    def __rmul__(self, other: Any) -> Symbol:
        return self.apply("multiply", other, self)

    def __truediv__(self, other: Any) -> Symbol:
        return self.apply("divide", self, other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self.apply("divide", other, self)

    def __pow__(self, other: Any) -> Symbol:
        return self.apply("power", self, other)

    def __rpow__(self, other: Any) -> Symbol:
        return self.apply("power", other, self)

    def __neg__(self) -> Symbol:
        return self.apply("negative", self)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return self.apply("abs", self)

    def __bool__(self) -> bool:
        raise TypeError("it looks at the value")

    def __float__(self) -> float:
        raise TypeError("it looks at the value")

    def __array_ufunc__(self, ufunc: Any, method: str, *values: Any, **options: Any) -> Symbol:
        if method != "__call__" or options:
            raise TypeError(f"{ufunc.__name__} is called in a way that is not known")
        return self.apply(ufunc.__name__, *values)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, values: Any = (), options: Any = None) -> Symbol:
        if options:
            raise TypeError(f"options of {function.__name__} are not known")
        return cls.apply(function.__name__, *values)

    def __getattr__(self, name: str) -> Any:
        if name in _FUNCTIONS:
            return lambda *values: self.apply(name, self, *values)
        raise AttributeError(name)


def traced(name: str, function: Any) -> str:
    """Its expression in x. Raises NotTraced where it cannot be followed."""
    try:
        text = Symbol.text_of(function(Symbol("x")))
        if text != Symbol.text_of(function(Symbol("x"))):
            raise NotTraced("it has another value each time")
        return text
    except Exception as reason:  # of whatever library it calls
        line = " ".join(str(reason).split())
        raise NotTraced(line[:120] or type(reason).__name__) from reason
