"""The code that init writes, run in this process."""

from __future__ import annotations

import sys
import types
from typing import Any


def code_of(text: str) -> dict[str, Any]:
    """What the module that init wrote defines."""
    made = types.ModuleType("scalecalc_init")
    # Its dataclasses look their module up.
    before = sys.modules.get(made.__name__)
    sys.modules[made.__name__] = made
    try:
        exec(compile(text, "<scalecalc init>", "exec"), made.__dict__)
    finally:
        if before is None:
            del sys.modules[made.__name__]
        else:
            sys.modules[made.__name__] = before
    return made.__dict__
