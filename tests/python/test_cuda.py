"""Where the package looks for the plug-in of CUDA, the package scalecalc_cuda beside it, and what it says
where there is none: tools/wheel --cuda tries the plug-in itself (cuda_plugin.py)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import scalecalc

FILE = "scalecalc_cuda.so"
ASK = """
import scalecalc
try:
    scalecalc.verify("mlp-tanh", device="cuda", seeds=2)
except OSError as error:
    print(error)
"""
REMEDY = f"pip install scalecalc-cuda=={scalecalc.__version__} brings it"


@pytest.fixture
def site(tmp_path):
    """A copy of the package, in a folder of its own."""
    package = Path(scalecalc.__file__).parent
    folder = tmp_path / "site"
    shutil.copytree(package, folder / "scalecalc", ignore=shutil.ignore_patterns("__pycache__"))
    libraries = package.parent / "scalecalc.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "scalecalc.libs")
    return folder


def said(site, folder, **environment):
    """The program's line and the module's."""
    environment = {**os.environ, "PYTHONPATH": str(site), **environment}
    done = [subprocess.run(words, cwd=folder, env=environment, check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
            for words in ([str(site / "scalecalc/bin/scalecalc"), "verify", "mlp-tanh", "--device", "cuda",
                           "--seeds", "2"],
                          [sys.executable, "-c", ASK])]
    assert done[0].returncode == 3 and done[1].returncode == 0, done
    return done[0].stderr.strip().removeprefix("scalecalc: "), done[1].stdout.strip()


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text("no library")


def test_without_it_the_package_says_what_brings_it(site, tmp_path):
    lines = said(site, tmp_path)
    assert all(f"no plug-in {FILE}: {REMEDY}" in line and "\n" not in line for line in lines), lines
    listed = subprocess.run([site / "scalecalc/bin/scalecalc", "devices", "--format", "csv"],
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    assert f"no plug-in {FILE}: {REMEDY}" in listed


def test_it_is_looked_for_beside_the_package(site, tmp_path):
    write(site / "scalecalc_cuda")
    for line in said(site, tmp_path):
        assert f"{site / 'scalecalc_cuda' / FILE} cannot be opened: file too short: {REMEDY}" in line


def test_it_is_looked_for_nowhere_else(site, tmp_path):
    folder = tmp_path / "elsewhere"
    for one in (folder, folder / "scalecalc_cuda", site, site / "scalecalc", site / "scalecalc/bin",
                site / "scalecalc/lib/scalecalc"):
        write(one)
    lines = said(site, folder, LD_LIBRARY_PATH=f"{folder}:.")
    assert all(f"no plug-in {FILE}" in line for line in lines), lines
