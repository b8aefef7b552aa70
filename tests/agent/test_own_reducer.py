"""An agent with a reducer of the caller's own."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from foldline import (
    Agent,
    AgentRunConfig,
    ConfigError,
    DigestSummarizer,
    HistoryReducer,
    HistoryReductionConfig,
    MemoryStore,
    Message,
    Reason,
    recall_tool,
)
from foldline.agent.own_reducer import ChatReducer
from foldline.history.formats.renderings.anthropic import render_anthropic
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.formats.renderings.openai_responses import render_openai_responses
from foldline.testing.grammars.anthropic import check_anthropic
from foldline.testing.grammars.openai_chat import check_openai_chat
from foldline.testing.grammars.openai_responses import check_openai_responses
from foldline.testing.model import ScriptedModel, calls
from tests.agent.test_service_history import HoldingModel


class Own:
    """Shows what a function makes of the history."""

    def __init__(self, make: Callable[[Sequence[Message]], object]) -> None:
        self.make = make
        self.asked: list[int] = []

    async def reduce(self, messages: Sequence[Message], /) -> Sequence[Message]:
        self.asked.append(len(messages))
        return self.make(messages)  # type: ignore[return-value]


class Blocking:
    """Forgets `async`."""

    def reduce(self, messages: Sequence[Message], /) -> Sequence[Message]:
        return messages


def last_two(messages: Sequence[Message]) -> Sequence[Message]:
    return messages[-2:]


def weather(city: str) -> str:
    """Say what the weather will be."""
    return f"sun in {city}"


async def test_every_call_gets_the_view_of_the_own_reducer() -> None:
    """It is asked before each call with the full history, which the thread keeps."""
    own, model = Own(last_two), ScriptedModel(repeat="fine")
    agent = Agent(model, instructions="Be brief.", reducer=own)
    thread = await MemoryStore().thread("t")
    for n in range(3):
        await agent.run(f"u{n}", thread=thread)
    result = await agent.run("u3", thread=thread)

    assert own.asked == [1, 3, 5, 7]
    assert [one.text for one in model.requests[-1].messages] == ["Be brief.", "fine", "u3"]
    assert thread.count == 8
    (event,) = [one for one in result.events if hasattr(one, "reduced_count")]
    assert (event.status, event.reason) == ("performed", Reason.OWN_REDUCER)  # type: ignore[union-attr]


async def test_a_run_may_ask_for_the_full_history() -> None:
    """The own reducer is not asked then."""
    own, model = Own(last_two), ScriptedModel(repeat="fine")
    thread = await MemoryStore().thread("t")
    agent = Agent(model, reducer=own)
    await agent.run(
        [Message.user("u0"), Message.assistant("a0"), Message.user("u1")], thread=thread
    )
    own.asked.clear()
    await agent.run("u2", thread=thread, config=AgentRunConfig(skip_history_reduction=True))

    assert (len(model.requests[-1].messages), own.asked) == (5, [])


ODD: Mapping[str, Callable[[Sequence[Message]], Sequence[Message]]] = {
    "last two": last_two,
    "every second": lambda messages: messages[::2],
    "no first": lambda messages: messages[1:] or messages,
    "backwards": lambda messages: messages[::-1],
    "no answers": lambda messages: [one for one in messages if one.role != "assistant"],
    "twice": lambda messages: [*messages, *messages],
}


@pytest.mark.parametrize("kind", ODD)
def test_whatever_it_shows_the_request_is_valid(kind: str) -> None:
    """Calls without results and results without calls reach no vendor."""
    call = calls(("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"}))
    model = ScriptedModel([call, "sun", call, call, "more sun"])
    agent, thread = Agent(model, tools=[weather], reducer=Own(ODD[kind])), None
    for text in ("What will it be?", "And then?"):
        thread = agent.run_sync(text, thread=thread).thread

    assert len(model.requests) == 5
    for request in model.requests:
        view = list(request.messages)
        rendered = render_anthropic(view)
        assert not check_anthropic(rendered.system, rendered.messages)
        assert not check_openai_chat(render_openai_chat(view))
        assert not check_openai_responses(render_openai_responses(view))


async def test_a_view_above_the_ceiling_is_folded() -> None:
    """An own reducer that keeps everything does not make a request that the model cannot read."""
    model, thread = (
        ScriptedModel(repeat="fine", name="openai:gpt-4"),
        await MemoryStore().thread("t"),
    )
    agent = Agent(model, reducer=Own(list))
    for n in range(9):
        await agent.run(f"u{n} " * 800, thread=thread)

    sizes = [sum(len(one.text) for one in request.messages) for request in model.requests]
    assert max(sizes) < 0.7 * 8_192 * 3
    assert model.requests[-1].messages[-1].text == "u8 " * 800
    assert thread.last_reduction is None


async def test_a_vendor_that_holds_the_history_gets_the_view() -> None:
    """What the vendor holds is not what the reducer shows, so it is not continued."""
    model, thread = HoldingModel(), await MemoryStore().thread("t")
    agent = Agent(model, reducer=Own(last_two))
    for n in range(3):
        await agent.run(f"u{n}", thread=thread)

    assert model.newest == ["fine", "u2", "fine"]
    assert [one.service_thread_id for one in model.requests] == [None] * 3


def test_a_ready_reducer_of_ours_is_used_with_its_own_configuration() -> None:
    """A `HistoryReducer` folds and is resumed as one that the agent makes."""
    config = HistoryReductionConfig(target_count=1, summarization_threshold=0)
    reducer = HistoryReducer(config, summarizer=DigestSummarizer())
    agent = Agent(ScriptedModel(repeat="fine"), reducer=reducer)
    thread = None
    for n in range(4):
        thread = agent.run_sync(f"u{n} " * 200, thread=thread).thread

    assert agent.reducer.config is config
    assert thread is not None
    assert thread.last_reduction is not None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"reducer": object()}, "reducer must be .*, got object: it needs async reduce"),
        (
            {"reducer": HistoryReductionConfig()},
            "HistoryReductionConfig goes to `history_reduction=`",
        ),
        ({"reducer": Own}, "reducer must be an instance, got the class Own"),
        ({"reducer": Blocking()}, r"Blocking\.reduce must be async"),
        ({"reducer": Own(last_two), "summarizer": DigestSummarizer()}, "summarizer must be given"),
        (
            {"reducer": Own(last_two), "history_reduction": HistoryReductionConfig()},
            "history_reduction must be given to the reducer, or in place of it",
        ),
    ],
)
def test_what_is_no_reducer_is_refused(options: Mapping[str, object], says: str) -> None:
    """So is what the given reducer would leave without effect."""
    with pytest.raises(ConfigError, match=says):
        Agent(ScriptedModel(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (None, r"Own.reduce\(\) must be a list or tuple, got None"),
        ([{"role": "user"}], r"Own.reduce\(\)\[0\] must be a Message, got dict"),
        ([Message.system("only")], "must return a message that is not a system message"),
    ],
)
async def test_what_is_no_view_ends_the_turn(made: object, says: str) -> None:
    """Nothing is sent, and the turn stays open, so that it can be resumed."""
    model, thread = ScriptedModel(["no"]), await MemoryStore().thread("t")

    with pytest.raises(ConfigError, match=says):
        await Agent(model, reducer=Own(lambda _: made)).run("u0", thread=thread)
    assert model.requests == []
    assert thread.execution_state is not None
    assert thread.execution_state.is_open


def test_an_object_with_the_method_is_of_the_protocol() -> None:
    """It needs no base class."""
    assert isinstance(Own(last_two), ChatReducer)


async def test_notes_in_a_view_of_an_own_reducer_name_no_message() -> None:
    """The indexes of what it returns are not those of the thread, which `recall` would read."""
    model = ScriptedModel(repeat="fine")
    long = "words about the weather in the north " * 40_000
    agent = Agent(model, tools=[recall_tool()], reducer=Own(lambda messages: messages[-1:]))
    thread = await MemoryStore().thread("t")
    await agent.run("hi", thread=thread)
    await agent.run(long, thread=thread)

    shown = model.requests[-1].messages[-1].text
    assert "characters left out: the request had no room for them" in shown
    assert "recall(" not in shown
    assert "message 0" not in shown
