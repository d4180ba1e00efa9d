#!/usr/bin/env python3
"""Writes the package's functions and the classes of their results, from what the program says of
itself: `scalecalc help COMMAND` has the options, `scalecalc schema COMMAND` the results.

usage: generate.py PROGRAM OUTPUT
"""

import json
import keyword
import subprocess
import sys
import textwrap

COMMANDS = ["deepnorm", "activation", "solve", "propagate", "verify", "sweep", "init", "audit",
            "check", "convention", "transfer", "coordinates"]
# Of a terminal, or of a stream that is Python's.
LEFT_OUT = {"help", "format", "o", "output", "wide", "color", "no-pager", "quiet", "curves", "github"}
SCALARS = {"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}
WIDTH = 98


def name_of(word):
    name = word.lstrip("-").replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def camel(word):
    return "".join(part.capitalize() for part in word.split("_") if part)


class Classes:
    """Classes of results, one for each shape."""

    def __init__(self):
        self.lines = []
        self.names = {}  # by shape
        self.taken = set()

    def name(self, wanted, shape):
        key = json.dumps(shape, sort_keys=True)
        if key in self.names:
            return self.names[key], True
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}{number}"
        self.taken.add(name)
        self.names[key] = name
        return name, False

    def type_of(self, shape, wanted):
        """The annotation, and what wraps a value of it at run time; "" where nothing does."""
        if "enum" in shape:
            words = [word for word in shape["enum"] if word is not None]
            text = "Literal[" + ", ".join(json.dumps(word) for word in words) + "]"
            return text + (" | None" if None in shape["enum"] else ""), ""
        if "const" in shape:
            return f"Literal[{json.dumps(shape['const'])}]", ""
        if "anyOf" in shape:
            parts = shape["anyOf"]
            objects = [part for part in parts if is_object(part)]
            if len(objects) > 1:
                parts = [part for part in parts if not is_object(part)] + [merged(objects)]
            types, wraps = zip(*(self.type_of(part, wanted) for part in parts))
            return " | ".join(dict.fromkeys(types)), next(filter(None, wraps), "")
        kind = shape.get("type")
        if kind == ["number", "string"]:
            return "float", ""  # a text where more digits are asked for than a float has
        if isinstance(kind, list):
            types, wraps = zip(*(self.type_of({**shape, "type": one}, wanted) for one in kind))
            return " | ".join(dict.fromkeys(types)), next(filter(None, wraps), "")
        if kind == "array":
            inner, wrap = self.type_of(shape.get("items", {}), wanted)
            return f"list[{inner}]", wrap
        if kind == "object" and is_object(shape):
            name = self.add(wanted, shape, "Record")
            return name, name
        if kind == "object":
            extra = shape.get("additionalProperties")
            inner, wrap = self.type_of(extra if isinstance(extra, dict) else {}, wanted)
            return f"dict[str, {inner}]", f"MapOf({wrap})" if wrap else ""
        return SCALARS.get(kind, "Any"), ""

    def add(self, wanted, shape, base, doc=""):
        name, known = self.name(wanted, [shape, base, wanted if base != "Record" else ""])
        if known:
            return name
        fields, wraps = [], []
        required = set(shape.get("required", []))
        for key, member in shape["properties"].items():
            kind, wrap = self.type_of(member, name + camel(key))
            if is_formula(key):
                kind = kind.replace("str", "Formula")
            if wrap:
                wraps.append(f"{json.dumps(key)}: {wrap}")
            maybe = key not in required
            text = f"    {name_of(key)}: {kind}"
            if maybe and "None" not in kind.split(" | ") and kind != "Any":
                text += " | None"
            fields.append((maybe, text, member.get("description", "")))
        # A field may be missing: None.
        lines = ["", "", f"class {name}({base}):"]
        described = [f"{line.split(':')[0].strip()}: {meaning}" for _, line, meaning in fields if meaning]
        lines += docstring([doc] if doc else [], described)
        lines += ["    __slots__ = ()"] if base == "Record" else []
        if wraps:
            lines += ["    _of = {" + ", ".join(wraps) + "}"]
        missing = [json.dumps(key) for key in shape["properties"] if key not in required]
        lines += ["    _may_miss = frozenset((" + "".join(key + ", " for key in missing) + "))"] if missing else []
        lines += ["    if TYPE_CHECKING:"] + ["    " + line for _, line, _ in fields]
        if not fields:
            lines += ["        pass"]
        self.lines += lines
        return name


def is_formula(key):
    """As scalecalc/_result.py has it."""
    return key.endswith("_formula") or key in ("formula", "equation")


def is_object(shape):
    return shape.get("type") == "object" and "properties" in shape


def merged(shapes):
    """One object with the keys of all; those that not all have may miss."""
    properties = {}
    for shape in shapes:
        for key, member in shape["properties"].items():
            same = properties.setdefault(key, [])
            if member not in same:
                same.append(member)
    required = [key for key in properties
                if all(key in shape.get("required", []) for shape in shapes)]
    made = {}
    for key, members in properties.items():
        first = members[0]
        if len(members) > 1:
            bare = [{k: v for k, v in member.items() if k != "description"} for member in members]
            first = {"anyOf": bare, "description": first.get("description", "")}
        made[key] = first
    return {"type": "object", "properties": made, "required": required}


