"""A damaged stretch of history, and what a view makes of it."""

from collections.abc import Sequence
from operator import is_
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.codec import encode_json
from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.converter import Converter
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.formats.otel import OTEL
from foldline.history.history import History
from foldline.history.messages import Message, Native, NativeFormat
from foldline.history.parts import Part, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.repair import NO_RESPONSE, repair
from tests.history.words import SPEAKERS, is_safe_cut, message_of


NEW = "call"
"""The id that a call without one gets."""

SIGNS = st.sampled_from(["hi", "c", "c1", "c2", "r", "r1", "r2"])
WORDS = st.lists(
    st.builds(
        "{}:{}".format,
        st.sampled_from(["u", "a", "a", "t"]),
        st.lists(SIGNS, max_size=3).map("+".join),
    ),
    max_size=10,
)
# Each block is a run of assistant messages, given as the number of calls in each.
BLOCKS = st.lists(st.lists(st.integers(1, 3), max_size=2), max_size=4)


def _word(message: Message) -> str:
    signs = "+".join(map(_sign, message.parts))
    usual = message.role == SPEAKERS.get(signs[:1], "assistant")
    return signs if usual else f"{message.role[0]}:{signs}"


def _sign(part: Part) -> str:
    if isinstance(part, ToolCallPart):
        return f"c{part.id}"
    if isinstance(part, ToolCallResponsePart):
        return f"{'n' if part.response == NO_RESPONSE else 'r'}{part.id}"
    assert isinstance(part, TextPart)
    return part.content


def _repaired(words: str) -> str:
    return " ".join(map(_word, repair([message_of(word) for word in words.split()])))


def _labelled(words: Sequence[str]) -> list[Message]:
    """Make the messages of *words*, each call and each answer with a label of its own."""
    messages: list[Message] = []
    for at, message in enumerate(map(message_of, words)):
        parts: list[Part] = []
        for number, part in enumerate(message.parts):
            label = f"{at}.{number}"
            match part:
                case ToolCallPart():
                    parts.append(msgspec.structs.replace(part, name=label))
                case ToolCallResponsePart():
                    parts.append(msgspec.structs.replace(part, response=label))
                case _:
                    parts.append(msgspec.structs.replace(part, content=label))
        messages.append(msgspec.structs.replace(message, parts=tuple(parts)))
    return messages


def _answers(messages: Sequence[Message]) -> dict[str, str]:
    """Return the label of the answer by that of its call, each the newest open call of its id."""
    answers: dict[str, str] = {}
    waiting: list[tuple[int, ToolCallPart]] = []
    for at, message, part in ((at, m, p) for at, m in enumerate(messages) for p in m.parts):
        if isinstance(part, ToolCallPart) and message.role == "assistant":
            waiting.append((at, part))
        elif isinstance(part, ToolCallResponsePart):
            newest = max((at for at, call in waiting if call.id == part.id), default=None)
            calls = [(at, call) for at, call in waiting if (at, call.id) == (newest, part.id)]
            for found in calls[:1]:
                waiting.remove(found)
                answers[found[1].name] = str(part.response)
    return answers


