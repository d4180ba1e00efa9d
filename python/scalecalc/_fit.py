"""A function of one number that is known by its values alone, as an expression in x: between its kinks and
jumps, which bisection finds, a polynomial of low degree or a sum of simple fractions.

Far out, where a function may have another growth on each side, it has pieces of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._rational import Piece, fractions, polynomial, short

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = 16  # of a panel
MOST_PANELS = 6000
NARROW = 1e-4  # panels below this share of 1 + |x| have a kink inside: smooth functions need none
MOST_NODES = 900  # of a piece
MOST_PLACES = 48
FAR = (300.0, 64.0)  # as far as it is looked at, where it has values there
NEAR = (20.0, 12.0, 8.0)  # pieces that do not end are cut at one of these
STRAIGHT = (10.0, 20.0, 40.0)  # where tails of exponentials and bells have ended
GOOD = 1e-9  # an error for which a piece is not made shorter
MOST_ERROR = 1e-4
COARSE = 30.0  # the other fit's tolerance over this one's
_ANGLES = np.arange(NODES + 1) * np.pi / NODES
_CHEBYSHEV = -np.cos(_ANGLES)  # with both ends, beside which a kink would not be seen else
_HALF_AT_ENDS = np.where(np.arange(NODES + 1) % NODES == 0, 0.5, 1.0)
_TO_COEFFICIENTS = np.cos(np.outer(np.arange(NODES + 1), np.pi - _ANGLES)) * _HALF_AT_ENDS * 2 / NODES


class NotFitted(Exception):
    """Why there is no expression."""


@dataclass
class Panels:
    """Where the function was looked at, and the places where it is not smooth."""

    x: list[Any] = field(default_factory=list)
    y: list[Any] = field(default_factory=list)
    narrow: list[tuple[float, float, bool]] = field(default_factory=list)  # and whether it jumps
    count: int = 0


def look(f: Callable[[Any], Any], low: float, high: float, noise: float) -> Panels:
    """Bisects until a polynomial of degree 16 is the function to `noise`, or a panel cannot be halved."""
    found = Panels()
    ends = np.arcsinh([low, high])
    edges = np.sinh(np.linspace(ends[0], ends[1], 24))
    todo = [(float(a), float(b)) for a, b in zip(edges, edges[1:])]
    near = f(np.linspace(-3, 3, 61))
    least = float(np.abs(near).max()) / 8
    while todo:
        centres = np.array([(a + b) / 2 for a, b in todo])
        halves = np.array([(b - a) / 2 for a, b in todo])
        x = centres[:, None] + halves[:, None] * _CHEBYSHEV
        y = f(x.reshape(-1)).reshape(x.shape)
        found.x.append(x.reshape(-1))
        found.y.append(y.reshape(-1))
        found.count += len(todo)
        if found.count > MOST_PANELS:
            raise NotFitted("it is not smooth at too many places")
        rest: list[tuple[float, float]] = []
        for (a, b), values in zip(todo, y):
            coefficients = np.abs(_TO_COEFFICIENTS @ values)
            size = float(np.abs(values).max())
            step = float(np.abs(np.diff(values)).max())
            # The rounding of x moves the function by its slope.
            allowed = 8 * noise * (max(size, least) + step * (abs(a) + abs(b)) / (b - a)) + 1e-300
            width = (b - a) / (1 + abs(a))
            smooth = bool(coefficients[-3:].max() <= allowed)
            if smooth or width < 4e-15:
                if width < NARROW:
                    found.narrow.append((a, b, not smooth))
                continue
            middle = a + (b - a) * 0.5078125
            rest += [(a, middle), (middle, b)]
        todo = rest
    return found


def places_of(found: Panels) -> list[tuple[float, float, float]]:
    """Of each group of narrow panels the place inside the narrowest, with the ends of these."""
    groups: list[list[tuple[float, float, bool]]] = []
    for one in sorted(found.narrow):
        last = groups[-1] if groups else None
        if last and one[0] - max(p[1] for p in last) <= NARROW * (1 + abs(one[0])):
            last.append(one)
        else:
            groups.append([one])
    made = []
    for group in groups:
        # Of the last two halves one has it, and both are as narrow.
        width = 1.5 * min(b - a for a, b, _ in group)
        last_ones = [(a, b) for a, b, jumps in group if b - a <= width or jumps]
        low, high = min(a for a, _ in last_ones), max(b for _, b in last_ones)
        made.append((short((low + high) / 2, (high - low) / 2), low, high))
    return made


def noise_of(f: Callable[[Any], Any]) -> float:
    """Rounding of its values, as a share of |f| + |x f'|, by differences of high order over points so
    near that it is a polynomial there (More and Wild, SIAM J. Sci. Comput. 33, 1292, 2011)."""
    order, worst = 6, 2.0**-52
    found = []
    for centre in (-7.31, -2.57, -1.13, -0.37, 0.29, 0.83, 1.91, 3.37, 8.11):
        x = centre * (1 + 1e-4 * np.arange(-8, 9))
        y = f(x)
        size = float(np.abs(y).max()) + float(np.abs(np.gradient(y, x)).max()) * abs(centre)
        if size == 0:
            continue
        differences = np.diff(y, order)
        scale = math.sqrt(math.comb(2 * order, order))
        found.append(float(np.sqrt(np.mean(differences**2))) / scale / size)
    found.sort()
    # A kink among the points makes a few large.
    return max(worst, found[len(found) // 2] * 2) if found else worst


@dataclass
class Fit:
    """Pieces between places, from the `base` outwards: each is anchored where the last one ends, and goes
    on from there, or jumps."""

    places: list[float]
    jumps: list[float]  # f just above less f just below
    pieces: list[Piece]
    base: int
    growth: int
    size: float  # of |f| over |x| < 3

    def scale(self, x: Any) -> Any:
        """What its error is a share of."""
        return self.size * (1 + x * x)**(self.growth / 2)

    def _held(self, k: int, x: Any) -> Any:
        """x between the ends of the piece."""
        low = self.places[k - 1] if k else -math.inf
        high = self.places[k] if k < len(self.places) else math.inf
        return np.clip(x, low, high)

    def __call__(self, x: Any) -> Any:
        value = self.pieces[self.base].constant + 0 * x
        for k, piece in enumerate(self.pieces):
            value = value + piece(self._held(k, x))
        for k, (place, jump) in enumerate(zip(self.places, self.jumps)):
            value = value + jump * (x > place if k >= self.base else -1.0 * (x < place))
        return value

    def slope(self, x: Any) -> Any:
        value = 0 * x
        for k, piece in enumerate(self.pieces):
            held = self._held(k, x)
            value = value + piece.slope(held) * (held == x)
        return value

    def text(self) -> str:
        constant = self.pieces[self.base].constant
        parts = [f"({constant!r})"] if constant else []
        for k, piece in enumerate(self.pieces):
            held = "x" if k == 0 else f"max(x,{self.places[k - 1]!r})"
            held = held if k == len(self.places) else f"min({held},{self.places[k]!r})"
            parts += [text] if (text := piece.text(held)) else []
        for k, (place, jump) in enumerate(zip(self.places, self.jumps)):
            if jump and k >= self.base:
                parts.append(f"({jump!r})*step(x-({place!r}))")
            elif jump:
                parts.append(f"({-jump!r})*step(({place!r})-x)")
        return "+".join(parts) or "0*x"


def _check_slope(f: Callable[[Any], Any], place: float) -> None:
    """Beside a kink the slope settles; that of |x|^(1/2) grows with every step towards 0."""
    steps = (1 + abs(place)) * np.array([1e-3, 1e-5, 1e-7])
    for sign in (-1.0, 1.0):
        rises = np.abs(f(place + 2 * sign * steps) - f(place + sign * steps)) / steps
        if rises[2] > 2 * rises[1] > 4 * rises[0]:
            raise NotFitted(f"its slope has no bound at x = {place:.6g}")


class _Fitter:
    """Of one function, with the points that it was looked at."""

    def __init__(self, f: Callable[[Any], Any], far: float, noise: float) -> None:
        self.f, self.far = f, far
        self.worst, self.known = 0.0, far
        # The ends are no numbers at which a function is likely to have a kink.
        found = look(f, -40.1234, 39.8766, noise)
        x = np.concatenate(found.x)
        y = np.concatenate(found.y)
        out = np.geomspace(40.5, far, 60)
        tails = np.concatenate([-out, out])
        x, y = np.concatenate([x, tails]), np.concatenate([y, f(tails)])
        order = np.argsort(x)
        self.x, self.y = x[order], y[order]
        self.groups = places_of(found)
        if len(self.groups) > MOST_PLACES:
            raise NotFitted(f"it has {len(self.groups)} kinks and jumps or more")
        for place, _, _ in self.groups:
            _check_slope(f, place)
        for _, a, b in self.groups:
            inside = (self.x >= a) & (self.x <= b)
            self.x, self.y = self.x[~inside], self.y[~inside]
        self.is_zero_at_zero = float(f(np.array([0.0]))[0]) == 0
        near = np.abs(self.x) < 3
        self.size = float(np.abs(self.y[near]).max()) or float(np.abs(self.y).max()) or 1.0
        self.growth = self._growth()

    def _growth(self) -> int:
        """The whole power that it grows with."""
        powers = [0.0]
        for sign in (-1.0, 1.0):
            inner, outer = (float(np.abs(self.y[(self.x * sign > a) & (self.x * sign < b)]).max())
                            for a, b in ((4, 8), (self.far / 2, self.far * 1.01)))
            if outer > self.size:
                powers.append(math.log(outer / max(inner, self.size / 8)) / math.log(self.far / 8))
        if max(powers) > 6:
            raise NotFitted("it grows faster than x^6")
        return round(max(powers))

    def _inside(self, low: float, high: float) -> tuple[Any, Any, Any]:
        """Points of a piece, with some in between those of the panels."""
        a, b = max(low, -self.far), min(high, self.far)
        more = np.sinh(np.linspace(math.asinh(a), math.asinh(b), 163)[1:-1])
        kept = (self.x > low) & (self.x < high)
        x, y = self.x[kept], self.y[kept]
        if len(x) > MOST_NODES:
            chosen = np.linspace(0, len(x) - 1, MOST_NODES).astype(int)
            x, y = x[chosen], y[chosen]
        x, y = np.concatenate([x, more]), np.concatenate([y, self.f(more)])
        x, first = np.unique(x, return_index=True)
        return x, y[first], self.size * (1 + x * x)**(self.growth / 2)

    def _rational(self, low: float, high: float, tolerance: float,
                  anchor: float | None) -> tuple[float, Piece]:
        """Anchored at an end, or at 0 where the function is 0 there: what is near a root has its digits."""
        x, y, scale = self._inside(low, high)
        free = anchor is not None or not self.is_zero_at_zero
        anchor = anchor or 0.0
        simple = polynomial(x, y, scale, tolerance, anchor, free)
        if simple is not None:
            return tolerance, simple
        return fractions(x, y, scale, tolerance, (low, high), self.growth, anchor, free)

    def _tail(self, at: float, tolerance: float, off: float) -> tuple[list[float], list[Piece]]:
        """Beyond `at`: places and pieces, outwards. Where no expression is found a line; `off` times
        what it is off is added from one unit on."""
        sign = math.copysign(1.0, at)
        low, high = (at, math.inf) if at > 0 else (-math.inf, at)
        error, piece = self._rational(low, high, tolerance, at)
        if error < 1e3 * tolerance + GOOD:
            return [], [piece]
        x, y, _ = self._inside(low, high)
        begin, end = float(self.f(np.array([at]))[0]), float(y[-1] if at > 0 else y[0])
        slope = (end - begin) / (sign * self.far - at) if self.growth else 0.0
        wrong = float(np.abs(begin + slope * (x - at) - y).max())
        if wrong > 1e-6 * self.size:
            self.known = min(self.known, abs(at))
        if wrong == 0 or off == 0:
            return [], [Piece(at, begin, [slope])]
        return [at + sign], [Piece(at, begin, [slope + sign * off * wrong]), Piece(at + sign, 0.0, [slope])]

    def _straight_from(self, sign: float, end: float, tolerance: float) -> tuple[float, Piece] | None:
        """Where a polynomial begins that goes on for ever."""
        for at in (sign * one for one in STRAIGHT if one > sign * end):
            x, y, scale = self._inside(*((at, math.inf) if sign > 0 else (-math.inf, at)))
            piece = polynomial(x, y, scale, tolerance, at, True)
            if piece is not None:
                return at, piece
        return None

    def _between(self, low: float, high: float, tolerance: float, off: float,
                 anchor: float | None) -> tuple[list[float], list[Piece], int]:
        """Of one smooth piece: the places where it is cut, its pieces, and which is the innermost."""
        whole, piece = self._rational(low, high, tolerance, anchor)
        is_simple = whole <= 4 * tolerance and not piece.pairs and not piece.single
        if is_simple or math.isfinite(low) and math.isfinite(high):
            self.worst = max(self.worst, whole)
            return [], [piece], 0
        left = None if math.isfinite(low) else self._straight_from(-1.0, high, tolerance)
        right = None if math.isfinite(high) else self._straight_from(1.0, low, tolerance)
        cuts = [(low if left is None else left[0], high if right is None else right[0])]
        if cuts[0] == (low, high):
            cuts = []
            if whole <= 4 * tolerance:
                self.worst = max(self.worst, whole)
                return [], [piece], 0
        cuts += [(max(low, -near) if low < near else low, min(high, near) if high > -near else high)
                 for near in NEAR]
        best: tuple[float, float, float, Piece] | None = None
        for a, b in cuts:
            error, piece = self._rational(a, b, tolerance, anchor)
            if best is None or error < best[0]:
                best = (error, a, b, piece)
            if error <= max(4 * tolerance, GOOD):
                break
        assert best is not None
        error, a, b, piece = best
        self.worst = max(self.worst, error)
        places: list[float] = []
        pieces = [piece]
        inner = 0
        if a > low:
            cut, outer = self._tail(a, tolerance, off)
            places, pieces, inner = [*cut[::-1], a], [*outer[::-1], piece], len(outer)
        if b < high:
            cut, outer = self._tail(b, tolerance, off)
            places, pieces = [*places, b, *cut], [*pieces, *outer]
        return places, pieces, inner

    def fit(self, tolerance: float, off: float = 0.0) -> Fit:
        self.worst, self.known = tolerance, self.far
        ends = [-math.inf, *(place for place, _, _ in self.groups), math.inf]
        base_at = sum(end <= 0 for end in ends[1:-1])
        places: list[float] = []
        pieces: list[Piece] = []
        base = 0
        for k, (low, high) in enumerate(zip(ends, ends[1:])):
            places += [low] if pieces else []
            anchor = None if k == base_at else low if k > base_at else high
            cut, made, inner = self._between(low, high, tolerance, off, anchor)
            if k == base_at:
                base = len(pieces) + inner
            places += cut
            pieces += made
        return Fit(places, self._jumps(places, pieces), pieces, base, self.growth, self.size)

    def _jumps(self, places: list[float], pieces: list[Piece]) -> list[float]:
        sudden = {place for place, _, _ in self.groups}
        continuous = 100 * self.worst * self.size + 1e-9 * self.size

        def value(piece: Piece, place: float) -> float:
            return piece.constant + float(piece(place))

        found = []
        for place, left, right in zip(places, pieces, pieces[1:]):
            step = value(right, place) - value(left, place)
            step = short(step, 1e-14 * abs(value(left, place)) + 1e-15 * self.size)
            found.append(step if place in sudden and abs(step) > continuous else 0.0)
        return found


@dataclass
class Fitted:
    """A function's fit, a coarser one beside it, and how far the first is off."""

    fit: Fit
    coarse: Fit
    value_error: float  # of size (1 + x^2)^(growth/2)
    slope_error: float
    known: float  # |x| up to which that holds


