"""Activations that are Python functions which cannot be followed: they are sampled, and the stated error covers
what the same function gives as an expression."""

import math
import random

import hypothesis
import hypothesis.strategies as some
import pytest

import scalecalc
from scalecalc import functions

numpy = pytest.importorskip("numpy")

MOMENTS = ("mean", "second", "slope_mean", "slope_second", "fourth", "gain_second", "gain_backward",
           "q_slope", "variance")


def compare(function, text, **options):
    """Numbers of a sampled function and of its expression are within the stated errors: that of the fit, and
    those that quadrature and rounding have in both."""
    found = scalecalc.activation(expr=function, time_limit=60, **options)
    known = scalecalc.activation(expr=text, time_limit=60, **options)
    assert found.sampled is not None and known.sampled is None
    for name in MOMENTS:
        sampled, right = found[name], known[name]
        assert (sampled is None) == (right is None), name
        if right is None:
            continue
        # A few hundred roundings on the way to a moment and to what follows from it.
        error = found.sampled.errors[name] + 1e-13 * max(1.0, abs(right))
        methods = known.methods.to_dict().get("quadrature", {})
        error += 4 * sum(one["error"] for one in methods.values() if one and one["error"])
        assert abs(sampled - right) <= error, (name, sampled, right, error)
    return found


def by_value(x):
    """An `if` cannot be followed."""
    return x if x > 0 else 0.01 * x


def elu(x):
    return x if x > 0 else math.exp(x) - 1


def hard(x):
    return max(0.0, min(1.0, (x + 3) / 6))


@pytest.mark.parametrize(("function", "text"), [
    (by_value, "max(0.01*x, x)"),
    (elu, "max(x, 0) + exp(min(x, 0)) - 1"),
    (math.tanh, "tanh(x)"),
    (lambda x: x / (1 + math.exp(-x)), "x*sigmoid(x)"),
    (lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))), "gelu(x)"),
    (hard, "max(0, min(1, (x + 3)/6))"),
    (lambda x: float(x > 0.3), "step(x - 0.3)"),
    (lambda x: math.sin(float(x)), "sin(x)"),
    (lambda x: float(x) ** 3, "x^3"),
    (lambda x: numpy.where(x > 0, x, 0.2 * x), "max(0.2*x, x)"),
    (lambda x: numpy.logaddexp(0, x), "log(1 + exp(x))"),
    (lambda x: numpy.interp(x, [-2, -1, 2], [0, 0.5, 1]),
     "0.5*max(0, min(1, x + 2)) + 0.5*max(0, min(1, (x + 1)/3))"),
    (lambda x: numpy.float32(0.5) * (abs(x).astype("f4") + x.astype("f4")), "max(x, 0)"),
])
def test_a_sampled_function_is_within_its_stated_error(function, text):
    found = compare(function, text)
    facts = found.sampled.functions[0]
    assert facts["argument"] == "expr"
    assert facts["known"] >= 8  # standard deviations of the input
    assert any("expr is sampled" in message for message in found.messages)


def test_values_of_single_precision_say_so():
    def single(x):
        return numpy.tanh(x.astype("f4"))

    facts = compare(single, "tanh(x)").sampled.functions[0]
    assert 2.0**-25 < facts["value_error"] < 2.0**-18  # some units in the last place of 24 bits


# Of each: a function of the value alone, and the same as a text.
SHAPES = {
    "smooth": (lambda a, b, c: lambda x: a * math.tanh(b * x) + c * x,
               lambda a, b, c: f"({a!r})*tanh(({b!r})*x)+({c!r})*x"),
    "kinked": (lambda a, b, c: lambda x: a * x if x > b else c * (x - b) + a * b,
               lambda a, b, c: f"({a!r})*max(x,({b!r}))+({c!r})*min(x-({b!r}),0)"),
    "bent": (lambda a, b, c: lambda x: a * x**2 if x > 0 else c * math.tanh(b * x),
             lambda a, b, c: f"({a!r})*max(x,0)^2+({c!r})*tanh(({b!r})*min(x,0))"),
    "bell": (lambda a, b, c: lambda x: a * math.exp(-b * (x - c)**2) + 1 if x == x else x,
             lambda a, b, c: f"({a!r})*exp(-({b!r})*(x-({c!r}))^2)+1"),
}
PARTS = some.floats(0.1, 3).map(lambda value: round(value, 3))


