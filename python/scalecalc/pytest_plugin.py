"""Fixtures for pytest: assert_init(module) and assert_claims("claims/*.toml")."""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._commands import AuditResult, CheckResult


def _init(module: Any, *, model: Any = None, **options: Any) -> AuditResult:
    from . import torch

    found = torch.audit(module, model=model, **options)
    if not found.passed:
        lines = [f"{finding.what}: {finding.verdict}" for finding in found.findings]
        pytest.fail("weights are not as they should start\n" + "\n".join([found.summary, *lines]),
                    pytrace=False)
    return found


def _claims(*patterns: Any, **options: Any) -> CheckResult:
    import scalecalc

    paths: list[str] = []
    for pattern in patterns:
        paths += sorted(glob.glob(str(pattern), recursive=True)) or [str(pattern)]
    found = scalecalc.check(paths, **options)
    if not found.passed:
        wrong = [f"{claim.name}: {claim.verdict}" for claim in found.claims if not claim.holds]
        pytest.fail(f"{found.failures} of {found.count} claims fail\n" + "\n".join(wrong), pytrace=False)
    return found


@pytest.fixture
def assert_init() -> Callable[..., AuditResult]:
    """assert_init(module, model=None, **options of scalecalc.audit): fails the test unless the weights
    are as the rules start them. Needs PyTorch."""
    return _init


@pytest.fixture
def assert_claims() -> Callable[..., CheckResult]:
    """assert_claims("claims/*.toml", **options of scalecalc.check): fails the test unless all hold."""
    return _claims
