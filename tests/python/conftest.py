"""The package under test is the one that Python finds; its program is the one inside it."""

import json
import subprocess

import pytest

from scalecalc import _program

pytest_plugins = ["pytester"]


class Program:
    """The package's own program."""

    def __init__(self):
        self.path = str(_program.path())

    def run(self, *words, folder=None):
        return subprocess.run([self.path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, cwd=folder, check=False)

    def json(self, *words, folder=None):
        done = self.run(*words, "--format", "json", folder=folder)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def program():
    return Program()
