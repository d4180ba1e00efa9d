"""The program of the package, under the name that pip puts on the path."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def path() -> Path:
    return Path(__file__).parent / "bin" / "scalecalc"


def main() -> NoReturn:
    program = str(path())
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
