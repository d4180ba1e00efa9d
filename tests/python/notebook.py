"""Runs a notebook as IPython would, without it: what the last expression of a cell is shows itself by
its repr, its HTML and the figure in it. Compared with the outputs in the file; numbers within 1e-6 of
themselves, since builds for other processors round otherwise, and of figures only their words.

usage: notebook.py [--update] NOTEBOOK...
"""

import ast
import contextlib
import io
import json
import math
import pathlib
import re
import sys

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def run(source, names):
    """stdout, and the value of the last expression or None."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None  # noqa: S307
    return printed.getvalue(), value


def lines(text):
    return text.splitlines(keepends=True)


def outputs(source, names, count):
    printed, value = run(source, names)
    made = []
    if printed:
        made.append({"output_type": "stream", "name": "stdout", "text": lines(printed)})
    if value is not None:
        data = {"text/plain": lines(re.sub(r" at 0x[0-9a-f]+", "", repr(value)))}
        for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
            if hasattr(value, method):
                data[kind] = lines(getattr(value, method)())
        made.append({"output_type": "execute_result", "execution_count": count, "metadata": {},
                     "data": data})
    return made


def texts(output):
    if output["output_type"] == "stream":
        return {"stdout": "".join(output["text"])}
    return {kind: "".join(text) for kind, text in output["data"].items()}


def words(text):
    """Of a figure what it says: where its lines are is rounded."""
    return re.sub(r"<svg.*?</svg>", lambda svg: " ".join(re.findall(r">([^<>\s][^<>]*)<", svg[0])), text,
                  flags=re.DOTALL)


def alike(found, wanted):
    found, wanted = words(found), words(wanted)
    if NUMBER.sub("0", found) != NUMBER.sub("0", wanted):
        return False
    return all(math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-12)
               for a, b in zip(NUMBER.findall(found), NUMBER.findall(wanted)))


def differences(path, update=False):
    """What is wrong, a line each."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names, wrong, count = {"__name__": "notebook"}, [], 0
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        count += 1
        made = outputs("".join(cell["source"]), names, count)
        found = [texts(one) for one in made]
        wanted = [texts(one) for one in cell["outputs"]]
        same = len(found) == len(wanted) and all(
            a.keys() == b.keys() and all(alike(a[kind], b[kind]) for kind in a)
            for a, b in zip(found, wanted))
        if not same:
            wrong.append(f"{path.name}: cell {number} shows {str(found)[:400]}, and the file has "
                         f"{str(wanted)[:400]}")
            cell["outputs"], cell["execution_count"] = made, count
    if update and wrong:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return wrong


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    wrong = [one for path in arguments if path != "--update"
             for one in differences(pathlib.Path(path), update)]
    print(*wrong, sep="\n")
    sys.exit(bool(wrong) and not update)


if __name__ == "__main__":
    main()
