"""PyTorch: initial values, groups of parameters and audits of models that are already built.

The model is described by its Hugging Face config (`module.config`), or by `model`: a preset, a model
file or a config.json whose tensors the module's names are those of. The code is that of
`scalecalc init --target pytorch`, run in this process.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scalecalc

from . import _arguments as arguments
from ._errors import wrong_type
from ._groups import groups_of, plan_of, steps_of
from ._module import Model, described
from ._module import read as _read
from ._weights import write_safetensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ._check import Check
    from ._commands import AuditResult, PropagateResult
    from ._coordinates import Coordinates
    from ._transfer import Transfer

__all__ = ["Model", "audit", "check", "coordinates", "forward_factors", "init_", "param_groups", "predict",
           "read", "transfer"]

# Of safetensors.
_TYPES = {"torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16",
          "torch.float64": "F64"}


def check_generator(generator: Any) -> None:
    import torch

    if generator is not None and not isinstance(generator, torch.Generator):
        raise wrong_type("generator", "a torch.Generator", generator)


def init_(module: Any, *, model: Any = None, example: Any = None, generator: Any = None,
          strict: bool = False, **options: Any) -> Any:
    """Fills the parameters of `module` in place as scalecalc.init(model, **options) plans them, and
    returns a report: `set` (names, with the std of each part), `unmatched`, `missing`, `left_alone`.

    The model is that of the module's config, or of `model`, or with an `example` of its input the
    module's graph, as read() finds it. Of a Hugging Face model without options the rules are those of
    its library; scalecalc's own by options of init: init_(model, optimizer="adamw", lambda_="auto").
    With `strict` what is not matched raises ValueError. `generator` is a torch.Generator on the module's device; by default one
    with the seed 0, or `seed`.
    """
    module = arguments.module("module", module)
    check_generator(generator)
    if example is not None and model is None:
        if "transfer_from" in options:
            raise scalecalc.InputError("the stds of a graph are those of its weights, and not a base's: "
                                       "transfer(from_=small, to=module).scale_() starts it")
        code = plan_of(_read(module, example), **options)
    else:
        with described(module, model) as path:
            code = plan_of(path, **options)
    return code["initialize_"](module, generator=generator, strict=strict)


def param_groups(module: Any, lr: float, *, base: Any, optimizer: str = "adamw",
                 weight_decay: float = 0.0, eps: float = 1e-8, parametrization: str | None = None,
                 rule: str | None = None, model: Any = None, example: Any = None,
                 **options: Any) -> list[dict[str, Any]]:
    """Groups for torch.optim: each parameter's lr, weight_decay and eps, from the numbers that are
    right for the same model at the sizes `base` ({"width": 256, "layers": 4}).

    The model is that of the module's config, of `model`, or with an `example` of its input the
    module's graph, as read() finds it. Of a mixture, optimizer="muon+adamw", `rule` says whose groups
    these are: rule="muon" has the matrices, rule="adamw" the rest. Initial values and multipliers
    change too: `init_` with the same transfer_from, parametrization and optimizer draws the values, and
    forward_factors() lists what the forward pass must have. Raises ValueError for a parameter that no
    rule knows.
    """
    module = arguments.module("module", module)
    arguments.mapping("base", base)
    with arguments.as_base():
        steps, code = steps_of(module, model=model, example=example, transfer_from=base, optimizer=optimizer,
                               parametrization=parametrization, **options)
    return groups_of(module, steps, code, lr, weight_decay, eps, rule)


def forward_factors(module: Any, *, base: Any, optimizer: str = "adamw",
                    parametrization: str | None = None, model: Any = None, example: Any = None,
                    **options: Any) -> list[tuple[str, str, float, str]]:
    """Factors that the forward pass must have and no parameter holds: what, where, value, formula."""
    module = arguments.module("module", module)
    arguments.mapping("base", base)
    with arguments.as_base():
        _, code = steps_of(module, model=model, example=example, transfer_from=base, optimizer=optimizer,
                           parametrization=parametrization, **options)
    return list(code["SCALES"])


def transfer(lr: float, *, from_: Any, to: Any, optimizer: str = "adamw", weight_decay: float = 0.0,
             eps: float = 1e-8, parametrization: str | None = None, rule: str | None = None,
             batch: tuple[int, int] | None = None, tokens: tuple[float, float] | None = None,
             axes: dict[str, tuple[float, float]] | None = None, example: Any = None,
             model: Any = None, **options: Any) -> Transfer:
    """Numbers for the module `to` from those that were tuned on the smaller module `from_`.

    `lr`, `weight_decay` and `eps` are what was best there, one number each. What differs between the
    modules is found by reading both: width, layers, heads, experts; `axes` says it instead. `batch`
    and `tokens` are (small, large) of the training. `example` is an input, or a pair of one for each
    module; models of transformers need none. Returns `groups` for torch.optim, `rows`, one for each
    parameter, `factors` of the forward pass, and `remarks`, which name stds that do not go with these
    numbers. Raises ValueError where the modules are not one model at two sizes.
    """
    from ._transfer import transfer as transferred

    return transferred(lr, from_, to, optimizer=optimizer, weight_decay=weight_decay, eps=eps,
                       parametrization=parametrization, rule=rule, batch=batch, tokens=tokens,
                       axes=axes, example=example, model=model, **options)


def _tensors(module: Any) -> Iterator[tuple[str, str, tuple[int, ...], Any]]:
    """Every parameter once, under its first name."""
    import torch

    for name, parameter in module.named_parameters():
        tensor = parameter.detach()
        kind = _TYPES.get(str(tensor.dtype))
        if kind is None:
            tensor, kind = tensor.to(torch.float32), "F32"
        flat = tensor.cpu().contiguous().view(-1).view(torch.uint8)
        yield name, kind, tuple(tensor.shape), flat.numpy()


def audit(module: Any, *, model: Any = None, **options: Any) -> AuditResult:
    """The weights of `module` beside the rules they should follow, as scalecalc.audit() finds them:
    `passed`, `findings`, `conclusions`. By default the rules are the library's for its config;
    against="derived" asks for scalecalc's own."""
    module = arguments.module("module", module, with_values=True)
    with described(module, model) as path, tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "model.safetensors"
        write_safetensors(weights, _tensors(module))
        return scalecalc.audit(weights, model=path, **options)


