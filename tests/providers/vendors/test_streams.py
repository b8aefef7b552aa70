"""Streams that are cut, left and cancelled, and the connections under them."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from foldline.errors import ModelError
from foldline.history.messages import Message
from foldline.providers.model import TextDelta
from foldline.providers.vendors.vendor_model import WireModel
from tests.providers.vendors.asking import ask, ask_stream, opened, request_of
from tests.servers.vendor import Answer, VendorServer, sse


CHAT, RESPONSES, CLAUDE = "openai-chat:gpt-4o", "openai:gpt-4o", "anthropic:claude-sonnet-4-6"
SPECS = (CHAT, RESPONSES, CLAUDE)
REQUEST = request_of(Message.user("x"))
TEXT = "first second"

MESSAGE = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
OUTPUT = [{**MESSAGE, "content": [{"type": "output_text", "text": TEXT, "annotations": []}]}]
EVENTS: dict[str, list[Any]] = {
    CHAT: [
        {
            "id": "c",
            "model": "m",
            "choices": [{"delta": {"role": "assistant", "content": "first "}}],
        },
        {"id": "c", "model": "m", "choices": [{"delta": {"content": "second"}}]},
        {"id": "c", "model": "m", "choices": [{"delta": {}, "finish_reason": "stop"}]},
        "[DONE]",
    ],
    RESPONSES: [
        {"type": "response.output_text.delta", "output_index": 0, "delta": "first "},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "second"},
        {"type": "response.completed", "response": {"id": "r", "output": OUTPUT}},
    ],
    CLAUDE: [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": one},
            }
            for one in ("first ", "second")
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ],
}
STEPS = {CHAT: 2, RESPONSES: 2, CLAUDE: 4}
"""How many events give all text."""


def waited(is_so: Callable[[], bool]) -> bool:
    """Wait until *is_so*, or too long."""
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.005)
    return is_so()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_pieces_of_any_size(vendor: VendorServer, spec: str, piece: int) -> None:
    """However the network tears a stream, its text comes out whole."""
    vendor.answers = [Answer.stream(EVENTS[spec], piece=piece)]

    (found,) = ask_stream(opened(vendor, spec), REQUEST)

    assert found.text == found.response.messages[0].text == TEXT
    assert found.response.finish_reason == "stop"


@pytest.mark.parametrize("spec", SPECS)
def test_unicode_line_ends_tear_nothing(vendor: VendorServer, spec: str) -> None:
    """A text with the line ends that only Unicode knows is not torn at them."""
    text = "first\u2028second\x85third"
    raw = sse(EVENTS[spec]).decode().replace("first ", text)
    vendor.answers = [Answer(body=raw.encode())]

    (found,) = ask_stream(opened(vendor, spec), REQUEST)

    assert found.text == f"{text}second"
    if spec != RESPONSES:
        assert found.response.messages[0].text == f"{text}second"


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("end", ["whole", "cut"])
def test_cut_streams_are_errors(vendor: VendorServer, spec: str, end: Any) -> None:
    """
    A stream that ends early, in order or not, gives its text and then an error, never a response.
    """
    vendor.answers = [Answer.stream(EVENTS[spec][: STEPS[spec]], end=end)]
    model = opened(vendor, spec)

    async def run() -> list[object]:
        async with model, aclosing(model.stream(REQUEST)) as pieces:
            found = [await anext(pieces), await anext(pieces)]
            with pytest.raises(ModelError, match="broke off") as caught:
                await anext(pieces)
        assert "first" not in f"{caught.value}"
        return [*found]

    assert asyncio.run(run()) == [TextDelta("first "), TextDelta("second")]


@pytest.mark.parametrize("spec", SPECS)
def test_broken_events_are_errors(vendor: VendorServer, spec: str) -> None:
    """An event that is no JSON ends the stream with an error that does not quote it."""
    vendor.answers = [Answer.stream(["{canary"])]

    with pytest.raises(ModelError, match="cannot be read") as caught:
        ask_stream(opened(vendor, spec), REQUEST)

    assert "canary" not in f"{caught.value}"


@pytest.mark.parametrize("spec", SPECS)
def test_a_last_event_needs_no_blank_line(vendor: VendorServer, spec: str) -> None:
    """A stream whose last event ends with the body is whole."""
    vendor.answers = [Answer(body=sse(EVENTS[spec]).rstrip(b"\n"))]

    (found,) = ask_stream(opened(vendor, spec), REQUEST)

    assert found.text == TEXT


@pytest.mark.parametrize("spec", SPECS)
def test_a_torn_whole_answer_is_an_error(vendor: VendorServer, spec: str) -> None:
    """An answer that is not streamed and breaks off is an error."""
    vendor.answers = [Answer(body=b'{"id": "c"', end="cut")]

    with pytest.raises(ModelError, match="broke off"):
        ask(opened(vendor, spec), REQUEST)


@pytest.mark.parametrize("spec", SPECS)
def test_closing_the_generator_ends_the_request(vendor: VendorServer, spec: str) -> None:
    """Closing the generator after the first piece closes the connection."""
    vendor.answers = [Answer.stream(EVENTS[spec][: STEPS[spec]], end="hang")]
    model = opened(vendor, spec)

    async def run() -> None:
        async with aclosing(model.stream(REQUEST)) as pieces:
            assert await anext(pieces) == TextDelta("first ")
        assert await other_tasks() == set()
        assert await asyncio.to_thread(vendor.left.wait, 60)
        await model.close()

    asyncio.run(run())
    assert waited(lambda: vendor.open_connections == 0)


async def other_tasks() -> set[asyncio.Task[Any]]:
    """Return the tasks that still run beside this one after the loop has gone round."""
    # The pool of the HTTP client leaves one generator to the loop, which closes it at once.
    for _ in range(3):
        await asyncio.sleep(0)
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def cancelled_at(model: WireModel, step: int, *, streams: bool) -> bool:
    """Cancel a call at its await number *step*; return whether it was still running."""

    async def call() -> None:
        if not streams:
            await model.respond(REQUEST)
            return
        async with aclosing(model.stream(REQUEST)) as pieces:
            async for _ in pieces:
                pass

    task = asyncio.create_task(call())
    for _ in range(step):
        await asyncio.sleep(0.001)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("streams", [False, True])
def test_cancelling_leaves_no_connection(vendor: VendorServer, spec: str, streams: bool) -> None:
    """A call that is cancelled at any moment leaves no open connection."""
    model = opened(vendor, spec)
    # The server may hear of a call only after that was cancelled, so all get the same answer.
    vendor.otherwise = Answer.stream(EVENTS[spec][: STEPS[spec]], end="hang", piece=20)
    moments = range(25)

    async def run() -> list[bool]:
        found = []
        for step in moments:
            found.append(await cancelled_at(model, step, streams=streams))
            assert await other_tasks() == set()
            # Counted before the binding is closed: what is open here would be a leak.
            assert await asyncio.to_thread(waited, lambda: vendor.open_connections == 0)
        await asyncio.sleep(0.05)
        assert await asyncio.to_thread(waited, lambda: vendor.open_connections == 0)
        await model.close()
        return found

    assert asyncio.run(run()) == [True] * len(moments)


@pytest.mark.parametrize("spec", SPECS)
def test_connections_are_kept_for_the_next_call(vendor: VendorServer, spec: str) -> None:
    """A stream that came to its end leaves its connection to the next call; closing closes it."""
    vendor.answers = [Answer.stream(EVENTS[spec]) for _ in range(3)]
    model = opened(vendor, spec)

    async def run() -> int:
        for _ in range(3):
            async for _piece in model.stream(REQUEST):
                pass
        opened_so_far = vendor.open_connections
        await model.close()
        return opened_so_far

    assert asyncio.run(run()) == 1
    assert waited(lambda: vendor.open_connections == 0)


def test_calls_run_side_by_side(vendor: VendorServer) -> None:
    """Many streams of one binding at once each come to their end."""
    vendor.answers = [Answer.stream(EVENTS[CHAT], piece=5) for _ in range(20)]
    model = opened(vendor, CHAT)

    async def one() -> str:
        pieces = [piece async for piece in model.stream(REQUEST)]
        return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))

    async def run() -> list[str]:
        async with model:
            return await asyncio.gather(*(one() for _ in range(20)))

    assert asyncio.run(run()) == [TEXT] * 20
