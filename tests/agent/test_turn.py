"""One turn: what bounds it, what becomes of its calls, and what it leaves behind."""

import asyncio
from collections.abc import Sequence

import pytest

from foldline import Agent, AgentOptions, MemoryStore, Message, ToolContext, TurnResult, Usage
from foldline.agent import turn
from foldline.agent.turn import called
from foldline.errors import ThreadConflictError
from foldline.events import (
    DecisionEvent,
    IterationStartedEvent,
    RepeatBreakerEvent,
    ToolResultEvent,
)
from foldline.history.messages import Native, NativeFormat
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatRequest, ChatResponse, FinishReason
from foldline.testing.model import ModelStep, ScriptedModel, calls
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import COMPLETED, AgentLoopState
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage


def look(at: int) -> str:
    return f"saw {at}"


def fail(at: int) -> str:
    message = f"nothing at {at}"
    raise LookupError(message)


def run(steps: Sequence[ModelStep], *, options: AgentOptions | None = None) -> TurnResult:
    """Run a turn on a new thread; the last step repeats."""
    model = ScriptedModel(steps[:-1], repeat=steps[-1])
    agent = Agent(model, tools=[look, fail], options=options or AgentOptions())
    return asyncio.run(agent.run("hello"))


def roles(result: TurnResult) -> list[str]:
    return [message.role for message in result.messages]


def test_a_turn_without_tools() -> None:
    """The result holds the input and the answer, and the turn came to its own end."""
    result = run(["fine"])

    assert roles(result) == ["user", "assistant"]
    assert (result.text, result.iterations, result.is_complete) == ("fine", 1, True)
    assert result.termination_reason == COMPLETED
    assert result.thread.count == 2


def test_the_instructions_are_sent_and_not_stored() -> None:
    """They stand in front of every request, and in no thread."""
    model = ScriptedModel(["fine"])
    result = asyncio.run(Agent(model, instructions="be brief").run("hello"))

    assert [one.role for one in model.requests[0].messages] == ["system", "user"]
    assert roles(result) == ["user", "assistant"]


def test_the_usage_is_that_of_all_calls() -> None:
    """What the vendor counted adds up over the model calls, cached tokens apart."""

    def answer(text: str) -> ChatResponse:
        usage = Usage(input_tokens=10, output_tokens=2, cache_read_tokens=5)
        message = Message.assistant(text) if text else calls(("look", {"at": 1}), first=1)
        return ChatResponse(messages=(message,), usage=usage)

    result = run([answer(""), answer("fine")])

    assert result.usage == Usage(input_tokens=20, output_tokens=4, cache_read_tokens=10)
    assert result.messages[-1].usage is not None


def test_the_iteration_limit_ends_the_turn() -> None:
    """A model that calls without end is stopped after the last allowed call, its calls answered."""
    numbers = iter(range(99))

    def call(_: ChatRequest) -> Message:
        return calls(("look", {"at": next(numbers)}))

    result = run([call], options=AgentOptions(max_iterations=3))

    assert result.termination_reason == "Maximum iterations (3) reached"
    assert result.iterations == 3
    assert roles(result) == ["user", *["assistant", "tool"] * 3]
    assert not result.is_complete


def test_failures_in_a_row_end_the_turn() -> None:
    """Three responses whose calls all fail are enough; one success in between starts again."""
    failing: list[ModelStep] = [calls(("fail", {"at": number})) for number in range(5)]
    all_failing: list[ModelStep] = [*failing, "fine"]
    result = run(all_failing)
    mixed: list[ModelStep] = [
        *failing[:2],
        calls(("look", {"at": 1}), ("fail", {"at": 9})),
        *failing[3:],
        "fine",
    ]

    assert result.termination_reason == "Maximum consecutive failures (3) exceeded"
    assert result.iterations == 3
    assert run(mixed).text == "fine"


