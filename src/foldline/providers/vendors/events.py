"""
Server-sent events as they come.

The lines are split by the one character that ends them. A text may hold others that Unicode calls
line ends, and must not be torn there.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from foldline.history.codec import decode_json
from foldline.history.formats.fields import Object
from foldline.history.formats.wire import as_object


__all__ = ["END", "read_events"]


END = "[DONE]"
"""The `type` of the event that stands for the mark with which OpenAI ends a stream."""


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Object, None]:
    """
    Give the event that each block of *chunks* holds.

    Raises:
        FormatError: A block holds no JSON object.
    """
    data: list[bytes] = []
    async with aclosing(_lines(chunks)) as lines:
        async for line in lines:
            if line.startswith(b"data:"):
                data.append(line[len(b"data:") :].strip())
            elif not line and data:
                yield _event(b"\n".join(data))
                data = []
    if data:
        yield _event(b"\n".join(data))


def _event(data: bytes) -> Object:
    return {"type": END} if data == END.encode() else as_object(decode_json(data), "the event")


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    rest: list[bytes] = []
    async for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for line in whole:
            yield b"".join((*rest, line)).rstrip(b"\r")
            rest = []
        rest.append(last)
    yield b"".join(rest).rstrip(b"\r")
