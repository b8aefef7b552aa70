"""Every parser of the room takes time that grows no faster than its text."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from foldline.history.codec import canonical_json
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.providers.digest.failures import failure_of
from foldline.providers.digest.identifiers import Finder
from foldline.providers.digest.prose import split_sentences
from foldline.providers.digest.summarizer import write_digest
from foldline.providers.digest.text import redact
from foldline.providers.transcript import write_transcript
from foldline.providers.vendors.failure import read_overflow
from foldline.providers.vendors.vendor_model import read_events
from foldline.reduction.record import SummaryRecord
from foldline.reduction.request import SummaryRequest
from tests.linearity import is_linear


def digested(text: str) -> str:
    call = ToolCallPart("c", "write", canonical_json({"path": "/a/b.py", "content": text}).decode())
    messages = (
        Message.user(text),
        Message.assistant(text, tool_calls=[call]),
        Message.tool("c", text),
    )
    request = SummaryRequest(messages=messages, earlier=(text,), prompt="", budget=200)
    return write_digest(request, count=len)


async def events(text: str) -> list[object]:
    async def chunks() -> AsyncGenerator[bytes, None]:
        for start in range(0, len(text), 7):
            yield text[start : start + 7].encode()

    return [event async for event in read_events(chunks())]


PARSERS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "redact": (
        redact,
        ("-eyJ", "eyJaaaaaaaa.", "-----BEGIN ", "password: ", "4111 1111 ", "://a:"),
    ),
    "failure_of": (
        failure_of,
        ("\n \n", "= 1 failed in 1 ", "a: ", '{"error": ', "Traceback\n", " "),
    ),
    "Finder.find": (
        lambda text: list(Finder().find(text)),
        (
            '"a": ',
            '"a_id": "b1", ',
            "a/b.py ",
            "a/",
            "Jan 1",
            "http://",
            "1:",
            "a@",
            "a1...",
            "1.5s",
            "100,",
            "1.234,",
            "€ 1,",
            "</",
        ),
    ),
    "split_sentences": (
        lambda text: list(split_sentences(text)),
        ("a. ", "```", "\n", ". ", "。", "21. ", "Str. ", "| a | b |\n", "a | b | c d. e\n"),
    ),
    "parse": (
        lambda text: SummaryRecord.read(f"Record of 1 message.\n{text}"),
        ("## Ids seen\n- a\n", "- a\n", "- "),
    ),
    "read_overflow": (
        lambda text: read_overflow(status=400, codes=(), error={"message": text}),
        ("prompt is too long: ", "maximum context length is 1 tokens ", "about 1,", "9"),
    ),
    "read_events": (
        lambda text: asyncio.run(events(text)),
        ('data: {"a": 1}\n\n', ": a\n", "\r\n"),
    ),
    "write_transcript": (
        lambda text: write_transcript([Message.user(text)], most_result=100),
        ("=== ", "\n===", "\x85=", "="),
    ),
    "write_digest": (
        digested,
        ("-eyJ", "Do not say a1. ", "a/b.py, ", '{"error": 1} ', "## - ", "a "),
    ),
}


@pytest.mark.parametrize(
    ("name", "unit"), [(name, unit) for name, (_, units) in PARSERS.items() for unit in units]
)
def test_no_parser_is_worse_than_linear(name: str, unit: str) -> None:
    """A parser is done with a unit of what it reads, repeated, in time that grows as the text does."""
    use, _ = PARSERS[name]

    assert is_linear(use, "", unit)
