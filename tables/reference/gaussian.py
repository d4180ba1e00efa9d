#!/usr/bin/env python3
"""Gaussian moments of every registered activation to 32 digits, by mpmath: gaussian.csv.

Writes gaussian.csv beside this file, in less than a minute. Activations and slopes are written out
here, apart from the program's own expressions; slopes are those almost everywhere. One variable:
Gauss-Legendre rules on panels between the kinks, powers of 3 and a grid of the density's width.
Pairs: the trapezoidal rule on a square grid for analytic activations (its error falls as
exp(-2 pi d/h), d the distance of the nearest pole, h the step), published formulas for others.
What is integrated is integrated at two resolutions; where they differ, it stops.
"""
import functools
import multiprocessing
import pathlib
import sys

from mpmath import mp, mpf, nstr, inf, pi, sqrt, exp, tanh, sin, cos, erf, erfc, asin, acos

DIGITS = 32
mp.dps = 48

ONE = mpf(1)


def sigmoid(x):
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


def sigmoid_slope(x):
    e = exp(-abs(x))
    return e / (1 + e) ** 2


def softplus(x):
    return max(x, 0) + mp.log1p(exp(-abs(x)))


def density(x):
    return exp(-x * x / 2) / sqrt(2 * pi)


def probability(x):
    return erfc(-x / sqrt(mpf(2))) / 2


def sech2(x):
    e = exp(-2 * abs(x))
    return 4 * e / (1 + e) ** 2


def tanh_cubic(x):
    a, b = sqrt(2 / pi), mpf("0.044715")
    t = a * (x + b * x ** 3)
    return tanh(t), sech2(t) * a * (1 + 3 * b * x * x)


def mish_slope(x):
    return tanh(softplus(x)) + x * sech2(softplus(x)) * sigmoid(x)


def tanhshrink(x):
    if abs(x) > mpf("1e-3"):
        return x - tanh(x)
    with mp.extradps(30):
        return x - tanh(x)


SELU_ALPHA = sqrt(2 / pi) / (1 - erfc(1 / sqrt(mpf(2))) * exp(mpf("0.5")))
SELU_SCALE = 1 / sqrt(ONE / 2 + SELU_ALPHA ** 2 * (
    exp(mpf(2)) * erfc(sqrt(mpf(2))) / 2 - exp(mpf("0.5")) * erfc(1 / sqrt(mpf(2))) + ONE / 2))
