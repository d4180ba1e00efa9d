"""An activation that is a Python function which cannot be followed: it is sampled, an expression stands in
for it, and what that changes is stated.

The expression is fitted (_fit.py) up to the rounding of the function's values. A second one, some 30 times
coarser, is asked the same: how far the answers are apart says how far the first may be off.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._result import Result

COUNT = {True: 4000, False: 1000}  # points that judge a fit, of arrays and of numbers
PROBES = (-1.7, -0.4, 0.3, 1.1, 2.6)


@dataclass
class Sample:
    """Of an argument: the expression that stands in, the coarse one, and how far the first is off."""

    argument: str
    text: str
    coarse: str
    facts: dict[str, Any]


class _Refused(Exception):
    """Why it is no function of one number."""


class _Values:
    """The function's values at an array of numbers, however it takes them."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.count = 0
        self.call: Callable[[Any], Any] = self._numbers
        self.arrays = True
        reasons = []
        ways = [self._array]
        if "torch" in sys.modules:
            ways += [self._tensor, self._single_tensor]
        for way in ways:
            try:
                if self._takes(way):
                    self.call = way
                    return
            except _Refused:
                raise
            except Exception as reason:
                reasons.append(reason)
        self.arrays = False

    def _array(self, x: Any) -> Any:
        return self.function(x.copy())

    def _tensor(self, x: Any) -> Any:
        import torch

        with torch.no_grad():
            return self.function(torch.from_numpy(x.copy())).numpy(force=True)

    def _single_tensor(self, x: Any) -> Any:
        import torch

        with torch.no_grad():
            return self.function(torch.from_numpy(x.copy()).float()).numpy(force=True)

    def _numbers(self, x: Any) -> list[Any]:
        return [self.function(float(one)) for one in x]

    def _takes(self, way: Callable[[Any], Any]) -> bool:
        """Whether it gives a value for each number, which is of that number alone."""
        import numpy as np

        x = np.array(PROBES)
        together = np.asarray(way(x))
        if together.shape != x.shape:
            return False
        each = np.array([np.asarray(way(x[i:i + 1])).reshape(()) for i in range(len(x))])
        near = 1e-5 * (1 + np.abs(together))  # loops over arrays may round in another way
        if not (np.abs(together - each) <= near).all():
            raise _Refused("its value at a number depends on the numbers beside it, or is drawn")
        return True

    def raw(self, x: Any) -> Any:
        import numpy as np

        with np.errstate(all="ignore"):
            values = np.asarray(self.call(x))
        if values.dtype.kind == "c":
            raise _Refused("its values are complex")
        if values.shape != x.shape or values.dtype.kind not in "fiub":
            one = self.function(float(x[0])) if not self.arrays else values
            raise _Refused(f"it must return one number for one (got {type(one).__name__})")
        self.count += len(x)
        return values.astype(np.float64)

    def __call__(self, x: Any) -> Any:
        import numpy as np

        try:
            values = self.raw(x)
        except _Refused:
            raise
        except Exception as reason:
            if len(x) == 1:
                raise _Refused(f"at x = {float(x[0]):.6g} it raises {_line(reason)}") from reason
            for i in range(len(x)):
                self(x[i:i + 1])
            raise _Refused(f"it raises {_line(reason)}") from reason
        wrong = ~np.isfinite(values)
        if wrong.any() and np.abs(x[wrong]).min() < 41:
            at = x[wrong][np.abs(x[wrong]).argmin()]
            raise _Refused(f"its value at x = {at:.6g} is {values[x == at][0]}")
        return values


def _line(reason: BaseException) -> str:
    return f"{type(reason).__name__}: {' '.join(str(reason).split())}"[:120]


def sampled(name: str, function: Callable[[Any], Any], why: str) -> Sample:
    """`why` it was not followed. Raises InputError where it is no function of one number, not smooth but
    for some kinks and jumps, or grows too fast."""
    begin = f"{name} cannot be written as an expression in x ({why})"
    try:
        import numpy as np
    except ImportError:
        raise InputError(f"{begin}, and sampling it needs numpy: pip install numpy; or use operators and "
                         "functions that scalecalc.functions has, or give a text").naming(name) from None
    from ._fit import NotFitted, fitted

    try:
        values = _Values(function)
        probes = np.array([*PROBES, 0.0, 7.7])
        if not np.array_equal(values(probes), values(probes)):
            raise _Refused("it has another value each time")
        found = fitted(values, COUNT[values.arrays])
        if not np.array_equal(values(probes), values(probes[::-1].copy())[::-1]) and not values.arrays:
            raise _Refused("it has another value each time")
    except (_Refused, NotFitted) as reason:
        raise InputError(f"{begin}, nor sampled: {reason}; use operators and functions that "
                         "scalecalc.functions has, or give a text").naming(name) from reason
    facts = {"argument": name, "expression": found.fit.text(), "value_error": found.value_error,
             "slope_error": found.slope_error, "known": found.known, "growth": found.fit.growth,
             "size": found.fit.size, "breaks": list(found.fit.places), "jumps": list(found.fit.jumps),
             "evaluations": values.count}
    # Where no coarser one was found, the slope's error as a factor.
    beside = found.coarse.text()
    factor = max(found.value_error, found.slope_error if beside == found.fit.text() else 0.0)
    return Sample(name, found.fit.text(), f"(1+{factor!r})*({beside})", facts)


