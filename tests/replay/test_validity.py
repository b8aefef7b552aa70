"""Whether requests are judged as strictly in part as in whole."""

from datetime import UTC, datetime

import pytest
from msgspec import structs

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.spans import SummaryLayer
from foldline.reduction.state import HistoryReductionState
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


def test_a_dropped_message_is_in_exactly_one_span() -> None:
    """What is neither in a request nor in a span is named, and so is what is in two of them."""
    history = History([*GOOD, Message.assistant("done"), Message.user("last")])
    layers = tuple(
        SummaryLayer(summary="so far", start=start, end=end, message_hash="")
        for start, end in ((0, 3), (3, 5))
    )
    whole = HistoryReductionState.create(
        history,
        "so far",
        5,
        target_count=1,
        reduction_threshold=1,
        message_count_at_reduction=7,
        created_at=datetime(2026, 11, 21, tzinfo=UTC),
    )
    layered, rest = structs.replace(whole, layers=layers), history[5:]
    again = structs.replace(layered, layers=(*layers, layers[0]))

    assert losses(rest, history, whole) == losses(rest, history, layered) == ()
    assert losses(list(history), history) == ()
    assert losses(rest[1:], history, whole) == (
        "view: message 5 is missing, and no span covers it",
    )
    assert losses(rest, history, again)[0] == "view: 2 spans cover message 0"
    assert losses(rest, history, structs.replace(layered, layers=layers[:1])) == ()
    assert [one.kind for one in structs.replace(layered, layers=layers[1:]).spans] == [
        "dropped",
        "summary",
    ]


def test_a_changed_last_user_message_is_noticed() -> None:
    """The last thing that the user said is in a request word for word."""
    history = History(GOOD)

    assert losses([*GOOD[:-1], Message.user("more")], history) == ()
    assert losses([*GOOD[:-1], Message.user("less")], history) == (
        "view: the last user message is missing or changed",
        "view: message 4 is missing, and no span covers it",
    )
