"""Views rendered as Anthropic Messages requests."""

from operator import is_
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.formats.anthropic import ANTHROPIC, from_anthropic, message_from_anthropic
from foldline.history.formats.renderings import (
    EMPTY_NOTE,
    OPENING_NOTE,
    SUMMARY_HEADER,
    render_anthropic,
)
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import GenericPart, TextPart
from foldline.testing.grammars import check_anthropic
from tests.history.formats.test_anthropic import CALL, MARK, RESULT, THOUGHT
from tests.history.formats.wire_values import SOME_TEXT, read_with_originals


def rendered(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Render what *items* say, and judge it."""
    view = render_anthropic(from_anthropic(items))
    assert check_anthropic(view.system, view.messages) == ()
    return view.messages


def test_originals_are_used_as_they_are() -> None:
    """An item that the vendor accepts comes out of a rendering as the very same object."""
    given_items: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "so", **MARK}, CALL]},
        {"role": "user", "content": [RESULT]},
    ]
    messages, original = read_with_originals(ANTHROPIC, given_items)

    view = render_anthropic(messages, original=original)

    assert all(item is given for item, given in zip(view.messages, given_items, strict=True))


def test_texts_that_the_caller_has_apart_stay_apart() -> None:
    """What a user says in two messages is joined by the vendor; what is new joins its neighbor."""
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": "are you there?"},
        {"role": "assistant", "content": "yes"},
        {"role": "assistant", "content": [{"type": "text", "text": "go on"}]},
        {"role": "assistant", "content": "please"},
    ]
    messages, original = read_with_originals(ANTHROPIC, said)

    summary = Message(role="assistant", parts=(TextPart("met"),), metadata={SUMMARY_KEY: True})

    view = render_anthropic([summary, *messages[2:3], *messages], original=original)

    opening, first, *last_user, last = view.messages
    assert [opening["role"], first["role"]] == ["user", "assistant"]
    assert [block["text"] for block in first["content"]][1:] == ["yes"]
    assert all(map(is_, last_user, said[:2]))
    assert [block["text"] for block in last["content"]] == ["yes", "go on", "please"]
    assert render_anthropic(messages).messages[0]["content"] == [
        {"type": "text", "text": one["content"]} for one in said[:2]
    ]


def test_system_messages_are_taken_out() -> None:
    """System messages become blocks in order, with their own fields, blank ones left out."""
    view = render_anthropic(
        [
            Message.system("one"),
            Message.system(" "),
            message_from_anthropic(
                {
                    "role": "system",
                    "content": [{"type": "text", "text": "two", **MARK}, {"type": "new"}],
                }
            ),
            Message.user("hi"),
        ]
    )

    assert view.system == [{"type": "text", "text": "one"}, {"type": "text", "text": "two", **MARK}]
    assert view.messages == [{"role": "user", "content": "hi"}]


SEARCHED = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]
CALLED = [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]
ANSWERED = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}]


@pytest.mark.parametrize(
    ("given", "places"),
    [
        ("u s a u", "u s a u"),
        ("u s s a u s", "u s s a u s"),
        ("u s u a", "u u s a"),
        ("u a s u", "u a u s"),
        ("u c s r", "u c r s"),
        ("u w s a", "u w s a"),
        ("u a s a u", "u a u s a u"),
        ("u a s", "u a u s"),
        ("s a u", "u s a u"),
        ("u a o u", "u a u o"),
    ],
)
def test_a_later_system_message_comes_between_the_user_and_an_answer(
    given: str, places: str
) -> None:
    """Or behind what a tool of the vendor returned; where it is already, its item is the same."""
    rule = {"role": "system", "content": "be brief"}
    options = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    items: dict[str, dict[str, Any]] = {
        "u": {"role": "user", "content": "hi"},
        "a": {"role": "assistant", "content": [{"type": "text", "text": "so"}]},
        "c": {"role": "assistant", "content": CALLED},
        "r": {"role": "user", "content": ANSWERED},
        "w": {"role": "assistant", "content": SEARCHED},
        "s": rule,
        "o": options,
    }
    said = [{**items[one]} for one in given.split()]
    messages, original = read_with_originals(ANTHROPIC, said)

    view = render_anthropic(messages, original=original, rules=0)

    assert (view.system, check_anthropic(None, view.messages)) == ([], ())
    roles = {"s": "system", "o": "system", "u": "user", "r": "user"}
    assert [one["role"] for one in view.messages] == [
        roles.get(one, "assistant") for one in places.split()
    ]
    if given == places:
        assert all(map(is_, view.messages, said))


def test_system_messages_in_front_are_taken_out() -> None:
    """The first ones have a field of their own, and those after them are none of these."""
    said = [Message.system("one"), Message.user("hi"), Message.system("two"), Message.system(" ")]
    view = render_anthropic(said, rules=1)

    assert view.system == [{"type": "text", "text": "one"}]
    assert view.messages == [
        {"role": "user", "content": "hi"},
        {"role": "system", "content": "two"},
    ]


def test_an_opening_is_given() -> None:
    """A view that does not begin with the user's words gets a fixed note in front."""
    note = {"role": "user", "content": OPENING_NOTE}
    summary = Message(role="assistant", parts=(TextPart("met "),), metadata={SUMMARY_KEY: True})

    assert render_anthropic([]).messages == [note]
    assert render_anthropic([summary]).messages == [
        note,
        {"role": "assistant", "content": f"{SUMMARY_HEADER}\n\nmet"},
    ]


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_signed_compaction_comes_first(role: str) -> None:
    """The newest signed compaction opens the rendering, verbatim, and what it represents goes."""
    older = {"type": "compaction", "content": "Once.", "signature": "s1"}
    newest = {"type": "compaction", "content": None, "encrypted_content": "X", "signature": "s2"}
    opening = {"role": role, "content": [newest, AND]}
    rest: list[dict[str, Any]] = [
        {"role": "assistant" if role == "user" else "user", "content": "on"},
        {"role": role, "content": "and on"},
    ]
    question: dict[str, Any] = {"role": "user", "content": "q"}
    said = [question, {"role": "assistant", "content": [older, AND]}, question]

    assert rendered([opening, *rest]) == [opening, *rest]
    assert rendered([*said, opening, *rest]) == [opening, *rest]


def test_a_compaction_inside_an_answer_comes_first() -> None:
    """What the answer says before its signed compaction goes too."""
    newest = {"type": "compaction", "content": "Earlier.", "signature": "s"}

    assert rendered([{"role": "assistant", "content": [AND, newest, AND]}]) == [
        {"role": "assistant", "content": [newest, AND]}
    ]


def test_an_unsigned_compaction_may_come_first() -> None:
    """A compaction at a threshold opens a rendering as well, and leaves what is before it."""
    newest = {"type": "compaction", "content": "Earlier."}
    answer = {"role": "assistant", "content": [newest, AND]}
    question = {"role": "user", "content": "q"}

    assert rendered([answer, question]) == [answer, question]
    assert rendered([question, answer]) == [question, answer]


AND = {"type": "text", "text": "and"}
BLANK = {"type": "text", "text": " \n"}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org"}}
CALL_2, RESULT_2 = {**CALL, "id": "c2"}, {**RESULT, "tool_use_id": "c2"}


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        pytest.param(
            [
                ("user", "a"),
                ("user", "b"),
                ("assistant", [CALL]),
                ("assistant", [CALL_2]),
                ("user", [AND, RESULT]),
                ("user", [AND, RESULT_2]),
            ],
            [
                ("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
                ("assistant", [CALL, CALL_2]),
                ("user", [RESULT, RESULT_2, AND, AND]),
            ],
            id="neighbors of one role are one message, in which results come first",
        ),
        pytest.param(
            [("user", "a"), ("assistant", [CALL]), ("user", [AND, RESULT])],
            [("user", "a"), ("assistant", [CALL]), ("user", [RESULT, AND])],
            id="results come first within one message too",
        ),
        pytest.param(
            [
                ("user", [BLANK]),
                ("assistant", ""),
                ("assistant", [BLANK, {"type": "thinking", "thinking": "x"}]),
                ("assistant", [{"type": "text", "text": "so "}, CALL]),
                ("user", [{**RESULT, "content": [BLANK]}]),
                ("assistant", [{"type": "text", "text": "end "}]),
            ],
            [
                ("user", [{"type": "text", "text": EMPTY_NOTE}]),
                ("assistant", [{"type": "text", "text": "so "}, CALL]),
                ("user", [{**RESULT, "content": []}]),
                ("assistant", [{"type": "text", "text": "end"}]),
            ],
            id="blank text and unsigned thinking go, empty user messages become a note",
        ),
        pytest.param(
            [
                ("user", [IMAGE]),
                ("user", [CALL, {"type": "thinking", "thinking": "x"}]),
                ("assistant", [{**RESULT, "content": None}]),
            ],
            [("user", [IMAGE]), ("assistant", [CALL]), ("user", [{**RESULT, "content": ""}])],
            id="results of the assistant and calls of the user go to their own side",
        ),
        pytest.param(
            [("user", "a"), ("assistant", [CALL]), ("user", [{**RESULT, "content": None}])],
            [("user", "a"), ("assistant", [CALL]), ("user", [{**RESULT, "content": []}])],
            id="a result whose content is null gets an empty list",
        ),
    ],
)
def test_messages_are_put_in_order(
    said: list[tuple[str, Any]], sent: list[tuple[str, Any]]
) -> None:
    """What the vendor refuses is merged, moved or left out."""
    items = [{"role": role, "content": content} for role, content in said]

    assert [(item["role"], item["content"]) for item in rendered(items)] == sent


