"""A file of safetensors, which audit reads, of arrays in memory."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_safetensors(path: Path, tensors: Iterable[tuple[str, str, tuple[int, ...], Any]]) -> None:
    """Of (name, type as the format calls it, shape, bytes)."""
    header: dict[str, Any] = {}
    parts: list[Any] = []
    at = 0
    for name, kind, shape, data in tensors:
        end = at + memoryview(data).nbytes
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [at, end]}
        parts.append(data)
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for data in parts:
            file.write(memoryview(data))
