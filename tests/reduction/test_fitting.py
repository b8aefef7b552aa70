"""Clearing and clipping until a view fits."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart, UriPart
from foldline.reduction.budget import Budget, budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.fitting import clearable, cleared, clipped, saved, squeezed
from foldline.reduction.shortening import Shortened, shown


CONFIG = HistoryReductionConfig()
BUDGET = budget_of(CONFIG)
LONG = "the cache holds a summary of every flight booked before noon\n" * 30


def session(*calls: tuple[str, str]) -> History:
    """Return a question, a call of each name with its result, and one more question."""
    messages = [Message.user("begin")]
    for number, (name, arguments) in enumerate(calls):
        call = ToolCallPart(f"c{number}", name, arguments)
        messages += [Message.assistant(tool_calls=[call]), Message.tool(call.id, LONG)]
    return History([*messages, Message.assistant("done"), Message.user("go on")])


def rules(**tools: Any) -> HistoryReductionConfig:
    return HistoryReductionConfig(tool_rules=tools)


def indexes(entries: Sequence[Shortened]) -> list[int]:
    return [entry.index for entry in entries]


def clear_all(
    history: History,
    entries: Sequence[Shortened] = (),
    config: HistoryReductionConfig = CONFIG,
    *,
    keep: int = 20,
    whole: frozenset[int] = frozenset(),
    budget: Budget = BUDGET,
) -> tuple[Shortened, ...]:
    names = clearable(history, entries, cut=0, keep=keep, whole=whole, config=config)
    return cleared(history, entries, names, budget)


def test_old_results_are_cleared_together() -> None:
    """All of them at once, so that the next call changes nothing again."""
    history = session(("read", "{}"), ("look", "1"), ("read", "3"))
    first = clear_all(history)

    assert indexes(first) == [2, 4, 6]
    assert first[1].note.startswith("[Result of look cleared: ")
    assert clear_all(history, first) == first


def test_a_note_that_is_no_shorter_is_not_shown() -> None:
    """A note names each tool of a message: with many of them it may be longer than their results."""
    calls = [ToolCallPart(f"c{number}", f"tool_{number}_" * 8, "{}") for number in range(16)]
    results = [ToolCallResponsePart(call.id, "not found, try once more") for call in calls]
    asked = Message(role="assistant", parts=tuple(calls))
    answered = Message(role="tool", parts=tuple(results))
    history = History([Message.user("go"), asked, answered, Message.user(LONG)])

    assert clearable(history, (), cut=0, keep=20, whole=frozenset(), config=CONFIG)
    assert clear_all(history) == ()


def test_the_newest_stay_as_they_are() -> None:
    """So many of the newest tokens are not touched."""
    history = session(("read", "1"), ("read", "2"), ("read", "3"))

    assert indexes(clear_all(history, keep=history.tokens(5))) == [2, 4]


@pytest.mark.parametrize(
    ("rule", "keep", "expected"),
    [
        ("keep", 20, [4]),
        ("never_summarize", 20, [4]),
        # Whatever is kept besides.
        ("clear", 10_000, [2]),
    ],
)
def test_a_tool_has_a_rule(rule: str, keep: int, expected: list[int]) -> None:
    """Results of a tool are kept, or cleared even among the newest."""
    history = session(("read", "1"), ("look", "2"))

    assert indexes(clear_all(history, config=rules(read=rule), keep=keep)) == expected


def test_the_newest_exchange_is_not_cleared_by_a_rule() -> None:
    """What the model is working with stays, whatever the rule of its tool."""
    history = History(session(("read", "1"))[:4])

    assert clear_all(history, config=rules(read="clear"), keep=10_000) == ()


def test_results_that_no_model_has_seen_are_clipped() -> None:
    """Of several calls at once each result is shown in part; what came before them is cleared."""
    names = [f"c{number}" for number in range(3)]
    calls = [ToolCallPart(name, "read", name) for name in names]
    unread = [Message.assistant(tool_calls=calls), *(Message.tool(name, LONG) for name in names)]
    history = History([*session(("read", "1"))[:3], *unread])
    found = squeeze(history, history.tokens(5))

    assert indexes(clear_all(history)) == [2]
    assert [(one.index, bool(one.head)) for one in found] == [(2, False)] + [
        (at, True) for at in (4, 5, 6)
    ]


def test_an_earlier_reading_of_one_file_is_cleared() -> None:
    """Of calls with the same arguments the newest result stays, in the newest exchange too."""
    same, other = json.dumps({"path": "a.py"}), json.dumps({"path": "b.py"})
    history = session(("read", same), ("read", other), ("look", same), ("read", same))
    newest = History(history[:-1])

    assert indexes(clear_all(history, keep=10_000)) == [2]
    assert indexes(clear_all(newest, keep=10_000)) == [2]
    assert clear_all(history, config=rules(read="keep"), keep=10_000) == ()


def test_long_arguments_are_cleared_too() -> None:
    """A file that was written long ago is not read again with every request."""
    history = session(("write", json.dumps({"content": LONG * 2})), ("write", "{}"))
    history_with_words = History(
        [history[0], Message.assistant("I write.", tool_calls=history[1].tool_calls), *history[2:]]
    )
    found = clear_all(history)
    call = shown(history[1], found[0]).tool_calls[0]

    assert indexes(found) == [1, 2, 4]
    assert json.loads(call.arguments)["shortened"].startswith("[Arguments of write cleared: ")
    assert indexes(clear_all(history_with_words)) == [2, 4]


def test_a_pinned_message_is_not_cleared() -> None:
    """Nor is a short result, or one whose call is gone but for its own name."""
    history = session(("read", "1"), ("read", "2"))
    history.append(Message.tool("c9", "ok"))
    alone = History([Message.tool("gone", LONG), Message.user("a"), Message.assistant("b")])

    assert indexes(clear_all(history, keep=1, whole=frozenset({2}))) == [4]
    assert clear_all(alone, keep=1)[0].note.startswith("[Result cleared: ")


def test_a_note_names_recall_if_it_is_there() -> None:
    """The budget of a request knows whether the model can call it."""
    history = session(("read", "1"))
    notes = [
        clear_all(history, budget=budget_of(CONFIG, recall=recall))[0].note
        for recall in (True, False)
    ]

    assert ["recall(message=2)" in note for note in notes] == [True, False]


def test_what_is_saved_is_what_leaves_the_view() -> None:
    """Whole minus shown, over all entries."""
    history = session(("read", "1"), ("read", "2"))
    entries = clear_all(history)
    shown_tokens = [History([shown(history[entry.index], entry)]).tokens() for entry in entries]

    assert [entry.tokens for entry in entries] == shown_tokens
    assert saved(history, entries) == 2 * history.tokens(2, 3) - sum(shown_tokens)


def test_clipping_leaves_what_is_short_or_cleared() -> None:
    """A message under the limit stays, and a note is not clipped."""
    history = session(("read", "1"), ("read", "2"))
    known = clear_all(history, whole=frozenset({4}))
    found = clipped(history, known, indexes=range(len(history)), limit=100, budget=BUDGET)

    assert indexes(found) == [2, 4]
    assert found[0] == known[0]
    assert found[1].head
    assert found[1].tokens <= 100


BUDGET_4K = budget_of(CONFIG, window=4_000)


def squeeze(
    history: History, excess: int, *, whole: frozenset[int] = frozenset(), pinned: int | None = None
) -> tuple[Shortened, ...]:
    start = 0 if pinned is None else pinned + 1
    return squeezed(
        history,
        (),
        cut=start,
        pinned=pinned,
        excess=excess,
        whole=whole,
        config=CONFIG,
        budget=BUDGET_4K,
    )


def test_a_view_is_squeezed_until_it_is_small_enough() -> None:
    """Clearing first, then clipping of ever shorter parts; the pinned ones last."""
    history = History(
        [Message.user(LONG), *(Message.assistant(LONG, name=f"{n}") for n in range(9))]
    )
    each = history.tokens(0, 1)
    everything = 10 * each + BUDGET_4K.fitted - BUDGET_4K.relieved
    little, much, all_of_it = (
        squeeze(history, excess, whole=frozenset({3})) for excess in (each, 7 * each, everything)
    )

    assert saved(history, little) >= each
    assert saved(history, much) >= 7 * each
    assert 3 not in indexes(much)
    assert indexes(all_of_it) == list(range(10))
    assert all(entry.tokens <= 90 for entry in all_of_it)


def test_the_newest_question_is_clipped_after_older_ones() -> None:
    """Of what users say the newest is shown whole as long as clipping the rest is enough."""
    history = History([Message.user(LONG * times) for times in (6, 1, 5, 6)])
    excess = 4 * history.tokens(1, 2) + BUDGET_4K.fitted - BUDGET_4K.relieved
    first, other = squeeze(history, excess, whole=frozenset(range(4)))

    assert (first.index, other.index) == (0, 2)
    assert first.tokens == pytest.approx(other.tokens, rel=0.2)


def test_a_text_that_fits_is_shown_whole() -> None:
    """A request between its usual size and the most that it may have leaves the user's words alone."""
    history = History([Message.user(LONG * 30)])
    excess = BUDGET_4K.fitted - BUDGET_4K.relieved

    assert squeeze(history, excess, whole=frozenset({0})) == ()
    assert indexes(squeeze(history, excess + 1, whole=frozenset({0}))) == [0]


