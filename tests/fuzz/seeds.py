#!/usr/bin/env python3
"""Writes tests/fuzz/corpus, the inputs that the fuzzers start from, and their dictionaries.

usage: tests/fuzz/seeds.py --program build/scalecalc

What other folders hold as files (presets, claims, their suite) tools/fuzz reads from there.
"""
import argparse
import json
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent

FORMULAS = r"""
(2*N)^(1/4)
(8*N)^(-1/4)
(N^4*M)^(1/16)
sqrt(2/(fan_in*(1+a^2)))
erfc(-x/sqrt(2))/2
x*Phi(x)
0.5*x*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3)))
max(0,x)-max(0,-x)/10
1e-400+1e400-1/3
2^0.5^x
-x^2^-1
log(1+exp(x))
abs(sin(3*x)+cos(x/7))
N^(3/2)/N^(1/2)*(N+1)^2-(N^2+2*N+1)
exp(exp(exp(x)))
atan(x)+sinh(x)*cosh(x)-step(x)
((((((x))))))
1.6732632423543772848170429916717
rms(W)*norm(g)/global_norm(g)
sqrt(8)*sqrt(18)/sqrt(2)
""".strip().splitlines()

CHECKPOINT = {"scalecalc checkpoint": 1, "run": 7, "step": 3, "loss_sum": 1.5, "loss_count": 2,
              "tensors": [["head.weight", 1, 2]]}
# Words that write a file, wait for one or start another program are left out of command lines.
COMMANDS = """
deepnorm --layers 1000 --optimizer adam
activation gelu --digits 20
activation selu --variance 2 --format json
solve --constraint alpha=2*N --layers 12
explain pre-norm
list optimizers
schema deepnorm
help verify
init gpt2 --format csv
presets gpt2
convention torch.nn.Linear(256,1024) --shape 3,4
propagate mlp-relu --layers 50
compare gpt2 llama
verify gpt2 --layers 2,3 --seeds 4
sweep --depths 2:32:x4
train --depths 2 --placements post,pre --steps 20 --seeds 1
transfer gpt2 --width 64 --to-width 128
check claims.toml
audit model.safetensors
coordinates mlp-relu --widths 32,64
table --all
import config.json
choose --layers 24
report folder
completion bash
devices
""".strip().splitlines()
VALUES = ["gpt2", "llama", "mlp-relu", "pre-ln-12", "adam", "sgd", "gelu", "relu", "selu", "json",
          "csv", "table", "latex", "1e308", "-1", "nan", "inf", "2:32:x4", "1,2,3", "alpha=2*N", "\n"]
LEFT_OUT = ("--plot", "--output", "--verify")


MODEL = """[model]
kind = "transformer"
width = 8
heads = 2
ffn = 8
sequence = 8
batch = 2
dropout = 0.1
[input]
kind = "tokens"
"""


class Corpus:
    def __init__(self, target):
        self.folder = HERE / "corpus" / target
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.count = 0

    def add(self, content):
        data = content.encode() if isinstance(content, str) else content
        (self.folder / f"{self.count:02}").write_bytes(data)
        self.count += 1


def write_words(target, words):
    lines = []
    for word in sorted(set(words)):
        text = "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else f"\\x{ord(c):02x}"
                       for c in word)
        lines.append(f'"{text}"\n')
    (HERE / "dictionaries" / f"{target}.dict").write_text("".join(lines))


def words_of(texts, least=2, most=30):
    words = set()
    for text in texts:
        words.update(w for w in re.findall(r"[A-Za-z_][A-Za-z0-9_.+-]*", text)
                     if least <= len(w) <= most)
    return words


def expressions():
    corpus = Corpus("expression")
    for formula in FORMULAS:
        corpus.add(formula)
    functions = ["exp", "log", "sqrt", "erf", "erfc", "Phi", "tanh", "sinh", "cosh", "sin", "cos",
                 "atan", "abs", "sign", "step", "max", "min", "pi", "norm", "rms", "global_norm",
                 "orthogonal", "sigmoid", "relu", "softplus"]
    write_words("expression", functions + ["^(1/2)", "^(-1)", "1e", "(x)", "*x", "/x", "^x"])


def conventions():
    corpus = Corpus("convention")
    text = (ROOT / "src/export/conventions/examples.cpp").read_text()
    found = re.findall(r'line\("((?:[^"\\]|\\.)*)"(?:,\s*\{([^}]*)\})?(?:,\s*"([^"]*)")?', text)
    names = []
    for line, shape, layer in found:
        line = line.replace('\\"', '"')
        names.append(line)
        corpus.add(f"{line}\n{shape.replace(',', ' ')}\n{layer}\n")
    write_words("convention", list(words_of(names)) + ["\n", "=", "**", "(w, "])