@hypothesis.settings(max_examples=8, deadline=None)
@hypothesis.example("smooth", 0.102, 1.0, 1.0, 0.25)  # two fits that agree in a mean of 0
@hypothesis.example("smooth", 1.0, 1.0, 3.0, 0.25)  # and in the ratio q_slope
@hypothesis.given(some.sampled_from(sorted(SHAPES)), PARTS, PARTS, PARTS, some.sampled_from([0.25, 1.0, 4.0]))
def test_any_sampled_function_is_within_its_stated_error(shape, a, b, c, variance):
    function, text = SHAPES[shape]
    compare(lambda x: function(a, b, c)(float(x)), text(a, b, c), variance=variance)


def test_it_goes_where_an_activation_goes():
    found = scalecalc.propagate("mlp-relu", activation=elu, layers=3)
    known = scalecalc.propagate("mlp-relu", activation="elu", layers=3)
    for site, right, errors in zip(found.sites, known.sites, found.sampled.errors["sites"]):
        for name in ("second", "grad_second"):
            # Five roundings for each of some ten sites.
            error = errors[name] + 1e-13 * right[name] + right.error[name]
            assert abs(site[name] - right[name]) <= error, (site.path, name)
            assert site.error[name] >= errors[name]
    alpha = scalecalc.deepnorm(layers=12, activation=elu).alpha
    assert alpha == scalecalc.deepnorm(layers=12, activation="elu").alpha


def test_results_are_copied_with_what_was_sampled():
    import copy

    found = scalecalc.activation(expr=by_value)
    assert copy.deepcopy(found).sampled == found.sampled
    assert scalecalc.activation(expr="x").sampled is None


@pytest.mark.parametrize(("function", "why"), [
    (lambda x: random.random(), "another value each time"),
    (lambda x: float("nan") if float(x) > 1 else 0.0, r"its value at x = .* is nan"),
    (lambda x: math.log(float(x)), "at x = .* it raises ValueError"),
    (lambda x: [float(x), 1.0], "one number for one"),
    (lambda x: "word" if float(x) else "", "one number for one"),
    (lambda x: complex(float(x), 1), "complex"),
    (lambda x: math.sqrt(abs(float(x))), "its slope has no bound at x = 0"),
    (lambda x: math.exp(min(float(x), 700.0)), "grows faster"),
    (lambda x: numpy.exp(x) / numpy.exp(x).sum() if x.shape else 0.0, "the numbers beside it"),
    (lambda x, y: x, "raises TypeError"),
    (lambda x: float(int(100 * float(x))), "it is not smooth"),
])
def test_what_is_no_activation_is_refused_in_one_line(function, why):
    with pytest.raises(ValueError, match=why) as refused:
        scalecalc.activation(expr=function)
    assert str(refused.value).startswith("expr ")
    assert "\n" not in str(refused.value)
    assert refused.value.argument == "expr"


def test_functions_go_to_activations_alone():
    with pytest.raises(ValueError, match="layers must be a text, a number or a path .got a function"):
        scalecalc.deepnorm(layers=lambda x: x)
    assert scalecalc.activation(expr=functions.tanh).sampled is None  # it is followed


def test_modules_of_pytorch():
    torch = pytest.importorskip("torch")
    found = compare(torch.nn.ELU(), "max(x, 0) + exp(min(x, 0)) - 1")
    assert found.sampled.functions[0]["value_error"] < 1e-12
    with pytest.raises(ValueError, match="the numbers beside it|another value"):
        scalecalc.activation(expr=torch.nn.Dropout())