def results_of(schema):
    """Of one value of each option, and of lists of them beside."""
    shape = schema["anyOf"][0]["properties"]["results"]
    if "anyOf" not in shape:
        return shape
    parts = flat(shape)
    single = [part for part in parts if "rows" not in part["properties"]]
    lists = [part for part in parts if "rows" in part["properties"]]
    one = merged(single) if len(single) > 1 else single[0]
    if not lists:
        return one
    both = merged([one] + lists)
    both["required"] = one.get("required", [])
    return both


def flat(shape):
    return [part for one in shape["anyOf"] for part in (flat(one) if "anyOf" in one else [one])]


def docstring(paragraphs, entries, indent="    "):
    text = []
    for paragraph in paragraphs:
        text += textwrap.wrap(paragraph, WIDTH - len(indent)) + [""]
    for entry in entries:
        text += textwrap.wrap(entry, WIDTH - len(indent), subsequent_indent="    ")
    while text and not text[-1]:
        text.pop()
    text = [line.replace("\\", "\\\\").replace('"""', "'''") for line in text]
    if not text:
        return []
    lines = [indent + '"""' + text[0]] + [(indent + line).rstrip() for line in text[1:]]
    return lines + [indent + '"""'] if len(text) > 1 else [lines[0] + '"""']


class Parameter:
    def __init__(self, option):
        self.is_argument = option["group"] == "Arguments"
        long = [name for name in option["names"] if name.startswith("--")]
        self.word = option["names"][0] if self.is_argument else long[0]
        self.name = name_of(option["names"][0].lower() if self.is_argument else long[0])
        self.help = option["help"]
        kind = option["type"]
        self.is_flag = kind is None and not self.is_argument
        one = "bool" if self.is_flag else "Value"
        if self.is_argument and option["names"][0] in ("ACTIVATION",) or "activation" in self.name:
            one = "Value | Function"
        if self.word == "--expr":
            one = "Value | Function"
        # How several values are said: words, one after the other; with commas; the option again.
        self.joins = "words" if self.is_argument else "flag" if self.is_flag and not option["list"] else "again"
        if option["list"] or kind and "," in kind or kind == "SIZES" and self.word != "--shape":
            self.joins = "words" if self.is_argument else "comma"
        several = f" | Sequence[{one}]" if not self.is_flag or option["list"] else ""
        if kind in ("P=V", "SIZES"):
            several += " | Mapping[str, Value]"
        if self.word == "--plot":
            one = "Value | bool"
        self.annotation = one + several + " | None"

    def spec(self):
        return f"({self.name!r}, {self.word!r}, {self.joins!r})"


def function(command, page, schema, classes):
    shape = results_of(schema)
    summary = page["summary"]
    made = classes.add(camel(command) + "Result", shape, "Result",
                       f"What {command}() found: {summary}.")
    options = [option for option in page["options"]
               if option["group"] == "Arguments"
               or not any(name.lstrip("-") in LEFT_OUT for name in option["names"])]
    parameters = [Parameter(option) for option in options]
    names = {parameter.name for parameter in parameters if not parameter.is_argument}
    arguments = [parameter for parameter in parameters if parameter.is_argument]
    keywords = [parameter for parameter in parameters if not parameter.is_argument]
    lines = ["", "", f"def {command}("]
    lines += [f"    {parameter.name}: {parameter.annotation} = None," for parameter in arguments]
    if arguments and any(argument.name in names for argument in arguments):
        lines += ["    /,"]
    lines += ["    *,"]
    lines += [f"    {parameter.name}: {parameter.annotation} = None," for parameter in keywords]
    lines += [f") -> {made}:"]
    entries = [f"{parameter.name}: {parameter.help}" for parameter in parameters]
    lines += docstring([summary[0].upper() + summary[1:] + ".",
                        "In a shell: " + "; ".join(page["examples"])], entries)
    spec = ", ".join(parameter.spec() for parameter in arguments + keywords)
    lines += [f"    return run({made}, {command!r}, _{command.upper()}, locals())"]
    lines += ["", "", f"_{command.upper()}: Spec = (", *textwrap.wrap(spec, WIDTH - 4, initial_indent="    ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False), ")"]
    return lines


def main():
    program, output = sys.argv[1:]

    def ask(*words):
        return json.loads(subprocess.run([program, *words], check=True, stdout=subprocess.PIPE).stdout)

    classes = Classes()
    functions = []
    for command in COMMANDS:
        page = ask("help", command, "--format", "json")["results"]
        functions += function(command, page, ask("schema", command), classes)
    head = ['"""The functions and what they return. Generated by python/generate.py: do not edit."""',
            "", "from __future__ import annotations", "",
            "from ._call import run", "from ._result import MapOf, Record, Result", "",
            "TYPE_CHECKING = False", "if TYPE_CHECKING:", "    from collections.abc import Mapping, Sequence",
            "    from typing import Any, Literal", "",
            "    from ._call import Function, Spec, Value", "    from ._result import Formula"]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(head + classes.lines + functions) + "\n")


if __name__ == "__main__":
    main()
