"""What pytest finds of this package: the fixture `resonate_engine`, for schedules under test.

It comes by an entry point, so a test suite that has resonate-lab installed has it.
"""

from __future__ import annotations

from inspect import signature

import pytest

from resonate_lab.engine import Engine

__all__ = ["resonate_engine"]


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers",
        "resonate(profile, now): rules and start of the test's resonate_engine",
    )


@pytest.fixture
def resonate_engine(request: pytest.FixtureRequest) -> Engine:
    """Return an engine that stands at 2024-01-01T00:00:00Z, for this test alone.

    The mark ``resonate`` says otherwise: ``@pytest.mark.resonate(profile="server",
    now="2030-01-01")``, the arguments of `Engine`. What a test's own mark leaves out is that of
    its class, then of its module.
    """
    arguments = {"now": "2024-01-01"}
    taken = signature(Engine)
    for mark in reversed([*request.node.iter_markers("resonate")]):  # the test's own comes last
        arguments |= taken.bind_partial(*mark.args, **mark.kwargs).arguments
    return Engine(**arguments)
