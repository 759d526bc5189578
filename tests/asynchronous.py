"""Tests that are coroutine functions."""

import asyncio
from functools import wraps
from inspect import iscoroutinefunction


def scenario(test):
    """Run a test that is a coroutine function on a loop of its own."""
    assert iscoroutinefunction(test)

    @wraps(test)
    def run(*args, **kwargs):
        asyncio.run(test(*args, **kwargs))

    return run
