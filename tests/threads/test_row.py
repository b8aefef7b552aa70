"""Messages as rows, and the chain of their seals."""

from datetime import UTC, datetime
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from foldline.errors import StoreCorruptError
from foldline.history.digest import prefix_digest
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import TextPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.threads.cipher import AesCipher, Vault
from foldline.threads.head import Head, extended
from foldline.threads.row import (
    SEAL_SIZE,
    Runs,
    StoredRow,
    check_chain,
    encode_payload,
    extend_history,
    read_body,
    read_chain,
    read_messages,
    read_row,
    read_rows,
    seal_of,
)
from tests.histories import damaged_history


NOW = datetime(2026, 11, 21, tzinfo=UTC)
HEAD = Head(epoch=b"b" * 16, created_at=NOW, last_activity=NOW)
FIRST = bytes(SEAL_SIZE)


def _rows(messages: list[Message], head: Head = HEAD) -> tuple[list[StoredRow], Head]:
    rows, _, behind = extended(head, messages, TokenEstimator(), Vault())
    return rows, behind


def misfit(rows: list[StoredRow], before: bytes | None, runs: Runs | None = None) -> int | None:
    """Return where *rows* break, which is the same to those who check them and who read them."""
    place = check_chain(rows, before, runs)
    known, bad = read_chain(rows, Vault(), before, runs)
    whole = rows if place is None else rows[:place]

    assert bad == place
    assert [one.row for one in known] == (whole[1:] if before is None else whole)
    return place


def _messages(count: int) -> list[Message]:
    return [Message.user(f"message {number}") for number in range(count)]


@pytest.mark.parametrize(
    "message",
    [
        Message.user(""),
        Message.system("s"),
        Message.assistant("naïve 東京 🚂"),
        Message(role="tool", parts=(TextPart("t"),)),
        Message.user("\0"),
        Message.user("\ud800"),
        Message.user('{"role":"user"}'),
        Message(role="user", parts=()),
        Message(role="user", parts=(TextPart("a"), TextPart("b"))),
        Message(role="user", parts=(TextPart("a"),), name="n"),
        Message(role="user", parts=(TextPart("a"),), metadata={"nan": None, "x": [1.5]}),
    ],
)
def test_a_message_comes_back_equal(message: Message) -> None:
    """A row gives back the message that it was made of, short form or long."""
    (row,), _ = _rows([message])

    assert read_body(read_row(row, Vault()).body) == message


def test_a_plain_text_is_a_letter_and_itself() -> None:
    """The body of a message that is one text is a letter for its role and the text."""
    rows, _ = _rows([Message.user("hi"), Message.system("be kind")])

    assert [read_row(row, Vault()).body for row in rows] == [b"uhi", b"sbe kind"]


def test_any_history_comes_back_with_its_sums() -> None:
    """
    Of 200 histories every message comes back; digests, tokens and users are those of the prefix.
    """
    counter = TokenEstimator()
    for seed in range(200):
        messages = damaged_history(Random(seed))
        rows, head = _rows(messages)
        visible = [message for message in messages if message.role != "system"]

        assert [read_body(read_row(row, Vault()).body) for row in rows] == messages
        assert head.digest == prefix_digest(visible)
        assert head.tokens == sum(count_message(one, counter) for one in visible)
        assert (head.count, head.length) == (len(messages), len(visible))
        assert head.users == sum(one.role == "user" for one in messages)
        assert misfit(rows, FIRST) is None


def test_batches_make_the_same_rows_as_one() -> None:
    """Rows do not depend on how messages are divided into commits."""
    messages = damaged_history(Random(7))
    rows, head = _rows(messages)
    first, between = _rows(messages[:3])
    second, end = _rows(messages[3:], between)

    assert first + second == rows
    assert end == head


@pytest.mark.parametrize("body", [b"", b"x", b"{", b"{}", b"u\xff", b"[1]", b"u\xed\xa0\x80"])
def test_what_is_no_body_is_damage(body: bytes) -> None:
    """Bytes that are no message are an error that tells their number alone."""
    with pytest.raises(StoreCorruptError, match=f"a message of {len(body)} bytes"):
        read_body(body)


@pytest.mark.parametrize("data", [b"", b"x" * 32, b"x" * 33, bytes(32) + b"\x91" * 9999])
def test_what_is_no_row_is_damage(data: bytes) -> None:
    """A row that cannot be read is an error that names its number."""
    with pytest.raises(StoreCorruptError, match="message row 3 cannot be read"):
        read_row(StoredRow(3, system=False, data=data), Vault())