def test_the_repeat_breaker_ends_the_turn() -> None:
    """The third identical call does not run, and a visible text says why."""
    result = run([calls(("look", {"at": 1}))])
    (event,) = (one for one in result.events if isinstance(one, RepeatBreakerEvent))
    ran = [one for one in result.events if isinstance(one, ToolResultEvent)]

    assert (event.name, event.count, event.iteration) == ("look", 3, 2)
    assert len(ran) == 2
    assert result.text == (
        "Circuit breaker triggered: Function 'look' with same arguments would be called 3 times "
        "consecutively. Stopping to prevent infinite loop."
    )
    assert roles(result)[-3:] == ["assistant", "tool", "assistant"]
    assert result.thread.pending_tools == ()


@pytest.mark.parametrize(
    ("wanted", "trips"),
    [
        ([("a", "{}")], False),
        ([("a", "{}")] * 2, False),
        ([("a", "{}")] * 3, True),
        ([("a", '{"x":1,"y":2}'), ("a", '{"y":2,"x":1}'), ("a", '{ "x": 1, "y": 2 }')], True),
        ([("a", '{"x":1}'), ("a", '{"x":2}'), ("a", '{"x":1}')], False),
        ([("a", "{}"), ("b", "{}"), ("a", "{}"), ("b", "{}"), ("a", "{}")], True),
        ([("a", "not JSON")] * 3, True),
    ],
)
def test_what_counts_as_a_repetition(wanted: list[tuple[str, str]], *, trips: bool) -> None:
    """The same tool with equal arguments in a row of its own calls, whatever the order of keys."""
    parts = [ToolCallPart(f"c{at}", name, text) for at, (name, text) in enumerate(wanted)]

    _, repeat = called(_state(), parts, AgentOptions())

    assert (repeat is not None) is trips


def _state() -> AgentLoopState:
    thread = asyncio.run(MemoryStore().thread("t"))
    return AgentLoopState(run_id="r", conversation_id="t", started_at=thread.now())


