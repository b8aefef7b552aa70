"""A fixture that fails tests whose requests break the prompt cache."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from foldline import (
    Agent,
    HistoryReducer,
    HistoryReductionConfig,
    HistoryReductionState,
    MemoryStore,
)
from foldline.agent.telemetry import Observer
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest, StreamingChatModel, ToolDefinition
from foldline.testing.model import ScriptedModel
from foldline.testing.prefix_watch import PrefixWatch
from foldline.testing.summarizer import ScriptedSummarizer


LONG = "of the ships in the harbor, of their cargo and of where they go " * 8
FOLDING = HistoryReductionConfig(
    enabled=True, strategy="summarizing", trigger="count", target_count=2, summarization_threshold=1
)
HELLO, HARBOR = ({"role": "user", "content": text} for text in ("Hello?", "Which ships?"))


async def test_a_reducer_whose_state_goes_through_json_breaks_nothing_between_folds() -> None:
    """40 calls with tools, everything read from JSON at each: only folds send anything again."""
    watch = PrefixWatch()
    stored: str = json.dumps({"messages": [], "state": None})
    folds = broken = 0
    for call in range(40):
        saved = json.loads(stored)
        state = saved["state"] and HistoryReductionState.from_json(saved["state"])
        messages: list[dict[str, Any]] = saved["messages"]
        if call % 4 == 0:
            messages.append({"role": "user", "content": f"{call}: tell me {LONG}"})
        reducer = HistoryReducer(FOLDING, summarizer=ScriptedSummarizer(repeat="They spoke."))
        reduced = await reducer.reduce(messages, state=state)
        watch.hear(reduced.event)
        reading = watch.read({"model": "gpt-5", "messages": reduced.messages})
        folds += reduced.event.status == "performed"
        broken += reading.broke
        messages += _answer(call)
        kept = reduced.state and reduced.state.to_json().decode()
        stored = json.dumps({"messages": messages, "state": kept})

    assert watch.problems == []
    assert 2 <= broken == folds


def _answer(call: int) -> list[dict[str, Any]]:
    if call % 4 == 3:
        return [{"role": "assistant", "content": f"{call}: that was all {LONG}"}]
    function = {"name": "look", "arguments": json.dumps({"pier": call, "all": True})}
    asked = {"id": f"call_{call}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": f"call_{call}", "content": f"pier {call}: {LONG}"},
    ]


def _blocks(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([HELLO], [HELLO, HARBOR]),
        ([Message.user("Hello?")], [Message.user("Hello?", id="copy"), Message.user("And?")]),
        (
            {"system": "Be brief.", "messages": [{"role": "user", "content": _blocks("Hello?")}]},
            {"system": _blocks("Be brief."), "messages": [HELLO, HARBOR]},
        ),
        (
            {"input": [{"role": "user", "content": "Hello?"}]},
            {
                "input": [
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "input_text",
                                "text": "Hello?",
                                "prompt_cache_breakpoint": {"mode": "explicit"},
                            }
                        ],
                    },
                    HARBOR,
                ]
            },
        ),
        ({"model": "m", "input": "Hello?"}, {"model": "m", "input": ["Hello?", HARBOR]}),
    ],
    ids=["messages", "copies", "breakpoints that move", "breakpoints of OpenAI", "a str as input"],
)
def test_a_request_that_continues_is_no_problem(before: Any, after: Any) -> None:
    """What begins with the request before is served by a cache, wherever breakpoints are."""
    watch = PrefixWatch()
    watch.read(before)

    assert not watch.read(after).broke
    assert watch.problems == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([HELLO, HARBOR], [HARBOR, HELLO]),
        ({"messages": [HELLO]}, {"messages": [HELLO], "tools": [{"name": "look"}]}),
        ({"messages": [HELLO], "system": "one"}, {"messages": [HELLO], "system": "two"}),
        ({"messages": [HELLO], "model": "one"}, {"messages": [HELLO], "model": "two"}),
        (
            ChatRequest(messages=(Message.user("Hello?"),)),
            ChatRequest(
                messages=(Message.user("Hello?"),),
                tools=(ToolDefinition(name="look", parameters={}),),
            ),
        ),
    ],
    ids=["messages", "tools", "system", "model", "the tools of a ChatRequest"],
)
def test_a_request_that_differs_is_named_with_its_tokens(before: Any, after: Any) -> None:
    """The line has the number of the request, what it sent again, and the whole."""
    watch = PrefixWatch()
    watch.read(before)
    reading = watch.read(after)

    (problem,) = watch.problems
    assert problem == (
        f"request 2 sent {reading.resent} of {reading.tokens} tokens again, "
        "and no fold or other cause was announced before it"
    )
    assert reading.resent > 0


def test_tools_beside_the_messages_count() -> None:
    """A loop that passes its tools separately is checked for them too."""
    watch = PrefixWatch()
    watch.read([HELLO], tools=[{"name": "look"}])
    watch.read([HELLO, HARBOR], tools=[{"name": "look"}])
    assert watch.problems == []

    watch.read([HELLO, HARBOR], tools=[{"name": "see"}])
    assert len(watch.problems) == 1


def test_an_announcement_is_for_the_next_request_alone() -> None:
    """A fold that was announced explains one request; a later difference is a problem again."""
    watch = PrefixWatch()
    for texts, announced in (("ab", False), ("b", True), ("ba", False), ("a", False)):
        if announced:
            watch.explain("fold")
        watch.read([Message.user(text) for text in texts])

    assert [line[:9] for line in watch.problems] == ["request 4"]


def test_conversations_are_kept_apart() -> None:
    """Requests of two conversations are compared with those of their own."""
    watch = PrefixWatch()
    for number in (1, 2):
        watch.read([HELLO, HARBOR][:number], conversation="one")
        watch.read([HARBOR, HELLO][:number], conversation="two")

    assert watch.problems == []


@pytest.mark.parametrize(
    ("conversation", "problems"), [("one", ["request 3"]), ("two", []), ("", [])]
)
def test_a_cause_explains_its_own_conversation(conversation: str, problems: list[str]) -> None:
    """A fold in one conversation excuses no break in another; one of no conversation excuses any."""
    watch = PrefixWatch()
    for name in ("one", "two"):
        watch.read([HELLO], conversation=name)
    watch.explain("fold", conversation=conversation)
    watch.read([HARBOR], conversation="two")
    if conversation == "one":
        watch.read([HARBOR], conversation="one")

    assert [line[:9] for line in watch.problems] == problems


async def test_the_fold_of_one_thread_excuses_no_break_in_another() -> None:
    """Each turn of an agent folds, and after each another conversation breaks: it is reported."""
    watch = PrefixWatch()
    agent = Agent(
        ScriptedModel(repeat=f"That is all {LONG}"),
        history_reduction=FOLDING,
        summarizer=ScriptedSummarizer(repeat="They spoke."),
        telemetry=watch,
    )
    thread = await MemoryStore().thread("t")
    folded: list[bool] = []
    for number in range(6):
        ran = await agent.run(f"{number}: tell me {LONG}", thread=thread)
        folded.append(ran.reduction is not None)
        watch.read([Message.user(f"{number}")], conversation="other")

    assert True in folded[1:]
    assert len(watch.problems) == 5


@pytest.mark.parametrize("streams", [False, True])
async def test_a_wrapped_model_is_read_before_it_is_asked(*, streams: bool) -> None:
    """A loop of one's own needs only the wrapped model; it streams if the model does."""
    watch, model = PrefixWatch(), ScriptedModel(repeat="fine")
    wrapped = watch.wrap(model)
    assert isinstance(wrapped, StreamingChatModel)
    for text in ("one", "two"):
        request = ChatRequest(messages=(Message.user(text),))
        if streams:
            assert [piece async for piece in wrapped.stream(request)]
        else:
            await wrapped.respond(request)

    assert (wrapped.name, len(model.requests), len(watch.problems)) == (model.name, 2, 1)


