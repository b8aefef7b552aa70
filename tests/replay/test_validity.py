"""Whether requests are judged as strictly in part as in whole."""

import pytest

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.replay.validity import losses, violations, violations_behind


CALL = Message.assistant(tool_calls=[ToolCallPart("one", "look_up", "{}")])
ANSWER = Message.tool("one", "found")
GOOD = [Message.user("ask"), CALL, ANSWER, Message.assistant("say"), Message.user("more")]


def vendor(text: str) -> str:
    return text.partition(":")[0]


def test_a_good_request_has_no_violation() -> None:
    """Calls that are answered directly behind are what both vendors want."""
    assert violations(GOOD) == ()
    assert all(violations_behind(GOOD, kept) == () for kept in range(len(GOOD)))


@pytest.mark.parametrize("damage", [[CALL], [ANSWER], [CALL, Message.user("no"), ANSWER]])
def test_what_is_new_is_judged_whatever_was_kept(damage: list[Message]) -> None:
    """Damage behind the part that was judged before is found without judging that part again."""
    request = [*GOOD, Message.assistant("yes"), Message.user("and"), *damage]

    found = violations_behind(request, len(GOOD))

    assert {"openai-chat", "openai-responses", "anthropic"} >= set(map(vendor, found))
    assert "openai-chat" in set(map(vendor, found))


def test_every_vendor_judges() -> None:
    """A request that all vendors refuse is named by each."""
    assert set(map(vendor, violations([CALL]))) == {"openai-chat", "openai-responses", "anthropic"}


def test_a_lost_system_message_is_noticed() -> None:
    """All system messages are in a request, in order, wherever they are."""
    history = History([Message.system("rule"), *GOOD, Message.system("more")])
    one, two = history.system

    assert losses([one, two, *GOOD], history) == losses([*GOOD, one, two], history) == ()
    for request in (GOOD, [one, *GOOD], [two, one, *GOOD]):
        assert losses(request, history) == ("view: a system message is missing or out of order",)


def test_a_changed_last_user_message_is_noticed() -> None:
    """The last thing that the user said is in a request word for word."""
    history = History(GOOD)

    assert losses([*GOOD[:-1], Message.user("more")], history) == ()
    assert losses([*GOOD[:-1], Message.user("less")], history) == (
        "view: the last user message is missing or changed",
    )