def _answered_directly(messages: Sequence[Message]) -> dict[str, str]:
    """Return the label of each call's answer; fail where a rule of a block is broken."""
    answers: dict[str, str] = {}
    waiting: dict[str, str] = {}
    seen = {""}
    in_block = False
    for message in messages:
        calls, responses = message.tool_calls, message.tool_call_responses
        assert message.role == "assistant" or not calls
        assert message.role != "assistant" or not responses
        in_block = message.role == "assistant" and (in_block or bool(calls))
        assert not waiting or responses or in_block
        for call in calls:
            assert call.id not in seen
            seen.add(call.id)
            waiting[call.id] = call.name
        for response in responses:
            answers[waiting.pop(response.id)] = str(response.response)
        assert not waiting or in_block or len(message.parts) == len(responses)
    assert not waiting
    return answers


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("u r1 a", "u a", id="a result of nothing is left out"),
        pytest.param("r1", "", id="and leaves no empty message"),
        pytest.param("u c1 u", "u c1 n1 u", id="a dangling call gets a result that says so"),
        pytest.param("u c1", "u c1 n1", id="also at the end"),
        pytest.param("c1+c2 r2 u", "c1+c2 n1 r2 u", id="one of two is missing"),
        pytest.param("c1 u r1 a", "c1 r1 u a", id="a late result moves up to its call"),
        pytest.param("c1 a u r1", "c1 a r1 u", id="and behind all of the answer that calls"),
        pytest.param("c1 u c2 r2 r1", "c1 r1 u c2 r2", id="also over another group"),
        pytest.param("c1 r1 r1 a", "c1 r1 a", id="a second result is left out"),
        pytest.param("c1 r1 u r1 a", "c1 r1 u a", id="also a late one"),
        pytest.param(
            "c1 r1 c1 r1", "c1 r1 c1_2 r1_2", id="an id used twice: the second gets its own"
        ),
        pytest.param("c1+c1 r1 r1", "c1+c1_2 r1 r1_2", id="also within one message"),
        pytest.param(
            "c1 r1 c1 r1 c1_2 r1_2", "c1 r1 c1_2 r1_2 c1_2_2 r1_2_2", id="whose id is new"
        ),
        pytest.param("c1 u c1 r1", "c1 n1 u c1_2 r1_2", id="a result is of the newest call"),
        pytest.param("c r", f"c{NEW} r{NEW}", id="a call without an id gets one"),
        pytest.param("c+c r r", f"c{NEW}+c{NEW}_2 r{NEW} r{NEW}_2", id="each its own"),
        pytest.param("u r1 c1 a", "u c1 a n1", id="a result before its call is of nothing"),
        pytest.param(
            "c1+c2 u:r1+hi r2", "c1+c2 r1 r2 u:hi", id="words between the answers stand behind"
        ),
        pytest.param("c1 u:hi+r1", "c1 r1 u:hi", id="words before an answer stand behind it"),
        pytest.param("u:r1+hi", "u:hi", id="words beside a result of nothing stay"),
        pytest.param("c1 a:r1+c2 r2", "c1 c2 r1 r2", id="an assistant that answers and calls"),
        pytest.param("c1 u:r1+c2+hi r2", "c1 r1 u:hi", id="a user that answers, calls and talks"),
        pytest.param("c1 r1+c2 r2", "c1 r1", id="a tool that answers and calls"),
        pytest.param("u:c1+hi r1", "u:hi", id="a call that is not the assistant's"),
        pytest.param("c1 a:r1", "c1 r1", id="an assistant that only answers"),
        pytest.param("c1 a:r1+hi", "c1 hi r1", id="an assistant that answers itself"),
        pytest.param("a:c1+r1+hi u", "c1+hi r1 u", id="in one message"),
    ],
)
def test_damage_is_mended(words: str, expected: str) -> None:
    """Each damage has one repair."""
    assert _repaired(words) == expected


@pytest.mark.parametrize(
    "words",
    [
        "",
        "u a u",
        "c1 r1 a",
        "c1+c2 r1 r2",
        "c1+c2 r2 r1",
        "c1+c2 t:r1+r2 a",
        "c1 c2 r1 r2",
        "c1 c2 r2 r1",
        "c1 a r1 a",
        "hi+c1 r1 c2 r2 a",
        "a: u: t:",
    ],
)
def test_what_is_in_order_stays(words: str) -> None:
    """A stretch without damage comes back as the very same objects."""
    messages = [message_of(word) for word in words.split()]
    repaired = repair(messages)

    assert list(map(id, repaired)) == list(map(id, messages))


def test_only_what_is_damaged_changes() -> None:
    """What needs no change is the very same object, also in a group that lacks a result."""
    messages = [message_of(word) for word in ["u", "c1", "r1", "a", "u", "c2", "u", "a"]]
    repaired = repair(messages)

    assert [any(message is kept for kept in messages) for message in repaired] == [
        *(True, True, True, True, True),
        *(True, False, True, True),
    ]


def test_a_moved_answer_keeps_what_it_carries() -> None:
    """A result that moves is the very same object."""
    answer = Message.tool("1", "3 flights", id="m7", name="search")
    _, moved, _ = repair([message_of("c1"), message_of("u"), answer])

    assert moved is answer


def test_a_made_up_answer_is_named_for_the_tool() -> None:
    """What stands in for a result names the tool that was called, and says that there is none."""
    call = Message.assistant(tool_calls=[ToolCallPart("1", "search", "{}")])

    assert repair([call])[1] == Message.tool("1", NO_RESPONSE, name="search")


SIGNED = {"type": "thinking", "thinking": "hm", "signature": "S"}
MARK = {"cache_control": {"type": "ephemeral"}}


def _use(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}, **more}


def _result(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "1", **more}


def _function(call_id: str) -> dict[str, Any]:
    function = {"name": "f", "arguments": "{}"}
    thought = {"google": {"thought_signature": "S"}}
    return {"id": call_id, "type": "function", "function": function, "extra_content": thought}


