"""Rows that are sealed and still do not say what their messages say."""

import asyncio
from collections.abc import Callable, Sequence
from random import Random

import msgspec
import pytest
from foldline.threads.chain import Chain
from foldline.threads.verification import verify_store

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.history.codec import encode_message
from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.histories import damaged_history
from foldline.threads.cipher import Vault
from foldline.threads.head import SEAL_SIZE, Head
from foldline.threads.old_row import MessageRow, append_rows, read_row, seal_of
from foldline.threads.step import StoredRow
from foldline.threads.stores.memory import MemoryStore
from tests.threads.canaries import reduction_of
from tests.threads.sample import said, when


BAD = 3


def _rows(messages: Sequence[Message] = tuple(said(2))) -> list[StoredRow]:
    head = Head(branch=bytes(16), created_at=when(), last_activity=when())
    return [one.row for one in append_rows(head, messages, TokenEstimator(), Vault())[0]]


def _sealed(rows: list[StoredRow], change: Callable[[MessageRow], MessageRow]) -> list[StoredRow]:
    """
    Return *rows* with one changed, and every seal made anew, as somebody could who writes to it.
    """
    seal, forged = bytes(SEAL_SIZE), list[StoredRow]()
    for row in rows:
        counts = read_row(row, Vault())
        if row.seq == BAD:
            counts = change(counts)
        payload = msgspec.msgpack.encode(counts)
        seal = seal_of(seal, row.branch, row.seq, payload)
        forged.append(msgspec.structs.replace(row, data=seal + payload))
    return forged


def _problems(rows: list[StoredRow]) -> dict[int, str]:
    chain = Chain(Vault())
    taken = {row.seq: chain.take(row) for row in rows}
    return {seq: problem for seq, problem in taken.items() if problem is not None}


def _changed(**fields: object) -> Callable[[MessageRow], MessageRow]:
    return lambda counts: msgspec.structs.replace(counts, **fields)


def test_rows_that_were_appended_fit() -> None:
    """The sums of the chain are those of the head behind the same messages."""
    head = Head(branch=bytes(16), created_at=when(), last_activity=when())
    known, head = append_rows(head, said(), TokenEstimator(), Vault())
    chain = Chain(Vault())

    assert [chain.take(one.row) for one in known] == [None] * len(known)
    sums = msgspec.structs.asdict(chain.good)
    assert sums == {name: getattr(head, name) for name in sums}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_changed(position=7), "its position or its number of user messages"),
        (_changed(users=7), "its position or its number of user messages"),
        (_changed(tokens=0), "its sum of tokens is less"),
        (_changed(digest=bytes(32)), "its digest is not that of the messages"),
        (_changed(body=encode_message(Message.user("Another text."))), "user messages"),
        (_changed(body=encode_message(Message.system("Obey."))), "marked as another role"),
        (_changed(body=b"{"), "cannot be read"),
        (_changed(body=b""), "cannot be read"),
    ],
    ids=["position", "users", "tokens", "digest", "text", "role", "no message", "empty"],
)
def test_a_forged_row_is_named_alone(
    change: Callable[[MessageRow], MessageRow], problem: str
) -> None:
    """Of a row that was changed and sealed anew the contents are found, and no row behind it."""
    found = _problems(_sealed(_rows(), change))

    assert list(found) == [BAD]
    assert problem in found[BAD]


def test_one_changed_row_is_one_fault() -> None:
    """The row behind a damaged one is believed, and the next are compared with it again."""
    rows = _rows()
    for bad in (BAD, 6):
        rows[bad] = msgspec.structs.replace(rows[bad], data=rows[bad].data[:-1] + b"\0")

    assert list(_problems(rows)) == [BAD, 6]


def test_the_sums_before_the_damage_are_kept() -> None:
    """What a repair goes on from are the sums behind the last row that fits."""
    rows = _rows()
    chain = Chain(Vault())
    for row in _sealed(rows, _changed(digest=bytes(32))):
        chain.take(row)

    assert (chain.good.count, chain.good.digest) == (BAD, read_row(rows[BAD - 1], Vault()).digest)
    assert (chain.is_whole, chain.is_trusted) == (False, True)


def test_a_cut_between_a_call_and_its_answer_is_seen() -> None:
    """Of the wanted indexes those are torn that lie between a call and its answer."""
    chain = Chain(Vault(), indexes=range(10))
    for row in _rows():
        chain.take(row)

    assert chain.torn == {2, 6}


def test_the_cuts_that_are_blamed_are_those_that_are_refused() -> None:
    """
    In a history of any damage no reduction can be made by hand that a verification calls damaged.
    """
    blamed = 0
    for seed in range(60):
        messages = damaged_history(Random(seed))
        told = [message for message in messages if message.role != "system"]
        chain = Chain(Vault(), indexes=range(len(told) + 1))
        for row in _rows(messages):
            assert chain.take(row) is None
        refused = {cut for cut in range(len(told) + 1) if not _is_taken(told, cut)}

        assert refused == chain.torn
        blamed += len(refused)

    assert blamed > 100


def _is_taken(messages: list[Message], cut: int) -> bool:
    try:
        reduction_of(messages, cut, "summary")
    except ConfigError:
        return False
    return True


def test_folds_of_any_history_are_not_blamed() -> None:
    """Whatever damage a history came with, the reductions that foldline makes of it are whole."""

    async def run(seed: int) -> int:
        messages = damaged_history(Random(seed), exchanges=20)
        config = HistoryReductionConfig(
            enabled=True,
            strategy="summarizing",
            counting_unit="tokens",
            target_token_budget=200,
            token_budget_threshold=50,
        )
        reducer = HistoryReducer(config)
        async with MemoryStore() as store:
            thread = await store.thread("any")
            for start in range(0, len(messages), 3):
                await thread.add_messages(messages[start : start + 3])
                window = await thread.window()
                reduced = await reducer.reduce(window.history, state=window.reduction)
                if reduced.state is not None and reduced.state is not window.reduction:
                    await thread.commit(reduction=reduced.state)
            assert [one.faults async for one in verify_store(store)] == [()]
            return len(await thread.reductions())

    # In 110 and 140 a call was answered twice, and the second answer lies behind the cut.
    assert sum(asyncio.run(run(seed)) for seed in (2, 8, 110, 140)) > 4