def test_what_cannot_be_said_is_a_note() -> None:
    """A user message of nothing that can be sent is a note; such an assistant message goes."""
    unknown = (GenericPart("new", "{}"),)
    view = (Message(role="user", parts=unknown), Message(role="assistant", parts=unknown))

    assert render_anthropic(view).messages == [
        {"role": "user", "content": [{"type": "text", "text": EMPTY_NOTE}]}
    ]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"input": None}, {}),
        ({"input": "text"}, {"arguments": "text"}),
        ({"input": [1]}, {"arguments": [1]}),
        ({"name": "a b", "id": "c.1"}, {"a": 1}),
        ({"id": ""}, {"a": 1}),
    ],
)
def test_calls_are_mended(call: dict[str, Any], expected: dict[str, Any]) -> None:
    """Ids, names and inputs that the vendor refuses are replaced, in call and result alike."""
    block = {**CALL, **call}

    messages = rendered(
        [
            {"role": "user", "content": "\ud800"},
            {"role": "assistant", "content": [block]},
            {"role": "user", "content": [{**RESULT, "tool_use_id": block["id"]}]},
        ]
    )

    assert messages[1]["content"][0]["input"] == expected


def test_an_id_is_given_once() -> None:
    """A second call under an id that was used before gets an id of its own."""
    turn: list[dict[str, Any]] = [
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [RESULT]},
    ]

    messages = rendered([{"role": "user", "content": "go"}, *turn, *turn])

    assert messages[1]["content"][0]["id"] == "c1"
    assert messages[3]["content"][0]["id"] != "c1"