HALF = ONE / 2
SIXTH = ONE / 6
LEAK = mpf("0.01")
STEEP = mpf("1.702")
# name: (phi, slope, kinks)
ACTIVATIONS = {
    "identity": (lambda x: x, lambda x: ONE, []),
    "relu": (lambda x: max(x, 0), lambda x: ONE * (x > 0), [0]),
    "leaky_relu": (lambda x: x if x > 0 else LEAK * x, lambda x: ONE if x > 0 else LEAK, [0]),
    "prelu": (lambda x: x if x > 0 else x / 4, lambda x: ONE if x > 0 else ONE / 4, [0]),
    "relu6": (lambda x: min(max(x, 0), 6), lambda x: ONE * (0 < x < 6), [0, 6]),
    "relu_squared": (lambda x: max(x, 0) ** 2, lambda x: 2 * max(x, 0), [0]),
    "elu": (lambda x: x if x > 0 else mp.expm1(x), lambda x: ONE if x > 0 else exp(x), [0]),
    "selu": (lambda x: SELU_SCALE * (x if x > 0 else SELU_ALPHA * mp.expm1(x)),
             lambda x: SELU_SCALE * (ONE if x > 0 else SELU_ALPHA * exp(x)), [0]),
    "celu": (lambda x: x if x > 0 else mp.expm1(x), lambda x: ONE if x > 0 else exp(x), [0]),
    "gelu": (lambda x: x * probability(x), lambda x: probability(x) + x * density(x), []),
    "gelu_tanh": (lambda x: x / 2 * (1 + tanh_cubic(x)[0]),
                  lambda x: (1 + tanh_cubic(x)[0] + x * tanh_cubic(x)[1]) / 2, []),
    "quick_gelu": (lambda x: x * sigmoid(STEEP * x),
                   lambda x: sigmoid(STEEP * x) + STEEP * x * sigmoid_slope(STEEP * x), []),
    "silu": (lambda x: x * sigmoid(x), lambda x: sigmoid(x) + x * sigmoid_slope(x), []),
    "mish": (lambda x: x * tanh(softplus(x)), mish_slope, []),
    "sigmoid": (sigmoid, sigmoid_slope, []),
    "log_sigmoid": (lambda x: -softplus(-x), lambda x: sigmoid(-x), []),
    "softplus": (softplus, sigmoid, []),
    "tanh": (tanh, sech2, []),
    "softsign": (lambda x: x / (1 + abs(x)), lambda x: 1 / (1 + abs(x)) ** 2, [0]),
    "erf": (erf, lambda x: 2 / sqrt(pi) * exp(-x * x), []),
    "hard_sigmoid": (lambda x: min(max(x + 3, 0), 6) / 6, lambda x: SIXTH * (abs(x) < 3), [-3, 3]),
    "hard_tanh": (lambda x: min(max(x, -1), 1), lambda x: ONE * (abs(x) < 1), [-1, 1]),
    "hard_swish": (lambda x: x * min(max(x + 3, 0), 6) / 6,
                   lambda x: ONE if x > 3 else 0 * x if x < -3 else (2 * x + 3) / 6, [-3, 3]),
    "tanhshrink": (tanhshrink, lambda x: tanh(x) ** 2, []),
    "softshrink": (lambda x: x - HALF if x > HALF else x + HALF if x < -HALF else 0 * x,
                   lambda x: ONE * (abs(x) > HALF), [-HALF, HALF]),
    "hardshrink": (lambda x: x if abs(x) > HALF else 0 * x,
                   lambda x: ONE * (abs(x) > HALF), [-HALF, HALF]),
    "sin": (sin, cos, []),
    "cos": (cos, lambda x: -sin(x), []),
    "gaussian": (lambda x: exp(-x * x / 2), lambda x: -x * exp(-x * x / 2), []),
    "abs": (abs, lambda x: ONE * mp.sign(x), [0]),
    "square": (lambda x: x * x, lambda x: 2 * x, []),
    "exp": (exp, exp, []),
}
POINTS = [("0", "1e-8"), ("0", "1e-4"), ("0", "1"), ("0", "9"), ("0", "1e4"), ("0", "1e8"),
          ("0.75", "1"), ("1.5", "1e-8"), ("1.5", "1e8")]
MOMENTS = ["mean", "second", "slope_mean", "slope_second", "fourth"]
KINKS = sorted({mpf(kink) for _, _, kinks in ACTIVATIONS.values() for kink in kinks})


@functools.cache
def legendre(count):
    """Nodes and weights on [-1, 1], by Newton's method."""
    rule = []
    for k in range(count):
        x, step = cos(pi * (k + mpf(3) / 4) / (count + HALF)), mpf(1)
        while abs(step) > mpf(10) ** (6 - mp.dps):
            p, before = x, ONE
            for n in range(2, count + 1):
                p, before = ((2 * n - 1) * x * p - (n - 1) * before) / n, p
            slope = count * (x * p - before) / (x * x - 1)
            step = p / slope
            x -= step
        rule.append((x, 2 / ((1 - x * x) * slope * slope)))
    return rule


def edges(mean, std):
    """Panel ends: all kinks, powers of 3 around 0, and steps of two standard deviations, up to
    where the density is below 1e-42 of its largest."""
    reach = 14
    places = {mean + k * std for k in range(-reach, reach + 1, 2)} | set(KINKS)
    places |= {sign * mpf(3) ** power for power in range(-1, 30) for sign in (-1, 1)}
    return sorted(place for place in places if abs(place - mean) <= reach * std)