def _off_differences(f: Callable[[Any], Any], fit: Fit, x: Any, known: float) -> float:
    """How far the slope is from differences of the function, past what two steps say of these."""
    away = np.full(len(x), known) - np.abs(x)
    for place in fit.places:
        away = np.minimum(away, np.abs(x - place))
    x = x[away > 0.01 * (1 + np.abs(x))][:400]
    found = []
    for step in (0.004, 0.002):
        h = step * (1 + np.abs(x))
        found.append((8 * (f(x + h) - f(x - h)) - f(x + 2 * h) + f(x - 2 * h)) / (12 * h))
    off = np.abs(fit.slope(x) - found[1]) - 2 * np.abs(found[1] - found[0])
    return float((np.maximum(off, 0.0) / fit.scale(x)).max(initial=0.0))


def fitted(f: Callable[[Any], Any], count: int) -> Fitted:
    """`count` points of its own say how far it is off. Raises NotFitted."""
    noise = noise_of(f)
    far = next((one for one in FAR if np.isfinite(f(np.array([-one, one]))).all()), 41.0)
    fitter = _Fitter(f, far, noise)
    tolerance = max(1e-13, 4 * noise)
    fit = fitter.fit(tolerance)
    known = fitter.known
    coarse = fitter.fit(COARSE * fitter.worst, 1.0)
    generator = np.random.default_rng(0)
    x = np.concatenate([generator.normal(size=count // 4) * size for size in (0.3, 1.0, 3.0, 9.0)])
    x = x[np.abs(x) < known]
    kept = np.abs(fitter.x) < known
    x, y = np.concatenate([x, fitter.x[kept]]), np.concatenate([f(x), fitter.y[kept]])
    scale = fit.scale(x)
    value_error = max(noise, float((np.abs(fit(x) - y) / scale).max()))
    slope_error = max(float((np.abs(fit.slope(x) - coarse.slope(x)) / scale).max()),
                      _off_differences(f, fit, x[:count], known))
    if value_error > MOST_ERROR:
        raise NotFitted(f"it is not smooth: an expression would be {value_error:.1g} off")
    return Fitted(fit, coarse, value_error, slope_error, known)
