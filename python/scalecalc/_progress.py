"""A bar of tqdm for work that is long, where tqdm is there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

SILENT = 1.0  # seconds before a bar is shown


class bar:  # noqa: N801
    """Is told the share that is done; nothing is shown of what ends within a second."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: Any = None
        self._is_there = True

    def __enter__(self) -> bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, share: float, what: str) -> None:
        if not self._is_there or time.monotonic() - self._start < SILENT:
            return
        if self._bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self._is_there = False
                return
            self._bar = tqdm(total=1.0, leave=False, bar_format="{l_bar}{bar}| {desc}")
        self._bar.n = min(max(share, 0.0), 1.0)
        self._bar.set_description_str(what)
