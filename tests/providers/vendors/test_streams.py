"""Streams that are cut, left and cancelled, and the connections under them."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from foldline.errors import ModelError
from foldline.history.messages import Message
from foldline.providers.model import TextDelta
from foldline.providers.vendors.vendor_model import WireModel
from tests.providers.vendors.asking import ask_stream, errors, opened, request_of
from tests.servers.vendor import Answer, VendorServer, sse


CHAT, RESPONSES, CLAUDE = "openai-chat:gpt-4o", "openai:gpt-4o", "anthropic:claude-sonnet-4-6"
SPECS = (CHAT, RESPONSES, CLAUDE)
REQUEST = request_of(Message.user("x"))
TEXT = "first second"

OUTPUT = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
}
START = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}


def piece_of(spec: str, text: str) -> dict[str, Any]:
    if spec == CHAT:
        return {"id": "c", "model": "m", "choices": [{"delta": {"content": text}}]}
    if spec == RESPONSES:
        return {"type": "response.output_text.delta", "output_index": 0, "delta": text}
    delta = {"type": "text_delta", "text": text}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


BEGINNINGS: dict[str, list[Any]] = {
    spec: [
        *([START, BLOCK] if spec == CLAUDE else []),
        piece_of(spec, "first "),
        piece_of(spec, "second"),
    ]
    for spec in SPECS
}
"""The events that give all text."""

ENDINGS: dict[str, list[Any]] = {
    CHAT: [{"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]"],
    RESPONSES: [{"type": "response.completed", "response": {"id": "r", "output": [OUTPUT]}}],
    CLAUDE: [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ],
}
EVENTS = {spec: BEGINNINGS[spec] + ENDINGS[spec] for spec in SPECS}


async def closed(vendor: VendorServer) -> bool:
    """Wait until no connection to *vendor* is open, or too long."""
    for _ in range(12_000):
        if not vendor.open_connections:
            return True
        await asyncio.sleep(0.005)
    return False


async def texts(model: WireModel) -> str:
    pieces = [piece async for piece in model.stream(REQUEST)]
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_pieces_of_any_size(vendor: VendorServer, spec: str, piece: int) -> None:
    """However the network tears a stream, its text comes out whole."""
    vendor.answers = [Answer.stream(EVENTS[spec], piece=piece)]

    (found,) = ask_stream(opened(vendor, spec), REQUEST)

    assert found.text == found.response.messages[0].text == TEXT
    assert found.response.finish_reason == "stop"


@pytest.mark.parametrize("spec", SPECS)
async def test_line_ends_of_a_stream(vendor: VendorServer, spec: str) -> None:
    """Line ends that only Unicode knows tear no text, and the last event needs no blank line."""
    text = "first\u2028second\x85third"
    raw = sse(EVENTS[spec]).rstrip(b"\n").decode().replace("first ", text)
    vendor.answers = [Answer(body=raw.encode())]

    async with opened(vendor, spec) as model:
        assert await texts(model) == f"{text}second"


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("end", ["whole", "cut"])
async def test_cut_streams_are_errors(vendor: VendorServer, spec: str, end: Any) -> None:
    """A stream that ends early gives its text and then an error, never a response."""
    vendor.answers = [Answer.stream(BEGINNINGS[spec], end=end)]

    async with opened(vendor, spec) as model, aclosing(model.stream(REQUEST)) as pieces:
        assert await anext(pieces) == TextDelta("first ")
        assert await anext(pieces) == TextDelta("second")
        with pytest.raises(ModelError, match="broke off") as caught:
            await anext(pieces)

    assert "first" not in f"{caught.value}"


WHOLE: dict[str, dict[str, Any]] = {
    CHAT: {"id": "c", "choices": [{"message": {"role": "assistant", "content": TEXT}}]},
    RESPONSES: {"id": "r", "output": [OUTPUT]},
    CLAUDE: {"id": "m", "role": "assistant", "content": [{"type": "text", "text": TEXT}]},
}


@pytest.mark.parametrize("spec", SPECS)
def test_a_server_that_does_not_stream_is_read(vendor: VendorServer, spec: str) -> None:
    """A whole answer in JSON is a response, and a stream under that name is one still."""
    vendor.answers = [Answer.of(WHOLE[spec]), Answer(body=sse(EVENTS[spec]))]

    answers = ask_stream(opened(vendor, spec), REQUEST, REQUEST)

    assert [one.response.messages[0].text for one in answers] == [TEXT, TEXT]
    assert [one.text for one in answers] == ["", TEXT]


@pytest.mark.parametrize("spec", SPECS)
async def test_what_is_no_stream_is_named(vendor: VendorServer, spec: str) -> None:
    """Another page than that of a vendor may be at an address; nothing of it is quoted."""
    page = Answer(body=b"<html>canary</html>", kind="text/html; charset=utf-8")
    refused = Answer.of({"error": {"message": "canary", "code": "overloaded"}})

    said = [f"{one}" for one in await errors(vendor, spec, REQUEST, page, refused, streams=True)]

    assert said == [
        f"{spec} was asked for a stream of events, and sent 'text/html'",
        f"{spec} failed: overloaded",
    ]


@pytest.mark.parametrize("spec", SPECS)
async def test_broken_answers_are_errors(vendor: VendorServer, spec: str) -> None:
    """An event that is no JSON, or an answer that breaks off, is an error that does not quote it."""
    (event,) = await errors(vendor, spec, REQUEST, Answer.stream(["{canary"]), streams=True)
    (whole,) = await errors(vendor, spec, REQUEST, Answer(body=b'{"id": "canary"', end="cut"))

    assert "cannot be read" in f"{event}"
    assert "broke off" in f"{whole}"
    assert "canary" not in f"{event} {whole}"


@pytest.mark.parametrize("spec", SPECS)
async def test_closing_the_generator_ends_the_request(vendor: VendorServer, spec: str) -> None:
    """Closing the generator after the first piece closes the connection."""
    vendor.answers = [Answer.stream(BEGINNINGS[spec], end="hang")]

    async with opened(vendor, spec) as model:
        async with aclosing(model.stream(REQUEST)) as pieces:
            assert await anext(pieces) == TextDelta("first ")
        assert await other_tasks() == set()
        assert await asyncio.to_thread(vendor.left.wait, 60)
        assert await closed(vendor)


async def other_tasks() -> set[asyncio.Task[Any]]:
    """Return the tasks that still run beside this one after the loop has gone round."""
    # The pool of the HTTP client leaves one generator to the loop, which closes it at once.
    for _ in range(3):
        await asyncio.sleep(0)
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def cancelled_at(model: WireModel, step: int, *, streams: bool) -> bool:
    """Cancel a call at its await number *step*; return whether it was still running."""
    task = asyncio.create_task(texts(model) if streams else model.respond(REQUEST))
    for _ in range(step):
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    "moments", [range(0, 25, 5), pytest.param(range(25), marks=pytest.mark.slow)]
)
async def test_cancelling_leaves_no_connection(
    vendor: VendorServer, spec: str, streams: bool, moments: range
) -> None:
    """A call that is cancelled at any moment leaves no open connection."""
    # The server may hear of a call only after that was cancelled, so all get the same answer.
    vendor.otherwise = Answer.stream(BEGINNINGS[spec], end="hang", piece=20)

    async with opened(vendor, spec) as model:
        for step in moments:
            assert await cancelled_at(model, step, streams=streams)
            assert await other_tasks() == set()
            # Counted before the binding is closed: what is open here would be a leak.
            assert await closed(vendor)


@pytest.mark.parametrize("spec", SPECS)
async def test_connections_are_kept_for_the_next_call(vendor: VendorServer, spec: str) -> None:
    """A stream that came to its end leaves its connection to the next call; closing closes it."""
    vendor.answers = [Answer.stream(EVENTS[spec]) for _ in range(3)]
    async with opened(vendor, spec) as model:
        assert [await texts(model) for _ in range(3)] == [TEXT] * 3
        assert vendor.open_connections == 1

    assert await closed(vendor)


async def test_calls_run_side_by_side(vendor: VendorServer) -> None:
    """Many streams of one binding at once each come to their end."""
    vendor.answers = [Answer.stream(EVENTS[CHAT], piece=5) for _ in range(20)]

    async with opened(vendor, CHAT) as model:
        assert await asyncio.gather(*(texts(model) for _ in range(20))) == [TEXT] * 20
