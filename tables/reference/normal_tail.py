#!/usr/bin/env python3
"""Coefficients of src/tensor/normal_tail.hpp: Q(a) e^(a^2/2) = t P(t) with t = 1/(1 + 3 a/10), Q
the upper tail of the normal distribution, P of degree 9 by Chebyshev's nodes on 0 <= a <= 14 (beyond,
single precision has no Q). Prints P, highest power first, and its largest relative error."""
from mpmath import chebyfit, erfc, exp, mp, mpf, nstr, polyval, sqrt

mp.dps = 40
RATE, LONGEST, DEGREE = mpf(3) / 10, 14, 9


def tail(t):
    """Q(a) e^(a^2/2)/t at the a that t stands for."""
    a = (1 / t - 1) / RATE
    return erfc(a / sqrt(2)) / 2 * exp(a * a / 2) / t


def main():
    least = 1 / (1 + RATE * LONGEST)
    coefficients = chebyfit(tail, [least, 1], DEGREE + 1)
    points = [least + (1 - least) * k / 2000 for k in range(2001)]
    worst = max(abs(polyval(coefficients, t) / tail(t) - 1) for t in points)
    print(", ".join(nstr(c, 10) + "F" for c in coefficients))
    print("largest relative error", nstr(worst, 3))


if __name__ == "__main__":
    main()