def test_a_turn_that_takes_too_long_makes_no_further_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After its time the turn ends with everything that was said so far."""
    clock = iter([0.0, 1.0, 6.0])
    monkeypatch.setattr(turn, "perf_counter", lambda: next(clock, 7.0))
    result = run([calls(("look", {"at": 1}))], options=AgentOptions(max_duration=5))

    assert result.termination_reason == "Maximum duration (5 s) reached"
    assert result.iterations == 1


def test_an_unknown_tool_is_told_to_the_model() -> None:
    """The model reads which tools there are, and the turn goes on."""
    result = run([calls(("lok", {"at": 1})), "fine"])

    assert result.text == "fine"
    assert "look" in str(result.messages[2].tool_call_responses[0].response)


def test_unknown_tools_can_end_the_turn() -> None:
    """Where the options say so nothing runs, and every call is answered."""
    wanted = calls(("lok", {}), ("look", {"at": 1}), ("other", {}))
    result = run([wanted], options=AgentOptions(terminate_on_unknown_tools=True))

    assert result.termination_reason == "Unknown tools requested: lok, other"
    assert roles(result) == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert not any(isinstance(event, ToolResultEvent) for event in result.events)


@pytest.mark.parametrize("parallel", [True, False], ids=["parallel", "sequential"])
async def test_answers_stand_in_the_order_of_the_calls(*, parallel: bool) -> None:
    """Whichever tool finishes first, the history has the order of the calls."""
    finished: list[int] = []

    async def wait(milliseconds: int) -> int:
        await asyncio.sleep(milliseconds / 1000)
        finished.append(milliseconds)
        return milliseconds

    asked = calls(*(("wait", {"milliseconds": number}) for number in (30, 1, 15)))
    agent = Agent(
        ScriptedModel([asked, "fine"]),
        tools=[wait],
        options=AgentOptions(parallel_tool_calls=parallel),
    )
    result = await agent.run("wait")
    answers = [one.tool_call_responses[0].response for one in result.messages if one.role == "tool"]

    assert answers == ["30", "1", "15"]
    assert finished == ([1, 15, 30] if parallel else [30, 1, 15])


async def test_a_tool_knows_its_call() -> None:
    """A parameter of the kind `ToolContext` is filled in; the key differs from call to call."""
    seen: list[ToolContext] = []

    def note(context: ToolContext, at: int) -> str:
        seen.append(context)
        return "noted"

    asked = calls(("note", {"at": 1}), ("note", {"at": 2}))
    thread = await MemoryStore().thread("t1", tenant="acme")
    await Agent(ScriptedModel([asked, "fine"]), tools=[note]).run("note", thread=thread)
    one, two = sorted(seen, key=lambda context: context.call_id)

    assert (one.thread_id, one.tenant, one.iteration, one.attempt) == ("t1", "acme", 0, 1)
    assert one.run_id == two.run_id
    assert one.idempotency_key != two.idempotency_key


async def test_calls_without_ids_get_ids_of_their_own() -> None:
    """Two calls that a vendor gave no id, or the same, are told apart; their own item goes."""
    native = Native(format=NativeFormat.OPENAI_CHAT, item="{}")
    parts = tuple(ToolCallPart(name, "look", '{"at":1}') for name in ("", "x", "x"))
    step = Message(role="assistant", parts=parts, native=native)
    # The scripted model numbers what has no id; a duplicate is left to the turn.
    model = ScriptedModel([ChatResponse(messages=(step,)), "fine"])
    result = await Agent(model, tools=[look]).run("look")
    said = result.messages[1]

    assert len({call.id for call in said.tool_calls}) == 3
    assert said.native is None
    assert [one.tool_call_responses[0].id for one in result.messages[2:5]] == [
        call.id for call in said.tool_calls
    ]


async def test_a_message_through_the_same_object_ends_the_turn() -> None:
    """The answer is not stored after a message that was being stored while the model answered."""

    class Slow(MemoryStorage):
        adding: asyncio.Event | None = None

        async def commit(self, key: ThreadKey, change: Change) -> None:
            if self.adding is not None and not self.adding.is_set():
                self.adding.set()
                for _ in range(50):
                    await asyncio.sleep(0)
            await super().commit(key, change)

    storage = Slow()
    thread = await ThreadStore(storage).thread("t")
    adding: list[asyncio.Task[None]] = []

    async def answer(_: ChatRequest) -> str:
        storage.adding = asyncio.Event()
        adding.append(asyncio.create_task(thread.add_message(Message.user("wait"))))
        await storage.adding.wait()
        return "fine"

    with pytest.raises(ThreadConflictError):
        await Agent(ScriptedModel([answer])).run("hi", thread=thread)
    await asyncio.wait(adding)

    assert [message.text for message in await thread.get_messages()] == ["hi", "wait"]


def test_a_model_that_says_nothing_ends_the_turn() -> None:
    """No empty message is stored."""
    result = run([ChatResponse(messages=(Message(role="assistant"),))])

    assert roles(result) == ["user"]
    assert (result.text, result.response, result.is_complete) == ("", None, True)


def test_each_iteration_shows_its_state_once() -> None:
    """The states count up, and know how many messages the thread holds."""
    result = run([calls(("look", {"at": 1})), "fine"])
    states = [event.state for event in result.events if isinstance(event, IterationStartedEvent)]

    assert [(state.iteration, len(state.current_messages)) for state in states] == [(0, 1), (1, 3)]
    assert states[1].completed_functions == {"look"}


@pytest.mark.parametrize("reason", ["length", "content_filter", "error"])
def test_an_answer_that_was_cut_off_is_no_completion(reason: FinishReason) -> None:
    """It is stored, and the turn says why it is not whole."""
    answer = ChatResponse(messages=(Message.assistant("half of"),), finish_reason=reason)
    result = asyncio.run(Agent(ScriptedModel([answer])).run("hi"))
    last = [event for event in result.events if isinstance(event, DecisionEvent)][-1]

    assert (result.text, result.thread.count, result.is_complete) == ("half of", 2, False)
    assert result.termination_reason == f"The model stopped early: {reason}"
    assert (last.decision, last.reason) == ("terminate", result.termination_reason)
