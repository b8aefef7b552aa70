"""Where a conversation was left."""

import asyncio

import pytest

from foldline.agent.agent import Agent
from foldline.agent.config import AgentOptions
from foldline.apps.cli.chat.screen import place_line
from foldline.errors import ModelError
from foldline.history.messages import Message
from foldline.testing.model import ModelStep, ScriptedModel, calls
from foldline.threads.stores.memory import MemoryStore


USUAL = AgentOptions()


def look_up(number: int) -> str:
    return f"Parcel {number} is on its way."


async def left_at(
    *steps: ModelStep, question: str = "Where is it?", options: AgentOptions = USUAL
) -> str:
    """Return the line of a thread on which *steps* answered *question* as far as they went."""
    thread = await MemoryStore().thread("t")
    agent = Agent(ScriptedModel(steps), tools=[look_up], options=options)
    try:
        await agent.run(question, thread=thread)
    except ModelError:
        await thread.refresh()
    return await place_line(thread)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (("Here.",), "answered"),
        ((ModelError("gone"),), "interrupted in model call 1, 0 tool results stored"),
        (
            (calls(("look_up", {"number": 1})), ModelError("gone")),
            "interrupted in model call 2, 1 tool result stored",
        ),
    ],
)
async def test_where_a_turn_was_left(steps: tuple[ModelStep, ...], told: str) -> None:
    """The question is shown with how far its turn came."""
    assert await left_at(*steps) == f"last question: Where is it? ({told})"


@pytest.mark.parametrize(
    ("count", "told"),
    [(1, "while wait ran"), (4, "while wait, wait, wait and 1 more ran")],
)
async def test_tools_that_were_interrupted(count: int, told: str) -> None:
    """The tools that ran when the turn broke off are named, the first three of them."""
    begun = asyncio.Event()

    async def wait(number: int) -> None:
        begun.set()
        await asyncio.sleep(3600 + number)

    thread = await MemoryStore().thread("t")
    wanted = [("wait", {"number": number}) for number in range(count)]
    agent = Agent(ScriptedModel([calls(*wanted)]), tools=[wait])
    turn = asyncio.create_task(agent.run("Where is it?", thread=thread))
    await begun.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await thread.refresh()

    expected = f"interrupted in model call 1, 0 tool results stored, {told}"
    assert await place_line(thread) == f"last question: Where is it? ({expected})"


async def test_a_turn_that_was_ended() -> None:
    """The line says why a turn ended before its answer."""
    said = calls(("look_up", {"number": 1}))

    line = await left_at(said, options=AgentOptions(max_iterations=1))

    assert line == "last question: Where is it? (ended: Maximum iterations (1) reached)"


async def test_a_long_question_is_cut() -> None:
    """The first 80 characters of the question are shown, on one line."""
    told = await left_at("Yes.", question=f"{'word ' * 40}\nand more")

    shown = told.removeprefix("last question: ").removesuffix(" (answered)")
    assert (len(shown), shown[-1]) == (80, "…")


async def test_a_question_may_be_far_back() -> None:
    """The question is found before any number of tool calls."""
    loop = [calls(("look_up", {"number": number})) for number in range(20)]

    assert await left_at(*loop, "Here.") == "last question: Where is it? (answered)"


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([Message.user("Well?")], "last question: Well? (not answered)"),
        ([Message.assistant("Good day.")], ""),
        ([], ""),
    ],
)
async def test_a_thread_without_an_answer_or_a_question(messages: list[Message], told: str) -> None:
    """A question without an answer is marked so; without a question there is no line."""
    thread = await MemoryStore().thread("t")
    await thread.add_messages(messages)

    assert await place_line(thread) == told
