#!/usr/bin/env python3
"""Reference digits for the softmax averages, made with mpmath (no code shared with scalecalc).

Writes softmax.csv beside this file: keys, tau2, correlation, quantity, value to 15 digits.

One row of T scores N(0, tau2): the integrals over t of theory, section 2, in the variable ln t, by
the trapezoidal rule with a step so small that halving it changes nothing (softmax.py --check, in
some minutes). Two rows of two keys: there p = 1/2 + tanh(a x)/2 with x ~ N(0, 1) and a = sqrt(tau2/2), so that
  O  = 1/2 + E[tanh(a x) tanh(a x')]/2,   A' = E[sech(a x)^2 sech(a x')^2]/4,
a two-dimensional average that shares nothing with the integrals over t.
"""
import csv
import pathlib
import sys

from mpmath import cosh, exp, factorial, fsum, log, log1p, expm1, mp, mpf, nstr, pi, sqrt, tanh

mp.dps = 20

ONE = [(2, "0.5"), (3, "3.5"), (8, "0.01"), (32, "3.5"), (64, "1"), (1000, "20"),
       (1000000, "3.5"), (1000000, "1000")]
TWO_KEYS = [("0.01", "0.3"), ("0.5", "-0.5"), ("3.5", "0.9"), ("3.5", "-1"), ("20", "0.3"),
            ("100", "0.99")]


def averages(tau, y, h):
    """1 - E g_0 and E g_k, k = 2, 3, 4, g_k(w) = e^(kw - e^w), w = y + tau z."""
    first, last = max(-70, y - 12 * tau), min(5, y + 12 * tau)
    steps = int((last - first) / h) + 1
    low, g = [], {2: [], 3: [], 4: []}
    for i in range(steps):
        w = first + i * h
        weight = h * exp(-((w - y) / tau) ** 2 / 2) / (tau * sqrt(2 * pi))
        t = exp(w)
        low.append(-weight * expm1(-t))
        for k in g:
            g[k].append(weight * exp(k * w - t))
    # Above w = 5 the first function is 1 to 64 digits: an end of the trapezoidal rule there would
    # cost its precision, so the sum goes on with weights alone.
    w = first + steps * h
    while w < y + 12 * tau:
        low.append(h * exp(-((w - y) / tau) ** 2 / 2) / (tau * sqrt(2 * pi)))
        w += h
    return fsum(low), {k: fsum(v) for k, v in g.items()}


def one_row(keys, tau2, refine):
    tau, n = sqrt(mpf(tau2)), mpf(keys)
    inner = min(mpf("0.2"), tau / 2) / refine
    extreme = tau / (1 + sqrt(2 * log(n)))
    h = mpf("0.2") * sqrt(1 + extreme ** 2) / refine
    sums = {"p2": [], "p3": [], "p22": []}
    y, largest = 6 + 4 * tau, mpf(0)
    while True:
        fall, g = averages(tau, y, inner)
        if fall < 1:
            log_f = log1p(-fall)
            others, pairs = n * exp((n - 1) * log_f), n * (n - 1) * exp((n - 2) * log_f)
            sums["p2"].append(h * g[2] * others)
            sums["p3"].append(h * g[3] * others / 2)
            sums["p22"].append(h * (g[4] * others + g[2] ** 2 * pairs) / factorial(3))
            largest = max(largest, sums["p2"][-1])
            if largest > 0 and sums["p2"][-1] < largest * mpf(10) ** -19:
                break
        y -= h
    return {name: fsum(values) for name, values in sums.items()}


def two_keys(tau2, c, refine):
    a, c = sqrt(mpf(tau2) / 2), mpf(c)
    s = sqrt((1 - c) * (1 + c))
    # tanh(a x) has poles at distance pi/(2a).
    h = min(mpf("0.35"), mpf("0.18") / a) / refine
    count = int(9 / h) + 1
    grid = [i * h for i in range(-count, count + 1)]
    weight = [h * exp(-x * x / 2) / sqrt(2 * pi) for x in grid]
    if s == 0:
        o = fsum(w * tanh(a * x) * tanh(a * c * x) for x, w in zip(grid, weight))
        p = fsum(w / cosh(a * x) ** 2 / cosh(a * c * x) ** 2 for x, w in zip(grid, weight))
        return {"overlap": (1 + o) / 2, "a_prime": p / 4}
    # The density of (x, x') on the grid depends on x^2, x'^2 and their product.
    t = [tanh(a * x) for x in grid]
    o, p = mpf(0), mpf(0)
    factor = h * h / (2 * pi * s)
    for i in range(count + 1):
        row_o, row_p = [], []
        for j, x in enumerate(grid):
            q = (grid[count + i] ** 2 - 2 * c * grid[count + i] * x + x * x) / (2 * s * s)
            if q > 40:
                continue
            d = factor * exp(-q)
            row_o.append(d * t[j])
            row_p.append(d * (1 - t[j] ** 2))
        twice = 1 if i == 0 else 2
        o += twice * t[count + i] * fsum(row_o)
        p += twice * (1 - t[count + i] ** 2) * fsum(row_p)
    return {"overlap": (1 + o) / 2, "a_prime": p / 4}


def rows(refine):
    for keys, tau2 in ONE:
        for name, value in one_row(keys, tau2, refine).items():
            yield keys, tau2, "", name, value
    for tau2, c in TWO_KEYS:
        for name, value in two_keys(tau2, c, refine).items():
            yield 2, tau2, c, name, value


def main():
    table = list(rows(1))
    if "--check" in sys.argv:
        for row, finer in zip(table, rows(2)):
            assert abs(row[-1] / finer[-1] - 1) < mpf(10) ** -15, row
    path = pathlib.Path(__file__).with_name("softmax.csv")
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["keys", "tau2", "correlation", "quantity", "value"])
        for keys, tau2, c, name, value in table:
            out.writerow([keys, tau2, c, name, nstr(value, 15, min_fixed=0, max_fixed=0)])


if __name__ == "__main__":
    main()
