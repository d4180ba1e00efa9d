"""The examples of docs/guide/python.md, run as they stand."""

import doctest
import json
import re
from pathlib import Path

import notebook
import pytest
import reference

PAGES = Path(__file__).parents[2] / "docs" / "guide"


@pytest.mark.parametrize("name", ["python.md"])
def test_examples_of_the_page(name, capsys):
    page = (PAGES / name).read_text(encoding="utf-8")
    # Lines outside of the blocks are left empty, so that numbers of lines are the page's.
    kept, inside = [], False
    for line in page.split("\n"):
        is_fence = line.startswith("```")
        kept.append(line if inside and not is_fence else "")
        if is_fence:
            inside = not inside and re.fullmatch(r"```pycon", line) is not None
    examples = doctest.DocTestParser().get_doctest("\n".join(kept), {}, name, name, 0)
    assert examples.examples
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed = runner.run(examples).failed
    assert failed == 0, capsys.readouterr().out


def test_the_notebook_shows_what_it_says():
    assert notebook.differences(PAGES / "python" / "first-steps.ipynb") == []


def test_a_notebook_that_shows_something_else_fails(tmp_path):
    cells = [{"cell_type": "code", "metadata": {}, "execution_count": 1, "source": [source],
              "outputs": [{"output_type": "stream", "name": "stdout", "text": [shown]}]}
             for source, shown in (("print(1/3)", "0.33333331\n"), ("print(0.25)", "0.2500001\n"),
                                   ("print(0.25)", "0.251\n"), ("print('a')", "b\n"))]
    path = tmp_path / "wrong.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert [line.split()[2] for line in notebook.differences(path)] == ["2", "3"]


def test_the_reference_is_what_the_docstrings_say():
    """tests/python/reference.py docs/guide/python/reference.md writes it."""
    assert (PAGES / "python" / "reference.md").read_text(encoding="utf-8") == reference.page()