def claims():
    keys = ["name", "assert", "let", "for", "by", "fails", "note", "condition", "source",
            "published", "truth", "finding", "within", "survives", "follows"]
    corpus = Corpus("claims")
    corpus.add('[[claim]]\nname = "a"\nlet = { q = "positive", "u, v" = "normal(0, q, 1/2)", '
               'w = "normal(0, 1)[4]", c = "in (-1, 1)" }\nfor = { k = [1, "1/3", 0.5] }\n'
               'assert = ["E[relu(u)^2] == q/2", "sum(w[i]^2, i=1..4) ~= 1.67..."]\n'
               'by = ["symbolic", "montecarlo"]\n')
    corpus.add('[[claim]]\nname = "a"\npublished = "1.67"\ntruth = "selu_lambda"\n'
               'finding = "approximation"\nwithin = "5%"\n[[claim]]\nfollows = "a"\n'
               'survives = { "factor 2" = "why" }\nfails = true\nassert = "f\'(x) <= g(x, k=2).y"\n')
    write_words("claims", [f"{k} = " for k in keys] +
                ["[[claim]]\n", "E[", "normal(0, 1)", " == ", " ~= ", " within 5%", '"""', "..."])


def models():
    corpus = Corpus("model")
    corpus.add('[model]\nkind = "layers"\n[input]\nfeatures = 8\nsequence = 4\n'
               '[[layer]]\nkind = "linear"\nout = 8\n[[layer]]\nkind = "residual"\n'
               '[[layer.branch]]\nkind = "activation"\nfunction = "relu"\n')
    corpus.add('[model]\nbase = "gpt2"\nlayers = 3\n[init]\ngain = { qkv = 2 }\n')
    texts = [p.read_text() for p in sorted((ROOT / "tables/presets").glob("*.toml"))]
    fields = re.findall(r'"([a-z_.]+)"', (ROOT / "src/network/fields.cpp").read_text())
    write_words("model", [f"{w} = " for w in words_of(fields) | words_of(texts, 3, 20)] +
                ["[model]\n", "[input]\n", "[init]\n", "[loss]\n", "[memory]\n", "[names]\n",
                 "[[layer]]\n"])


def safetensors_file(tensors, tail=b"", pad=0):
    header, data = {}, b""
    for name, dtype, shape, size in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += bytes(range(size % 256))[:size].ljust(size, b"\x3c")
    text = json.dumps(header).encode() + b" " * pad
    return struct.pack("<Q", len(text)) + text + data + tail


def safetensors():
    corpus = Corpus("safetensors")
    two = [("a.weight", "F32", [2, 3], 24), ("b", "F16", [5], 10)]
    corpus.add(safetensors_file(two))
    corpus.add(safetensors_file([("x", "BF16", [], 2), ("y", "F64", [1, 1], 8),
                                 ("z", "I64", [2], 16), ("e", "F8_E4M3", [3], 3)], pad=3))
    corpus.add(safetensors_file([("empty", "F32", [0, 7], 0)]))
    corpus.add('{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[32,32],'
               '"data_offsets":[0,4096]}}')
    corpus.add('{"metadata":{"total_size":10},"weight_map":{"a":"model-1.safetensors",'
               '"b":"model-2.safetensors"}}')
    write_words("safetensors", ["__metadata__", "dtype", "shape", "data_offsets", "weight_map",
                                "F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "F8_E5M2",
                                '":{"', '"},"', "[0,", "18446744073709551615", "1e19", "-1"])


def configs():
    corpus = Corpus("config")
    texts, seen = [], set()
    for path in sorted((ROOT / "tests/architectures/models").glob("*.json")):
        config = json.loads(path.read_text())["config"]
        # The fuzzer leaves out large numbers.
        texts.append(re.sub(r"(?<![.\d-])\d{3,}(?![.\de])", "96", json.dumps(config)))
        if config.get("model_type") not in seen:
            seen.add(config.get("model_type"))
            corpus.add(texts[-1])
    write_words("config", [f'"{w}":' for w in words_of(texts, 3)] +
                ["null", "true", "false", "1e308", "-1", "{}", "[]"])


