"""Tools that a vendor runs itself, and programs that call tools of the application."""

from typing import Any

import pytest

from foldline import HistoryReducer, HistoryReductionConfig
from foldline.history.formats.anthropic import from_anthropic
from foldline.history.formats.openai_responses import from_openai_responses
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import GenericPart
from foldline.history.served import is_of_program, served_call
from foldline.reduction.shortening import bare, clear, clip
from foldline.testing.grammars import check_anthropic, check_openai_responses


Items = list[dict[str, Any]]
LONG = "word " * 300


def anthropic(number: int) -> Items:
    """Return an exchange in which a program calls a tool twice."""
    run, calls = f"srvtoolu_{number}", [f"toolu_{number}_{one}" for one in range(2)]
    caller = {"type": "code_execution_20260120", "tool_id": run}
    code = {"type": "server_tool_use", "id": run, "name": "code_execution", "input": {}}
    items: Items = [{"role": "user", "content": f"Question {number}"}]
    for at, call in enumerate(calls):
        block = {"type": "tool_use", "id": call, "name": "f", "input": {}, "caller": caller}
        items += [
            {"role": "assistant", "content": [block] if at else [code, block]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": call, "content": LONG}],
            },
        ]
    result = {"type": "code_execution_tool_result", "tool_use_id": run, "content": {}}
    return [*items, {"role": "assistant", "content": [result, {"type": "text", "text": "So."}]}]


def responses(number: int) -> Items:
    """Return the same exchange as items of OpenAI."""
    run, calls = f"call_{number}", [f"call_{number}_{one}" for one in range(2)]
    caller = {"type": "program", "caller_id": run}
    items: Items = [
        {"role": "user", "content": f"Question {number}"},
        {"type": "program", "id": f"prog_{number}", "call_id": run, "code": "", "fingerprint": "f"},
    ]
    for call in calls:
        made = {"type": "function_call", "call_id": call, "name": "f", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": call, "output": LONG}
        items += [{**made, "caller": caller}, output]
    result = {"type": "program_output", "id": f"po_{number}", "call_id": run, "result": ""}
    return [*items, {**result, "status": "completed"}, {"role": "assistant", "content": "So."}]


FORMS = [
    (anthropic, from_anthropic, lambda view: check_anthropic(None, view)),
    (responses, from_openai_responses, check_openai_responses),
]


@pytest.mark.parametrize(("exchange", "read", "check"), FORMS, ids=["anthropic", "responses"])
def test_no_cut_tears_a_program_from_what_it_calls(exchange: Any, read: Any, check: Any) -> None:
    """A cut is at the ends of an exchange alone, also while the program has not ended."""
    history = History(read([one for number in range(2) for one in exchange(number)]))

    assert [*history.whole_indexes(len(history), 0)] == [12, 7, 6, 1]
    open_ones = History(read(exchange(0)[:-2]))
    assert (open_ones.first_open_call(), check(exchange(0))) == (1, ())


@pytest.mark.parametrize(("exchange", "read", "check"), FORMS, ids=["anthropic", "responses"])
@pytest.mark.parametrize(
    "config",
    [
        HistoryReductionConfig(counting_unit="messages", target_count=2, summarization_threshold=0),
        HistoryReductionConfig(ceiling=900, context_window_size=2000),
    ],
    ids=["counts", "ceiling"],
)
def test_each_view_of_programs_is_accepted(
    exchange: Any, read: Any, check: Any, config: HistoryReductionConfig
) -> None:
    """Whatever is folded or shortened, each call has its program and each result its call."""
    reducer, items, folds = HistoryReducer(config), Items(), 0
    for number in range(8):
        items += exchange(number)
        reduced = reducer.reduce_sync([*items, {"role": "user", "content": "And?"}])
        folds += reduced.event.status == "performed"
        assert check(reduced.messages) == ()

    assert folds > 2


@pytest.mark.parametrize(
    ("asks", "says", "key"),
    [
        ("mcp_approval_request", "mcp_approval_response", "approval_request_id"),
        ("function_approval_request", "function_approval_response", "id"),
    ],
)
def test_no_cut_tears_what_a_user_approves_from_the_request(asks: str, says: str, key: str) -> None:
    """Frameworks keep both as what is neither a call nor a result: no cut is between, nor behind an open one."""
    request = GenericPart(asks, '{"id":"r"}')
    history = History([Message.user("pay"), Message(role="assistant", parts=(request,))])

    assert history.first_open_call() == 1
    history.append(Message(role="user", parts=(GenericPart(says, f'{{"{key}":"r"}}'),)))
    assert [*history.whole_indexes(len(history), 0)] == [3, 1]


def test_what_a_program_needs_is_not_shortened() -> None:
    """Its own items stay as they are; a tool of the vendor whose two sides are one message may go."""
    history = History(from_anthropic(anthropic(0)))
    both = [anthropic(0)[1]["content"][0], *anthropic(0)[-1]["content"]]
    whole = from_anthropic([{"role": "assistant", "content": both}])

    assert [is_of_program(one) for one in history] == [False, True, False, True, False, True]
    assert [is_of_program(one) for one in whole] == [False]
    for at in (1, 3, 5):
        assert clip(history, at, limit=1, recall=None, media=False) is None
        assert bare(history, at) is clear(history, at, name="f", recall=None) is None


def test_what_has_no_id_is_no_call() -> None:
    """Parts of other kinds, and those of these kinds that are damaged, are not paired."""
    parts = [
        GenericPart("image", "{}"),
        GenericPart("program", "no JSON"),
        GenericPart("program_output", '{"call_id":1}'),
    ]

    assert [*map(served_call, parts)] == [("", False)] * 3
    assert len(History([Message(role="assistant", parts=tuple(parts))])) == 1
