"""What a function returns is what the program prints with --format json, bit for bit."""

from fractions import Fraction
from pathlib import Path

import pytest

import scalecalc

CLAIMS = """title = "t"
[[claim]]
assert = "E[relu(z)^2] == q/2"
let    = { z = "normal(0, q)" }
[[claim]]
assert = "1 == 2"
"""

CASES = [
    ("deepnorm", (), {"layers": 1000, "optimizer": "adam"}, "--layers 1000 --optimizer adam"),
    ("deepnorm", (), {"layers": [10, 100], "placement": ("pre", "post")},
     "--layers 10,100 --placement pre,post"),
    ("deepnorm", (), {"layers": 24, "explain": True, "method": "exact", "width": 16, "heads": 2},
     "--layers 24 --explain --method exact --width 16 --heads 2"),
    ("deepnorm", (), {"layers": 18, "arch": "encoder-decoder", "decoder_layers": 6,
                      "rule": "deepnet"},
     "--layers 18 --arch encoder-decoder --decoder-layers 6 --rule deepnet"),
    ("deepnorm", (), {"layers": 8, "digits": 40}, "--layers 8 --digits 40"),
    ("deepnorm", (), {"layers": 4, "verify": True, "seeds": 2, "threads": 1},
     "--layers 4 --verify --seeds 2 --threads 1"),
    ("activation", ("gelu",), {}, "gelu"),
    ("activation", ("leaky_relu",), {"param": {"a": Fraction(1, 5)}, "variance": 2.5},
     "leaky_relu --param a=1/5 --variance 2.5"),
    ("activation", (), {"expr": "x*sigmoid(1.7*x)", "correlation": 0.3},
     "--expr x*sigmoid(1.7*x) --correlation 0.3"),
    ("activation", (["relu", "tanh"],), {}, "relu tanh"),
    ("activation", ("tanh",), {"methods": ["quadrature", "montecarlo"], "samples": 10000, "seed": 3},
     "tanh --methods quadrature,montecarlo --samples 10000 --seed 3"),
    ("solve", ("critical", "tanh"), {}, "critical tanh"),
    ("solve", ("truncated-normal",), {"bounds": (-2, 2)}, "truncated-normal --bounds=-2,2"),
    ("solve", ("self-normalizing",), {}, "self-normalizing"),
    ("propagate", ("gpt2",), {}, "gpt2"),
    ("propagate", ("mlp-relu",), {"layers": 50, "width": 64}, "mlp-relu --layers 50 --width 64"),
    ("propagate", (["mlp-relu", "mlp-tanh"],), {"layers": 5}, "mlp-relu mlp-tanh --layers 5"),
    ("propagate", ("mlp-relu",), {"engine": "symbolic"}, "mlp-relu --engine symbolic"),
    ("propagate", ("mlp-relu",), {"layers": 3, "after_step": "adam", "lr": 1e-3},
     "mlp-relu --layers 3 --after-step adam --lr 0.001"),
    ("verify", ("mlp-tanh",), {"seeds": 8}, "mlp-tanh --seeds 8"),
    ("verify", ("mlp-tanh",), {"seeds": 4, "single": True, "seed": 7, "layers": 3},
     "mlp-tanh --seeds 4 --single --seed 7 --layers 3"),
    ("sweep", ("mlp-tanh",), {"layers": [2, 4], "seeds": 2, "width": 32},
     "mlp-tanh --layers 2,4 --seeds 2 --width 32"),
    ("init", ("gpt2",), {}, "gpt2"),
    ("init", ("pre-ln-12",), {"lambda_": 2, "alpha": "N^(1/4)"}, "pre-ln-12 --lambda 2 --alpha N^(1/4)"),
    ("convention", ("nn.init.xavier_uniform_(w)",), {"shape": "2304x768"},
     "nn.init.xavier_uniform_(w) --shape 2304x768"),
    ("transfer", (), {"from_": {"width": 256, "layers": 4}, "to": {"width": 1024, "layers": 4},
                      "lr": 1e-3, "optimizer": "adamw"},
     "--from width=256,layers=4 --to width=1024,layers=4 --lr 1e-3 --optimizer adamw"),
    ("transfer", ("gpt2",), {"same": ["mup", "spectral"]}, "gpt2 --same mup --same spectral"),
    ("transfer", ("gpt2",), {"all": True, "axes": ["width"]}, "gpt2 --all --axes width"),
    ("coordinates", ("mlp-relu",), {"widths": [16, 32], "steps": 1, "seeds": 2, "layers": 2,
                                   "optimizer": "sgd", "lr": 0.1},
     "mlp-relu --widths 16,32 --steps 1 --seeds 2 --layers 2 --optimizer sgd --lr 0.1"),
    ("check", (Path("claims.toml"),), {}, "claims.toml"),
    ("check", ("claims.toml",), {"mutate": True, "samples": 4096},
     "claims.toml --mutate --samples 4096"),
]