def test_the_newest_cache_marks_stay() -> None:
    """Of more than four cache marks those of the system and the newest messages stay."""
    marked = {"type": "text", "text": "x", **MARK}
    plain = {"type": "text", "text": "x"}
    turns = [
        {"role": role, "content": [marked]} for role in ("user", "assistant", "user", "assistant")
    ]
    system = {"role": "system", "content": [marked, plain]}

    view = render_anthropic(from_anthropic([system, *turns, *turns]))

    assert check_anthropic(view.system, view.messages) == ()
    assert view.system == [marked, plain]
    assert [item["content"] == [marked] for item in view.messages] == [False] * 5 + [True] * 3


def test_too_many_marks_in_the_system_are_cut() -> None:
    """Marks beyond four in the system blocks themselves go too."""
    marked = {"type": "text", "text": "x", **MARK}
    items = [
        {"role": "system", "content": [marked] * 5},
        {"role": "user", "content": [marked]},
        {"role": "assistant", "content": "x"},
    ]

    view = render_anthropic(from_anthropic(items))

    assert check_anthropic(view.system, view.messages) == ()
    assert MARK.keys() <= view.system[4].keys()


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), SOME_TEXT), max_size=6))
def test_longer_views_begin_like_shorter_ones(said: list[tuple[Any, str]]) -> None:
    """A view that grows keeps the rendering, and only the last message may be extended."""
    view = [Message(role=role, parts=(TextPart(text),)) for role, text in said]
    whole = render_anthropic(view)

    assert check_anthropic(whole.system, whole.messages) == ()
    for stop in range(1, len(view)):
        shorter = render_anthropic(view[:stop])
        kept = len(shorter.messages) - 1
        if any(message.role != "system" for message in view[:stop]):
            assert whole.messages[:kept] == shorter.messages[:kept]
        assert whole.system[: len(shorter.system)] == shorter.system
