"""What a recipe is for the tests: the first block of its page, and a vendor that answers from a script."""

import os
from collections.abc import Iterator, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from foldline.agent.reducer import HistoryReducer
from foldline.formats import to_openai_chat
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.testing.grammars.openai_chat import check_openai_chat
from tests.integrations.served import Body, Desk, open_desk
from tests.integrations.test_page import PAGES


RECIPES = frozenset({"crewai", "haystack", "smolagents"})
"""The guests without an adapter: their pages show the few lines that do it."""

ROUNDS = 12
"""How often tools are called for a task."""

TASKS = ("Count the chairs of house AB1771.", "Count the tables of house CD1882.")
"""What users ask for."""

_numbers = count()


def chat(body: Body) -> Iterator[str]:
    """Yield why OpenAI refuses *body*."""
    yield from map(str, check_openai_chat(body["messages"]))


def answered(message: Message) -> Body:
    """Return the response of OpenAI that says *message*."""
    (said,) = to_openai_chat([message])
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5-mini",
        "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
    }


def called(name: str, *arguments: str) -> Message:
    """Return an answer that calls the tool *name* once with each of these *arguments*."""
    calls = [
        ToolCallPart(id=f"call_{next(_numbers)}", name=name, arguments=one) for one in arguments
    ]
    return Message(role="assistant", parts=tuple(calls))


def looks() -> list[Message]:
    """Return the calls for one task: two in each answer."""
    return [called("look", f'{{"room": {at}}}', f'{{"room": {at + 100}}}') for at in range(ROUNDS)]


def look_into(room: int) -> str:
    """Look into a room."""
    return f"Room {room} was seen. " * 8


def open_chat(answers: Sequence[Message]) -> Desk:
    """Return a vendor that says *answers*, which clients of OpenAI in this process ask from now on."""
    desk = open_desk(chat)
    desk.answers = [*map(answered, answers)]
    os.environ.update(OPENAI_API_KEY="none", OPENAI_BASE_URL=desk.url)
    return desk


def recipe_of(name: str, reducer: HistoryReducer) -> SimpleNamespace:
    """Return what the first block of the page of *name* defines, with this *reducer*."""
    document = Sybil(parsers=[PythonCodeBlockParser()]).parse(PAGES / f"{name}.md")
    next(iter(document.examples())).evaluate()
    made: dict[str, Any] = document.namespace
    made["reducer"] = reducer
    return SimpleNamespace(**made)
