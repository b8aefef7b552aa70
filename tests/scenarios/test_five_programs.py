"""Five programs of new users: with no configuration but a model's name all requests fit its window."""

import asyncio
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from foldline import (
    Agent,
    Conversation,
    HistoryReducer,
    MemoryStore,
    Message,
    RoundRobin,
    SQLiteStore,
    SummaryRequest,
    Usage,
)
from foldline.events import TextDeltaEvent
from foldline.history.messages import PARTIAL_KEY
from foldline.providers.book import window_of_model
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE
from foldline.testing.model import Answer, ScriptedModel, calls
from foldline.threads.tools import INTERRUPTED
from tests.servers.recordings import recorded_sessions


NAME = "openai:gpt-4"
WINDOW = 8_192
# A token of English or code is about four characters of a word, or a sign.
_TOKEN = re.compile(r"\w{1,4}|[^\w\s]")
SENTENCE = "The parcel with the blue lamp left the depot at noon and was seen again in the harbor. "


class Vendor(ScriptedModel):
    """A vendor with its own way of counting, that knows the largest request it was sent."""

    def __init__(self, answer: Callable[[ChatRequest], Answer]) -> None:
        super().__init__(repeat=answer, name=NAME, delay=0)
        self.largest = 0
        """The tokens of its largest request."""

    async def respond(self, request: ChatRequest) -> ChatResponse:
        tokens = tokens_of(request.messages) + sum(len(repr(one)) // 4 for one in request.tools)
        self.largest = max(self.largest, tokens)
        if request.messages[-1].text.startswith("====== TRANSCRIPT"):
            text = f"{FIRST_LINE}\nThey spoke of a parcel and where it is.\n{LAST_LINE}"
            return ChatResponse(messages=(Message.assistant(text),))
        response = await super().respond(request)
        return replace(response, usage=Usage(input_tokens=tokens, output_tokens=50))


def tokens_of(messages: Sequence[Message]) -> int:
    return sum(4 + len(_TOKEN.findall(repr(one.parts))) for one in messages)


def long(mark: str, sentences: int = 30) -> str:
    return f"{mark}: {SENTENCE * sentences}"


def test_the_window_is_that_of_the_model() -> None:
    """The book knows the model that the programs below name."""
    assert window_of_model(NAME) == WINDOW


async def test_a_support_bot_for_eight_customers() -> None:
    """Each asks twelve questions at the same time as the others; a folded number can be found."""
    model = Vendor(lambda _: long("I have looked it up"))
    agent, store = Agent(model, instructions="Help with parcels."), MemoryStore()

    async def serve(customer: int) -> None:
        thread = await store.thread(f"customer-{customer}")
        for question in range(12):
            text = long(f"Where is my order A-{customer}-{question}?", 8)
            await agent.run(text, thread=thread)

    await asyncio.gather(*map(serve, range(8)))
    thread = await store.thread("customer-3")
    (match,) = await thread.search('"A-3-0"')

    assert thread.last_reduction is not None
    assert match.index < thread.last_reduction.summarized_up_to_index
    assert 0 < model.largest <= WINDOW


class Killed(BaseException):
    """The end of a process."""


async def test_a_coding_agent_that_is_killed_in_a_tool(tmp_path: Path) -> None:
    """Twenty files of 8.8 KB are read; after the crash the run is resumed, and nothing is lost."""
    written: list[str] = []

    def read_file(path: str) -> str:
        return long(path, 100)

    def write_file(path: str) -> str:
        written.append(path)
        raise Killed

    def step(request: ChatRequest) -> Answer:
        asked.append(len(request.messages))
        if len(asked) > 20:
            return f"I was told: {request.messages[-1].tool_call_responses[0].response}"
        name = "read_file" if len(asked) < 20 else "write_file"
        return calls((name, {"path": f"src/{len(asked)}.py"}))

    asked: list[int] = []
    model = Vendor(step)
    tools = [read_file, write_file]
    async with SQLiteStore(tmp_path / "code.db") as store:
        with pytest.raises(Killed):
            await Agent(model, tools=tools).run(
                "Read everything, then write.", thread=await store.thread("code")
            )
    async with SQLiteStore(tmp_path / "code.db") as store:
        thread = await store.thread("code")
        result = await Agent(model, tools=tools).run(thread=thread)

    assert written == ["src/20.py"]
    assert result.text == f"I was told: {INTERRUPTED}"
    assert thread.count == 42
    assert thread.last_reduction is not None
    assert 0 < model.largest <= WINDOW


def test_a_batch_of_recordings_on_eight_threads(shared_data: Path) -> None:
    """Every view of every moment of fifty recorded sessions fits, with a summarizer of one's own."""

    class Mine:
        name = "mine"

        async def summarize(self, request: SummaryRequest) -> str:
            return f"They said {len(request.messages)} things about a flight."

    reducer = HistoryReducer(model=NAME, summarizer=Mine())
    sessions = recorded_sessions(shared_data / "tau-airline" / "conversations.jsonl")[:50]

    def largest(messages: Sequence[Message]) -> int:
        state, most = None, 0
        for end in range(2, len(messages) + 1, 4):
            reduced = reducer.reduce_sync(messages[:end], state=state)
            state, most = reduced.state, max(most, tokens_of(reduced.messages))
        return most

    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(lambda one: largest(one.messages), sessions))

    assert len(sizes) == 50
    assert max(tokens_of(one.messages) for one in sessions) > WINDOW
    assert max(sizes) <= WINDOW


async def test_a_stream_whose_reader_leaves() -> None:
    """Every third tab is closed in the middle, and the next message is answered all the same."""
    model = Vendor(lambda _: long("Well", 20))
    agent, thread = Agent(model), await MemoryStore().thread("t")
    for number in range(15):
        async with agent.run_stream(long(f"question {number}", 10), thread=thread) as stream:
            texts = (event async for event in stream if isinstance(event, TextDeltaEvent))
            await anext(texts)
            if number % 3 < 2:
                await stream.final_result

    partial = [one for one in await thread.get_messages() if PARTIAL_KEY in (one.metadata or {})]
    assert (thread.count, len(partial)) == (30, 5)
    assert thread.last_reduction is not None
    assert 0 < model.largest <= WINDOW


async def test_three_agents_take_turns() -> None:
    """Fifteen rounds of three agents on one thread."""
    models = [Vendor(lambda _: long("I agree", 15)) for _ in range(3)]
    agents = [Agent(one, name=f"agent-{place}") for place, one in enumerate(models)]
    conversation = Conversation(agents, orchestrator=RoundRobin())
    for number in range(45):
        await conversation.send(long(f"point {number}", 5))

    assert conversation.thread is not None
    assert conversation.thread.count == 90
    assert conversation.thread.last_reduction is not None
    assert 0 < max(one.largest for one in models) <= WINDOW
