#!/usr/bin/env python3
"""Reference digits for the closed forms of Gaussian moments, made with mpmath by direct quadrature
(no formula and no code shared with scalecalc).

Writes closed_form.csv beside this file: activation, moment, q, mu, c, value. Values are means over
u ~ N(mu, q), and over a pair of them with correlation c, by Gauss-Legendre rules on short pieces
that end at the kinks; two orders of the rule must agree to the digits that are written.
"""
import csv
import pathlib
from operator import mul

from mpmath import mp, mpf
import mpmath as m

DIGITS_1D, DIGITS_2D = 30, 22
mp.dps = 45
R = lambda p, q=1: mpf(p) / q


def Phi(x):
    return m.erfc(-x / m.sqrt(2)) / 2


def density(x):
    return m.exp(-x * x / 2) / m.sqrt(2 * m.pi)


K1, K2, KE = m.erfc(1 / m.sqrt(2)), m.erfc(m.sqrt(2)), m.e
SELU_ALPHA = m.sqrt(2 / m.pi) / (1 - K1 * m.sqrt(KE))
SELU_SCALE = 1 / m.sqrt(
    R(1, 2) + SELU_ALPHA ** 2 * (R(1, 2) + KE ** 2 * K2 / 2 - m.sqrt(KE) * K1))

# name: (kinks, value, slope); the slope is that almost everywhere
ACTIVATIONS = {
    "identity": ([], lambda x: x, lambda x: mpf(1)),
    "relu": ([0], lambda x: max(x, 0), lambda x: mpf(x > 0)),
    "leaky_relu": ([0], lambda x: x if x > 0 else x / 100, lambda x: mpf(1) if x > 0 else R(1, 100)),
    "relu6": ([0, 6], lambda x: min(max(x, 0), 6), lambda x: mpf(0 < x < 6)),
    "relu_squared": ([0], lambda x: max(x, 0) ** 2, lambda x: 2 * max(x, 0)),
    "elu": ([0], lambda x: x if x > 0 else m.expm1(x), lambda x: mpf(1) if x > 0 else m.exp(x)),
    "selu": ([0], lambda x: SELU_SCALE * (x if x > 0 else SELU_ALPHA * m.expm1(x)),
             lambda x: SELU_SCALE * (1 if x > 0 else SELU_ALPHA * m.exp(x))),
    "celu": ([0], lambda x: x if x > 0 else m.expm1(x), lambda x: mpf(1) if x > 0 else m.exp(x)),
    "gelu": ([], lambda x: x * Phi(x), lambda x: Phi(x) + x * density(x)),
    "hard_sigmoid": ([-3, 3], lambda x: min(max(x + 3, 0), 6) / 6,
                     lambda x: R(1, 6) if -3 < x < 3 else mpf(0)),
    "hard_tanh": ([-1, 1], lambda x: min(max(x, -1), 1), lambda x: mpf(-1 < x < 1)),
    "softshrink": ([R(-1, 2), R(1, 2)],
                   lambda x: x - R(1, 2) if x > 0.5 else x + R(1, 2) if x < -0.5 else mpf(0),
                   lambda x: mpf(abs(x) > 0.5)),
    "hardshrink": ([R(-1, 2), R(1, 2)], lambda x: x if abs(x) > 0.5 else mpf(0),
                   lambda x: mpf(abs(x) > 0.5)),
    "hard_swish": ([-3, 3], lambda x: x * min(max(x + 3, 0), 6) / 6,
                   lambda x: mpf(0) if x < -3 else mpf(1) if x > 3 else (2 * x + 3) / 6),
    "erf": ([], m.erf, lambda x: 2 / m.sqrt(m.pi) * m.exp(-x * x)),
    "sin": ([], m.sin, m.cos),
    "cos": ([], m.cos, lambda x: -m.sin(x)),
    "gaussian": ([], lambda x: m.exp(-x * x / 2), lambda x: -x * m.exp(-x * x / 2)),
    "abs": ([0], abs, lambda x: mpf(m.sign(x))),
    "square": ([], lambda x: x * x, lambda x: 2 * x),
    "exp": ([], m.exp, m.exp),
}
JUMPS = {"hardshrink"}
NO_FOURTH = {"gelu", "erf"}

INPUTS_1D = [(R(1), R(0)), (R(1, 4), R(0)), (R(4), R(1, 2)), (R(1, 64), R(-1, 2)), (R(1), R(-3)),
             (R(16), R(1))]
INPUTS_2D = [(R(1), R(0), R(1, 2)), (R(4), R(1, 2), R(-3, 4)), (R(1, 4), R(-1, 2), R(7, 8)),
             (R(1), R(0), R(-7, 8))]
LEGENDRE = {}


def rule(order):
    """Nodes and weights of Gauss-Legendre on [-1, 1], by Newton's method."""
    if order not in LEGENDRE:
        pairs = []
        for k in range(order):
            x = m.cos(m.pi * (k + R(3, 4)) / (order + R(1, 2)))
            for _ in range(8):
                p0, p1 = mpf(1), x
                for n in range(2, order + 1):
                    p0, p1 = p1, ((2 * n - 1) * x * p1 - (n - 1) * p0) / n
                slope = order * (x * p1 - p0) / (x * x - 1)
                x -= p1 / slope
            pairs.append((x, 2 / ((1 - x * x) * slope ** 2)))
        LEGENDRE[order] = pairs
    return LEGENDRE[order]


