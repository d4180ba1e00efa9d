"""The code that init writes, run in this process."""

from __future__ import annotations

import itertools
import sys
import types
from typing import Any

_numbers = itertools.count()


def code_of(text: str) -> dict[str, Any]:
    """What the module that init wrote defines."""
    # Its dataclasses look their module up, whatever other threads do.
    made = types.ModuleType(f"scalecalc_init_{next(_numbers)}")
    sys.modules[made.__name__] = made
    try:
        exec(compile(text, "<scalecalc init>", "exec"), made.__dict__)
    finally:
        del sys.modules[made.__name__]
    return made.__dict__