def graphs():
    corpus = Corpus("graph")
    names = ["mlp", "unknown", "two-inputs", "long-skip"]
    texts = []
    for name in names:
        graph = json.loads((ROOT / f"tests/graphs/graphs/{name}.json").read_text())
        texts.append(json.dumps(graph, separators=(",", ":")))
        corpus.add(texts[-1])
    corpus.add((ROOT / "tests/cli/graph.pt2").read_bytes())
    texts += [p.read_text() for p in sorted((ROOT / "tests/graphs/graphs").glob("*.json"))]
    operations = set(re.findall(r"torch\.ops\.aten\.[a-z_]+\.[A-Za-z_]+", " ".join(texts)))
    write_words("graph", [f'"{w}"' for w in words_of(texts[:3], 3) | operations] +
                ["PK\x03\x04", "PK\x01\x02", "PK\x05\x06", "PK\x06\x06", "PK\x06\x07"])


def checkpoints():
    corpus = Corpus("checkpoint")
    line = json.dumps(CHECKPOINT, separators=(",", ":")) + "\n"
    corpus.add(line.encode() + struct.pack("<2f", 1.0, -2.0) + b"s")
    corpus.add(line.encode() + struct.pack("<2f", 1.0, -2.0) + b"01234567")
    weights = {"scalecalc weights": 1, "run": 7, "tensors": CHECKPOINT["tensors"]}
    line = json.dumps(weights, separators=(",", ":")) + "\n"
    corpus.add(line.encode() + struct.pack("<2f", 1.0, -2.0) + b"s")
    write_words("checkpoint", [f'"{key}":' for key in CHECKPOINT | weights] +
                ["head.weight", "1e999", "null", "-1", "18446744073709551615"])


def train_logs(program):
    corpus = Corpus("train_log")
    words = set()
    for extra in (["--placements", "pre"], ["--placements", "post,pre+ramp@input"],
                  ["--placements", "pre", "--task", "copy"], ["--placements", "pre", "--keep-weights"],
                  ["--placements", "pre", "--keep-weights", "--text", str(HERE / "seeds.py"),
                   "--tokenizer", str(ROOT / "tests/cli/tokenizer.json")]):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model.toml"
            model.write_text(MODEL)
            subprocess.run([program, "train", "--model", str(model), "--depths", "1", "--steps", "4",
                            "--record-every", "2", "--seeds", "1", "-o", folder, *extra,
                            *([] if "--text" in extra else ["--tokens", "2000"])], check=True, stdout=subprocess.DEVNULL)
            about = (pathlib.Path(folder) / "corpus.json").read_text()
            vocabulary = pathlib.Path(folder) / "vocabulary.json"
            if vocabulary.exists():
                about += "\0s" + re.sub(r'"fingerprint":\d+', '"fingerprint":7', vocabulary.read_text())
            for log in sorted(pathlib.Path(folder).glob("*.jsonl")):
                text = log.read_text()
                corpus.add(text + "\0" + about)
                bare = re.sub(r',"sum":"[0-9a-f]{16}"}', "}", text)
                corpus.add("s" + bare + "\0" + about)
                words |= set(re.findall(r'"[a-z_]{3,20}":', text + about))
    write_words("train_log", list(words) + ["null", "1e999", "-1", "{}", "[]", "\0", "\n"])


def tokenizers():
    corpus = Corpus("tokenizer")
    file = (ROOT / "tests/cli/tokenizer.json").read_text()
    corpus.add(file + "\0The quick  fox isn't\n here: 12 345 <|end|> \u00c9t\u00e9 \u4f60\u597d New<|mark|> ")
    words = set(re.findall(r'"[a-z_]{3,30}":', file))
    write_words("tokenizer", list(words) + ['"BPE"', '"ByteLevel"', "null", "true", "-1", "\0", "<|end|>"])


def command_lines(program):
    corpus = Corpus("command_line")
    options, commands = set(), set()
    for line in COMMANDS:
        corpus.add("\n".join(line.split()))
        commands.add(line.split()[0])
    for command in commands:
        page = subprocess.run([program, command, "--help"], check=True, capture_output=True,
                              text=True).stdout
        options |= set(re.findall(r"--[a-z][a-z0-9-]+", page))
    write_words("command_line", [o for o in options if not o.startswith(LEFT_OUT)] +
                list(commands) + VALUES)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    (HERE / "dictionaries").mkdir(exist_ok=True)
    expressions()
    conventions()
    claims()
    models()
    safetensors()
    configs()
    graphs()
    checkpoints()
    train_logs(arguments.program)
    tokenizers()
    command_lines(arguments.program)


if __name__ == "__main__":
    main()