def read(module: Any, example: Any) -> Model:
    """The module as a model, which functions take: scalecalc.propagate(read(module, example)).

    `example` is an input, a tuple of them, or a mapping by argument as tokenizers give it (masks
    and labels in it are not read). The module is exported by torch.export, in eval mode and without
    running it on data; where that or the graph is not understood, a model of transformers is
    described by its config. Stds are those of the module's weights in the first case, the
    library's in the second. The repr lists what each module became, and remarks on what was left
    out.
    """
    return _read(module, example)


def predict(module: Any, example: Any, **options: Any) -> PropagateResult:
    """scalecalc.propagate(read(module, example), **options), in the module's own names: each of
    `parameters` has the `name` of the parameter, each of `sites` the `module` whose output it is,
    or None. Options that are lists give reports without names."""
    return named(_read(module, example), **options)


def named(model: Model, **options: Any) -> PropagateResult:
    found = scalecalc.propagate(model, **options)
    data = found._data
    modules = model.modules
    for site in data.get("sites", []):
        site["module"] = modules.get(site["path"])
    for parameter in data.get("parameters", []):
        parameter["name"] = model.names.get(parameter["path"])
    return found


def check(module: Any, batch: Any, *, model: Any = None, loss: Callable[..., Any] | None = None,
          confidence: float = 0.99, **options: Any) -> Check:
    """A forward and backward pass of the module on `batch`, in its own type and device, beside
    what is predicted: `passed`, `first` (the module that departs first), `why`, `rows`,
    `parameters`. The way back is run again for each of at most eight groups of samples (the first
    dimension of the batch), by which gradients of parameters vary.

    What is predicted is of the module's graph with each parameter as it should start: by the rules
    of its library for a model of transformers, else as the layers beside it or as PyTorch draws it.
    `model`, where it is given, says it instead: another module, what read() returns, or a model
    file with the module's names. The loss is cross-entropy with drawn targets, the module's own
    where the batch has labels, or loss(output, batch); gradients are taken in units of that at the
    last layer, so that its scale is no matter. Right modules pass in `confidence` of all cases. The
    module is as it was afterwards. Options are those of scalecalc.propagate.
    """
    from ._check import check as checked

    return checked(module, batch, audit, model=model, loss=loss, confidence=confidence, **options)


def coordinates(module_factory: Callable[[int], Any], *, widths: Sequence[int] | None = None,
                depths: Sequence[int] | None = None, batch: Any,
                optimizer: str | Callable[[Any], Any] = "adamw", lr: float = 1e-3, steps: int = 4,
                seeds: int = 2, parametrization: str | None = None,
                loss: Callable[..., Any] | None = None) -> Coordinates:
    """The coordinate check: the module at each width (or depth), a few real steps on one batch, and how
    large every module's output is and how far it has moved, beside what is predicted of both.

    `module_factory(width)` makes the module; `batch` is its input, or a function of the width that
    returns it. `optimizer` is a name ("adamw", "sgd"), with `lr` for all parameters, or a function of
    the module that returns optimizers of torch.optim. With a `parametrization` ("mup") the weights
    start as those of the first width times its factors, and are grouped as param_groups does. The loss
    is cross-entropy with drawn targets, the module's own where the batch has labels, or
    loss(output, batch).

    `passed`, `culprit` (the first module that grows or moves ever more), `why` with the learning rate
    that is due, `sites`, `numbers`, `remarks`. Movements are judged as `scalecalc coordinates
    --measured` judges sizes: a power of the width above 0.15 and two standard errors. The step is
    predicted of the groups of your optimizers, each with its learning rate and eps, or of the
    parametrization.
    """
    from ._coordinates import coordinates as checked

    return checked(module_factory, widths=widths, depths=depths, batch=batch, optimizer=optimizer,
                   lr=lr, steps=steps, seeds=seeds, parametrization=parametrization, loss=loss)
