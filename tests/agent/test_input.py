"""What a turn begins with, and what it does not."""

from typing import Any

import pytest

from foldline.agent.agent import Agent
from foldline.agent.input import messages_of
from foldline.errors import ConfigError
from foldline.history.formats.openai_chat import from_openai_chat
from foldline.history.messages import Message
from foldline.testing.model import ScriptedModel


ITEM = {"role": "user", "content": "secret"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([ITEM], r"message\[0\] is a dict: allowed are Message objects"),
        ((Message.user("a"), "b"), r"message\[1\] is a str: allowed are Message objects"),
        (ITEM, "message is a dict: allowed are a text and messages"),
        (b"text", "message is a bytes: allowed are a text and messages"),
        (7, "message is a int: allowed are a text and messages"),
    ],
    ids=["item", "text", "one item", "bytes", "number"],
)
def test_the_one_that_is_no_message_is_named(given: Any, told: str) -> None:
    """The error names the place and the kind of what is no message, and what makes one of it."""
    with pytest.raises(ConfigError, match=f"^{told}; `from_openai_chat` and its like") as caught:
        Agent(ScriptedModel([])).run_sync(given)

    assert "secret" not in str(caught.value)


def test_what_the_error_names_makes_messages() -> None:
    """The items of a vendor are an input once they were read as the error says."""
    assert [one.text for one in messages_of(from_openai_chat([ITEM]))] == ["secret"]
