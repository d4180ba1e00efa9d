"""What a type checker sees of the package: checked by mypy and pyright, and never run."""

from fractions import Fraction
from pathlib import Path

import scalecalc
import scalecalc.jax
import scalecalc.keras
import scalecalc.torch

pair = scalecalc.deepnorm(layers=1000, optimizer="adam", digits=10)
ratio: float = pair.alpha / pair.lambda_
latex: str = pair.alpha_formula.latex
holds: list[bool] = [condition.holds for condition in pair.conditions]
relation: str = pair.conditions[0].relation.strip()
several = scalecalc.deepnorm(layers=[10, 100], placement=("pre", "post"))

agreement = scalecalc.verify("mlp-tanh", seeds=8, plot=True)
passed: bool = agreement.passed
figure: str = agreement.svg
paths: list[str] = [site.path for site in scalecalc.propagate(Path("model.toml")).sites]
code: str = scalecalc.init("gpt2", target="pytorch").text
gain = scalecalc.activation(lambda x: x * x, param={"a": Fraction(1, 5)})


def of_module(module: object, batch: object) -> str:
    model = scalecalc.torch.read(module, batch)
    remarks: list[str] = model.remarks + [part.name for part in model.parts]
    grown = scalecalc.propagate(model, layers=4).sites[0].second
    named = scalecalc.torch.predict(module, batch, second=4)
    found = scalecalc.torch.check(module, batch, model=model, confidence=0.999)
    first: str | None = found.first
    return f"{remarks} {grown} {named.exit_code} {first} {found.passed} {found.why}"


def of_training(small: object, large: object, tree: object) -> list[float]:
    moved = scalecalc.torch.coordinates(lambda width: large, widths=(64, 128), batch=tree, optimizer="sgd")
    rates = scalecalc.torch.transfer(1e-3, from_=small, to=large, tokens=(1e9, 4e9))
    rates.scale_()
    why: str = (moved.culprit or "") + moved.why
    labels, factors = scalecalc.jax.labels(tree, model="mlp-relu", base={"width": 64})
    found = scalecalc.keras.audit(large, model="mlp-relu")
    return [row["lr"] for row in rates.rows] + [float(found.passed), float(len(why + str(labels))), factors["a"]]


sizes = scalecalc.transfer(from_={"width": 256}, to="width=1024", lr=1e-3)
try:
    scalecalc.check("claims.toml", samples=4096)
except scalecalc.ScalecalcError as error:
    line: str = error.argument + error.hint
