"""The CUDA plug-in of scalecalc. Nothing here is called: scalecalc opens the file at `path`."""

from pathlib import Path

path = Path(__file__).parent / "scalecalc_cuda.so"
