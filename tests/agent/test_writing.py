"""Views that go on with one that was written: how much of them is written again."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from foldline.agent.known import KnownLists
from foldline.agent.wire import read_items
from foldline.agent.writers import Writer, Written
from foldline.history.formats.renderings.sending import Original
from foldline.history.messages import Message, NativeFormat
from foldline.testing.grammars import check_anthropic


Item: TypeAlias = dict[str, Any]
CHAT, RESPONSES, ANTHROPIC = [*NativeFormat][:3]
# Two steps of an agent, each a call with its results.
_MOST = 6


def chat(at: int) -> list[Item]:
    """Make a step of an agent that calls two tools."""
    calls = [
        {"id": f"c{at}.{two}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for two in range(2)
    ]
    return [
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": one["id"], "content": "found"} for one in calls),
    ]


def responses(at: int) -> list[Item]:
    """Make the same as items of the Responses API, after what the model has thought."""
    call = {"type": "function_call", "id": f"fc_{at}", "call_id": f"c{at}", "name": "look"}
    return [
        {"type": "reasoning", "id": f"rs_{at}", "summary": [], "encrypted_content": "e"},
        {**call, "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{at}", "output": "found"},
    ]


def anthropic(at: int) -> list[Item]:
    """Make the same in Anthropic's blocks."""
    calls = [
        {"type": "tool_use", "id": f"t{at}_{two}", "name": "look", "input": {}} for two in range(2)
    ]
    found = [{"type": "tool_result", "tool_use_id": one["id"], "content": "."} for one in calls]
    said = [{"type": "text", "text": f"I look {at}."}, *calls]
    return [{"role": "assistant", "content": said}, {"role": "user", "content": found}]


STEPS: dict[NativeFormat, Callable[[int], list[Item]]] = {
    CHAT: chat,
    RESPONSES: responses,
    ANTHROPIC: anthropic,
}


class Loop:
    """A list that grows, whose whole view is written after each step."""

    def __init__(self, format: NativeFormat, *, is_named: bool = True) -> None:
        self.items: list[Item] = [{"role": "user", "content": "Please look around."}]
        self._format = format if is_named else None
        self._step = STEPS[format]
        self._known = KnownLists()
        self.written: list[int] = []
        for at in range(20):
            self.add(self._step(at))

    def add(self, new: list[Item]) -> None:
        """Append a copy of *new*, and check the view."""
        self.items += copy.deepcopy(new)
        self.check()

    def check(self) -> None:
        """Check that the view is what is written of all items at once."""
        ours, theirs = (
            self._write(known, copy.deepcopy(self.items)) for known in (self._known, KnownLists(0))
        )
        assert ours == theirs
        self.view = ours

    def step(self, at: int) -> list[Item]:
        """Make the step number *at*."""
        return self._step(at)

    def _write(self, known: KnownLists, items: list[Item]) -> list[Item]:
        read = read_items(items, self._format, None, known)
        writing = read.writing
        assert writing is not None
        if known is self._known:
            self.written.append(0)
            writing = replace(writing, writer=self._noting(writing.writer))
        return writing.write(read.history.everything())

    def _noting(self, writer: Writer) -> Writer:
        def write(view: Sequence[Message], /, *, original: Original, opens: bool) -> Written:
            self.written[-1] += len(view)
            made = writer(view, original=original, opens=opens)
            return replace(made, writer=self._noting(made.writer), later=self._noting(made.later))

        return write


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("format", STEPS)
def test_a_step_of_an_agent_is_written_without_those_before_it(
    format: NativeFormat, is_named: bool
) -> None:
    """However long the list, what is written again is the step before, also without a user's word."""
    loop = Loop(format, is_named=is_named)
    loop.add([{"role": "user", "content": "Go on."}])
    loop.add([{"role": "assistant", "content": "So I did. "}, {"role": "user", "content": "Good."}])
    for at in range(20, 40):
        loop.add(loop.step(at))

    assert max(loop.written[5:]) <= _MOST + 2


def in_a_block(format: NativeFormat, role: str, said: str) -> Item:
    """Make one text of *role* in a block."""
    block: Item = {"type": "text", "text": said}
    if format is not RESPONSES:
        return {"role": role, "content": [block]}
    if role == "user":
        return {"role": role, "content": [{**block, "type": "input_text"}]}
    block |= {"type": "output_text", "annotations": []}
    return {"type": "message", "role": role, "content": [block]}


@pytest.mark.parametrize("format", STEPS)
@pytest.mark.parametrize("odd", ["", " ", "So. ", "\ud800"])
def test_one_text_in_a_block_is_given_as_it_is(format: NativeFormat, odd: str) -> None:
    """Nothing before it is written again, unless a view shows that text otherwise."""
    loop = Loop(format)
    for at in range(4):
        loop.add([in_a_block(format, "user" if at % 2 else "assistant", f"It is {at}.")])
    assert loop.written[-4:] == [0, 0, 0, 0]

    loop.add([in_a_block(format, role, odd) for role in ("assistant", "user")])
    loop.add(loop.step(50))