ASKED: dict[str, Any] = {"role": "user", "content": "q"}
CLAUDE: list[dict[str, Any]] = [
    ASKED,
    {"role": "assistant", "content": [SIGNED, _use("t1"), _use("t2", **MARK)]},
    {"role": "user", "content": [_result("t1", **MARK)]},
]
CHAT: list[dict[str, Any]] = [
    ASKED,
    {
        "role": "assistant",
        "reasoning_content": "hm",
        "content": None,
        "tool_calls": [_function("t1"), _function("t2")],
    },
    {"role": "tool", "tool_call_id": "t1", "content": "1", "extra": 1},
]
RESPONSES: list[dict[str, Any]] = [
    ASKED,
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "S"},
    {"type": "message", "id": "msg_1", "role": "assistant", "content": "I look."},
    {"type": "function_call", "id": "fc_1", "call_id": "t1", "name": "f", "arguments": "{}"},
    {"type": "function_call", "id": "fc_2", "call_id": "t2", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "id": "fco_1", "call_id": "t1", "output": "1"},
]
OTEL_ITEMS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"type": "text", "content": "q"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": one, "name": "f", "x": 1} for one in ("t1", "t2")],
        "finish_reason": "tool_call",
    },
    {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "t1", "response": "1", "x": 1}],
    },
]
FORMS = [
    (ANTHROPIC, CLAUDE),
    (OPENAI_CHAT, CHAT),
    (OPENAI_RESPONSES, RESPONSES),
    (OTEL, OTEL_ITEMS),
]


@pytest.mark.parametrize(("converter", "items"), FORMS)
def test_a_missing_result_changes_no_othermessage_of(
    converter: Converter, items: list[dict[str, Any]]
) -> None:
    """Signed reasoning, marks and ids stay, since a call without result is no change of the call."""
    messages = converter.messages([*items, items[0]])
    repaired = repair(messages)

    assert [message is messages[1] for message in repaired] == [False, True, False, False, False]
    assert repaired[2] is messages[2]
    assert converter.items([*repaired[:3], repaired[4]]) == [*items, items[0]]


@pytest.mark.parametrize(("converter", "items"), FORMS)
def test_an_id_that_is_taken_is_changed_inside_the_item(
    converter: Converter, items: list[dict[str, Any]]
) -> None:
    """The second use of an id gets another one, and nothing else in the vendor's item changes."""
    repaired = repair([*converter.messages(items), *converter.messages(items)])
    renamed = encode_json(items).replace(b'"t1"', b'"t1_2"').replace(b'"t2"', b'"t2_2"')

    assert encode_json(converter.items(repaired[4:7])) == renamed


def test_words_beside_a_result_keep_their_marks() -> None:
    """What stood in one item with a result that moves keeps all but the result."""
    words = {"type": "text", "text": "go on", **MARK}
    together = ANTHROPIC.message({"role": "user", "content": [_result("t1", **MARK), words]})
    call = ANTHROPIC.message({"role": "assistant", "content": [_use("t1")]})
    _, moved, asked, said = repair([call, Message.user("q"), together])

    assert (moved.role, asked.role, said.role) == ("tool", "user", "user")
    assert ANTHROPIC.items([moved]) == [{"role": "user", "content": [_result("t1", **MARK)]}]
    assert ANTHROPIC.items([said]) == [{"role": "user", "content": [words]}]


def test_an_item_that_says_something_else_is_not_kept() -> None:
    """Where the item and the parts disagree, the parts are what was said."""
    native = Native(format=NativeFormat.OPENAI_CHAT, item='{"role":"assistant","content":"x"}')
    call = msgspec.structs.replace(message_of("c1"), metadata={"a": 1}, native=native)
    repaired = repair([message_of("c1"), message_of("r1"), call])

    assert repaired[2].native is None
    assert repaired[2].metadata == {"a": 1}
    assert repaired[2].tool_calls[0].id == "1_2"


def test_an_item_that_cannot_be_read_is_not_kept() -> None:
    """An item that is no message any more with another id gives way to the parts."""
    native = Native(format=NativeFormat.OTEL, item='{"parts":[]}')
    call = msgspec.structs.replace(message_of("c1"), native=native)

    assert repair([message_of("c1"), message_of("r1"), call])[2].native is None


@given(WORDS)
def test_every_call_is_directly_followed_by_its_answer(words: list[str]) -> None:
    """After each block of calls come exactly its answers, each for the newest call of its id."""
    messages = _labelled(words)
    answers = _answers(messages)

    for name, answer in _answered_directly(repair(messages)).items():
        assert answer == answers.pop(name, NO_RESPONSE)
    assert not answers


@given(WORDS)
def test_every_text_part_is_kept(words: list[str]) -> None:
    """What was said, apart from tools, comes back in the same order by the same speakers."""
    messages = _labelled(words)

    assert _said(repair(messages)) == _said(messages)


