"""The blocking face of a method."""

import asyncio

from foldline.guests import blocking


class Clock:
    """Tells what it is given."""

    async def awaited(self, hour: int, *, minute: int = 0) -> str:
        """Return the time."""
        await asyncio.sleep(0)
        return f"{hour}:{minute}"

    told = blocking(awaited)


def test_a_method_blocks_with_and_without_a_loop() -> None:
    """It returns what the awaited one returns, also where a loop runs, and has its docstring."""

    async def inside() -> str:
        return Clock().told(7, minute=5)

    assert Clock().told(7, minute=5) == asyncio.run(inside()) == "7:5"
    assert Clock.told.__doc__ == Clock.awaited.__doc__
