"""action.yml and .pre-commit-hooks.yaml, as GitHub and pre-commit read them: the steps are run with their
inputs in place, on claims that hold and on one that does not. With SCALECALC_WHEEL the wheel is installed
as the action does it, with SCALECALC_SOURCES (a folder of the sources, and some minutes) the package is built
as the action does it where it is given no wheel; without, the check alone is run, by the program of the
package."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from two_claims import CLAIMS

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
WHEEL = os.environ.get("SCALECALC_WHEEL", "")
SOURCES = os.environ.get("SCALECALC_SOURCES", "")


def filled(text, values):
    """With values for ${{ ... }}; what has none is an error, not empty as on GitHub."""
    return re.sub(r"\$\{\{\s*([\w.]+)\s*\}\}", lambda match: values[match.group(1)], text)


def run_step(step, values, folder, temporary):
    """GitHub's `shell: bash`."""
    assert step["shell"] == "bash"
    script = folder / "step.sh"
    script.write_text(filled(step["run"], values))
    environment = {key: filled(str(value), values) for key, value in step.get("env", {}).items()}
    return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
                          env={**os.environ, **environment, "RUNNER_TEMP": str(temporary)}, cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


@pytest.fixture(scope="module")
def action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.fixture(scope="module")
def temporary(action, program, tmp_path_factory):
    """$RUNNER_TEMP behind the step that installs."""
    folder = tmp_path_factory.mktemp("runner")
    if WHEEL or SOURCES:
        values = {**defaults(action), "inputs.wheel": "" if SOURCES else WHEEL}
        done = run_step(action["runs"]["steps"][0], values, folder, folder)
        assert done.returncode == 0, done.stderr
    else:
        bin = folder / "scalecalc" / "bin"
        bin.mkdir(parents=True)
        (bin / "scalecalc").symlink_to(program.path)
    return folder


def defaults(action):
    values = {f"inputs.{name}": str(one["default"]) for name, one in action["inputs"].items()}
    return {**values, "github.action_path": SOURCES or str(ROOT)}


def check(action, temporary, folder, **inputs):
    values = {**defaults(action), **{f"inputs.{name}": value for name, value in inputs.items()}}
    return run_step(action["runs"]["steps"][1], values, folder, temporary)


def test_the_action_is_composite(action):
    assert action["runs"]["using"] == "composite"
    assert [step["name"] for step in action["runs"]["steps"]] == ["install", "check"]
    used = set(re.findall(r"inputs\.(\w+)", (ROOT / "action.yml").read_text()))
    assert used == set(action["inputs"])


def test_claims_that_hold_pass(action, temporary, tmp_path):
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "good.toml").write_text(CLAIMS.format(sum=2))
    done = check(action, temporary, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "::error" not in done.stdout and "all hold" in done.stdout


def test_a_claim_that_fails_is_annotated(action, temporary, tmp_path):
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "good.toml").write_text(CLAIMS.format(sum=2))
    (tmp_path / "claims" / "bad.toml").write_text(CLAIMS.format(sum=3))
    done = check(action, temporary, tmp_path)
    assert done.returncode == 1, done.stderr
    notes = [line for line in done.stdout.splitlines() if line.startswith("::error")]
    assert len(notes) == 1
    match = re.fullmatch(r"::error file=claims/bad\.toml,line=(\d+)(?:,col=\d+)?,title=([^:]+)::(.+)", notes[0])
    assert match, notes[0]
    assert "sums" in match.group(2) + match.group(3)
    line = (tmp_path / "claims" / "bad.toml").read_text().splitlines()[int(match.group(1)) - 1]
    assert line == "[[claim]]" or line.startswith(("name", "assert"))


def test_arguments_and_several_files(action, temporary, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(CLAIMS.format(sum="6/3"))
    done = check(action, temporary, tmp_path, files="one.toml two.toml", arguments="--samples 65536")
    assert done.returncode == 0, done.stderr
    assert "4 claims" in done.stdout


def test_no_file_is_an_error(action, temporary, tmp_path):
    done = check(action, temporary, tmp_path)
    assert done.returncode == 2 and "claims" in done.stderr
    assert done.stdout.startswith("::error title=scalecalc::")


def test_a_claim_that_cannot_be_read_is_annotated(action, temporary, tmp_path):
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "broken.toml").write_text(CLAIMS.format(sum="*2"))
    done = check(action, temporary, tmp_path)
    assert done.returncode == 2
    assert re.match(r"::error file=claims/broken\.toml,line=8,col=\d+,title=scalecalc::unexpected", done.stdout)


def test_the_hook_takes_what_is_committed(program, tmp_path):
    """As pre-commit runs it: the entry's words, then the files that match."""
    hook, = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    names = ["claims/good.toml", "claims/deep/bad.toml", "sub/claims/more.toml", "other.toml",
             "claims/notes.txt", "noclaims/one.toml"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CLAIMS.format(sum=3 if "bad" in name else 2))
    matched = [name for name in names if re.search(hook["files"], name)]
    assert matched == ["claims/good.toml", "claims/deep/bad.toml", "sub/claims/more.toml"]
    words = shlex.split(hook["entry"])
    assert words[0] == "scalecalc"
    assert program.run(*words[1:], matched[0], matched[2], folder=tmp_path).returncode == 0
    failed = program.run(*words[1:], *matched, folder=tmp_path)
    assert failed.returncode == 1 and "sums" in failed.stdout
