"""Time that passes at once, for what waits in the loop of a test."""

import asyncio


__all__ = ["let_pass"]


def let_pass(seconds: float) -> None:
    """Let the timers of the running loop see that *seconds* have passed; the loop ends with its test."""
    loop = asyncio.get_running_loop()
    time = loop.time
    setattr(loop, "time", lambda: time() + seconds)  # noqa: B010 - a method, for a type checker
