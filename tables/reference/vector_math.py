"""Prints the polynomial coefficients of src/activation/vector_math (mpmath).

Interpolation at Chebyshev points, rewritten in powers and rounded to double:
    tail   (y + 5) exp(y^2/2) Q(y) in u, w = 1/(y + 5), 0 <= y <= 40
    erf    erf(x)/x in x^2, |x| <= 1
    log    (log((1 + s)/(1 - s)) - 2s)/s^3 in s^2, |s| <= 3 - 2 sqrt(2)
"""

from mpmath import cos, erf, erfc, exp, log, mp, mpf, pi, sqrt

mp.dps = 60
SHIFT, LAST = mpf(5), mpf(40)


def interpolate(f, low, high, degree):
    """Coefficients in t of f on [low, high], t in [-1, 1]."""
    count = degree + 1
    angles = [pi * (2 * j + 1) / (2 * count) for j in range(count)]
    values = [f((low + high) / 2 + (high - low) / 2 * cos(a)) for a in angles]
    powers = [mpf(0)] * count
    before, current = [], [mpf(1)]
    for k in range(count):
        weight = sum(v * cos(k * a) for v, a in zip(values, angles)) * (2 if k else 1) / count
        for i, c in enumerate(current):
            powers[i] += weight * c
        following = [mpf(0)] * (len(current) + 1)
        for i, c in enumerate(current):
            following[i + 1] += c if k == 0 else 2 * c
        for i, c in enumerate(before):
            following[i] -= c
        before, current = current, following
    return powers


def shifted(powers, low, high):
    """The same polynomial in x instead of t = (2x - low - high)/(high - low)."""
    scale, offset = 2 / (high - low), -(low + high) / (high - low)
    result = [mpf(0)]
    for c in reversed(powers):
        following = [mpf(0)] * (len(result) + 1)
        for i, r in enumerate(result):
            following[i] += r * offset
            following[i + 1] += r * scale
        following[0] += c
        result = following
    return result[: len(powers)]


def tail(w):
    y = max(1 / w - SHIFT, mpf(0))
    return (y + SHIFT) * exp(y * y / 2) * erfc(y / sqrt(2)) / 2


def erf_ratio(z):
    return erf(sqrt(z)) / sqrt(z)


def log_ratio(z):
    s = sqrt(z)
    return (log((1 + s) / (1 - s)) - 2 * s) / s**3


def show(name, powers):
    print(f"{name}:")
    for c in powers:
        print(f"    {float(c)!r},")


low, high = 1 / (LAST + SHIFT), 1 / SHIFT
print(f"tail: u = {float(2 / (high - low))!r}*w - {float((high + low) / (high - low))!r}")
show("tail", interpolate(tail, low, high, 24))
show("erf", shifted(interpolate(erf_ratio, mpf(0), mpf(1), 13), mpf(0), mpf(1)))
last = (3 - 2 * sqrt(2)) ** 2
show("log", shifted(interpolate(log_ratio, mpf(0), last, 7), mpf(0), last))
