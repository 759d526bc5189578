"""Tests that are coroutine functions."""

import asyncio
from functools import wraps
from inspect import iscoroutinefunction

#: Seconds after which a test that waits for what does not come fails where it waits.
PATIENCE = 280


def scenario(test):
    """Run a test that is a coroutine function on a loop of its own."""
    assert iscoroutinefunction(test)

    async def main(*args, **kwargs):
        async with asyncio.timeout(PATIENCE):
            await test(*args, **kwargs)

    @wraps(test)
    def run(*args, **kwargs):
        asyncio.run(main(*args, **kwargs))

    return run
