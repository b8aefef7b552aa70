"""Whether requests are judged as strictly in part as in whole."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from msgspec import structs

from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.spans import SummaryLayer
from foldline.reduction.state import HistoryReductionState
from foldline.replay import validity
from foldline.replay.validity import Judge, losses, settled, violations


CALL = Message.assistant(tool_calls=[ToolCallPart("one", "look_up", "{}")])
ANSWER = Message.tool("one", "found")
GOOD = [Message.user("ask"), CALL, ANSWER, Message.assistant("say"), Message.user("more")]


def vendor(text: str) -> str:
    return text.partition(":")[0]


def test_a_good_request_has_no_violation() -> None:
    """Calls that are answered directly behind are what both vendors want."""
    assert violations(GOOD) == ()
    assert Judge().violations(GOOD) == ()


@pytest.mark.parametrize("damage", [[CALL], [ANSWER], [CALL, Message.user("no"), ANSWER]])
@pytest.mark.parametrize("place", [0, 1, 3, 4, 5])
def test_damage_is_found_wherever_it_stands(damage: list[Message], place: int) -> None:
    """In what is new and in the middle of what was judged before, and as long as it is sent."""
    judge = Judge()
    request = [*GOOD, Message.assistant("yes"), Message.user("and")]
    assert judge.violations(request) == ()
    assert judge.violations(request[:2])

    damaged = [*request[:place], *damage, *request[place:]]
    found = judge.violations(damaged)

    assert {"openai-chat", "openai-responses", "anthropic"} >= set(map(vendor, found))
    assert "openai-chat" in set(map(vendor, found))
    assert judge.violations([*damaged, Message.assistant("so")]) == found
    assert judge.violations(request) == ()


def test_an_equal_message_of_another_vendor_is_judged() -> None:
    """Only what says the same and was received as the same item counts as judged."""
    judge, said = Judge(), OPENAI_CHAT.message({"role": "user", "content": "ask", "own": 1})
    assert judge.violations([said]) == ()
    assert said.native is not None

    item = b'{"role": "user", "content": [{"type": "video"}]}'
    changed = structs.replace(said, native=structs.replace(said.native, item=item))

    assert judge.violations(settled([said], [changed])) == violations([changed]) != ()


def test_equal_messages_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shortened message, which is made for each view, is not judged for each."""
    judge, asked, request = Judge(), list[int](), tuple[Message, ...]()

    def counted(request: Sequence[Message]) -> tuple[str, ...]:
        asked.append(len(request))
        return violations(request)

    monkeypatch.setattr(validity, "violations", counted)
    for _ in range(3):
        request = settled(request, [*GOOD[:2], Message.tool("one", "found"), *GOOD[3:]])
        judge.violations(request)

    assert asked == [1, 2, 2]


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
