#!/usr/bin/env python3
"""The schemas of --format json, and every JSON output that the tests of the command line know.

usage: schema.py PROGRAM CHECK [CTEST BUILD]
  form     each command has a schema, closed, every key described and named in snake_case
  outputs  outputs and errors follow their schemas: of the examples of the help, of VARIANTS, of
           every preset, list and table, and of the commands that ctest in BUILD runs
  strict   an output with a key too many, a key too few or a value of another type does not
"""

import copy
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PROGRAM = os.path.abspath(sys.argv[1])
TIMEOUT = 300  # seconds, of one command
CLAIM = '[[claim]]\nname="a"\nassert="sqrt(4) == %s"\n'
SMALL = "--width 16 --heads 2 --ffn 32 --sequence 4"

# Lines of a shell, the last command with its --format json, and their exit code. They have keys
# that other tests lack, null where others have numbers, and checks that fail.
VARIANTS = [
    ("scalecalc deepnorm --layers 12 --rule deepnet", 0),
    ("scalecalc deepnorm --layers 12 --decoder-layers 6 --arch encoder-decoder", 0),
    ("scalecalc deepnorm --layers 12 --decoder-layers 6 --arch encoder-decoder --rule deepnet", 0),
    ("scalecalc deepnorm --layers 12 --width 64 --digits 30", 0),
    ("scalecalc deepnorm --layers 9 --placement none --optimizer lamb", 0),
    (f"scalecalc deepnorm --layers 4 --method exact --explain {SMALL}", 0),
    (f"scalecalc deepnorm --layers 4 --verify --seeds 2 {SMALL}", 0),
    ("scalecalc activation relu --correlation 0.5 --methods all --samples 65536", 0),
    ("scalecalc activation hardshrink --digits 20", 0),
    ("scalecalc solve fixed-point relu --weight-variance 2", 0),
    ("scalecalc solve fixed-point hardshrink --weight-variance 3 --digits 20", 0),
    ("scalecalc solve self-normalizing", 0),
    ("scalecalc solve critical tanh", 0),
    ("scalecalc solve tuned hardshrink", 0),
    ("scalecalc solve truncated-normal --bounds=-inf,2 --digits 25", 0),
    ("scalecalc propagate mlp-relu --engine symbolic --layers 2", 0),
    ("scalecalc propagate mlp-relu --engine montecarlo --layers 2 --samples 1024", 0),
    (f"scalecalc propagate pre-ln-12 --engine passes --layers 2 {SMALL} --seeds 2", 0),
    ("scalecalc propagate mlp-relu --layers 2000 --weight-variance 9", 2),
    ("scalecalc presets pre-ln-12 | scalecalc propagate - --layers 2", 0),
    ("scalecalc verify mlp-relu --layers 6 --width 3 --seeds 4000", 1),
    (f"scalecalc verify pre-ln-12 --layers 1 {SMALL} --seeds 2 --dtype float", 2),
    ("scalecalc sweep mlp-relu --layers 2,4 --seeds 1", 0),
    ("scalecalc sweep mlp-relu --layers 2 --seeds 2 --quantity actual_delta_loss", 0),
    ("scalecalc sweep mlp-relu --layers 2,8 --engine quadrature --optimizer sgd", 0),
    ("scalecalc init gpt2 --names hf-gpt2", 0),
    ("scalecalc transfer --same mup spectral --axes width", 0),
    ("scalecalc transfer --same mup standard", 1),
    ("scalecalc coordinates mlp-relu --layers 3 --widths 8,16 --optimizer adamw --seeds 1", 1),
    ("scalecalc transfer pre-ln-12 --to width=128,layers=24 --lr 1e-3", 0),
    ("scalecalc transfer --optimizer sgd --axes batch,tokens", 0),
    ("echo '{\"model_type\": \"llama\", \"num_hidden_layers\": 1}' > config.json; "
     "scalecalc init .", 0),
    ("scalecalc compare pre-ln-12 post-ln-12", 0),
    ("scalecalc deepnorm --layers 12,24 --optimizer adam,muon", 0),
    ("scalecalc activation gelu relu", 0),
    ("scalecalc init mlp-relu --weights w.safetensors > log; "
     "scalecalc audit w.safetensors --model mlp-relu", 0),
    ("scalecalc init mlp-relu --weights w.safetensors > log; "
     "scalecalc audit w.safetensors --model mlp-relu --weight-variance 1 --layers 4", 1),
    ("scalecalc convention --all", 0),
    ("scalecalc convention 'nn.init.trunc_normal_(w, std=0.02)' --shape 8x8", 0),
    ("scalecalc convention 'nn.init.normal_(w)'", 0),
    (f"printf {shlex.quote(CLAIM % 2)} | scalecalc check - --mutate", 0),
    (f"printf {shlex.quote(CLAIM % 3)} | scalecalc check -", 1),
    ("printf '[[claim' | scalecalc check -", 2),
    ("scalecalc train --depths 1,2 --placements post,pre --steps 4 --seeds 2 -o runs", 0),
    ("scalecalc train --depths 1 --placements pre --steps 4 --seeds 1 -o runs > log; "
     "scalecalc report runs", 0),
    ("scalecalc train --depths 1 --placements pre --steps 4 --seeds 1 -o runs > log; "
     "rm runs/*.jsonl; scalecalc report runs", 2),
    ("scalecalc table --all --compare -o .", 1),
    ("scalecalc verfy", 2),
    ("scalecalc deepnorm --layers many", 2),
    ("scalecalc solve critical relu --bias-variance 1", 1),
]
# Each part of an answer is one that some limit leaves out.
VARIANTS += [
    (f"scalecalc {command} --time-limit {limit}", None)
    for limit in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
    for command in ("activation elu --correlation 0.3 --digits 25 --methods all --samples 65536",
                    "activation gelu --variance 1e60", "solve tuned mish",
                    "solve fixed-point gelu --weight-variance 2")
]


