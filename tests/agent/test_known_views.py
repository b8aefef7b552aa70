"""Views of plain lists that go on where the last one ended."""

import copy
import random

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.errors import FormatError
from foldline.history.messages import NativeFormat
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.summarizer import ScriptedSummarizer
from tests.agent.alike import check_alike
from tests.agent.test_known import CONFIG, Item, text


def odd(rng: random.Random, format: NativeFormat) -> list[Item]:
    """Make one to three items that a view may show otherwise, or that change one before them."""
    said = rng.choice(["so", " so ", "so\n", "", " ", "\ud800", "größer", "\u3000", "a\x00"])
    speaker, at = rng.choice(["user", "assistant"]), rng.randrange(3)
    mark = {"type": "text", "text": said or "x", "cache_control": {"type": "ephemeral"}}
    plain: Item = {"role": speaker, "content": said}
    block: Item = {"role": speaker, "content": [{"type": "text", "text": said}]}
    if format is NativeFormat.OPENAI_CHAT:
        function = {"name": "find it", "arguments": "{}"}
        call = {"id": f"c{at}", "type": "function", "function": function}
        calls: Item = {
            "role": "assistant",
            "content": rng.choice([None, said]),
            "tool_calls": [call],
        }
        kinds = [[calls], [calls, {"role": "tool", "tool_call_id": f"c{at}", "content": said}]]
        kinds += [[{**plain, "name": "Ann"}], [{"role": "system", "content": said}], [block]]
    elif format is NativeFormat.ANTHROPIC:
        use = {"type": "tool_use", "id": f"t{at}", "name": "find", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": said}
        thinking = {"type": "thinking", "thinking": said, "signature": rng.choice(["", "s"])}
        kinds = [
            [{"role": "assistant", "content": [thinking, use]}],
            [{**plain, "content": [mark]}],
            [block],
            [{**block, "content": block["content"] * 2}],
        ]
        kinds += [[*kinds[0], {"role": "user", "content": [result, {"type": "text", "text": "x"}]}]]
    else:
        thought = {"type": "reasoning", "id": f"rs_{at}", "summary": [], "encrypted_content": "e"}
        output = [{"type": "output_text", "text": said, "annotations": []}]
        answer = {"type": "message", "role": "assistant", "id": f"msg_{at}", "content": output}
        call = {"type": "function_call", "id": f"fc_{at}", "call_id": f"c{at}", "name": "find"}
        done = {"type": "function_call_output", "call_id": f"c{at}", "output": said}
        kinds = [[thought], [answer], [thought, answer], [{**call, "arguments": "{}"}], [done]]
        mere = {"type": "message", "role": speaker, "content": output}
        kinds += [[mere], [{**block, "content": [{"type": "input_text", "text": said}]}]]
    return copy.deepcopy(rng.choice([[plain], [plain], *kinds]))


@pytest.mark.slow
@pytest.mark.parametrize("format", [*NativeFormat][:3])
@pytest.mark.parametrize("seed", range(16))
def test_a_view_that_goes_on_is_the_one_that_is_written_from_the_start(
    format: NativeFormat, seed: int
) -> None:
    """Whatever the items are, the bytes and the objects are those of a reducer without memory."""
    rng, whole = random.Random(seed), text(24)
    while len(whole) < 70:
        whole += odd(rng, format) if rng.random() < 0.4 else text(rng.choice([1, 2, 4]))
    given = rng.choice([format, None])
    how = CONFIG if seed % 3 else HistoryReductionConfig()
    writer = ScriptedSummarizer(repeat="It was said.")
    remembers = HistoryReducer(how, summarizer=writer)
    forgets = HistoryReducer(how, summarizer=writer, known_bytes=0)
    state, size = None, 20
    while size < len(whole):
        size += rng.choice([1, 1, 2])
        items = copy.deepcopy(whole[:size])
        try:
            theirs = forgets.reduce_sync(items, state=state, format=given)
        except FormatError:
            return
        ours = remembers.reduce_sync(items, state=state, format=given)
        state = theirs.state

        check_alike(ours.messages, theirs.messages, items)


def test_a_new_item_that_the_view_shows_shortened_is_not_given_whole() -> None:
    """One that is too large is shown as its head and tail, also after a view that was written."""
    one = HistoryReducer(HistoryReductionConfig(largest_message=0.1))
    items = text(21)
    state = one.reduce_sync(items).state
    items.append({"role": "assistant", "content": "At length, " * 9_000 + "so."})
    shown = one.reduce_sync(items, state=state).messages

    assert len(shown) == len(items)
    assert len(shown[-1]["content"]) < len(items[-1]["content"]) / 2
