"""scalecalc.torch with what its functions do not take: each argument with wrong types, empty, unknown and huge
values. What comes is an answer, or one line in a ValueError (bad input) or an OSError (a fault outside) that
names the argument or the module. As the wheel has the package (tools/wheel --frameworks)."""
import contextlib
import io
import math
import pathlib
import unittest
import warnings

import torch
import torch.nn as nn

import scalecalc.torch as st


class Mlp(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Linear(8, width)
        self.middle = nn.Linear(width, width)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        return self.head(torch.relu(self.middle(torch.relu(self.stem(x)))))


class Raises(Mlp):
    def forward(self, x):
        raise RuntimeError("two\nlines")


def example():
    return torch.randn(8, 8, generator=torch.Generator().manual_seed(0))


def of(value):
    module = Mlp()
    with torch.no_grad():
        module.middle.weight.fill_(value)
    return module


OBJECTS = {"none": None, "number": 3, "nan": math.nan, "negative": -1, "huge": 10**30, "text": "nonsense",
           "empty": "", "list": [], "dict": {}, "object": object(), "class": nn.Linear, "function": lambda: 3,
           "path": pathlib.Path("/no/such/file"), "folder": pathlib.Path("/"), "tensor": torch.ones(3),
           "true": True}
MODULES = {**OBJECTS, "no parameters": nn.ReLU(), "nan weights": of(math.nan), "infinite weights": of(math.inf),
           "raises": Raises(), "in double": Mlp().double(), "frozen": Mlp().requires_grad_(False),
           "complex": nn.Linear(8, 4, dtype=torch.complex64), "meta": nn.Linear(8, 4, device="meta"),
           "lazy": nn.LazyLinear(4)}
EXAMPLES = {**OBJECTS, "wrong shape": torch.ones(8, 9), "no batch": torch.ones(8), "words": torch.ones(8, 8).long(),
            "in double": example().double(), "nan": torch.full((8, 8), math.nan), "no rows": torch.ones(0, 8),
            "meta": torch.ones(8, 8, device="meta"), "strange keys": {"y": example()},
            "list of texts": ["a"], "sparse": torch.eye(8).to_sparse(), "too many": (example(), example())}
SIZES = {**OBJECTS, "one": [16], "falling": [32, 16], "texts": ["a", "b"], "fractions": [1.5, 2.5],
         "zero": [0, 16], "negative sizes": [-16, 16], "huge sizes": [16, 10**30]}
FACTORIES = {**OBJECTS, "nonsense": lambda width: "module", "none": lambda width: None,
             "raises": lambda width: 1 / 0, "no argument": lambda: Mlp(), "one size": lambda width: Mlp(16),
             "other modules": lambda width: Mlp(width) if width < 32 else nn.Linear(8, width),
             "does not run": Raises, "in double": lambda width: Mlp(width).double()}
OPTIMIZERS = {**OBJECTS, "nonsense": lambda module: "adam", "none": lambda module: None,
              "empty": lambda module: [], "raises": lambda module: 1 / 0,
              "of others": lambda module: torch.optim.SGD(Mlp().parameters(), lr=0.1),
              "a group": lambda module: [{"params": list(module.parameters())}],
              "LBFGS": lambda module: torch.optim.LBFGS(module.parameters())}
LOSSES = {**OBJECTS, "nonsense": lambda output, batch: "loss", "not one number": lambda output, batch: output,
          "detached": lambda output, batch: output.sum().detach(), "raises": lambda output, batch: 1 / 0,
          "no argument": lambda: 0, "nan": lambda output, batch: output.sum() * math.nan}
BASES = {**OBJECTS, "unknown axis": {"length": 3}, "no number": {"width": "a"}, "nan": {"width": math.nan},
         "zero": {"width": 0}, "negative": {"width": -8}, "huge": {"width": 10**30}, "a list": [("width", 8)]}
PAIRS = {**OBJECTS, "one": (8,), "three": (8, 16, 32), "texts": ("a", "b"), "zero": (0, 8), "nan": (math.nan, 8)}


def calls():
    """By function and argument: what is wrong, and the call with it. Arguments that may be left out may be
    None."""
    batch = example()
    good = {"module": Mlp(), "example": batch, "batch": batch, "base": {"width": 8}}

    def small():
        return Mlp(8)

    return {
        ("read", "module"): (MODULES, lambda v: st.read(v, batch)),
        ("read", "example"): (EXAMPLES, lambda v: st.read(good["module"], v)),
        ("predict", "module"): (MODULES, lambda v: st.predict(v, batch)),
        ("predict", "example"): (EXAMPLES, lambda v: st.predict(good["module"], v)),
        ("init_", "module"): (MODULES, lambda v: st.init_(v, example=batch)),
        ("init_", "example"): (EXAMPLES, lambda v: st.init_(Mlp(), example=v)),
        ("init_", "model"): (OBJECTS, lambda v: st.init_(Mlp(), model=v)),
        ("init_", "generator"): (OBJECTS, lambda v: st.init_(Mlp(), example=batch, generator=v)),
        ("init_", "optimizer"): (OBJECTS, lambda v: st.init_(Mlp(), example=batch, optimizer=v)),
        ("audit", "module"): (MODULES, lambda v: st.audit(v, model="mlp-relu")),
        ("audit", "model"): (OBJECTS, lambda v: st.audit(Mlp(), model=v)),
        ("check", "module"): (MODULES, lambda v: st.check(v, batch)),
        ("check", "batch"): (EXAMPLES, lambda v: st.check(Mlp(), v)),
        ("check", "model"): (MODULES, lambda v: st.check(Mlp(), batch, model=v)),
        ("check", "loss"): (LOSSES, lambda v: st.check(Mlp(), batch, loss=v)),
        ("check", "confidence"): (OBJECTS, lambda v: st.check(Mlp(), batch, confidence=v)),
        ("param_groups", "module"): (MODULES, lambda v: st.param_groups(v, 1e-3, base={"width": 8}, example=batch)),
        ("param_groups", "lr"): (OBJECTS, lambda v: st.param_groups(Mlp(), v, base={"width": 8}, example=batch)),
        ("param_groups", "base"): (BASES, lambda v: st.param_groups(Mlp(), 1e-3, base=v, example=batch)),
        ("param_groups", "optimizer"): (OBJECTS, lambda v: st.param_groups(
            Mlp(), 1e-3, base={"width": 8}, example=batch, optimizer=v)),
        ("param_groups", "weight_decay"): (OBJECTS, lambda v: st.param_groups(
            Mlp(), 1e-3, base={"width": 8}, example=batch, weight_decay=v)),
        ("param_groups", "rule"): (OBJECTS, lambda v: st.param_groups(
            Mlp(), 1e-3, base={"width": 8}, example=batch, rule=v)),
        ("param_groups", "parametrization"): (OBJECTS, lambda v: st.param_groups(
            Mlp(), 1e-3, base={"width": 8}, example=batch, parametrization=v)),
        ("param_groups", "model"): (OBJECTS, lambda v: st.param_groups(Mlp(), 1e-3, base={"width": 8}, model=v)),
        ("param_groups", "example"): (EXAMPLES, lambda v: st.param_groups(
            Mlp(), 1e-3, base={"width": 8}, example=v)),
        ("forward_factors", "module"): (MODULES, lambda v: st.forward_factors(v, base={"width": 8}, example=batch)),
        ("forward_factors", "base"): (BASES, lambda v: st.forward_factors(Mlp(), base=v, example=batch)),
        ("transfer", "lr"): (OBJECTS, lambda v: st.transfer(v, from_=small(), to=Mlp(), example=batch)),
        ("transfer", "from_"): (MODULES, lambda v: st.transfer(1e-3, from_=v, to=Mlp(), example=batch)),
        ("transfer", "to"): (MODULES, lambda v: st.transfer(1e-3, from_=small(), to=v, example=batch)),
        ("transfer", "example"): (EXAMPLES, lambda v: st.transfer(1e-3, from_=small(), to=Mlp(), example=v)),
        ("transfer", "batch"): (PAIRS, lambda v: st.transfer(
            1e-3, from_=small(), to=Mlp(), example=batch, batch=v)),
        ("transfer", "tokens"): (PAIRS, lambda v: st.transfer(
            1e-3, from_=small(), to=Mlp(), example=batch, tokens=v)),
        ("transfer", "axes"): (BASES, lambda v: st.transfer(1e-3, from_=small(), to=Mlp(), example=batch, axes=v)),
        ("transfer", "optimizer"): (OBJECTS, lambda v: st.transfer(
            1e-3, from_=small(), to=Mlp(), example=batch, optimizer=v)),
        ("coordinates", "module_factory"): (FACTORIES, lambda v: st.coordinates(
            v, widths=[16, 32], batch=batch, steps=1, seeds=1)),
        ("coordinates", "widths"): (SIZES, lambda v: st.coordinates(Mlp, widths=v, batch=batch, steps=1, seeds=1)),
        ("coordinates", "depths"): (SIZES, lambda v: st.coordinates(Mlp, depths=v, batch=batch, steps=1, seeds=1)),
        ("coordinates", "batch"): ({**EXAMPLES, "raises": lambda width: 1 / 0}, lambda v: st.coordinates(
            Mlp, widths=[16, 32], batch=v, steps=1, seeds=1)),
        ("coordinates", "optimizer"): (OPTIMIZERS, lambda v: st.coordinates(
            Mlp, widths=[16, 32], batch=batch, optimizer=v, steps=1, seeds=1)),
        ("coordinates", "lr"): (OBJECTS, lambda v: st.coordinates(
            Mlp, widths=[16, 32], batch=batch, lr=v, steps=1, seeds=1)),
        ("coordinates", "steps"): (OBJECTS, lambda v: st.coordinates(
            Mlp, widths=[16, 32], batch=batch, steps=min(v, 2) if type(v) is int else v, seeds=1)),
        ("coordinates", "seeds"): (OBJECTS, lambda v: st.coordinates(
            Mlp, widths=[16, 32], batch=batch, steps=1, seeds=min(v, 2) if type(v) is int else v)),
        ("coordinates", "parametrization"): (OBJECTS, lambda v: st.coordinates(
            Mlp, widths=[16, 32], batch=batch, steps=1, seeds=1, parametrization=v)),
        ("coordinates", "loss"): (LOSSES, lambda v: st.coordinates(
            Mlp, widths=[16, 32], batch=batch, steps=1, seeds=1, loss=v)),
    }


def wrong_about(error, argument):
    """What is wrong with an error; "" where nothing is."""
    line = str(error)
    if not isinstance(error, (ValueError, OSError)):
        return f"{type(error).__name__}: {line[:200]!r}"
    if "\n" in line or len(line) > 1000:
        return f"several lines: {line[:200]!r}"
    names = {argument, argument.rstrip("_"), "Mlp", "Raises", "Linear", "module", "weight"}
    if getattr(error, "argument", "") != argument and not any(name in line for name in names):
        return f"does not name it: {line[:200]!r}"
    return ""


class WrongInput(unittest.TestCase):
    def test_is_one_line(self):
        missed = []
        for (function, argument), (values, call) in calls().items():
            for kind, value in values.items():
                try:
                    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
                        warnings.simplefilter("ignore")
                        call(value)
                except Exception as error:
                    if why := wrong_about(error, argument):
                        missed.append(f"{function}({argument}: {kind}): {why}")
        self.assertFalse(missed, f"{len(missed)}:\n" + "\n".join(missed))


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
