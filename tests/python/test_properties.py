"""Properties over inputs that Hypothesis chooses."""

import math
import string

import hypothesis
import hypothesis.strategies as some

import scalecalc

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