def nodes(low, high, kinks, step, order):
    """Nodes and weights on [low, high], on pieces no longer than step."""
    inner = sorted(mpf(k) for k in kinks if low < k < high)
    ends = [low] + inner + [high]
    points = []
    for a, b in zip(ends, ends[1:]):
        count = int(m.ceil((b - a) / step))
        for k in range(count):
            half = (b - a) / count / 2
            centre = a + (2 * k + 1) * half
            points += [(centre + half * x, half * w) for x, w in rule(order)]
    return points


def agree(fine, coarse, scale, digits):
    assert abs(fine - coarse) <= mpf(10) ** (-digits - 1) * scale, (fine, coarse)


def text(value, digits, scale):
    """Without the digits that are noise beside the scale; 0 where nothing is left."""
    if abs(value) < mpf(10) ** (-digits) * scale:
        return "0"
    return m.nstr(value, digits, min_fixed=-m.inf, max_fixed=m.inf, strip_zeros=False)


def moments_1d(name, q, mu):
    kinks, value, slope = ACTIVATIONS[name]
    s = m.sqrt(q)
    reach, growth = 16 * s, 4 * q if name == "exp" else 0
    totals = []
    step = min(2 * s, mpf(2))
    for order in (28, 34):
        sums, sizes = [mpf(0)] * 5, [mpf(0)] * 5
        for x, w in nodes(mu - reach, mu + reach + growth, kinks, step, order):
            w *= density((x - mu) / s) / s
            f, d = value(x), slope(x)
            for k, term in enumerate((f, f * f, d, d * d, f ** 4)):
                sums[k] += w * term
                sizes[k] += w * abs(term)
        totals.append((sums, sizes))
    rows = []
    for k, moment in enumerate(("mean", "second", "slope_mean", "slope_second", "fourth")):
        if moment == "slope_second" and name in JUMPS or moment == "fourth" and name in NO_FOURTH:
            continue
        fine, coarse, size = totals[1][0][k], totals[0][0][k], totals[1][1][k]
        if size == 0:
            continue
        agree(fine, coarse, abs(fine) if abs(fine) > size * mpf(10) ** -8 else size, DIGITS_1D)
        rows.append((name, moment, q, mu, None, text(fine, DIGITS_1D, size)))
    return rows


BITS = 140
ONE = 1 << BITS


def fixed(value):
    return int(m.nint(value * ONE))


def pair_average(q, mu, c, order):
    """f -> E f(u) f(v): the joint density on one grid for all of them, in fixed point."""
    s, rest = m.sqrt(q), 1 - c * c
    kinks = {k for kinks, _, _ in ACTIVATIONS.values() for k in kinks}
    points = nodes(mu - 11 * s, mu + 11 * s, kinks, min(R(5, 4) * s, mpf(2)), order)
    x = [(p - mu) / s for p, _ in points]
    w = [p[1] / s for p in points]
    scale = 1 / (2 * m.pi * m.sqrt(rest))
    rows = [[0] * len(x) for _ in x]
    for i in range(len(x)):
        for j in range(i + 1):
            exponent = (x[i] ** 2 - 2 * c * x[i] * x[j] + x[j] ** 2) / (2 * rest)
            if exponent < 75:
                rows[i][j] = rows[j][i] = fixed(scale * w[i] * w[j] * m.exp(-exponent))
    at = [p for p, _ in points]

    def average(f):
        values = [fixed(f(p)) for p in at]
        total = sum(v * (sum(map(mul, row, values)) >> BITS) for v, row in zip(values, rows))
        return mpf(total >> BITS) / ONE

    return average


def moments_2d(q, mu, c):
    averages = [pair_average(q, mu, c, order) for order in (18, 22)]
    rows = []
    for name, (_, value, slope) in ACTIVATIONS.items():
        if name == "exp":  # grows past the grid; it is exp of a normal variable
            continue
        for moment, f in ("cross", value), ("slope_cross", slope):
            coarse, fine = (average(f) for average in averages)
            scale = max(abs(fine), mpf(10) ** -6)
            agree(fine, coarse, scale, DIGITS_2D)
            rows.append((name, moment, q, mu, c, text(fine, DIGITS_2D, scale)))
    return rows


def exact(value):
    if value is None:
        return ""
    for below in (1, 2, 4, 8, 64):
        if value * below == int(value * below):
            return str(int(value * below)) + (f"/{below}" if below > 1 else "")
    raise ValueError(value)


def main():
    rows = [row for q, mu in INPUTS_1D for name in ACTIVATIONS for row in moments_1d(name, q, mu)]
    rows += [row for q, mu, c in INPUTS_2D for row in moments_2d(q, mu, c)]
    path = pathlib.Path(__file__).with_name("closed_form.csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["activation", "moment", "q", "mu", "c", "value"])
        for name, moment, q, mu, c, value in rows:
            writer.writerow([name, moment, exact(q), exact(mu), exact(c), value])


if __name__ == "__main__":
    main()
