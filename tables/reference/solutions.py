#!/usr/bin/env python3
"""Reference digits for critical points, fixed points and tuned scales, made with mpmath (no formula
and no code shared with scalecalc).

Writes solutions.csv beside this file: problem, activation, weight_variance, bias_variance, name,
value; what is solved for is left empty. Means over z ~ N(0, 1) are trapezoidal sums, which for
these analytic activations converge faster than any power of the step; two steps must agree to the
digits that are written. A correlation enters by Hermite coefficients, E f(u) f(v) = sum a_n^2 c^n.
"""
import csv
import pathlib

from mpmath import mp, mpf
import mpmath as m

DIGITS = 40
mp.dps = 60


def Phi(x):
    return m.erfc(-x / m.sqrt(2)) / 2


def density(x):
    return m.exp(-x * x / 2) / m.sqrt(2 * m.pi)


ACTIVATIONS = {
    "tanh": (m.tanh, lambda x: m.sech(x) ** 2),
    "gelu": (lambda x: x * Phi(x), lambda x: Phi(x) + x * density(x)),
    "sigmoid": (lambda x: 1 / (1 + m.exp(-x)), lambda x: m.sech(x / 2) ** 2 / 4),
}


class Line:
    """Nodes z and weights of the normal density."""

    def __init__(self, step, reach):
        count = int(reach / step)
        self.z = [step * k for k in range(-count, count + 1)]
        self.weight = [step * density(z) for z in self.z]

    def mean(self, f):
        return m.fsum(w * f(z) for z, w in zip(self.z, self.weight))

    def hermite(self, values, orders):
        """E f h_n / sqrt(n!) for n < orders."""
        before, now, found = [mpf(0)] * len(self.z), list(self.weight), []
        for n in range(orders):
            found.append(m.fdot(values, now))
            root, scale = m.sqrt(n), 1 / m.sqrt(n + 1)
            before, now = now, [(z * b - root * a) * scale for z, a, b in zip(self.z, before, now)]
        return found


class Map:
    def __init__(self, name, line):
        self.f, self.slope = ACTIVATIONS[name]
        self.line = line

    def second(self, q):
        return self.line.mean(lambda z: self.f(m.sqrt(q) * z) ** 2)

    def second_slope(self, q):
        """d E phi^2/dq = E phi phi' z / sqrt(q)."""
        root = m.sqrt(q)
        return self.line.mean(lambda z: self.f(root * z) * self.slope(root * z) * z) / root

    def slope_second(self, q):
        return self.line.mean(lambda z: self.slope(m.sqrt(q) * z) ** 2)

    def mean(self, q):
        return self.line.mean(lambda z: self.f(m.sqrt(q) * z))


def root(f, near):
    return m.findroot(f, near, tol=mpf(10) ** -100)


def critical(map_, near, bias):
    q = root(lambda q: map_.second(q) / map_.slope_second(q) + bias - q, near)
    return {"weight_variance": 1 / map_.slope_second(q), "q_star": q,
            "q_slope": map_.second_slope(q) / map_.slope_second(q)}


def critical_pair(map_, near):
    q = root(lambda q: map_.second_slope(q) - map_.slope_second(q), near)
    weight = 1 / map_.slope_second(q)
    return {"weight_variance": weight, "q_star": q, "bias_variance": q - weight * map_.second(q)}


def fixed_point(map_, near, weight, bias, c_near):
    q = root(lambda q: weight * map_.second(q) + bias - q, near)
    scaled = [m.sqrt(q) * z for z in map_.line.z]
    orders = 360
    values = [a ** 2 for a in map_.line.hermite([map_.f(u) for u in scaled], orders)]
    slopes = [a ** 2 for a in map_.line.hermite([map_.slope(u) for u in scaled], orders)]
    series = lambda squares, c: m.polyval(squares[::-1], c)
    c = root(lambda c: (weight * series(values, c) + bias) / q - c, c_near)
    q_slope = weight * map_.second_slope(q)
    return {"q_star": q, "activation_second": map_.second(q),
            "chi": weight * map_.slope_second(q), "q_slope": q_slope,
            "q_depth_scale": -1 / m.log(q_slope), "c_star": c,
            "c_depth_scale": -1 / m.log(weight * series(slopes, c))}


def tuned(map_):
    second, mean, slope = map_.second(1), map_.mean(1), map_.slope_second(1)
    centred = second - mean ** 2
    return {"scale": second ** -0.5, "shift": mean, "centred_scale": centred ** -0.5,
            "slope_before": slope, "slope_after": slope / second,
            "centred_slope_after": slope / centred}


def solutions(line):
    twentieth = mpf(1) / 20
    return [
        ("critical", "tanh", "", "1/20", critical(Map("tanh", line), 0.57, twentieth)),
        ("critical", "gelu", "", "", critical_pair(Map("gelu", line), 3.56)),
        ("fixed-point", "tanh", "2", "1/20",
         fixed_point(Map("tanh", line), 0.7217, 2, twentieth, 0.744)),
        ("tuned", "sigmoid", "", "", tuned(Map("sigmoid", line))),
    ]


def main():
    coarse, fine = solutions(Line(mpf(1) / 12, 36)), solutions(Line(mpf(1) / 15, 40))
    path = pathlib.Path(__file__).with_name("solutions.csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", "activation", "weight_variance", "bias_variance", "name", "value"])
        for (*key, found), (*_, check) in zip(coarse, fine):
            for name, value in found.items():
                assert abs(value / check[name] - 1) < mpf(10) ** -(DIGITS + 2), (key, name)
                writer.writerow([*key, name, m.nstr(check[name], DIGITS)])


if __name__ == "__main__":
    main()
