"""Answers: what the model reads of whatever a tool returns."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest
from msgspec import Struct
from pydantic import BaseModel

from foldline.agent.tools.answer import ToolAnswer, answer_of, error_answer
from foldline.history.parts import BlobPart, FilePart, ResponseContent, TextPart, UriPart


@dataclass
class Row:
    """A row."""

    n: int


class Item(Struct):
    """An item."""

    n: int


class Model(BaseModel):
    """A model."""

    when: datetime


class Shade(str, Enum):  # noqa: UP042 - as people write it
    """A shade."""

    DARK = "dark"


class Opaque:
    """Nothing that JSON knows."""

    def __str__(self) -> str:
        return "as text"


class Array:
    """Numbers as NumPy has them."""

    def tolist(self) -> list[int]:
        return [1, 2]


class Odd(str):
    """A text that presents itself otherwise."""

    __slots__ = ()

    def __str__(self) -> str:
        return "otherwise"


PICTURE = BlobPart("image", "image/png", "aGVsbG8=")
ROUND: list[Any] = []
ROUND.append(ROUND)


CASES: list[tuple[object, object]] = [
    ("text", "text"),
    ("", ""),
    ("\ud800", "\ud800"),
    (Odd("plain"), "plain"),
    (Shade.DARK, "dark"),
    (None, "null"),
    (True, "true"),
    (3, "3"),
    (10**30, "1" + "0" * 30),
    (2.5, "2.5"),
    ([], "[]"),
    ((), "[]"),
    ([1, "a", None], '[1,"a",null]'),
    ({"a": {"b": "é"}}, '{"a":{"b":"é"}}'),
    ({1}, "[1]"),
    (Row(1), '{"n":1}'),
    ([Row(1), Item(2)], '[{"n":1},{"n":2}]'),
    (datetime(2026, 11, 21, tzinfo=UTC), "2026-11-21T00:00:00Z"),
    (Model(when=datetime(2026, 11, 21, tzinfo=UTC)), '{"when":"2026-11-21T00:00:00Z"}'),
    (
        {"m": [Model(when=datetime(2026, 11, 21, tzinfo=UTC))]},
        '{"m":[{"when":"2026-11-21T00:00:00Z"}]}',
    ),
    (Opaque(), "as text"),
    (Array(), "[1,2]"),
    (
        {"a": Array(), "b": Array},
        '{"a":[1,2],"b":"<class \'tests.agent.tools.test_answer.Array\'>"}',
    ),
    ({"a": Opaque()}, '{"a":"as text"}'),
    (["\ud800"], "['\\ud800']"),
    (ROUND, "[[...]]"),
    (b"caf\xc3\xa9", "café"),
    (bytearray(b"abc"), "abc"),
    (b"\x89PNG\xff", "[5 bytes that are not text]"),
    (TextPart("a"), "a"),
    (PICTURE, (PICTURE,)),
    ([TextPart("a"), PICTURE], (TextPart("a"), PICTURE)),
    (["a", PICTURE], (TextPart("a"), PICTURE)),
    (
        (FilePart("image", "f"), UriPart("image", "u")),
        (FilePart("image", "f"), UriPart("image", "u")),
    ),
    ([TextPart("a"), 1], '[{"type":"text","content":"a"},1]'),
]


@pytest.mark.parametrize(
    ("value", "content"),
    CASES,
    ids=[f"{place} {type(value).__name__}" for place, (value, _) in enumerate(CASES)],
)
def test_every_value_has_its_answer(value: object, content: object) -> None:
    """Texts and parts go as they are, None as null, the rest as JSON or, if that is a text, as it."""
    answer = answer_of(value)

    assert answer == ToolAnswer(content, is_error=False)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert type(answer.content) is type(content)


def test_an_answer_goes_as_it_is() -> None:
    """A tool may say itself that it failed."""
    given = ToolAnswer("no such order", is_error=True)

    assert answer_of(given) == given


def test_a_long_text_loses_its_middle() -> None:
    """Beyond the limit the beginning and the end stay, with what is missing between."""
    answer = answer_of("a" * 500 + "z" * 500, max_result_chars=99)

    assert answer.content == "a" * 66 + "\n[901 characters left out]\n" + "z" * 33
    assert answer_of("a" * 99, max_result_chars=99).content == "a" * 99


def test_the_limit_holds_for_json_and_for_each_part() -> None:
    """A long list is cut too, and so is every text among parts; a picture is not."""
    parts: tuple[ResponseContent, ...] = (TextPart("a" * 200), PICTURE, TextPart("short"))
    limited = answer_of(parts, max_result_chars=100).content
    given = answer_of(ToolAnswer("b" * 200, is_error=True), max_result_chars=100)

    assert "characters left out" in answer_of([1] * 500, max_result_chars=100).text
    assert limited[1:] == parts[1:]
    assert "[100 characters left out]" in answer_of(parts, max_result_chars=100).text
    assert "[100 characters left out]" in given.text
    assert given.is_error


def test_an_error_is_short() -> None:
    """The model reads the beginning of a long error."""
    assert error_answer("no") == ToolAnswer("Error: no", is_error=True)
    assert len(error_answer("x" * 100_000).text) == 2_008


def test_what_no_json_has_is_told_as_what_it_is() -> None:
    """What cannot be written does not look as if the tool had failed."""
    answer = answer_of(iter([1]))

    assert "list_iterator" in answer.text
    assert not answer.is_error


def test_what_nothing_has_run_is_a_failure() -> None:
    """A generator or a coroutine is no result: the model is told that nothing in it has happened."""
    ran: list[str] = []

    def pay() -> Iterator[str]:
        ran.append("pay")
        yield "paid"

    async def pay_in_turn() -> AsyncIterator[str]:
        ran.append("pay")
        yield "paid"

    async def pay_later() -> None:
        ran.append("pay")

    forgotten = pay_later()
    kinds = ("generator", "async_generator", "coroutine")
    for value, kind in zip((pay(), pay_in_turn(), forgotten), kinds, strict=True):
        told = f"Error: the tool returned a {kind} that was never run"

        assert answer_of(value) == ToolAnswer(told, is_error=True)
    forgotten.close()
    assert ran == []
