"""What a batch is, as options of the model that it is given to."""

from __future__ import annotations

import math
import tomllib
from typing import Any

from ._module import inputs_of, main_input


def second(tensor: Any) -> float:
    return float(tensor.detach().double().pow(2).mean().item())


def _zipf(ids: Any, words: int) -> float:
    """The exponent under which two words of a sequence are as often equal as these."""
    tokens = ids.shape[-1]
    equal = (ids.unsqueeze(-1) == ids.unsqueeze(-2)).double().sum((-1, -2)).mean().item() - tokens
    share = equal / max(tokens * (tokens - 1), 1)
    error = math.sqrt(2 / words / max(tokens * (tokens - 1) * max(ids.numel() // tokens, 1), 1))
    if share <= 1 / words + 3 * error:
        return 0.0
    low, high = 0.0, 4.0
    for _ in range(30):
        middle = (low + high) / 2
        weights = [k**-middle for k in range(1, words + 1)]
        if sum(w * w for w in weights) / sum(weights)**2 < share:
            low = middle
        else:
            high = middle
    return round(low, 3)


def _lengths(text: str, batch: Any, given: Any) -> dict[str, int]:
    """A graph has the example's; a config has the longest sequence that the model reads."""
    decoded = inputs_of(batch)[1].get("decoder_input_ids")
    tables = tomllib.loads(text)
    model, memory = tables.get("model", {}), tables.get("memory", {})
    found = {"sequence": (model.get("sequence"), (given if decoded is None else decoded).shape[1]),
             "batch": (model.get("batch"), given.shape[0])}
    if decoded is not None and model.get("encoder_decoder"):
        found["memory_sequence"] = (memory.get("sequence"), given.shape[1])
    return {key: int(size) for key, (known, size) in found.items() if known not in (None, size)}


def input_options(text: str, batch: Any, words: int | None) -> dict[str, Any]:
    """What the batch is: its mean square and what tokens share, or how often words are equal."""
    given = main_input(batch)
    options: dict[str, Any] = {}
    if 'kind = "tokens"' in text:
        if given.dim() == 2:
            options.update(_lengths(text, batch, given))
            if words:
                options["zipf"] = _zipf(given, words)
        return options
    if not given.is_floating_point():
        return options
    options["second"] = second(given)
    if given.dim() == 3 and given.shape[1] > 1:
        values = given.detach().double()
        pairs = values.sum(1).pow(2).sum(-1) - values.pow(2).sum((1, 2))
        tokens, features = given.shape[1:]
        options["cross"] = max(0.0, pairs.mean().item() / (tokens * (tokens - 1) * features))
    return options