def test_what_tools_answer_stays_beside_a_long_text() -> None:
    """A text that fills the request is cut; small calls and results after it stay as they are."""
    calls = [ToolCallPart(f"c{n}", "read", f'{{"path": "conf/{n}.toml"}}') for n in range(5)]
    answers = [
        one
        for call in calls
        for one in (Message.assistant(tool_calls=[call]), Message.tool(call.id, "retries = 3"))
    ]
    history = History([Message.user(LONG * 30), *answers])
    excess = history.tokens() - BUDGET_4K.relieved
    entries = squeeze(history, excess, whole=frozenset({0}))

    assert indexes(entries) == [0]
    assert history.tokens() - saved(history, entries) <= BUDGET_4K.full


def test_the_question_in_front_is_squeezed_too() -> None:
    """The pinned user message is part of the view, though it is before the cut."""
    history = History(
        [Message.user(LONG * 9), *(Message.assistant("a", name=f"{n}") for n in "12")]
    )

    assert indexes(squeeze(history, 2_000, pinned=0)) == [0]


def test_calls_of_an_open_exchange_are_left_alone() -> None:
    """Results are shortened there: a vendor may want the items of the calls back as they were."""
    asked = json.dumps({"content": LONG + LONG[:900]})
    open_loop = History(session(("write", asked), ("write", f"{asked} "))[:-1])
    closed = session(("write", asked), ("write", f"{asked} "))

    assert indexes(clear_all(open_loop)) == [2, 4]
    assert indexes(clear_all(closed)) == [1, 2, 3, 4]
    assert indexes(
        clipped(open_loop, (), indexes=range(len(open_loop)), limit=100, budget=BUDGET)
    ) == [2, 4]
    assert indexes(squeeze(open_loop, open_loop.tokens(2, 3))) == [2, 4]
    assert indexes(squeeze(open_loop, open_loop.tokens() * 3 // 4)) == [1, 2, 3, 4]


def test_calls_without_a_question_are_an_open_exchange() -> None:
    """An agent may work without a user."""
    history = History(session(("write", json.dumps({"content": LONG})))[1:3])

    assert indexes(squeeze(history, 100)) == [1]


def test_a_call_larger_than_a_quarter_is_not_spared() -> None:
    """Results are not crushed for it."""
    history = History(session(("read", "{}"), ("write", LONG * 4))[:-2])
    found = squeeze(history, history.tokens(3, 4) // 2)

    assert 3 in indexes(found)
    assert all(entry.tokens > 100 for entry in found if entry.head)


def test_media_stay_in_a_message_that_is_only_large() -> None:
    """An image leaves a request only if the request does not fit."""
    image = UriPart("image", "https://example.org/plan.png")
    history = History([Message(role="tool", parts=(ToolCallResponsePart("c", (image,)),))])
    both = [
        clipped(history, (), indexes=[0], limit=100, budget=BUDGET, media=media)
        for media in (True, False)
    ]

    assert [indexes(found) for found in both] == [[], [0]]


def outlined(history: History, excess: int) -> tuple[list[int], int]:
    """Return what is outlined if *excess* has to leave, and the size of what is left."""
    found = squeeze(history, excess)
    return [entry.index for entry in found if entry.outline], history.tokens() - saved(
        history, found
    )


def test_many_short_texts_are_shown_as_one() -> None:
    """A message that no clipping makes shorter gets an outline, and the others stay as they are."""
    lines = Message(role="user", parts=tuple(TextPart(f"line {n} of it") for n in range(2_000)))
    history = History([Message.user("a"), Message.assistant(LONG[:300]), lines])
    entries = squeeze(history, history.tokens() - 1_500)

    assert [(entry.index, entry.outline) for entry in entries] == [(2, True)]
    assert 250 < entries[0].tokens <= 350


def test_many_short_calls_are_outlined_at_last() -> None:
    """Calls lose their arguments, then results their words, no more of them than needed."""
    calls = [ToolCallPart(f"c{n}", "read", json.dumps({"path": f"m_{n}.py"})) for n in range(99)]
    results = [Message.tool(call.id, "short result, but some words more") for call in calls]
    history = History([Message.user("a"), Message.assistant(tool_calls=calls), *results])
    spare = BUDGET_4K.full - BUDGET_4K.relieved
    few, much, everything = (
        outlined(history, spare + excess) for excess in (300, 1_000, history.tokens())
    )

    assert few[0] == [1]
    assert much[0][:2] == [1, 2]
    assert len(much[0]) < 100
    assert everything == (list(range(1, 101)), history.tokens(0, 1) + 4 + 99 * (11 + 10))
