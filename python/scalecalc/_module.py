"""A module of PyTorch as a model: its graph of torch.export, or the config of its class.

The program reads either, and says which parameter of the module each of its own is; by these names
the module's outputs are sites.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._commands import init
from ._errors import InputError, ScalecalcError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# What a model of transformers reads, the first of a batch that has it.
_MAIN = ("input_ids", "pixel_values", "inputs_embeds", "input_values", "input_features")
_BLOCK = re.compile(r"((?:\w+\.)*\w*block\[\d+\])\.")


@dataclass(frozen=True)
class Part:
    """A module and the sites that its output has, side by side along the features where there are
    several of these `sizes`."""

    name: str
    type: str
    sites: tuple[str, ...]
    sizes: tuple[int, ...] = ()


class Folder:
    """A folder that is there as long as this object, without a warning where it ends."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


class Model:
    """A module as the functions take it: scalecalc.propagate(model), verify(model), init(model).

    `source`: "graph" or "config"; `text`: the model file; `remarks`: what was left out of it and
    what that changes; `parts`: what each module became; `names`: the parameter of the module by
    its path in the results. Its files are there as long as the object.
    """

    def __init__(self, path: Path, source: str, folder: Folder, module: Any,
                 remarks: Sequence[str] = ()) -> None:
        self.path, self.source, self._folder = path, source, folder
        self.text: str = _core.call(["import", str(path)], None)[3]
        found = re.findall(r"^# (.*)$", self.text, re.MULTILINE)
        self.remarks: list[str] = [*remarks, *found[1:]]
        options: dict[str, Any] = {} if source == "graph" else {"names": "hf"}
        known = _endings(name for name, _ in module.named_parameters(remove_duplicate=False))
        planned: list[Any] = [row for row in init(path, **options).parameters if known.get(row.name or "")]
        self.names: dict[str, str] = {row.path: known[row.name] for row in planned}
        self._rows = [(row.path, known[row.name], row.shape) for row in planned]
        self.parts: list[Part] = parts_of(module, self._rows)
        self._title = type(module).__name__

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def modules(self) -> dict[str, str]:
        """The module whose output a site is, by the site's path."""
        return {site: part.name for part in self.parts for site in part.sites}

    def __repr__(self) -> str:
        from ._display import columns

        rows: list[tuple[str, ...]] = [(part.name, part.type, " + ".join(part.sites))
                                       for part in self.parts]
        head = ("module", "type", "became")
        lines = [f"{self._title}, read from its {self.source}", *columns(head, rows)]
        return "\n".join([*lines, *(f"remark: {remark}" for remark in self.remarks)])

    def _repr_html_(self) -> str:
        from ._display import html

        return html({"module": self._title, "source": self.source, **self.to_dict()})

    def to_dict(self) -> dict[str, Any]:
        modules = [{"module": part.name, "type": part.type, "became": list(part.sites)}
                   for part in self.parts]
        return {"modules": modules, "remarks": list(self.remarks)}


def _endings(names: Iterable[str]) -> dict[str, str]:
    """A name by itself and by what is behind each of its dots; "" where that is behind several."""
    made: dict[str, str] = {}
    full = list(names)
    for name in full:
        end = name
        while "." in end:
            end = end.partition(".")[2]
            made[end] = "" if end in made else name
    return {**made, **{name: name for name in full}}


def parts_of(module: Any, rows: Sequence[tuple[str, str, str]]) -> list[Part]:
    """By the names of the weights: linear maps, norms and embeddings; blocks, by what is inside."""
    weights: dict[str, list[tuple[str, int]]] = {}
    inside: dict[str, str] = {}
    alone = sum(path.startswith("embedding.") for path, _, _ in rows) == 1
    for path, name, shape in rows:
        inside[name] = path
        site, _, kind = path.rpartition(".")
        # The site of an embedding has its positions and segments too.
        is_weight = kind in ("weight", "gain") and name.endswith(".weight")
        if is_weight and (site != "embedding" or alone):
            size = int(shape.split("x")[0])
            weights.setdefault(name.removesuffix(".weight"), []).append((site, size))
    known = dict(module.named_modules())
    parts: list[Part] = []
    taken: set[str] = set()
    tied = inside and not any(path.startswith("head.weight") for path in inside.values())
    words = next((known_parameter(module, name) for name, path in inside.items()
                  if path == "embedding.weight"), None)
    for name, one in known.items():
        of = weights.get(name, [])
        if of:
            sizes = tuple(size for _, size in of) if len(of) > 1 else ()
            parts.append(Part(name, type(one).__name__, tuple(site for site, _ in of), sizes))
            continue
        if tied and words is not None and getattr(one, "weight", None) is words \
                and "Embedding" not in type(one).__name__:
            parts.append(Part(name, type(one).__name__, ("head",)))
            continue
        block = _block_of(name, inside)
        if block and block not in taken:
            taken.add(block)
            parts.append(Part(name, type(one).__name__, (block,)))
    return parts


def known_parameter(module: Any, name: str) -> Any:
    return dict(module.named_parameters(remove_duplicate=False)).get(name)


def _block_of(name: str, inside: Mapping[str, str]) -> str:
    """The block that has all parameters of this module, if they are all of the block's."""
    paths = [path for parameter, path in inside.items() if parameter.startswith(name + ".")]
    found = {match.group(1) if (match := _BLOCK.match(path)) else "" for path in paths}
    if len(found) != 1 or not (block := found.pop()):
        return ""
    count = sum(path.startswith(block + ".") for path in inside.values())
    return block if len(paths) == count else ""


