"""A module's own forward and backward pass, and how far one such pass is from the mean of all.

Three variances of the logarithm of a mean of squares are measured in the pass itself, beside the
spread that is predicted of it (docs/guide/python/check.md#measured):

- over features: of n features (rows of a weight are drawn on their own, and so are what they give)
  whose mean squares have the mean m and the variance v, that of ln m is v/(n m^2);
- over samples: likewise, of the samples of the batch; of gradients relative to those at the head;
- over targets: the gradient of a parameter is a sum over samples, G = sum_i G_i. What its terms have
  in common is of a sign that the targets draw, so that with M_ij = <G_i, G_j> the variance of
  ln |G|^2 is 2 sum_{i != j} M_ij^2/(sum_i M_ii)^2.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _arguments as arguments
from ._batch import second
from ._module import evaluating, inputs_of, main_input
from ._student import Variance, degrees_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._module import Part

GROUPS = 8      # of samples, at most, whose gradients of parameters are taken apart
SKETCH = 8192   # numbers that stand for such a gradient, at most


@dataclass
class Figure:
    """A mean of squares; `rounding`: of its tensor's type, as a share of it, two units in the last
    place; `features`: the variance of its logarithm over features; `samples`: the mean of squares of
    each sample, empty where the tensor is not one of samples."""

    second: float
    rounding: float
    features: Variance = Variance()
    samples: list[float] = field(default_factory=list)


@dataclass
class Gradient:
    """Of a parameter; `targets`: the variance of the logarithm over targets, 0 if not taken apart."""

    second: float
    rounding: float
    features: Variance = Variance()
    targets: Variance = Variance()


@dataclass
class Measured:
    """By site, in the order of the pass; gradients by site and by parameter."""

    outputs: dict[str, Figure] = field(default_factory=dict)
    inputs: dict[str, Figure] = field(default_factory=dict)
    order: list[tuple[str, str]] = field(default_factory=list)  # ("input" or "output", site)
    gradients: dict[str, Figure] = field(default_factory=dict)
    parameters: dict[str, Gradient] = field(default_factory=dict)
    empty: Any = None     # tokens (sequences x positions) whose word has a row of zeros, if there are any
    closed: bool = False  # no more is taken


def rounding_of(tensor: Any) -> float:
    import torch

    return 2 * float(torch.finfo(tensor.dtype).eps) if tensor.is_floating_point() else 0.0


def _over_heads(means: Any, heads: int) -> Variance:
    """Features of an attention head share what the head has, so that they are no more draws than there
    are heads; the larger variance of the two."""
    own = of_means(means)
    if heads > 1 and means.numel() % heads == 0:
        return max(own, of_means(means.reshape(heads, -1).mean(1)), key=lambda one: one.value)
    return own


def of_means(means: Any) -> Variance:
    """The variance of the logarithm of the mean of independent terms: v/(n m^2)."""
    n = means.numel()
    mean = means.mean()
    if n < 2 or not bool(mean > 0):
        return Variance()
    return Variance(float((means.var() / (n * mean * mean)).item()), n - 1)


def of_samples(of: Figure, beside: Figure | None = None) -> Variance:
    """The jackknife's variance, over samples, of the logarithm of the mean, or of its ratio to the one
    beside: (n-1)/n sum (t_i - mean t)^2 of the logarithms t_i without sample i. Infinite where one
    sample has all."""
    n = len(of.samples)
    if n < 2 or (beside is not None and len(beside.samples) != n):
        return Variance()
    logarithms = [0.0] * n
    for sign, one in ((1, of), (-1, beside)):
        total = math.fsum(one.samples) if one else 1.0
        if not total > 0:
            return Variance()
        for i, value in enumerate(one.samples if one else []):
            if not value < total:
                return Variance(math.inf, n - 1)
            logarithms[i] += sign * math.log1p(-value / total)
    mean = sum(logarithms) / n
    return Variance((n - 1) / n * sum((one - mean)**2 for one in logarithms), n - 1)


def figure(tensor: Any, batch: int, channels: bool = False, empty: Any = None,
           heads: int = 0) -> Figure:
    """Features are the last dimension, or the second of `channels`, side by side of each of so many
    heads; without tokens that are empty."""
    squares = tensor.detach().double().pow(2)
    if squares.numel() == 0 or squares.dim() == 0:
        return Figure(second(tensor), rounding_of(tensor))
    if empty is not None and squares.shape[:-1] == empty.shape and not bool(empty.all()):
        kept = (~empty).double().unsqueeze(-1)
        squares = squares * (kept / kept.mean())
    features = squares.transpose(1, -1) if channels and squares.dim() > 2 else squares
    features = features.reshape(-1, features.shape[-1]).mean(0)
    samples = []
    if batch > 1 and squares.shape[0] % batch == 0:
        samples = squares.reshape(batch, -1).mean(1).tolist()
    return Figure(float(squares.mean().item()), rounding_of(tensor), _over_heads(features, heads),
                  samples)


def _of_matrix(gradient: Any, heads: int) -> Variance:
    """Over rows (of heads) and over columns; of a vector over its entries."""
    squares = gradient.detach().double().pow(2)
    if squares.dim() < 2:
        return _over_heads(squares, heads)
    squares = squares.reshape(*squares.shape[:2], -1).mean(-1)
    columns, rows = of_means(squares.mean(0)), _over_heads(squares.mean(1), heads)
    total = columns.value + rows.value
    return Variance(total, degrees_of(total, (columns, rows)))


def tensor_of(value: Any) -> Any:
    """The first of what a module returns."""
    for name in ("logits", "last_hidden_state"):
        if getattr(value, name, None) is not None:
            return getattr(value, name)
    while not hasattr(value, "dim"):
        value = next(iter(value.values())) if hasattr(value, "values") else value[0]
    return value


def _split(tensor: Any, part: Part) -> list[tuple[str, Any]]:
    if len(part.sites) == 1:
        return [(part.sites[0], tensor)]
    if tensor.shape[-1] != sum(part.sizes):
        return []
    return list(zip(part.sites, tensor.split(list(part.sizes), -1)))


def is_batch_norm(module: Any) -> bool:
    return "BatchNorm" in type(module).__name__


def _has_channels(module: Any) -> bool:
    return hasattr(module, "out_channels") or is_batch_norm(module)


def _is_norm_of_stream(site: str) -> bool:
    last = site.rsplit(".", 1)[-1]
    return last.startswith("norm") or last == "final_norm"


@contextlib.contextmanager
def _hooks(module: Any, parts: list[Part], found: Measured, batch: int,
           heads: dict[str, int]) -> Iterator[None]:
    known = dict(module.named_modules())

    def after(part: Part, channels: bool) -> Callable[..., None]:
        def keep(_: Any, __: Any, output: Any) -> None:
            for site, tensor in _split(tensor_of(output), part):
                if site in found.outputs:
                    continue
                if site == "embedding" and tensor.dim() == 3:
                    is_empty = (tensor.detach() == 0).all(-1)
                    found.empty = is_empty if bool(is_empty.any()) else None
                found.outputs[site] = figure(tensor, batch, channels, found.empty,
                                             heads.get(site, 0))
                found.order.append(("output", site))
                if tensor.requires_grad:
                    def keep_gradient(gradient: Any, site: str = site) -> None:
                        if not found.closed:
                            found.gradients[site] = figure(gradient, batch, channels, found.empty,
                                                           heads.get(site, 0))
                    tensor.register_hook(keep_gradient)
        return keep

    def before(site: str, channels: bool) -> Callable[..., None]:
        def keep(_: Any, inputs: Any) -> None:
            if inputs and site not in found.inputs:
                found.inputs[site] = figure(inputs[0], batch, channels, found.empty)
                found.order.append(("input", site))
        return keep

    handles = []
    for part in parts:
        one = known[part.name]
        channels = _has_channels(one)
        if len(part.sites) == 1 and _is_norm_of_stream(part.sites[0]):
            handles.append(one.register_forward_pre_hook(before(part.sites[0], channels)))
        handles.append(one.register_forward_hook(after(part, channels)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _undisturbed(module: Any) -> Iterator[None]:
    """Norms over the batch as in training; gradients, buffers and flags as they were afterwards."""
    import torch

    gradients = [(parameter, parameter.grad) for parameter in module.parameters()]
    buffers = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    with evaluating(module):
        for one in module.modules():
            if is_batch_norm(one):
                one.training = True
        for parameter, _ in gradients:
            parameter.grad = None
        try:
            yield
        finally:
            for parameter, gradient in gradients:
                parameter.grad = gradient
            with torch.no_grad():
                for buffer, values in buffers:
                    buffer.copy_(values)


def loss_of(output: Any, batch: Any, loss: Callable[..., Any] | None, reduction: str) -> Any:
    """The caller's; the model's own, where the batch has labels; or cross-entropy with targets that
    are drawn evenly."""
    import torch

    if loss is not None:
        with arguments.of_caller("loss", "is a function that raises"):
            return checked_loss(loss(output, batch))
    if getattr(output, "loss", None) is not None:
        return output.loss
    logits = tensor_of(output)
    logits = logits.reshape(-1, logits.shape[-1]).float()
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(0, logits.shape[-1], logits.shape[:1], generator=generator)
    return torch.nn.functional.cross_entropy(logits, targets.to(logits.device), reduction=reduction)


def checked_loss(value: Any) -> Any:
    if not hasattr(value, "requires_grad") or value.numel() != 1:
        got = tuple(value.shape) if hasattr(value, "shape") else type(value).__name__
        raise arguments.refused("loss", f"must return a tensor of one number (got {got})")
    if not value.requires_grad:
        raise arguments.refused("loss", "depends on no parameter of the module that is trained (requires_grad)")
    if not bool(value.detach().isfinite().all()):
        raise arguments.refused("loss", f"is {value.item()}, and no finite number")
    return value


def _sketch(gradient: Any, generator: Any) -> Any:
    """Itself, or sums of its entries with drawn signs: scalar products are kept in the mean, to
    1/sqrt(SKETCH) of the product of the lengths."""
    import torch

    flat = gradient.detach().reshape(-1).double()
    if flat.numel() <= SKETCH:
        return flat.cpu()
    signs = torch.randint(0, 2, flat.shape, generator=generator, dtype=torch.int8).to(flat.device)
    flat = flat * (2 * signs - 1)
    flat = torch.nn.functional.pad(flat, (0, -flat.numel() % SKETCH))
    return flat.reshape(-1, SKETCH).sum(0).cpu()


def _of_targets(output: Any, towards: Any, parameters: dict[str, Any], batch: int) -> dict[str, Variance]:
    """The gradient at the output of a group of samples, the rest 0, sent back by the same graph."""
    import torch

    rows = output.shape[0] if output.dim() else 0
    groups = min(batch, GROUPS)
    if groups < 2 or rows < batch or rows % batch:
        return {}
    of_row = torch.arange(rows) // (rows // batch) * groups // batch
    kept: dict[str, list[Any]] = {name: [] for name in parameters}
    for group in range(groups):
        mask = (of_row == group).to(output.device).reshape(-1, *[1] * (output.dim() - 1))
        # The graph is that of the loss; modules that allow no second way back are not taken apart.
        try:
            made = torch.autograd.grad(output, list(parameters.values()), towards * mask,
                                       retain_graph=True, allow_unused=True)
        except RuntimeError:
            return {}
        for (name, _), gradient in zip(parameters.items(), made):
            if gradient is not None:
                kept[name].append(_sketch(gradient, torch.Generator().manual_seed(0)))
    found = {}
    for name, terms in kept.items():
        if len(terms) == groups:
            products = torch.stack(terms) @ torch.stack(terms).T
            own = products.diagonal().sum()
            if bool(own > 0):
                apart = products.pow(2).sum() - products.diagonal().pow(2).sum()
                found[name] = Variance(float((2 * apart / own.pow(2)).item()), groups * (groups - 1) / 2)
    return found


def measure(module: Any, batch: Any, parts: list[Part], loss: Callable[..., Any] | None,
            heads: dict[str, int]) -> Measured:
    """`heads`: of sites whose features are those of attention heads side by side."""
    import torch

    args, named = inputs_of(batch)
    count = main_input(batch).shape[0]
    found = Measured()
    with torch.inference_mode(False), _undisturbed(module), _hooks(module, parts, found, count, heads), \
            torch.enable_grad():
        with arguments.of_caller("batch", f"is not what {type(module).__name__} runs on"):
            output = module(*args, **named)
        total = checked_loss(loss_of(output, batch, loss, "sum"))
        total.backward(retain_graph=True)
        found.closed = True
        trained = {name: one for name, one in module.named_parameters() if one.grad is not None}
        last = tensor_of(output)
        towards, = torch.autograd.grad(total, last, retain_graph=True, allow_unused=True) \
            if last.requires_grad else (None,)
        targets = {} if towards is None else _of_targets(last, towards, trained, count)
        of_heads = {part.name: heads.get(part.sites[0], 0) for part in parts if len(part.sites) == 1}
        for name, parameter in trained.items():
            found.parameters[name] = Gradient(second(parameter.grad), rounding_of(parameter.grad),
                                              _of_matrix(parameter.grad,
                                                         of_heads.get(name.rpartition(".")[0], 0)), targets.get(name, Variance()))
    return found
