"""Results as Python sees them."""

import copy
import pickle
import re
import xml.dom.minidom

import pytest

import scalecalc
from scalecalc.functions import maximum, relu, sigmoid, tanh


def test_fields_have_the_names_of_keys():
    found = scalecalc.deepnorm(layers=1000, optimizer="adam")
    assert found.alpha == 2000**0.5
    assert found.lambda_ == found["lambda"]
    assert found.conditions[0].holds
    assert found.inputs.layers == 1000
    assert "lambda_" in dir(found)
    assert found.published is None  # may be missing, and is
    with pytest.raises(AttributeError, match="no field 'alfa'"):
        found.alfa  # noqa: B018


def test_formulas_have_latex():
    found = scalecalc.deepnorm(layers=1000, optimizer="adam")
    assert found.alpha_formula == "(2*N)^(1/2)"
    assert found.alpha_formula.latex == r"\sqrt{2N}"
    assert found.alpha_formula._repr_latex_() == r"$\sqrt{2N}$"
    with pytest.raises(ValueError, match="column"):
        scalecalc.Formula("2*(N").latex  # noqa: B018


def test_results_are_copied_and_pickled():
    found = scalecalc.verify("mlp-tanh", seeds=4, layers=2)
    for again in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert again == found
        assert again.to_dict() == found.to_dict()
    found.to_dict()["results"]["passed"] = None
    assert found.passed in (True, False)


def test_notebook_shows_tables_and_a_figure():
    found = scalecalc.verify("mlp-tanh", seeds=4, layers=2, plot=True)
    page = found._repr_html_()
    assert "<svg" in page
    assert re.search("<th[^>]*>quantity</th>", page)
    xml.dom.minidom.parseString(f"<div>{page.replace('<details open>', '<details>')}</div>")
    assert found.svg.rstrip().endswith("</svg>")


def test_notebook_typesets_formulas_and_sets_words_to_the_left():
    page = scalecalc.deepnorm(layers=1000, optimizer="adam")._repr_html_()
    assert r"<td>" in page and re.search(r'<td style="text-align: left">\$\\alpha = \\sqrt\{2N\}\$</td>', page)
    # Of the table of gains, words are left and numbers as notebooks have them.
    assert '<tr><td style="text-align: left">v</td><td>0.02236068</td>' in page


def test_pandas_has_the_longest_list():
    pandas = pytest.importorskip("pandas")
    found = scalecalc.propagate("mlp-relu", layers=3)
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["path"]) == [site.path for site in found.sites]
    assert len(found.to_pandas("parameters")) == len(found.parameters)


@pytest.mark.parametrize(("function", "text"), [
    (lambda x: x * sigmoid(1.7 * x), "x*sigmoid(1.7*x)"),
    (lambda x: maximum(0.1 * x, x), "max(0.1*x,x)"),
    (lambda x: relu(x) ** 2, "max(0,x)^2"),
    (lambda x: (tanh(x) + 1) / 2 - 0.5, "(tanh(x)+1)/2-0.5"),
    (tanh, "tanh(x)"),
])
def test_activation_is_traced(function, text):
    made = scalecalc.activation(expr=function)
    assert made.to_dict() == scalecalc.activation(expr=text).to_dict()
    assert scalecalc.activation(function).gain_second == made.gain_second


def test_numpys_functions_are_traced():
    numpy = pytest.importorskip("numpy")
    made = scalecalc.activation(expr=lambda x: numpy.tanh(numpy.float64(0.5) * x))
    assert made.to_dict() == scalecalc.activation(expr="tanh(0.5*x)").to_dict()
    found = scalecalc.deepnorm(layers=numpy.int64(12))
    assert found.to_dict() == scalecalc.deepnorm(layers=12).to_dict()


def test_what_has_no_value_says_why():
    with pytest.raises(ValueError, match="expr cannot be written as an expression in x .it looks at the value."):
        scalecalc.activation(expr=lambda x: 1.0 if x else float("nan"))


def test_wrong_types_are_refused():
    with pytest.raises(TypeError, match="layers must be"):
        scalecalc.deepnorm(layers=object())
    with pytest.raises(TypeError, match="unexpected keyword"):
        scalecalc.deepnorm(layer=3)
