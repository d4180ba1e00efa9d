"""The examples of docs/guide/python.md, run as they stand."""

import doctest
import re
from pathlib import Path

import pytest

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