@pytest.mark.parametrize("format", STEPS)
def test_what_has_an_id_again_is_written_with_all_before_it(format: NativeFormat) -> None:
    """A call with the id of an earlier one gets another, so all ids of the view have to be known."""
    loop = Loop(format)
    loop.add(loop.step(3))

    assert loop.written[-1] > 20
    loop.add(loop.step(50))


def test_a_mark_of_the_cache_takes_those_before_it_away() -> None:
    """Of more than four marks the oldest ones go, which are not in what is new."""
    loop = Loop(ANTHROPIC)
    mark = {"type": "text", "text": "So.", "cache_control": {"type": "ephemeral"}}
    for at in range(20, 26):
        loop.add([*loop.step(at), {"role": "assistant", "content": [mark]}])
        loop.add([{"role": "user", "content": [mark]}])

    assert loop.written[-1] > 20


def test_a_compaction_of_the_vendor_stands_for_all_before_it() -> None:
    """It has to come first, so what was written before it is not sent."""
    loop = Loop(ANTHROPIC)
    loop.add(
        [
            {
                "role": "assistant",
                "content": [{"type": "compaction", "content": "x", "signature": "s"}],
            }
        ]
    )
    loop.add([{"role": "user", "content": [{"type": "text", "text": "Go on."}]}])
    for at in range(20, 24):
        loop.add(loop.step(at))

    assert loop.written[-1] <= _MOST


@pytest.mark.parametrize("is_second", [False, True])
@pytest.mark.parametrize("format", [CHAT, ANTHROPIC])
def test_a_system_message_in_between_is_where_the_format_has_it(
    format: NativeFormat, *, is_second: bool
) -> None:
    """It stays at its place, whatever was written before it, one that came first too."""
    loop = Loop(format)
    if is_second:
        loop.items.insert(0, {"role": "system", "content": "Be kind."})
        loop.check()
    loop.add([{"role": "system", "content": "Be brief."}])
    loop.add([{"role": "user", "content": "Go on."}])
    loop.add(loop.step(50))


@pytest.mark.parametrize("format", STEPS)
def test_an_object_that_is_said_again_is_there_each_time(format: NativeFormat) -> None:
    """A loop that says "Go on." with one dictionary has it in the view as often as it said it."""
    loop, go_on = Loop(format), {"role": "user", "content": "Go on."}
    said: Item = {"role": "assistant", "content": "So I did."}
    for new in ([{**said}], [{**said}], loop.step(50), [{**said}], [said, go_on, said], [said]):
        loop.items += [*new, go_on]
        loop.check()


@pytest.mark.parametrize("format", STEPS)
def test_rules_in_front_that_were_said_again_still_tell_the_time(format: NativeFormat) -> None:
    """With their dictionary also in between, new rules are in front, and the old ones in between."""
    loop, rules = Loop(format), {"role": "system", "content": "It is one."}
    loop.items.insert(0, rules)
    loop.items += [{"role": "user", "content": "And?"}, rules, {**rules, "role": "assistant"}]
    loop.check()
    loop.items[0] = {"role": "system", "content": "It is two."}
    loop.check()

    assert [one["content"] for one in loop.view if one.get("role") == "system"] == [
        "It is two.",
        "It is one.",
    ]


@pytest.mark.parametrize("parts", ["as u a u", "asu a u", "as a u", "a s u a", "u s u a s a u"])
def test_a_system_message_that_waits_for_its_place_is_never_lost(parts: str) -> None:
    """What comes after it in Anthropic's may stand before it, and what comes later goes on from there."""
    loop = Loop(ANTHROPIC)
    said = {
        "u": {"role": "user", "content": "And?"},
        "a": {"role": "assistant", "content": "So."},
        "s": {"role": "system", "content": "Be brief."},
    }
    for step in parts.split():
        loop.add([said[one] for one in step])
        assert check_anthropic(None, loop.view) == ()
    for at in range(20, 23):
        loop.add(anthropic(at))

    assert sum(one["role"] == "system" for one in loop.view) == parts.count("s")


def test_the_first_call_ends_what_either_vendor_takes() -> None:
    """Text in front of the first call is still as it was, and what comes after it is OpenAI's."""
    loop = Loop(CHAT, is_named=False)
    loop.items[:] = [{"role": "user", "content": "Hello."}]
    for at in range(12):
        loop.add([{"role": "assistant", "content": f"{at} \n"}, {"role": "user", "content": "?"}])
    for at in range(60, 70):
        loop.add([*loop.step(at), {"role": "assistant", "content": "\u3000", "name": "Ann"}])
        loop.add([{"role": "user", "content": ""}])