def _apart(value: Any, other: Any) -> Any:
    """How far numbers are apart, in the shape of the result; None where there are none in both."""
    if isinstance(value, dict):
        beside = other if isinstance(other, dict) else {}
        found = {key: _apart(one, beside.get(key)) for key, one in value.items()}
        return {key: one for key, one in found.items() if one is not None and one != {}}
    if isinstance(value, list):
        same = isinstance(other, list) and len(other) == len(value)
        return [_apart(one, other[i] if same else None) for i, one in enumerate(value)]
    if isinstance(value, float) and isinstance(other, (int, float)) and not isinstance(other, bool):
        return abs(value - other)
    return None


def _add_errors(data: Any, errors: Any) -> None:
    """To what the result says of the errors of its own numbers."""
    if isinstance(data, list) and isinstance(errors, list):
        for one, beside in zip(data, errors):
            _add_errors(one, beside)
    if not isinstance(data, dict) or not isinstance(errors, dict):
        return
    for key, one in data.items():
        _add_errors(one, errors.get(key))
    own = data.get("error")
    if isinstance(own, dict):
        for key, value in own.items():
            if isinstance(value, float) and isinstance(errors.get(key), float):
                own[key] = value + errors[key]
    for of, key in (("value", "error"), ("change", "error"), ("grad_second", "grad_error")):
        if isinstance(data.get(key), float) and isinstance(errors.get(of), float):
            data[key] += errors[of]


def _mean_error(facts: dict[str, Any], mean: float, second: float) -> float:
    """E |f - fit| at most, of a Gaussian x with these moments: two fits whose errors are odd agree in the
    mean of an odd function."""
    import numpy as np

    nodes, weights = np.polynomial.hermite_e.hermegauss(32)
    x = mean + max(second - mean * mean, 0.0)**0.5 * nodes
    scale = float((weights * (1 + x * x)**(facts["growth"] / 2)).sum() / weights.sum())
    return float(facts["value_error"] * facts["size"] * scale)


def _add_mean_error(errors: dict[str, Any], error: float) -> None:
    """To every mean that `activation` tells."""
    places = [(errors, "mean"), (errors.get("tuned"), "shift")]
    places += [(method.get("mean"), "value") for method in errors.get("methods", {}).values()]
    for place, key in places:
        if isinstance(place, dict) and isinstance(place.get(key), float):
            place[key] += error


def _add_ratio_error(data: dict[str, Any], errors: dict[str, Any]) -> None:
    """To q_slope, E[x f f']/E f^2: what two fits differ by in both may cancel. Its relative error is about those
    of E f^2 and E f'^2 together."""
    names = ("second", "slope_second")
    if all(isinstance(of.get(name), float) for of in (data, errors) for name in (*names, "q_slope")):
        relative = sum(errors[name] / data[name] for name in names if data[name] > 0)
        errors["q_slope"] += abs(data["q_slope"]) * relative


def state_errors(result: Result, coarse: dict[str, Any], samples: list[Sample]) -> None:
    """Of a result of the expressions, by that of the coarse ones."""
    from ._result import Record

    errors = _apart(result._data, coarse)
    inputs = result.inputs
    if "mean" in errors and {"mean", "second"} <= set(inputs):
        _add_mean_error(errors, sum(_mean_error(sample.facts, inputs["mean"], inputs["second"])
                                    for sample in samples))
    _add_ratio_error(result._data, errors)
    _add_errors(result._data, errors)
    result.sampled = Record({"functions": [sample.facts for sample in samples], "errors": errors})
    for sample in samples:
        facts = sample.facts
        result.messages.append(
            f"{sample.argument} is sampled: an expression stands in, off by at most "
            f"{facts['value_error']:.1g} of its size and {facts['slope_error']:.1g} of its slope up to "
            f"|x| = {facts['known']:g}; sampled.errors has what that changes")