@pytest.mark.parametrize(("command", "arguments", "options", "words"), CASES,
                         ids=[f"{case[0]} {case[3]}" for case in CASES])
def test_result_is_the_programs(program, tmp_path, monkeypatch, command, arguments, options, words):
    (tmp_path / "claims.toml").write_text(CLAIMS)
    monkeypatch.chdir(tmp_path)
    found = getattr(scalecalc, command)(*arguments, **options)
    said = program.json(command, *words.split(" "), folder=tmp_path)
    assert without_times(found.to_dict()) == without_times(said)


def without_times(value):
    """What a clock has measured is each run's own."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key != "seconds"}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_every_function_is_compared():
    commands = {case[0] for case in CASES} | {"audit"}  # test_audit_is_the_programs
    assert commands == {"deepnorm", "activation", "solve", "propagate", "verify", "sweep", "init",
                        "audit", "check", "convention", "transfer", "coordinates"}


def test_audit_is_the_programs(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scalecalc.init("mlp-relu", width=32, layers=3, weights="w.safetensors")
    found = scalecalc.audit("w.safetensors", model="mlp-relu", width=32, layers=3)
    words = "audit w.safetensors --model mlp-relu --width 32 --layers 3".split()
    assert found.to_dict() == program.json(*words, folder=tmp_path)
    assert found.passed


def test_code_is_the_programs(program):
    made = scalecalc.init("mlp-relu", target="pytorch")
    assert made.text == program.run("init", "mlp-relu", "--target", "pytorch").stdout


def test_failed_check_is_a_field(tmp_path):
    (tmp_path / "claims.toml").write_text(CLAIMS)
    found = scalecalc.check(tmp_path / "claims.toml")
    assert (found.passed, found.exit_code, found.failures) == (False, 1, 1)


@pytest.mark.parametrize(("command", "arguments", "options", "words", "kind", "argument"), [
    ("deepnorm", (), {"layers": "abc"}, "--layers abc", ValueError, "layers"),
    ("deepnorm", (), {}, "", ValueError, "layers"),
    ("deepnorm", (), {"layers": 4, "reference_layers": 2}, "--layers 4 --reference-layers 2",
     ValueError, "reference_layers"),
    ("propagate", ("nonesuch",), {}, "nonesuch", ValueError, "model"),
    ("activation", ("relu",), {"correlation": 2}, "relu --correlation 2", ValueError, "correlation"),
    ("verify", ("mlp-tanh",), {"plot": "/nonesuch/x.svg"}, "mlp-tanh --plot /nonesuch/x.svg",
     OSError, "plot"),
])
def test_error_is_the_programs_line(program, command, arguments, options, words, kind, argument):
    with pytest.raises(kind) as raised:
        getattr(scalecalc, command)(*arguments, **options)
    said = program.run(command, *words.split()).stderr
    assert f"scalecalc: {raised.value}\n" == said
    assert "\n" not in str(raised.value)
    assert raised.value.argument == argument


def test_files_of_one_call_are_not_those_of_the_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # written, read, and written again
        scalecalc.init("mlp-relu", width=16, layers=2, weights="w.safetensors")
        scalecalc.audit("w.safetensors", model="mlp-relu", width=16, layers=2)
