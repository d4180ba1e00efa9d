#!/usr/bin/env python3
"""Reference digits for the symbolic evaluation, made with mpmath (no code shared with scalecalc).

Writes symbolic.csv beside this file: expression, digits, value. A value is in plain positional
notation, correctly rounded: it is computed with 120 digits more than asked for, and again with 600
more, and both must round alike.
"""
import csv
import pathlib

from mpmath import mp, mpf
import mpmath as m

DIGITS = 60


def phi(x):
    return m.erfc(-mpf(x) / m.sqrt(2)) / 2


def sigmoid(x):
    return 1 / (1 + m.exp(-mpf(x)))


def softplus(x):
    return m.log1p(m.exp(mpf(x)))


R = lambda p, q: mpf(p) / q

ROWS = [
    ("pi", DIGITS, lambda: +m.pi),
    ("sqrt(2)", DIGITS, lambda: m.sqrt(2)),
    ("2000^(1/4)", DIGITS, lambda: mpf(2000) ** R(1, 4)),
    ("2000^(-1/4)", DIGITS, lambda: mpf(2000) ** R(-1, 4)),
    ("sqrt(1 + sqrt(2 + sqrt(3 + sqrt(5))))", DIGITS,
     lambda: m.sqrt(1 + m.sqrt(2 + m.sqrt(3 + m.sqrt(5))))),
    ("(2^(1/3) - 1)^(1/3)", DIGITS, lambda: (m.cbrt(2) - 1) ** R(1, 3)),
    ("pi^pi", DIGITS, lambda: m.pi ** m.pi),
    ("2^sqrt(2)", DIGITS, lambda: mpf(2) ** m.sqrt(2)),
    ("exp(1)", DIGITS, lambda: m.exp(1)),
    ("exp(-100)", DIGITS, lambda: m.exp(-100)),
    ("log(2)", DIGITS, lambda: m.log(2)),
    ("log(1 + 1/10^40)", DIGITS, lambda: m.log1p(mpf(10) ** -40)),
    ("sin(1)", DIGITS, lambda: m.sin(1)),
    ("sin(10^22)", DIGITS, lambda: m.sin(mpf(10) ** 22)),
    ("cos(355/226)", DIGITS, lambda: m.cos(R(355, 226))),
    ("tan(1/3)", DIGITS, lambda: m.tan(R(1, 3))),
    ("asin(2/3)", DIGITS, lambda: m.asin(R(2, 3))),
    ("acos(1/3)", DIGITS, lambda: m.acos(R(1, 3))),
    ("atan(10)", DIGITS, lambda: m.atan(10)),
    ("sinh(1/7)", DIGITS, lambda: m.sinh(R(1, 7))),
    ("cosh(3)", DIGITS, lambda: m.cosh(3)),
    ("tanh(1/2)", DIGITS, lambda: m.tanh(R(1, 2))),
    ("1 - tanh(30)", DIGITS, lambda: 1 - m.tanh(30)),
    ("erf(1/2)", DIGITS, lambda: m.erf(R(1, 2))),
    ("erf(1/10^20)", DIGITS, lambda: m.erf(mpf(10) ** -20)),
    ("erfc(5)", DIGITS, lambda: m.erfc(5)),
    ("erfc(30)", DIGITS, lambda: m.erfc(30)),
    ("Phi(1)", DIGITS, lambda: phi(1)),
    ("Phi(-10)", DIGITS, lambda: phi(-10)),
    ("1 - Phi(8)", DIGITS, lambda: 1 - phi(8)),
    ("sigmoid(1)", DIGITS, lambda: sigmoid(1)),
    ("sigmoid(-1000)", DIGITS, lambda: sigmoid(-1000)),
    ("softplus(-50)", DIGITS, lambda: softplus(-50)),
    ("softplus(1000)", DIGITS, lambda: softplus(1000)),
    ("gelu(1)", DIGITS, lambda: phi(1)),
    ("gelu(-3)", DIGITS, lambda: -3 * phi(-3)),
    ("silu(-2)", DIGITS, lambda: -2 * sigmoid(-2)),
    ("exp(pi*sqrt(163)) - 262537412640768744", DIGITS,
     lambda: m.exp(m.pi * m.sqrt(163)) - 262537412640768744),
    ("cos(1/10^30) - 1", DIGITS, lambda: m.cos(mpf(10) ** -30) - 1),
    ("1/4 + asin(1/2)/(2*pi) + 1/(2*pi*sqrt(3))", DIGITS,
     lambda: R(1, 4) + m.asin(R(1, 2)) / (2 * m.pi) + 1 / (2 * m.pi * m.sqrt(3))),
    ("22/7", DIGITS, lambda: R(22, 7)),
    ("erf(1/3)*exp(-2)", 1000, lambda: m.erf(R(1, 3)) * m.exp(-2)),
    ("sqrt(2) + sqrt(3)", 1000, lambda: m.sqrt(2) + m.sqrt(3)),
]


def positional(compute, digits, spare):
    mp.dps = digits + spare
    value = compute()
    text = mp.nstr(value, digits, min_fixed=-m.inf, max_fixed=m.inf, strip_zeros=False)
    return text[:-2] if text.endswith(".0") and len(text.strip("-0.")) > digits else text


def main():
    path = pathlib.Path(__file__).with_suffix(".csv")
    with path.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["expression", "digits", "value"])
        for expression, digits, compute in ROWS:
            value = positional(compute, digits, 120)
            if value != positional(compute, digits, 600):
                raise SystemExit(f"{expression}: the digits depend on the precision")
            writer.writerow([expression, digits, value])


if __name__ == "__main__":
    main()
