#!/usr/bin/env python3
"""Writes docs/guide/python/reference.md from the docstrings of the package that Python finds.

usage: reference.py OUTPUT
"""

import inspect
import sys
import textwrap

import scalecalc
import scalecalc.functions
import scalecalc.jax
import scalecalc.keras
import scalecalc.torch

COMMANDS = ["deepnorm", "activation", "solve", "propagate", "verify", "sweep", "init", "audit", "check",
            "convention", "transfer", "coordinates"]
SHARED = 4  # commands that have an option, from which on it is told once
MODULES = [scalecalc.torch, scalecalc.jax, scalecalc.keras]


def parts(function):
    """Paragraphs of the docstring, and {name: meaning} of the entries behind them."""
    text = inspect.getdoc(function) or ""
    paragraphs = text.split("\n\n")
    names = set(inspect.signature(function).parameters)
    entries, last = {}, None
    lines = paragraphs[-1].split("\n")
    if not any(line.split(":")[0] in names for line in lines):
        return paragraphs, {}
    for line in lines:
        name, colon, meaning = line.partition(": ")
        if colon and name in names:
            last = name
            entries[name] = meaning
        elif last is not None:
            entries[last] += " " + line.strip()
    return paragraphs[:-1], entries


def escaped(text):
    """Markdown that shows the text, whose `code` stays."""
    pieces = text.replace("|", "\\|").split("`")
    return "`".join(piece if at % 2 else _plain(piece) for at, piece in enumerate(pieces))


def _plain(text):
    return text.replace("*", "\\*").replace("<", "&lt;").replace("_", "\\_")


def table(entries):
    rows = [f"| `{name}` | {escaped(meaning)} |" for name, meaning in entries.items()]
    return ["| | |", "|---|---|", *rows, ""] if rows else []


def fields(name):
    """Of the result of a command: what its class says of each."""
    from scalecalc import _commands

    kind = getattr(_commands, "".join(part.capitalize() for part in name.split("_")) + "Result")
    found, last = {}, None
    for line in (inspect.getdoc(kind) or "").split("\n")[1:]:
        field, colon, meaning = line.partition(": ")
        if colon and field.isidentifier():
            last = field
            found[field] = meaning
        elif last is not None and line.strip():
            found[last] += " " + line.strip()
    return found


def command_page(shared, all_entries):
    lines = []
    for name in COMMANDS:
        function = getattr(scalecalc, name)
        paragraphs, _ = parts(function)
        own = {key: text for key, text in all_entries[name].items() if key not in shared}
        rest = [key for key in all_entries[name] if key in shared]
        lines += [f"### {name}", "", escaped(paragraphs[0].replace("\n", " ")), "",
                  "`" + " ".join(paragraphs[1].split()).removeprefix("In a shell: ") + "`", "",
                  *table(own)]
        if rest:
            count = len(rest)
            lines += [f"And {count} of the [options of models](#options-of-models)." if count > 3 else
                      f"And {', '.join(f'`{one}`' for one in rest)}, as [below](#options-of-models).", ""]
        found = fields(name)
        if found:
            lines += [f"Returns `{name.capitalize()}Result`:", "", *table(found)]
    return lines


def signature(function):
    text = str(inspect.signature(function))
    return text.replace("typing.", "").replace("'", "")


def described(name, function):
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    block = textwrap.wrap(f"{name}{signature(function)}", 100, subsequent_indent="    ",
                          break_long_words=False, break_on_hyphens=False)
    text = [escaped(paragraph.replace("\n", " ")) for paragraph in paragraphs]
    return [f"### {name}", "", "```text", *block, "```", "", *"\n\n".join(text).split("\n"), ""]


def page():
    all_entries = {name: parts(getattr(scalecalc, name))[1] for name in COMMANDS}
    times = {}
    for entries in all_entries.values():
        for key, meaning in entries.items():
            times.setdefault(key, []).append(meaning)
    shared = {key: meanings[0] for key, meanings in times.items() if len(meanings) >= SHARED}
    lines = ["# Python: every function", "",
             "Written by `tests/python/reference.py` from the docstrings; `help(scalecalc.verify)` says the same. "
             "Numbers are pure numbers unless an entry names a unit; shapes are as PyTorch prints them. Bad "
             "input raises `scalecalc.InputError`, a question without a solution `scalecalc.NoSolutionError` "
             "(both `ValueError`), what fails outside `scalecalc.FaultError` (an `OSError`).", "",
             "## Commands", "",
             "The command's arguments first, its options as keywords; every result also has what "
             "[the guide](../python.md#results) lists.", ""]
    lines += command_page(shared, all_entries)
    lines += ["### Options of models", "",
              "Of all functions that take a model, but for those that do not use them.", "",
              *table(shared)]
    for module in MODULES:
        short = module.__name__
        intro = (inspect.getdoc(module) or "").split("\n\n")
        lines += [f"## {short}", "", *[escaped(text.replace("\n", " ")) + "\n" for text in intro]]
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isfunction(one):
                lines += described(f"{short}.{name}", one)
            else:
                lines += [f"### {short}.{name}", "", escaped(inspect.getdoc(one) or ""), ""]
    lines += ["## scalecalc.functions", "",
              escaped((inspect.getdoc(scalecalc.functions) or "").replace("\n", " ")), "",
              "`" + "`, `".join(scalecalc.functions.__all__) + "`"]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(page())
