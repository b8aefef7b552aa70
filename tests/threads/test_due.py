"""Which threads have a fold due: what their commits note, and how they are listed."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from foldline.errors import ConfigError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.fold_rule import FoldRule
from foldline.reduction.quotes import Quote
from foldline.reduction.state import LABEL_TOKENS, HistoryReductionState
from foldline.reduction.view import view_tokens
from foldline.threads.change import Change
from foldline.threads.due import USUAL_MARK, FoldBase
from foldline.threads.row import MessageRow
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import reduction_of
from tests.threads.clock import Clock


RULE = FoldRule(unit="messages", most=4)


def said(count: int, *, start: int = 0) -> list[Message]:
    """Return so many messages, by turns of a user and a model."""
    kinds = (Message.user, Message.assistant)
    return [kinds[number % 2](f"say {number}") for number in range(start, start + count)]


async def due(store: ThreadStore, **options: str | int) -> list[str]:
    """Return the ids of the threads whose fold is due."""
    return [one.key.id for one in (await store.folds_due(**options)).threads]  # type: ignore[arg-type]


async def test_a_commit_makes_a_fold_due_and_a_fold_clears_it(
    any_store: ThreadStore, clock: Clock
) -> None:
    """The first commit beyond the rule notes its time, later ones keep it, and a fold clears it."""
    thread = await any_store.thread("t")
    await thread.commit(Change(messages=said(4), fold_rule=RULE))
    assert await due(any_store) == []

    clock.now += timedelta(hours=1)
    await thread.add_messages(said(1, start=4))
    first = clock()
    clock.now += timedelta(hours=1)
    await thread.add_messages(said(1, start=5))
    await thread.set_metadata({"a": 1})
    (listed,) = (await any_store.folds_due()).threads
    assert (listed.key.id, listed.since) == ("t", first)

    await thread.save_reduction(reduction_of(said(6), 4, "four"))
    assert await due(any_store) == []
    await thread.add_messages(said(2, start=6))
    assert await due(any_store) == []
    await thread.add_messages(said(1, start=8))
    assert await due(any_store) == ["t"]
    loaded = await any_store.thread("t")
    assert loaded.head.due is not None
    assert loaded.head.due.since == clock()


@pytest.mark.parametrize(
    ("rule", "least"),
    [
        (FoldRule(unit="messages", most=6), 7),
        (FoldRule(unit="exchanges", most=3), 7),
        (FoldRule(unit="tokens", most=60), 0),
        (FoldRule(view=60), 0),
    ],
    ids=["messages", "exchanges", "tokens", "view"],
)
async def test_each_unit_counts_what_follows_the_cut(
    store: ThreadStore, rule: FoldRule, least: int
) -> None:
    """The fold is due with the first message that the history itself counts beyond the rule."""
    for cut in (0, 10):
        thread = await store.thread(f"t{cut}")
        await thread.commit(Change(messages=said(cut or 1), fold_rule=rule))
        reduction = reduction_of(said(cut), cut, "x" * 8) if cut else None
        if reduction is not None:
            await thread.save_reduction(reduction)
        sizes: list[int] = []
        while thread.head.due is None or thread.head.due.since is None:
            sizes.append(await _size(thread, rule, reduction))
            await thread.add_messages(said(1, start=thread.count))
        most = rule.view if rule.most is None else rule.most
        assert max(sizes) <= (most or 0) < await _size(thread, rule, reduction)
        assert thread.count >= cut + least
        assert thread.id in await due(store)


async def _size(
    thread: ConversationThread, rule: FoldRule, reduction: HistoryReductionState | None
) -> int:
    """Return what *rule* counts, as the history itself does."""
    history = History(await thread.get_messages())
    if rule.most is None:
        return view_tokens(history, reduction)
    return history.count(rule.unit, 0 if reduction is None else reduction.summarized_up_to_index)


async def test_a_fold_is_counted_the_same_by_who_has_not_read_the_thread(
    store: ThreadStore,
) -> None:
    """What a reduction has before its cut is the same from memory and from the row before it."""
    marks = []
    for name in ("read", "unread"):
        thread = await store.thread(name)
        await thread.add_messages([Message.system("be brief"), *said(9)])
        if name == "read":
            await thread.window()
        else:
            thread = await store.thread(name)
        await thread.save_reduction(reduction_of(said(9), 6, "six"))
        marks.append(thread.head.due)
    assert marks[0] == marks[1]
    assert marks[0] is not None
    assert (marks[0].cut, marks[0].users) == (6, 3)


def test_a_pinned_file_in_front_of_a_summary_is_not_hidden() -> None:
    """A view that shows it hides as much less of the history, however that is counted."""
    history = History(said(9))
    pin = Quote(index=0, kind="pin", role="user", text="", tokens=3, is_message=True)
    plain = reduction_of(said(9), 6, "six")
    reduction = replace(plain, quotes=(pin,))
    row = MessageRow(position=5, tokens=history.tokens(0, 6), users=3, digest=b"", body=b"")
    bases = [FoldBase.of(history, reduction, users=9), FoldBase.of_row(row, reduction)]
    guesses = [FoldBase.guessed(one, 9, 9, 90).hidden for one in (plain, reduction)]

    hidden = history.tokens() - view_tokens(history, reduction)
    assert [one.hidden for one in bases] == [hidden, hidden]
    assert guesses[0] - guesses[1] == 3 + LABEL_TOKENS


async def test_the_usual_rule_is_the_ceiling(store: ThreadStore) -> None:
    """A thread that nobody gave a rule is due with a view near the ceiling, and notes nothing before."""
    thread = await store.thread("t")
    await thread.add_messages(said(20))
    assert thread.head.due is None
    await thread.add_message(Message.user("word " * 60_000))
    assert await due(store) == ["t"]
    await thread.commit(Change(fold_rule=FoldRule()))
    assert await due(store) == []


async def test_what_is_taken_back_is_not_due(any_store: ThreadStore) -> None:
    """A rewind, a clear and a fork count what they keep; an undone fold is due again."""
    thread = await any_store.thread("t")
    await thread.commit(Change(messages=said(8), fold_rule=RULE))
    fork, short = await thread.fork("fork"), await thread.fork("short", at=3)
    assert sorted(await due(any_store)) == ["fork", "t"]
    await thread.save_reduction(reduction_of(said(8), 4, "four"))
    await thread.save_reduction(reduction_of(said(8), 6, "six"))
    await thread.add_messages(said(1, start=8))
    assert await due(any_store) == ["fork"]

    await thread.undo_reduction()
    assert sorted(await due(any_store)) == ["fork", "t"]
    await thread.rewind(at=7)
    assert await due(any_store) == ["fork"]
    await fork.clear()
    assert await due(any_store) == []
    for one in (fork, short):
        await one.add_messages(said(5))
    assert sorted(await due(any_store)) == ["fork", "short"]


async def test_a_snapshot_is_counted_as_it_is_restored(store: ThreadStore) -> None:
    """A thread that is made of a snapshot has its reduction counted, and follows the usual rule."""
    thread = await store.thread("t")
    await thread.add_messages(said(9))
    await thread.save_reduction(reduction_of(said(9), 6, "six"))
    made = await store.restore(await thread.to_snapshot(), thread_id="made")
    assert made.head.due == thread.head.due
    assert await due(store) == []


async def test_an_older_thread_is_judged_by_its_share(store: ThreadStore) -> None:
    """A thread that was folded before this was noted is taken to be as even as it is long."""
    guess = FoldBase.guessed(reduction_of(said(8), 4, "four"), 8, 4, 800)
    assert (guess.cut, guess.users, guess.tokens) == (4, 2, 400)
    assert FoldBase.guessed(reduction_of(said(8), 4, "f"), 0, 0, 0).users == 0


async def test_pages_follow_each_other(any_store: ThreadStore, clock: Clock) -> None:
    """A page ends with what the next one begins after, and the last one with nothing."""
    for number in range(5):
        thread = await any_store.thread(f"t{number}", tenant="acme")
        await thread.commit(Change(messages=said(5), fold_rule=RULE))
        if number % 2:
            clock.now += timedelta(seconds=1)
    other = await any_store.thread("other")
    await other.commit(Change(messages=said(5), fold_rule=RULE))
    seen, after = [], ""
    while True:
        page = await any_store.folds_due(tenant="acme", limit=2, after=after)
        seen += [one.key.id for one in page.threads]
        after = page.next
        if not after:
            break
    assert seen == [f"t{number}" for number in range(5)]
    assert await due(any_store) == ["other"]


@pytest.mark.parametrize("cursor", ["x", "!", "W10", "WzEsMl0", "ü"])
async def test_a_cursor_of_something_else_is_refused(cursor: str) -> None:
    """A text that is not the end of a page is an error that does not repeat it."""
    async with MemoryStore() as store:
        with pytest.raises(ConfigError, match=r"^after must be the `next` of a page"):
            await store.folds_due(after=cursor)


def test_the_usual_mark_is_small() -> None:
    """The rule that nobody changed is the ceiling of the default configuration alone."""
    assert (USUAL_MARK.most, USUAL_MARK.view, USUAL_MARK.since) == (None, 56_320, None)