def test_every_flipped_bit_is_found() -> None:
    """No bit of the seal, counts, digest or body of a row can be flipped without a seal telling."""
    rows, _ = _rows(_messages(3))
    middle = rows[1]
    for bit in range(len(middle.data) * 8):
        data = bytearray(middle.data)
        data[bit // 8] ^= 1 << bit % 8
        changed = [rows[0], replace(middle, data=bytes(data)), rows[2]]

        assert misfit(changed, FIRST) == 1


def test_rows_that_move_are_found() -> None:
    """Swapped, repeated, dropped and foreign rows, other origins and numbers are all found."""
    rows, _ = _rows(_messages(4))
    foreign, _ = _rows(_messages(4), replace(HEAD, epoch=b"c" * 16))

    assert misfit([rows[0], rows[2], rows[1], rows[3]], FIRST) == 1
    assert misfit([rows[0], rows[0], rows[2]], FIRST) == 1
    assert misfit([rows[0], rows[2], rows[3]], FIRST) == 1
    assert misfit([rows[0], foreign[1], rows[2]], FIRST) == 1
    moved = replace(foreign[1], data=HEAD.epoch + foreign[1].data[16:])
    assert misfit([rows[0], moved], FIRST) == 1
    assert misfit([rows[0], replace(rows[1], seq=2)], FIRST) == 1
    assert misfit(rows[1:], FIRST) == 0
    assert misfit(rows[1:], None) is None
    assert misfit([], FIRST) is None


def test_a_row_of_another_origin_is_found() -> None:
    """With the runs of a head, a row that another epoch wrote is found, also without its chain."""
    rows, head = _rows(_messages(3))
    more, _ = _rows(_messages(2), replace(head, epoch=b"c" * 16))
    runs = ((0, HEAD.epoch), (3, b"c" * 16))

    assert misfit([*rows, *more], FIRST, runs) is None
    assert misfit(more, None, runs) is None
    assert misfit([*rows, *more], FIRST, runs[:1]) == 3
    assert misfit(more, None, ((0, HEAD.epoch),)) == 0
    assert misfit(rows[2:], None, ((0, HEAD.epoch), (2, b"c" * 16))) == 0


def test_a_seal_covers_everything_before_it() -> None:
    """The chain hash depends on the one before, the origin, the number and the payload."""
    seals = {
        seal_of(before, origin, seq, payload)
        for before in (FIRST, b"x" * 16)
        for origin in (b"b" * 16, b"c" * 16)
        for seq in (0, 1)
        for payload in (b"", b"p")
    }

    assert len(seals) == 16
    assert {len(seal) for seal in seals} == {SEAL_SIZE}


@pytest.mark.parametrize("vault", [Vault(), Vault(AesCipher(bytes(32)))], ids=["plain", "secret"])
def test_a_history_grows_by_its_rows(vault: Vault) -> None:
    """
    One that is extended with what rows say, read or written, is the one that counts and hashes.
    """
    for seed in range(50):
        messages = damaged_history(Random(seed))
        rows, said, head = extended(HEAD, messages, TokenEstimator(), vault)
        read = History(messages[:3], counter=TokenEstimator())
        extend_history(read, read_rows(rows, vault)[3:])
        written = History(messages[:3], counter=TokenEstimator())
        written.extend_known(said[3:])

        for history in (read, written):
            assert history.everything() == messages
            assert (history.digest(), history.tokens()) == (head.digest, head.tokens)
            assert history.system_tokens == head.system_tokens


@pytest.mark.parametrize("vault", [Vault(), Vault(AesCipher(bytes(32)))], ids=["plain", "secret"])
def test_rows_are_read_as_each_alone(vault: Vault) -> None:
    """Many rows read at once say what was written, and what each says that is read by itself."""
    for seed in range(50):
        messages = damaged_history(Random(seed))
        rows, _, _ = extended(HEAD, messages, TokenEstimator(), vault)
        single = [read_row(row, vault) for row in rows]
        known = read_rows(rows, vault)

        assert [one.row for one in known] == rows
        assert [one.counts for one in known] == single
        assert [read_body(one.body) for one in single] == messages
        assert [one.message for one in known] == messages
        assert read_messages(rows, vault) == messages


def test_a_row_of_another_role_than_its_message_is_damage() -> None:
    """A user message that is marked as a system message is an error that names its number."""
    (row,), _ = _rows([Message.user("hi")])

    for read in (read_rows, read_messages):
        with pytest.raises(StoreCorruptError, match="message row 0 is marked with another role"):
            read([replace(row, system=True)], Vault())


@pytest.mark.parametrize("payload", [b"", encode_payload((0, 1, 5, bytes(32), b"u\xff"))])
def test_of_many_rows_the_one_that_cannot_be_read_is_named(payload: bytes) -> None:
    """Rows that are read at once are an error that names the one without a message."""
    rows, _ = _rows([Message.user("a"), Message.user("b"), Message.user("c")])
    rows[1] = replace(rows[1], data=bytes(32) + payload)

    for read in (read_rows, read_messages):
        with pytest.raises(StoreCorruptError, match="message row 1 cannot be read"):
            read(rows, Vault())


def test_without_a_cipher_a_row_is_its_seal_and_plain_counts() -> None:
    """The stored form without a cipher is fixed: origin, chain hash, counts, digest and body."""
    (row,), head = _rows([Message.user("hi")])
    payload = msgspec.msgpack.encode([0, 1, head.tokens, head.digest, b"uhi"])

    assert row.data == HEAD.epoch + seal_of(FIRST, HEAD.epoch, 0, payload) + payload
    assert payload.hex().startswith("950001")


def test_with_a_cipher_nothing_but_the_seal_is_outside() -> None:
    """
    Position, users, tokens, digest and body are encrypted; the seal is made of what is stored.
    """
    vault = Vault(AesCipher(bytes(32)))
    (row,), _, head = extended(HEAD, [Message.user("hi")], TokenEstimator(), vault)

    assert check_chain([row], FIRST) is None
    assert head.digest not in row.data
    assert read_row(row, vault).digest == head.digest
    for fields in ({"system": True}, {"seq": 1}, {"data": b"c" * 16 + row.data[16:]}):
        with pytest.raises(StoreCorruptError, match="cannot be decrypted"):
            read_row(replace(row, **fields), vault)
