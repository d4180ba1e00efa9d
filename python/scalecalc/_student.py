"""Student's quantile for a sum of measured variances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Variance:
    """A variance that was measured with so many degrees of freedom."""

    value: float = 0.0
    degrees: float = math.inf

    def beyond(self, known: float) -> Variance:
        """What is left of it above a variance that is counted already."""
        return Variance(max(0.0, self.value - known), self.degrees)

    def times(self, factor: float) -> Variance:
        return Variance(factor * self.value, self.degrees)


def degrees_of(total: float, measured: Iterable[Variance]) -> float:
    """Of a sum of known and measured variances: total^2/sum(v_i^2/d_i) (Satterthwaite 1946)."""
    if not math.isfinite(total):
        return 1.0
    parts = [(one.value, one.degrees) for one in measured if one.value > 0]
    below = math.fsum(value * value / degrees for value, degrees in parts)
    return max(total * total / below, 1.0) if below > 0 else math.inf


def quantile(level: float, degrees: float) -> float:
    """The t that |T| exceeds with this probability (Hill 1970, algorithm 396: to six digits);
    fractions of fewer than three degrees are rounded down."""
    normal = -NormalDist().inv_cdf(level / 2)
    if degrees > 1e6:
        return normal
    if degrees < 2:
        return 1 / math.tan(level * math.pi / 2)
    if degrees < 3:
        return math.sqrt(2 / (level * (2 - level)) - 2)
    n = degrees
    a = 1 / (n - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    y = (d * level) ** (2 / n)
    if y <= 0.05 + a:
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) \
            * (n + 1) / (n + 2) + 1 / y
        return math.sqrt(n * y)
    x = -normal
    y = x * x
    if n < 5:
        c += 0.3 * (n - 4.5) * (x + 0.6)
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    return math.sqrt(n * math.expm1(a * y * y))
