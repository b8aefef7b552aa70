"""Reductions that are stored one after the other."""

import pytest
from msgspec.structs import replace

from foldline.errors import FormatError, NewerFormatError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.quotes import Quote
from foldline.reduction.series import Link, next_link, read_series
from foldline.reduction.state import STATE_FORMAT, HistoryReductionState
from tests.reduction.records import record


HISTORY = History([Message.user(f"Room {at}") for at in range(40)])
TEXTS = ("a\n\nb\n\na\na", "b\n\n\n\nb", "", "a\nb\na\nc\nc", "a\n\nb\n\na\na")


def quote(index: int) -> Quote:
    return Quote(index=index, kind="user", role="user", text=f"Room {index}", tokens=4)


def states() -> list[HistoryReductionState]:
    """Return reductions that carry each other; what some hold is there twice."""
    made: list[HistoryReductionState] = []
    for at, text in enumerate(TEXTS, 1):
        quotes = (quote(0),) * at
        alone = record(HISTORY, at, length=at, summary=text, quotes=quotes).sealed()
        made.append(alone.carrying([*made[-1].chain()] if made else []))
    return made


def series(made: list[HistoryReductionState]) -> list[Link]:
    links: list[Link] = []
    for one in made:
        link = Link.from_json(next_link(links, "before" if links else "", one).to_json())
        assert link is not None
        links.append(link)
    return links


def test_each_link_adds_what_is_new() -> None:
    """Every reduction of a series is read as it was, and no text or reduction is stored twice."""
    made = states()
    links = series(made)

    for at, one in enumerate(made, 1):
        assert read_series(links[:at]) == one
    assert [len(one.states) for one in links] == [1] * len(made)
    assert [one.lines for one in links] == [
        ("a", "", "b", "", "a", "a"),
        ("", "b"),
        (),
        ("c", "c"),
        (),
    ]
    assert [len(one.quotes) for one in links] == [1] * len(made)


def test_a_whole_reduction_is_no_link() -> None:
    """It is told by how it begins."""
    assert Link.from_json(states()[0].to_json().decode()) is None


@pytest.mark.parametrize(
    "text",
    ['{"chain":[', '{"chain":[]}', '{"chain":["secret"]}', '{"chain":[0],"lines":["secret",1]}'],
)
def test_a_damaged_link_is_refused(text: str) -> None:
    """The error quotes nothing of it."""
    with pytest.raises(FormatError, match="not a reduction") as caught:
        Link.from_json(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [{"chain": (9,)}, {"chain": (0, 0)}, {"lines": ()}, {"states": ()}],
)
def test_wrong_places_are_refused(changes: dict[str, object]) -> None:
    """What is not there, or is named twice, makes no reduction."""
    (link,) = series(states()[:1])
    with pytest.raises(FormatError, match="not a reduction"):
        read_series([replace(link, **changes)])


def test_a_link_of_a_newer_foldline_is_refused() -> None:
    """As a whole reduction of one is."""
    newer = replace(states()[0], format=STATE_FORMAT + 1)
    with pytest.raises(NewerFormatError):
        read_series(series([newer]))
