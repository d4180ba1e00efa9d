#!/usr/bin/env python3
"""Reference digits for Owen's T function and the bivariate normal distribution function, made with
mpmath by direct quadrature (no code shared with scalecalc).

Writes bivariate_normal.csv beside this file: function, arguments separated by blanks, value.
"""
import csv
import pathlib

from mpmath import mp, mpf
import mpmath as m

DIGITS = 38
mp.dps = 60


def number(text):
    top, _, below = text.partition("/")
    return mpf(top) / mpf(below or 1)


def scaled_quad(f, ends):
    """The integral of f > 0, made of order 1 before the rule decides when it is good enough."""
    scale = max(f(x) for x in ends)
    return scale * m.quad(lambda x: f(x) / scale, ends)


def owens_t(h, a):
    """Through the angle: 1/(2 pi) int_0^atan(a) exp(-h^2/(2 cos^2)), in pieces of its own scale."""
    end = m.atan(a)
    ends = [end * k / 24 for k in range(25)]
    return m.sign(a) * scaled_quad(lambda t: m.exp(-h * h / (2 * m.cos(t) ** 2)), sorted(
        ends) if a > 0 else sorted(-t for t in ends)) / (2 * m.pi)


def phi2(h, k, r):
    """int_-inf^h density(x) Phi((k - r x)/s) dx, from the edge downwards."""
    s = m.sqrt(1 - r * r)
    inner = lambda x: m.exp(-x * x / 2) / m.sqrt(2 * m.pi) * m.erfc(-(k - r * x) / s / m.sqrt(2)) / 2
    low = min(h, k / r) - 16
    count = int(m.ceil((h - low) * 3))
    return scaled_quad(inner, [low + (h - low) * j / count for j in range(count + 1)])


T = ["0 1/2", "0 7", "1 1/2", "1 1", "1 3", "1/1000 2", "3 1/10", "3 9/10", "5/2 -3/4", "10 1/2",
     "10 40", "30 99/100", "60 1/50", "1/3 1000", "100 1/4"]
PHI2 = ["0 0 1/2", "1 1 1/2", "-1 -1 1/2", "-2 1 -1/3", "2 -1 9/10", "0 -1 1/4", "0 2 -3/4",
        "-5 -5 -1/2", "-8 -9 7/8", "-3 5/2 -19/20", "4 3 -9/10", "-6 4 1/10", "-12 -12 -7/8",
        "-1/2 -20 63/64", "-30 -10 1/2"]


def main():
    path = pathlib.Path(__file__).with_suffix(".csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["function", "arguments", "value"])
        for name, function, rows in ("owens_t", owens_t, T), ("Phi2", phi2, PHI2):
            for arguments in rows:
                value = function(*map(number, arguments.split()))
                text = m.nstr(value, DIGITS, min_fixed=-m.inf, max_fixed=m.inf, strip_zeros=False)
                writer.writerow([name, arguments, text])


if __name__ == "__main__":
    main()