@functools.cache
def nodes(mean, variance, count):
    """x and its share of the density."""
    std, found = sqrt(variance), []
    places = edges(mean, std)
    for low, high in zip(places, places[1:]):
        middle, half = (low + high) / 2, (high - low) / 2
        for t, weight in legendre(count):
            x = middle + half * t
            found.append((x, weight * half * density((x - mean) / std) / std))
    return found


def one_variable(phi, slope, mean, variance, count):
    sums = [mpf(0)] * 5
    for x, mass in nodes(mean, variance, count):
        y, dy = phi(x), slope(x)
        square, here = y * y, mass * y
        for k, term in enumerate((here, here * y, mass * dy, mass * dy * dy,
                                  mass * square * square)):
            sums[k] += term
    return dict(zip(MOMENTS, sums))


def waves(name, mean, variance):
    """sin, cos and exp: sums of exponentials, for which E exp(t u) is known."""
    if name == "exp":
        powers = {"mean": 1, "second": 2, "slope_mean": 1, "slope_second": 2, "fourth": 4}
        return {m: exp(k * mean + k * k * variance / 2) for m, k in powers.items()}

    def c(k):
        return cos(k * mean) * exp(-k * k * variance / 2)

    def s(k):
        return sin(k * mean) * exp(-k * k * variance / 2)

    if name == "sin":
        return {"mean": s(1), "second": (1 - c(2)) / 2, "slope_mean": c(1),
                "slope_second": (1 + c(2)) / 2, "fourth": (3 - 4 * c(2) + c(4)) / 8}
    return {"mean": c(1), "second": (1 + c(2)) / 2, "slope_mean": -s(1),
            "slope_second": (1 - c(2)) / 2, "fourth": (3 + 4 * c(2) + c(4)) / 8}


def trapezoid(function, c, step):
    """E f(u)f(v) at variance 1: the density factorises into powers on a square grid."""
    count = int(mpf("13.5") / step)
    places = range(-count, count + 1)
    fall = exp(-step * step / (2 * (1 - c * c)))
    values = [function(step * i) * fall ** (i * i) for i in places]
    mixed = exp(c * step * step / (1 - c * c))
    total = mpf(0)
    for i in places:
        ratio, row = mixed ** i, mpf(0)
        power = ratio ** -count
        for j in range(i + count):
            row += values[j] * power
            power *= ratio
        total += values[i + count] * (2 * row + values[i + count] * power)
    return total * step * step / (2 * pi * sqrt(1 - c * c))


def leaky(a):
    """max(x, 0) + a min(x, 0) by the arc-cosine kernels (Cho and Saul 2009)."""
    def cross(q, c):
        kernel = (sqrt(1 - c * c) + c * (pi - acos(c))) / (2 * pi)
        return q * ((1 - a) ** 2 * kernel + a * c)

    def slope_cross(q, c):
        return (1 - a) ** 2 * (pi - acos(c)) / (2 * pi) + a
    return cross, slope_cross


def relu_squared_cross(q, c):
    """The arc-cosine kernel of order 2."""
    root = sqrt(1 - c * c)
    return q * q * (3 * c * root + (pi - acos(c)) * (1 + 2 * c * c)) / (2 * pi)


