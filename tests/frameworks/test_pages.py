"""The Python pages of docs/guide/python, run as they stand, in the real frameworks: each page's python
blocks in one namespace, and what they print compared with the text block that follows.

usage: test_pages.py [--update] [PAGE...]   (default: every page with a python block)
"""
import contextlib
import io
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "docs"))
import run_examples  # noqa: E402

import torch  # noqa: E402
import transformers  # noqa: E402


def blocks(lines):
    """(first line, last line, language) of every fenced block, without its fences."""
    begin = None
    for number, line in enumerate(lines):
        if line.startswith("```"):
            if begin is None:
                begin = number
            else:
                yield begin + 1, number, lines[begin][3:].strip()
                begin = None


def run(source, path, number, names):
    printed = io.StringIO()
    # Lines of the page, in what a traceback says.
    code = compile("\n" * number + source, str(path), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, names)  # noqa: S102
    return run_examples.split_lines(printed.getvalue())


def try_page(path, update):
    lines = path.read_text(encoding="utf-8").split("\n")
    names, changes, errors, found = {"__name__": "page"}, [], [], list(blocks(lines))
    torch.manual_seed(0)
    for at, (first, last, language) in enumerate(found):
        if language != "python":
            continue
        printed = run("\n".join(lines[first:last]), path, first, names)
        follows = found[at + 1] if at + 1 < len(found) else (0, 0, "")
        if follows[2] != "text":
            if printed:
                errors.append(f"{path}:{first}: prints, and no text follows: {printed[0]}")
            continue
        wanted = run_examples.split_lines("\n".join(lines[follows[0]:follows[1]]))
        different = run_examples.first_difference(printed, wanted)
        if different and update:
            shown = run_examples.updated(wanted, printed) if "..." in wanted else printed
            changes.append((follows[0], follows[1], shown))
        elif different:
            errors.append(f"{path}:{follows[0]}: {different}")
    for first, last, shown in reversed(changes):
        lines[first:last] = shown
    if changes:
        path.write_text("\n".join(lines), encoding="utf-8")
    return errors, sum(language == "python" for _, _, language in found)


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    pages = [pathlib.Path(one).resolve() for one in arguments if one != "--update"] or sorted(
        path for path in (ROOT / "docs" / "guide" / "python").glob("*.md")
        if "```python" in path.read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    errors = []
    for page in pages:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            wrong, count = try_page(page, update)
        errors += wrong
        print(f"{page.name}: {count} examples, {len(wrong)} differ", flush=True)
    for error in errors:
        print(error)
    sys.exit(bool(errors) or not pages)


if __name__ == "__main__":
    main()