def run(line, folder):
    start = f"scalecalc() {{ {shlex.quote(PROGRAM)} \"$@\"; }}; "
    return subprocess.run(["sh", "-c", start + line], cwd=folder, capture_output=True, text=True,
                          timeout=TIMEOUT, stdin=subprocess.DEVNULL)


def answer(*words):
    return json.loads(run("scalecalc " + shlex.join(words), "/").stdout)


def names_of(topic):
    return [entry["name"] for entry in answer("list", topic, "--format", "json")["results"][topic]]


SCHEMAS = {entry["name"]: answer("schema", entry["name"])
           for entry in answer("schema", "--format", "json")["results"]["schemas"]}

TYPES = {"null": type(None), "boolean": bool, "string": str, "array": list, "object": dict}


def is_of(kind, value):
    if kind in ("integer", "number"):
        return not isinstance(value, bool) and isinstance(
            value, int if kind == "integer" else (int, float))
    return isinstance(value, TYPES[kind])


def problem(schema, value, path="$"):
    """The first place where a value is not what its schema says, as (path, what); None: right."""
    if "anyOf" in schema:
        found = [problem(one, value, path) for one in schema["anyOf"]]
        return None if None in found else max(found, key=lambda one: len(one[0]))
    kinds = schema.get("type", [])
    if kinds and not any(is_of(kind, value) for kind in
                         ([kinds] if isinstance(kinds, str) else kinds)):
        return path, f"{value!r:.60} is no {kinds}"
    if "const" in schema and value != schema["const"]:
        return path, f"{value!r:.60} is not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        return path, f"{value!r:.60} is none of {schema['enum']}"
    if "minimum" in schema and is_of("number", value) and value < schema["minimum"]:
        return path, f"{value} is below {schema['minimum']}"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return path, f"{len(value)} elements"
        return first(problem(schema["items"], one, f"{path}[{i}]") for i, one in enumerate(value))
    if isinstance(value, dict):
        return members_problem(schema, value, path)
    return None


def members_problem(schema, value, path):
    for name in schema.get("required", []):
        if name not in value:
            return path + "." + name, "is missing"
    for name, one in value.items():
        shape = schema.get("properties", {}).get(name, schema["additionalProperties"])
        found = (path + "." + name, "is not declared") if shape is False else problem(
            shape, one, path + "." + name)
        if found:
            return found
    return None


def first(problems):
    return next((one for one in problems if one), None)


def objects_of(schema):
    """Every schema of an object in this one."""
    if isinstance(schema, list):
        for one in schema:
            yield from objects_of(one)
    elif isinstance(schema, dict):
        if "properties" in schema or "additionalProperties" in schema:
            yield schema
        for one in schema.values():
            yield from objects_of(one)


def check_form():
    commands = [entry["name"] for entry in answer("help", "--format", "json")["results"]["commands"]]
    assert [name for name in commands if name not in SCHEMAS] == ["completion"], commands
    for name, schema in SCHEMAS.items():
        version = answer("list", "formats", "--format", "json")["scalecalc"]
        assert schema["$id"] == f"urn:scalecalc:{version}:{name}", schema["$id"]
        for one in objects_of(schema):
            assert "properties" in one or isinstance(one["additionalProperties"], dict), one
            for key, shape in one.get("properties", {}).items():
                if key in ("properties", "additionalProperties"):
                    continue
                # Ratios of sizes are named as the literature does: r_n, r_L, ...
                assert re.fullmatch(r"[a-z][a-z0-9_]*|r_[A-Z]", key), (name, key)
                assert shape.get("description"), (name, key)
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        return
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