# E f(u) f(v) and E f'(u) f'(v) at mean 0; of erf by Williams 1997.
PAIR_FORMULAS = {
    "relu": leaky(mpf(0)),
    "leaky_relu": leaky(LEAK),
    "prelu": leaky(ONE / 4),
    "abs": leaky(-ONE),
    "relu_squared": (relu_squared_cross, lambda q, c: 4 * leaky(mpf(0))[0](q, c)),
    "erf": (lambda q, c: 2 / pi * asin(2 * q * c / (1 + 2 * q)),
            lambda q, c: 4 / pi / sqrt((1 + 2 * q) ** 2 - (2 * q * c) ** 2)),
    "sin": (lambda q, c: exp(-q) * mp.sinh(q * c), lambda q, c: exp(-q) * mp.cosh(q * c)),
    "cos": (lambda q, c: exp(-q) * mp.cosh(q * c), lambda q, c: exp(-q) * mp.sinh(q * c)),
    "exp": (lambda q, c: exp(q * (1 + c)), lambda q, c: exp(q * (1 + c))),
    "square": (lambda q, c: q * q * (1 + 2 * c * c), lambda q, c: 4 * q * c),
    "gaussian": (lambda q, c: 1 / sqrt((1 + q) ** 2 - (q * c) ** 2),
                 lambda q, c: q * c / ((1 + q) ** 2 - (q * c) ** 2) ** mpf("1.5")),
}
ANALYTIC = ["gelu", "gelu_tanh", "quick_gelu", "silu", "mish", "tanh", "tanhshrink", "sigmoid",
            "softplus"]
CORRELATIONS = ["0.5", "-0.9", "0.99"]


def text(value):
    if value == 0:
        return "0"
    return nstr(value, DIGITS, strip_zeros=False, min_fixed=-inf, max_fixed=inf)


def checked(what, first, second, size):
    """`size`: what a vanishing value is measured by."""
    if abs(first - second) > mpf(10) ** -(DIGITS + 1) * max(abs(second), size):
        sys.exit(f"{what}: {nstr(first, 40)} and {nstr(second, 40)}")
    return second if abs(second) > mpf(10) ** -40 * size else mpf(0)


def rows_of_one(name):
    phi, slope, _ = ACTIVATIONS[name]
    for mean, variance in POINTS:
        mu, q = mpf(mean), mpf(variance)
        if name in ("sin", "cos", "exp"):
            with mp.workdps(90):
                runs = [waves(name, mpf(mean), mpf(variance))] * 2
        else:
            runs = [one_variable(phi, slope, mu, q, count) for count in (44, 54)]
        sizes = {"mean": sqrt(runs[1]["second"]), "slope_mean": sqrt(runs[1]["slope_second"])}
        if name == "exp":
            sizes = {}  # its mean is far below its root mean square, and exact
        for moment in MOMENTS:
            if name == "hardshrink" and moment == "slope_second":
                continue  # infinite
            what = f"{name},{moment},{mean},{variance},"
            value = checked(what, *(run[moment] for run in runs), sizes.get(moment, 0))
            if abs(value) < mpf(10) ** 300:  # else beyond double
                yield f"{what},{text(value)}"


def rows_of_pairs(name):
    phi, slope, _ = ACTIVATIONS[name]
    for c in CORRELATIONS:
        steps = [ONE / n for n in ((14, 16) if c == "0.99" else (10, 12))]
        for moment, function in (("cross", phi), ("slope_cross", slope)):
            what = f"{name},{moment},0,1,{c}"
            runs = [trapezoid(function, mpf(c), step) for step in steps]
            yield f"{what},{text(checked(what, *runs, ONE))}"


def rows_of_formulas(name):
    for variance in ("1e-4", "1", "9"):
        for c in CORRELATIONS:
            for moment, formula in zip(("cross", "slope_cross"), PAIR_FORMULAS[name]):
                yield f"{name},{moment},0,{variance},{c},{text(formula(mpf(variance), mpf(c)))}"


def rows(name):
    found = list(rows_of_one(name))
    if name in ANALYTIC:
        found += rows_of_pairs(name)
    if name in PAIR_FORMULAS:
        found += rows_of_formulas(name)
    return found


def main():
    lines = ["activation,moment,mean,variance,correlation,value"]
    with multiprocessing.Pool(2) as pool:
        for found in pool.imap(rows, ACTIVATIONS, chunksize=1):
            lines += found
    pathlib.Path(__file__).with_suffix(".csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