@pytest.mark.parametrize("is_announced", [False, True])
async def test_a_clock_in_the_instructions_is_found(is_announced: bool) -> None:
    """They differ from run to run; unless that was announced, it is a mistake."""
    watch = PrefixWatch()
    async with MemoryStore() as store:
        thread = await store.thread("t")
        for hour in (1, 2):
            if is_announced:
                watch.explain("the hour")
            agent = Agent(
                ScriptedModel(["Yes."]), instructions=f"{hour} o'clock. {LONG}", telemetry=watch
            )
            await agent.run(f"{hour}: {LONG}", thread=thread)

    assert len(watch.problems) == (not is_announced)


async def test_an_agent_reports_its_own_causes(prefix_watch: PrefixWatch) -> None:
    """As the telemetry of an agent, with its model wrapped too, the folds explain themselves."""
    assert isinstance(prefix_watch, Observer)
    agent = Agent(
        prefix_watch.wrap(ScriptedModel(repeat=f"That is all {LONG}")),
        history_reduction=FOLDING,
        summarizer=ScriptedSummarizer(repeat="They spoke."),
        telemetry=prefix_watch,
    )
    thread = await MemoryStore().thread("t")
    reductions = [
        (await agent.run(f"{number}: tell me {LONG}", thread=thread)).reduction
        for number in range(6)
    ]

    assert sum(one is not None for one in reductions) >= 2
    assert prefix_watch.problems == []


@pytest.mark.parametrize(
    ("last", "outcome"),
    [("prefix_watch.explain('fold')", "1 passed"), ("pass", "1 failed")],
    ids=["announced", "not announced"],
)
def test_a_test_fails_with_one_line(last: str, outcome: str, tmp_path: Path) -> None:
    """An agent that takes the fixture fails by it at the end of the test, and is told where."""
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["foldline.testing.prefix_watch"]')
    (tmp_path / "test_loop.py").write_text(
        "def test_loop(prefix_watch):\n"
        "    prefix_watch.read([{'role': 'user', 'content': 'one'}])\n"
        f"    {last}\n"
        "    prefix_watch.read([{'role': 'user', 'content': 'two'}])\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)

    assert outcome in ran.stdout
    assert ("request 2 sent" in ran.stdout) == (outcome == "1 failed")