def in_json(line):
    """The line, its last command with --format json instead of what it has."""
    before, last = re.match(r"(.*[;|] )?(scalecalc.*)", line, re.S).groups()
    into_folder = " train " in last or " --all" in last
    last = re.sub(r" (--format|--target) \S+| --man| > .*", "", last)
    last = last if into_folder else re.sub(r" -o \S+", "", last)
    return (before or "") + last + " --format json"


def of_tests(ctest, build):
    """The commands of the tests of the command line, without their --format and -o."""
    shown = subprocess.run([ctest, "--show-only=json-v1"], cwd=build, capture_output=True, text=True,
                           check=True).stdout
    for test in json.loads(shown)["tests"]:
        for word in test.get("command", []):
            words = word.removeprefix("-DARGS=").split(";")
            # Each claim of tables/claims is decided by other tests; annotations are no JSON.
            if not word.startswith("-DARGS=") or "tables/claims" in word or "--github" in words:
                continue
            if not {"--help", "-h", "--version", "completion", "import", "schema"} & set(words):
                yield shlex.join(["scalecalc"] + words)


def command_of(line):
    return next((word for word in shlex.split(line.rsplit("scalecalc ", 1)[1]) if word in SCHEMAS),
                "help")


def check_line(line, code=None):
    with tempfile.TemporaryDirectory() as folder:
        done = run(in_json(line), folder)
    assert code in (None, done.returncode), (line, done.returncode, done.stderr)
    if not done.stdout:
        assert done.returncode in (0, 3), (line, done.stderr)
        return
    try:
        output = json.loads(done.stdout)
    except ValueError:
        raise AssertionError((in_json(line), done.stdout[:200])) from None
    codes = (output["error"]["exit_code"],) if "error" in output else (0, 1)
    assert done.returncode in codes, (line, done.returncode)
    found = problem(SCHEMAS[output.get("command", command_of(line))], output)
    assert not found, (line, *found)


def lines():
    for name in [""] + sorted(SCHEMAS):
        page = answer(*f"help {name}".split(), "--format", "json")["results"]
        if name != "schema":
            one, other = page["examples"]
            yield one, 0
            yield f"{one} > log; {other}", 0
        yield f"scalecalc help {name}", 0
    for preset in [one["name"] for one in
                   answer("presets", "--format", "json")["results"]["presets"]]:
        for command in ("presets", "init", "propagate"):
            yield f"scalecalc {command} {preset}" + (
                " --layers 3" if command == "propagate" else ""), None
    for topic in [one["required"][0] for one in
                  SCHEMAS["list"]["anyOf"][0]["properties"]["results"]["anyOf"]]:
        yield f"scalecalc list {topic}", 0
    for table in names_of("tables"):
        yield f"scalecalc table {table}", 0
    yield from VARIANTS
    for line in sorted(set(of_tests(*sys.argv[3:5]))):
        yield line, None


def check_outputs():
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [(line, pool.submit(check_line, line, code)) for line, code in dict(lines()).items()]
    failed = [(line, one.exception()) for line, one in results if one.exception()]
    for line, error in failed:
        print(line, "\n   ", error, file=sys.stderr)
    assert not failed and len(results) > 400, (len(failed), len(results))


def changed(value):
    """Copies of a value, each wrong in one place."""
    if isinstance(value, dict):
        yield {**value, "another_key": 1}
        for key, one in value.items():
            for other in changed(one):
                yield {**value, key: other}
    elif isinstance(value, list):
        yield {}
        for one in changed(value[0]) if value else []:
            yield [one] + value[1:]
    else:
        yield [value]


def check_strict():
    for line in ("scalecalc deepnorm --layers 12", "scalecalc solve critical tanh",
                 "scalecalc propagate mlp-relu --layers 1", "scalecalc list families",
                 "scalecalc solve critical relu"):
        output = json.loads(run(in_json(line), "/").stdout)
        schema = SCHEMAS[line.split()[1]]
        assert problem(schema, output) is None, line
        for other in changed(copy.deepcopy(output)):
            assert problem(schema, other), (line, other)
        for part, key in [(output, key) for key in output] + [
                (output.get("results", output), next(iter(output.get("results", output))))]:
            kept = part.pop(key)
            assert problem(schema, output), (line, key)
            part[key] = kept


globals()["check_" + sys.argv[2]]()
