"""Lists in the form of Ollama's own interface, whose calls have no ids, and objects as arguments."""

from typing import Any

from foldline import HistoryReducer
from foldline.formats import from_openai_chat, render_openai_chat
from foldline.testing.grammars import check_openai_chat


def turn(number: int) -> list[dict[str, Any]]:
    """Return a question, two calls at once, their results and the answer."""
    calls = [{"function": {"name": "look", "arguments": {"at": n}}} for n in (number, -number)]
    results = [f"row {n} is fine" for n in (number, -number)]
    return [
        {"role": "user", "content": f"Where is order AB{number}CD?"},
        {"role": "assistant", "content": "", "thinking": "I look.", "tool_calls": calls},
        *({"role": "tool", "tool_name": "look", "content": one} for one in results),
        {"role": "assistant", "content": f"Order AB{number}CD is in Lisbon. " * 4},
    ]


def shown(view: list[Any]) -> list[tuple[Any, list[str]]]:
    """Return the arguments of each pair of calls in *view*, and the results behind it."""
    return [
        (
            [call["function"]["arguments"] for call in item["tool_calls"]],
            [one["content"] for one in view[at + 1 : at + 3] if one["role"] == "tool"],
        )
        for at, item in enumerate(view)
        if "tool_calls" in item
    ]


def whole(numbers: range) -> list[tuple[Any, list[str]]]:
    return [([{"at": n}, {"at": -n}], [f"row {n} is fine", f"row {-n} is fine"]) for n in numbers]


def test_results_stay_with_calls_without_ids() -> None:
    """Every call in a view has its own result and an object as arguments, after folds too."""
    reducer, folds = HistoryReducer(window=4_000), 0
    items: list[dict[str, Any]] = []
    for number in range(1, 60):
        items += turn(number)
        reduced = reducer.reduce_sync(items)
        folds += reduced.event.status == "performed"
        pairs = shown(reduced.messages)

        assert pairs == whole(range(number + 1 - len(pairs), number + 1))

    assert folds > 1


def test_shortened_arguments_are_objects() -> None:
    """A call whose arguments are too long for the view has shorter ones in an object."""
    items: list[dict[str, Any]] = []
    seen: list[Any] = []
    reducer = HistoryReducer(window=4_000)
    for number in range(1, 9):
        items += turn(number)
        (call, _) = items[-4]["tool_calls"]
        call["function"]["arguments"]["text"] = "word after word " * (200 * number)
        for arguments, _ in shown(reducer.reduce_sync(items).messages):
            seen += arguments

    assert {type(one) for one in seen} == {dict}
    assert any("shortened" in one for one in seen)


def test_another_vendor_gets_ids_and_text() -> None:
    """Messages read from such a list are written as Chat Completions wants them."""
    view = render_openai_chat(from_openai_chat(turn(1)))

    assert check_openai_chat(view) == ()
    assert shown(view) == [(['{"at":1}', '{"at":-1}'], ["row 1 is fine", "row -1 is fine"])]
