#!/usr/bin/env python3
"""How far one Post-Norm block moves the logarithm of a gradient, by simulation with numpy (no code
shared with scalecalc).

A block is u = LN(x + W_o W_v x), x' = LN(u + W_2 phi(W_1 u)) with fresh Gaussian weights of variance
1/fan_in: attention whose tokens are alike, and an ffn of 4 times the width. All that a tangent v of x
meets depends on inner products alone. Behind a layernorm x and v are orthogonal to each other and to
the ones, and Gaussian weights know no other direction, so ln |v'|^2/|v|^2 of each half is drawn
independently of all before: its mean is the growth of a typical draw's gradient, its variance the
growth of the variance of the logarithm.

Writes gradient_growth.csv beside this file: activation, width, mean, its standard error, variance, its
standard error; of the whole block.
"""
import csv
import math
import pathlib
import sys

try:
    import numpy as np
except ImportError:
    print("gradient_growth.csv stays as it is: its program takes numpy", file=sys.stderr)
    sys.exit(0)

EPS = 1e-5
CHUNK = 1 << 21
MAPS = 4_000_000  # draws of the half with attention
WIDTHS = {32: 1_500_000, 64: 800_000, 128: 300_000, 256: 120_000}  # and of the half with the ffn
GRID = np.linspace(-8, 8, 1 << 17)
NORMAL = np.array([(1 + math.erf(t / math.sqrt(2))) / 2 for t in GRID])


def gelu(u):
    below = np.interp(u, GRID, NORMAL)
    return u * below, below + u * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)


def relu(u):
    return np.maximum(u, 0), (u > 0).astype(float)


def maps(rng, draws, n):
    """|W x|^2, W x . W v and |W v|^2 over n of Gaussian W of n rows, |x|^2 = |v|^2 = n."""
    along = rng.chisquare(n, draws)
    across = rng.standard_normal(draws)
    return along / n, np.sqrt(along) * across / n, (across**2 + rng.chisquare(n - 1, draws)) / n


def ffn(rng, draws, n, activation):
    """The same of phi(W x) and phi'(W x) W v, over the 4n features."""
    y, slope = activation(rng.standard_normal((draws, 4 * n), dtype=np.float32))
    w = slope * rng.standard_normal((draws, 4 * n), dtype=np.float32)
    return [np.einsum("ij,ij->i", a, b, dtype=float) / (4 * n) for a, b in ((y, y), (y, w), (w, w))]


def log_growth(rng, n, a, b, c):
    """Of LN(x + y), where features of y and of its tangent have covariance ((a, b), (b, c)) given
    the layer before."""
    draws = len(a)
    first, lean = np.sqrt(a), b / np.sqrt(a)
    rest = np.sqrt(np.maximum(c - lean**2, 0))
    along, other = rng.standard_normal((2, 2, draws))  # in the directions of x and of v
    y, w = first * along, lean * along + rest * other
    # The n - 3 directions beside x, v and the ones.
    size, mixed = np.sqrt(rng.chisquare(n - 3, draws)), rng.standard_normal(draws)
    left = rng.chisquare(n - 4, draws)
    yy, yw = (first * size) ** 2, first * size * (lean * size + rest * mixed)
    ww = (lean * size + rest * mixed) ** 2 + rest**2 * left
    root = math.sqrt(n)
    zz = ((root + y[0]) ** 2 + y[1] ** 2 + yy) / n
    tz = ((root + y[0]) * w[0] + y[1] * (root + w[1]) + yw) / n
    tt = (w[0] ** 2 + (root + w[1]) ** 2 + ww) / n
    s2 = zz + EPS
    return np.log((tt - tz**2 * (2 / s2 - zz / s2**2)) / s2)


def half(n, draws, features, sizes):
    """Mean and variance of ln |v'|^2/|v|^2, with the squares of their standard errors."""
    chunk, logs = max(1, CHUNK // features), []
    for start in range(0, draws, chunk):
        rng = np.random.default_rng([n, features, start])
        logs.append(log_growth(rng, n, *sizes(rng, min(chunk, draws - start))))
    logs = np.concatenate(logs)
    fourth = ((logs - logs.mean()) ** 4).mean()
    return np.array([logs.mean(), logs.var() / draws, logs.var(),
                     (fourth - logs.var() ** 2) / draws])


def main():
    target = pathlib.Path(__file__).with_suffix(".csv")
    with open(target, "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["activation", "width", "mean", "mean_error", "variance", "variance_error"])
        for n, draws in WIDTHS.items():
            attention = half(n, MAPS, 8, lambda rng, count: maps(rng, count, n))
            for phi in (gelu, relu):
                rest = half(n, draws, 4 * n, lambda rng, count: ffn(rng, count, n, phi))
                mean, mean_square, variance, square = attention + rest
                rows.writerow([phi.__name__, n, f"{mean:.7f}", f"{math.sqrt(mean_square):.2e}",
                               f"{variance:.7f}", f"{math.sqrt(square):.2e}"])
                file.flush()


if __name__ == "__main__":
    main()
