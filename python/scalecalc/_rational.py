"""Values at points as a polynomial of low degree, or as a sum of simple fractions.

Fractions are those of the AAA algorithm (Nakatsukasa, Sete, Trefethen, SIAM J. Sci. Comput. 40, A1494,
2018): it chooses the poles, and least squares the rest. Poles come in pairs off the axis, so that the
expression has a value everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TERMS = 48  # support points


def short(value: float, within: float) -> float:
    """The number of fewest digits that is as good."""
    for digits in range(17):
        rounded = float(f"{value:.{digits}e}") if value else 0.0
        if abs(round(value, digits) - value) <= within:
            return round(value, digits) + 0.0
        if abs(rounded - value) <= within:
            return rounded
    return value


@dataclass
class Piece:
    """With u = x - anchor: constant + sum c_k u^k, k from 1 on, + sum over poles m + i r off the axis of
    u (a + b u)/((x - m)^2 + r^2), + sum over poles m on it of a u/(x - m). But for the constant all of it
    is 0 at the anchor, whatever is rounded."""

    anchor: float
    constant: float
    powers: list[float]
    pairs: list[tuple[float, float, float, float]] = field(default_factory=list)  # m, r^2, a, b
    single: list[tuple[float, float]] = field(default_factory=list)  # m, a

    def __call__(self, x: Any) -> Any:
        """Without the constant."""
        u = x - self.anchor
        value = sum((c * u**k for k, c in enumerate(self.powers, 1)), 0 * u)
        for m, r, a, b in self.pairs:
            value = value + u * (a + b * u) / ((x - m)**2 + r)
        for m, a in self.single:
            value = value + a * u / (x - m)
        return value

    def slope(self, x: Any) -> Any:
        u = x - self.anchor
        value = sum((k * c * u**(k - 1) for k, c in enumerate(self.powers, 1)), 0 * u)
        for m, r, a, b in self.pairs:
            d = (x - m)**2 + r
            value = value + (a + 2 * b * u - u * (a + b * u) * 2 * (x - m) / d) / d
        for m, a in self.single:
            value = value + a * (self.anchor - m) / (x - m)**2
        return value

    def text(self, x: str) -> str:
        """Without the constant; "" where nothing is left."""
        u = f"({x}-({self.anchor!r}))" if self.anchor else x
        terms = [f"({c!r})*{u}" + (f"^{k}" if k > 1 else "")
                 for k, c in enumerate(self.powers, 1) if c]
        terms += [f"{u}*(({a!r})+({b!r})*{u})/(({x}-({m!r}))^2+({r!r}))" for m, r, a, b in self.pairs]
        terms += [f"({a!r})*{u}/({x}-({m!r}))" for m, a in self.single]
        return "+".join(terms)


def polynomial(x: Any, y: Any, scale: Any, tolerance: float, anchor: float, free: bool) -> Piece | None:
    """Of degree 0 to 3, with short coefficients where they are as good; its constant is 0 if it is not
    `free`."""
    u = x - anchor
    for degree in range(4):
        basis = np.stack([u**k for k in range(0 if free else 1, degree + 1)] or [0 * u], 1)
        basis = basis / scale[:, None]
        size = np.maximum(np.abs(basis).max(0), 1e-300)
        found = np.linalg.lstsq(basis / size, y / scale, rcond=None)[0] / size
        if np.abs(basis @ found - y / scale).max() > tolerance:
            continue
        rounded = np.array([short(float(c), tolerance / (degree + 1) / float(one))
                          for c, one in zip(found, size)])
        if np.abs(basis @ rounded - y / scale).max() <= 2 * tolerance:
            found = rounded
        numbers = [float(c) for c in found]
        return Piece(anchor, numbers[0], numbers[1:]) if free else Piece(anchor, 0.0, numbers)
    return None


def _supports(x: Any, y: Any, weight: Any, tolerance: float) -> Iterator[tuple[float, Any, Any]]:
    """AAA, one support point more each time: the error, the points and their weights."""
    rest = np.ones(len(x), dtype=bool)
    value = np.full(len(x), np.average(y, weights=weight))
    chosen: list[int] = []
    if not np.abs(y).max():
        return
    for _ in range(min(MOST_TERMS, len(x) // 3)):
        chosen.append(int(np.where(rest, weight * np.abs(y - value), -1.0).argmax()))
        rest[chosen[-1]] = False
        cauchy = 1 / (x[rest, None] - x[chosen][None, :])
        loewner = weight[rest, None] * (y[rest, None] - y[chosen][None, :]) * cauchy
        w = np.linalg.svd(loewner, full_matrices=False)[2][-1]
        value = y.copy()
        with np.errstate(all="ignore"):
            value[rest] = (cauchy @ (w * y[chosen])) / (cauchy @ w)
        value[~np.isfinite(value)] = 0
        if not np.isfinite(w).all():
            return
        worst = float((weight * np.abs(value - y)).max())
        yield worst, x[chosen], w
        if worst <= tolerance:
            return


def _poles(z: Any, w: Any) -> Any:
    """Zeros of sum w/(x - z): eigenvalues of diag(z) without the direction of 1."""
    total = w.sum() or 2.0**-60
    matrix = np.diag(z) - np.outer(np.ones(len(z)), w * z) / total
    found = np.linalg.eigvals(matrix).astype(complex)
    found = np.delete(found, np.abs(found).argmin())
    for _ in range(4):
        with np.errstate(all="ignore"):
            c = 1 / (found[:, None] - z[None, :])
            step = (c @ w) / (c**2 @ w)
        found = np.where(np.isfinite(step) & (np.abs(step) < 0.01 * np.abs(found)), found + step, found)
    return found


def fractions(x: Any, y: Any, scale: Any, tolerance: float, ends: tuple[float, float], growth: int,
              anchor: float, free: bool) -> tuple[float, Piece]:
    """The best that has no pole in the piece, and its error."""
    best = (math.inf, Piece(anchor, 0.0, []))
    for error, z, w in _supports(x, y, 1 / scale, tolerance):
        if len(z) < 2 or error > 1e-2 or error > 30 * best[0]:
            continue
        made = _with_poles(x, y, scale, _poles(z, w), ends, growth, anchor, free)
        worst = float((np.abs(made(x) + made.constant - y) / scale).max())
        if worst < best[0]:
            best = (worst, made)
        if worst <= 2 * tolerance:
            break
    return best


def _with_poles(x: Any, y: Any, scale: Any, poles: Any, ends: tuple[float, float], growth: int,
                anchor: float, free: bool) -> Piece:
    low, high = ends
    far = 1e3 * (1 + np.abs(x).max())
    real = np.abs(poles.imag) <= 1e-13 * (1 + np.abs(poles))
    margin = 1e-9 * (1 + min(abs(low), abs(high)))
    single = [float(p.real) for p in poles[real]
              if abs(p) < far and not low - margin <= p.real <= high + margin]
    pairs = [(float(p.real), float(p.imag)) for p in poles[~real] if p.imag > 0 and abs(p) < far]
    u = x - anchor
    basis = ([np.ones_like(u)] if free else []) + [u**k for k in range(1, growth + 1)]
    first = len(basis)
    for m, r in pairs:
        d = (x - m)**2 + r * r
        basis += [u / d, u * u / d]
    basis += [u / (x - m) for m in single]
    if not basis:
        return Piece(anchor, 0.0, [])
    table = np.stack(basis, 1) / scale[:, None]
    size = np.abs(table).max(0)
    c = [float(one) for one in np.linalg.lstsq(table / size, y / scale, rcond=1e-15)[0] / size]
    made = Piece(anchor, c[0] if free else 0.0, c[int(free):first])
    for k, (m, r) in enumerate(pairs):
        made.pairs.append((m, r * r, c[first + 2 * k], c[first + 2 * k + 1]))
    made.single = list(zip(single, c[first + 2 * len(pairs):]))
    return made