def inputs_of(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments of the module."""
    if hasattr(example, "keys"):
        return (), {key: example[key] for key in example.keys()}
    if isinstance(example, (list, tuple)):
        return tuple(example), {}
    return (example,), {}


def main_input(example: Any) -> Any:
    args, named = inputs_of(example)
    if args:
        return args[0]
    return next((named[key] for key in _MAIN if key in named), next(iter(named.values())))


def _main_alone(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Without masks, labels and what else is beside the inputs that a model has: one, and a
    decoder's words."""
    args, named = inputs_of(example)
    kept = next(({key: named[key]} for key in _MAIN if key in named), named)
    words = "decoder_input_ids"
    return args, {**kept, words: named[words]} if words in named else kept


def bare(module: Any) -> Any:
    """What torch.compile, DataParallel and DistributedDataParallel are wrapped around, whose names and
    tensors are the same."""
    while True:
        if hasattr(module, "_orig_mod"):
            module = module._orig_mod
        elif type(module).__name__ in ("DataParallel", "DistributedDataParallel"):
            module = module.module
        elif not hasattr(module, "named_parameters"):
            raise InputError(f"module must be a torch.nn.Module (got {type(module).__name__})")
        else:
            return module


@contextlib.contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Without dropout, without the cache of keys, which is no tensor, and not compiled."""
    flags = [(one, one.training) for one in module.modules()]
    configs: dict[int, Any] = {id(config): config for one in module.modules()
                               if hasattr(config := getattr(one, "config", None), "use_cache")}
    caches = [(config, config.use_cache) for config in configs.values()]
    compiled = [(one, one._compiled_call_impl) for one in module.modules()
                if getattr(one, "_compiled_call_impl", None) is not None]
    module.eval()
    for config, _ in caches:
        config.use_cache = False
    for one, _ in compiled:  # of module.compile()
        one._compiled_call_impl = None
    try:
        yield
    finally:
        for one, call in compiled:
            one._compiled_call_impl = call
        for one, flag in flags:
            one.training = flag
        for config, cache in caches:
            config.use_cache = cache


@contextlib.contextmanager
def _without_backward_hooks(module: Any) -> Iterator[None]:
    """They would stand in the graph."""
    kept = [(one, name, dict(hooks)) for one in module.modules()
            for name in ("_backward_hooks", "_backward_pre_hooks") if (hooks := getattr(one, name, None))]
    for one, name, _ in kept:
        getattr(one, name).clear()
    try:
        yield
    finally:
        for one, name, hooks in kept:
            getattr(one, name).update(hooks)


def _export(module: Any, example: Any, path: Path) -> None:
    import torch

    args, named = _main_alone(example)
    with torch.inference_mode(False), evaluating(module), _without_backward_hooks(module):
        program = torch.export.export(module, args, named, strict=False)
    torch.export.save(program, path)


def write_config(module: Any, folder: str) -> Path:
    """config.json of a model of transformers."""
    config: Any = getattr(module, "config", None)
    if not hasattr(config, "to_dict"):
        raise InputError(
            f"{type(module).__name__} has no config of Hugging Face; give model, a preset, a model "
            "file or a config.json that describes it")
    path = Path(folder) / "config.json"
    known = config.to_dict()
    if not known.get("architectures"):
        known["architectures"] = [type(module).__name__]
    path.write_text(json.dumps(known, default=str), encoding="utf-8")
    return path


@contextlib.contextmanager
def described(module: Any, model: Any) -> Iterator[Any]:
    """The model as the commands read it: what `model` names, or a folder with config.json."""
    if model is not None:
        yield model
        return
    with tempfile.TemporaryDirectory() as folder:
        yield write_config(module, folder)


def example_of(module: Any) -> Any:
    """An input of a model of transformers, by its config; None where that does not say one."""
    import torch

    config: Any = getattr(module, "config", None)
    if not hasattr(config, "to_dict"):
        return None
    kind = getattr(module, "main_input_name", "input_ids")
    if kind == "pixel_values" and hasattr(config, "image_size"):
        sizes = config.image_size
        rows, columns = sizes if isinstance(sizes, (list, tuple)) else (sizes, sizes)
        return {kind: torch.zeros(2, getattr(config, "num_channels", 3), rows, columns)}
    if kind != "input_ids":
        return None
    words = torch.arange(16).reshape(2, 8) % getattr(config, "vocab_size", 2)
    if getattr(config, "is_encoder_decoder", False):
        return {kind: words, "decoder_input_ids": words}
    return {kind: words}


def read(module: Any, example: Any) -> Model:
    """See scalecalc.torch.read."""
    from . import _arguments as arguments

    module = arguments.module("module", module)
    arguments.tensors("example", example)
    folder = Folder()
    path = Path(folder.name) / f"{type(module).__name__}.pt2"
    try:
        _export(module, example, path)
        return Model(path, "graph", folder, module)
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        try:
            config = write_config(module, folder.name)
            remark = f"its graph is not read: {reason}"
            return Model(config, "config", folder, module, [remark])
        except ScalecalcError:
            pass
        if isinstance(error, ScalecalcError):
            raise
        name = type(module).__name__
        raise InputError(f"{name} is not exported by torch.export: {reason}") from error