def _said(messages: Sequence[Message]) -> list[tuple[str, Part]]:
    return [(m.role, part) for m in messages for part in m.parts if isinstance(part, TextPart)]


@given(WORDS)
def test_repairing_twice_is_repairing_once(words: list[str]) -> None:
    """A repaired stretch is in order: repairing it again returns the very same objects."""
    once = repair(_labelled(words))

    assert list(map(id, repair(once))) == list(map(id, once))


@given(BLOCKS, st.randoms(use_true_random=False))
def test_a_generated_stretch_in_order_stays(blocks: list[list[int]], random: Random) -> None:
    """Blocks of any shape, answered in any order by one message or several, are unchanged."""
    messages: list[Message] = []
    for at, block in enumerate(blocks):
        ids = [f"{at}.{number}" for number in range(sum(block))]
        messages.append(message_of("u"))
        waiting = iter(ids)
        messages += [message_of("+".join(f"c{next(waiting)}" for _ in range(n))) for n in block]
        random.shuffle(ids)
        border = random.randint(0, len(ids))
        messages += [message_of(f"r{call}") for call in ids[:border]]
        messages += (
            [message_of("+".join(f"r{call}" for call in ids[border:]))] if ids[border:] else []
        )

    assert list(map(id, repair(messages))) == list(map(id, messages))


@given(WORDS)
def test_a_safe_cut_parts_no_answer_from_its_call(words: list[str]) -> None:
    """An answer that the whole history has a call for finds that call behind every safe cut too."""
    history = History(_labelled(words))
    answers = _answers(history)

    for index in filter(lambda index: is_safe_cut(history, index), range(len(history) + 1)):
        tail = history[index:]
        given_here = {str(part.response) for m in tail for part in m.tool_call_responses}
        assert _answers(tail) == {
            call: answer for call, answer in answers.items() if answer in given_here
        }


def test_a_call_that_is_not_the_assistants_takes_no_answer() -> None:
    """The history pairs as repair does: only the assistant's call is answered."""
    history = History(map(message_of, ["c1", "u:c1+hi", "r1"]))

    assert history.reach(2) == 0
    assert not is_safe_cut(history, 1)


@pytest.mark.parametrize(
    "call",
    [
        {"type": "custom_tool_call", "call_id": "t", "name": "f", "input": "x", "status": "done"},
        {"type": "mcp_approval_request", "id": "t", "name": "f", "arguments": "{}", "server": "s"},
    ],
)
def test_every_kind_of_call_can_be_renamed(call: dict[str, Any]) -> None:
    """The id is found where the kind of call has it."""
    messages = OPENAI_RESPONSES.messages([call, {"role": "user", "content": "go on"}, call])
    renamed = repair(messages)[3]

    assert encode_json(OPENAI_RESPONSES.own_items(renamed)[0]) == encode_json(call).replace(
        b'"t"', b'"t_2"'
    )


@given(WORDS)
def test_what_is_not_damaged_is_not_repaired(words: list[str]) -> None:
    """From any safe cut on, and after any messages before it."""
    history = History(map(message_of, words))

    for start in range(len(history) + 1):
        if start in (0, len(history)) or is_safe_cut(history, start):
            rest = history[start:]
            if not history.is_damaged(start):
                assert all(map(is_, repair(rest), rest))
                assert len(repair(rest)) == len(rest)


@given(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=2), max_size=4))
def test_calls_with_their_results_are_not_damaged(blocks: list[list[int]]) -> None:
    """A user message, then runs of calls, and after each run its results, in any number."""
    numbers = iter(range(99))
    words = ["hi"]
    for block in blocks:
        ids = [[next(numbers) for _ in range(size)] for size in block]
        words += ["+".join(f"c{one}" for one in run) for run in ids]
        words += [f"r{one}" for run in reversed(ids) for one in run]

    assert not History(map(message_of, words)).is_damaged(0)


@pytest.mark.parametrize(
    "words",
    [
        "c1",
        "c1 u:hi",
        "c1 u:hi r1",
        "c1 r1 r1",
        "r1",
        "c1 r1 c1 r1",
        "c1+c1 r1",
        "c r",
        "c1 c2 r1 a c2",
        "c1 c2 r1 c3 r2 r3",
        "u:c1 r1",
        "c1 a:r1",
        "c1 t:r1+hi",
    ],
)
def test_damage_is_noticed(words: str) -> None:
    """Whatever a repair changes, from the place where it is on back to the first message."""
    history = History(map(message_of, words.split()))

    assert history.is_damaged(0)
