"""Properties over inputs that Hypothesis chooses."""

import concurrent.futures
import copy
import json
import math
import operator
import os
import pickle
import string

import hypothesis
import hypothesis.strategies as some
import pytest

import scalecalc
from scalecalc import functions
from scalecalc._trace import NotTraced, traced

hypothesis.settings.register_profile("scalecalc", max_examples=60, deadline=None)
hypothesis.settings.load_profile("scalecalc")


@hypothesis.given(some.integers(1, 1_000_000), some.sampled_from(["adam", "sgd", "muon", "lion"]))
def test_the_pair_solves_its_equation(layers, optimizer):
    found = scalecalc.deepnorm(layers=layers, optimizer=optimizer)
    # Powers of N in doubles: some ten roundings.
    assert math.isclose(found.equation_value, 1, rel_tol=1e-14)
    assert math.isclose(found.alpha * found.lambda_, 1, rel_tol=1e-15) or found.constraint != "symmetric"


@hypothesis.given(some.floats(0.01, 100), some.floats(-1, 1))
def test_moments_are_those_of_a_distribution(variance, correlation):
    found = scalecalc.activation("tanh", variance=variance, correlation=correlation)
    assert found.inputs.variance == variance  # to the bit, through its text
    assert found.inputs.correlation == correlation
    second = found.second
    assert 0 <= second <= 1
    assert abs(found.cross) <= second * (1 + 1e-9)  # the error of a quadrature


@hypothesis.given(some.text(string.printable, max_size=40))
def test_any_text_is_an_answer_or_one_line(text):
    try:
        scalecalc.deepnorm(layers=text)
    except ValueError as error:
        assert "\n" not in str(error)


@hypothesis.given(some.text(max_size=30).filter(lambda text: "\0" not in text))
def test_any_name_is_an_answer_or_one_line(text):
    try:
        scalecalc.convention(text, shape="4x4")
    except (ValueError, OSError) as error:
        assert "\n" not in str(error)


@hypothesis.given(some.recursive(some.none() | some.booleans() | some.floats(allow_nan=False)
                                 | some.integers() | some.text(),
                                 lambda inner: some.lists(inner)
                                 | some.dictionaries(some.text(), inner)))
def test_records_keep_what_they_are_given(data):
    record = scalecalc.Record({"member": data, "lambda": data})
    assert record.to_dict() == {"member": data, "lambda": data}
    assert record["member"] == data
    assert record.lambda_ == data
    assert record._repr_html_() is not None


SIZES = some.integers(3, 12).map(lambda power: 2**power)


@hypothesis.settings(max_examples=25)
@hypothesis.given(SIZES, SIZES, SIZES, some.sampled_from(["adamw", "sgd", "muon", "lamb"]),
                  some.sampled_from(["mup", "standard", "complete-p", "spectral"]))
def test_transfer_in_two_steps_is_transfer_in_one(a, b, c, optimizer, parametrization):
    def factors(before, after):
        found = scalecalc.transfer(from_={"width": before}, to={"width": after}, optimizer=optimizer,
                                   parametrization=parametrization)
        return {(name, key): kind[key]["factor"]
                for name, kind in found.to_dict()["results"]["kinds"].items()
                for key in ("multiplier", "std", "lr", "decay", "eps") if kind[key]}

    first, second, both = factors(a, b), factors(b, c), factors(a, c)
    assert first.keys() == second.keys() == both.keys()
    for key, factor in both.items():
        # Roots of powers of two: a rounding for each of the three.
        assert math.isclose(first[key] * second[key], factor, rel_tol=1e-15 * 3), key


@hypothesis.settings(max_examples=15)
@hypothesis.given(some.integers(1, 4), SIZES.filter(lambda size: size <= 256),
                  some.sampled_from(["relu", "tanh", "gelu"]), some.floats(0.1, 10))
def test_results_are_copied_by_value_and_asked_again_to_the_bit(layers, width, activation, second):
    def ask():
        return scalecalc.propagate("mlp-relu", layers=layers, width=width, activation=activation,
                                   second=second)

    found = ask()
    assert pickle.loads(pickle.dumps(found)) == found == copy.deepcopy(found)
    assert ask().to_dict() == found.to_dict()
    assert [site.second for site in found.sites] == \
        [site["second"] for site in found.to_dict()["results"]["sites"]]
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def grown(inner):
    return some.tuples(some.sampled_from(["+", "-", "*", "/"]), inner, inner) \
        | some.tuples(some.sampled_from(["sin", "tanh", "exp"]), inner)


TREES = some.recursive(some.just("x") | some.floats(-4, 4), grown, max_leaves=8)
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
FUNCTIONS = {"sin": functions.sin, "tanh": functions.tanh, "exp": functions.exp}


def value(tree, x):
    if tree == "x":
        return x
    if isinstance(tree, float):
        return tree
    if tree[0] in FUNCTIONS:
        return FUNCTIONS[tree[0]](value(tree[1], x))
    return OPERATORS[tree[0]](value(tree[1], x), value(tree[2], x))


@hypothesis.given(TREES, some.floats(-3, 3))
@hypothesis.example(("+", "x", ("/", 1.0, 2e-313)), 0.0)
def test_a_traced_function_is_the_function(tree, at):
    try:
        text = traced("expr", lambda x: value(tree, x) + 0 * x)
    except NotTraced as why:
        # Constants alone that have no value, or none that is finite, whatever x is.
        if "not finite" in str(why):
            return
        with pytest.raises((ArithmeticError, ValueError)):
            value(tree, at)
        return
    names = {name: getattr(math, name) for name in FUNCTIONS}
    try:
        wanted = value(tree, at) + 0 * at
    except (ZeroDivisionError, OverflowError):
        return
    found = eval(text.replace("^", "**"), {"__builtins__": {}}, {**names, "x": at})  # noqa: S307
    # The same operations in the same order: the same bits.
    assert found == wanted or math.isnan(found) and math.isnan(wanted)


@hypothesis.settings(max_examples=40)
@hypothesis.given(some.dictionaries(some.sampled_from(["layers", "optimizer", "alpha", "norm", "seed"]),
                                    some.none() | some.booleans() | some.integers()
                                    | some.floats(allow_nan=False) | some.text(max_size=8)
                                    | some.lists(some.integers(1, 9), max_size=3), min_size=1))
def test_any_keywords_are_an_answer_or_one_line(options):
    hypothesis.assume(all("\0" not in one for one in options.values() if isinstance(one, str)))
    try:
        # A depth of a few blocks, where the options are an answer.
        scalecalc.deepnorm(**{"layers": 4, **options})
    except (ValueError, TypeError) as error:
        assert "\n" not in str(error)


@hypothesis.settings(max_examples=5)
@hypothesis.given(some.lists(some.integers(1, 300), min_size=2, max_size=6, unique=True))
def test_threads_and_forks_answer_as_one_thread_does(depths):
    def ask(depth):
        return scalecalc.transfer(from_={"layers": depth}, to={"layers": 2 * depth},
                                  parametrization="complete-p").to_dict()

    wanted = [ask(depth) for depth in depths]
    with concurrent.futures.ThreadPoolExecutor(len(depths)) as pool:
        assert list(pool.map(ask, depths)) == wanted
    child = os.fork()
    if child == 0:
        os._exit(0 if [ask(depth) for depth in depths] == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0
