"""
Reductions that are stored one after the other, each with what is new in it.

Most of what a reduction holds and carries is in those before it. So a link of a series has only the
texts that are new, and the reductions that are new as places in the texts of the whole series: what
it stores does not grow with what was stored before.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from foldline.errors import FormatError
from foldline.history.codec import without_values
from foldline.reduction.carried import MOST_CARRIED, Earlier, Tables, linked, picked
from foldline.reduction.quotes import Quote
from foldline.reduction.shortening import Shortened
from foldline.reduction.state import HistoryReductionState, carrier_of, readable


_BEGIN = '{"chain":'


class Link(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one reduction adds to a series."""

    chain: Annotated[tuple[int, ...], Meta(min_length=1, max_length=MOST_CARRIED + 1)]
    """The places of the reduction and those that it carries in the series, the newest first."""

    after: str = ""
    """The name of the link before; empty for the first."""

    states: tuple[Earlier, ...] = ()
    """The reductions that are new."""

    lines: tuple[str, ...] = ()
    """The lines that are new."""

    quotes: tuple[Quote, ...] = ()
    """The quotes that are new."""

    shortened: tuple[Shortened, ...] = ()
    """The shortened messages that are new."""

    @classmethod
    def from_json(cls, text: str) -> "Link | None":
        """
        Read what `to_json` wrote; None if *text* is something else, such as a whole reduction.

        Raises:
            FormatError: It is damaged.
        """
        if not text.startswith(_BEGIN):
            return None
        try:
            return _DECODER.decode(text)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise _refused(error) from None

    def to_json(self) -> str:
        """Write the link as JSON."""
        return msgspec.json.encode(self).decode()


_DECODER = msgspec.json.Decoder(Link)


def next_link(links: Sequence[Link], after: str, state: HistoryReductionState) -> Link:
    """Return what *state* adds to the series *links*, the last of which has the name *after*."""
    tables = _tables(links)
    places = {msgspec.json.encode(one): at for at, one in enumerate(_stored(links))}
    chain, new = list[int](), list[Earlier]()
    for one in state.chain():
        stored = tables.stored(carrier_of(one))
        name = msgspec.json.encode(stored)
        if name not in places:
            places[name] = len(places)
            new.append(stored)
        chain.append(places[name])
    lines, quotes, shortened = tables.rest
    return Link(
        chain=tuple(chain),
        after=after,
        states=tuple(new),
        lines=lines,
        quotes=quotes,
        shortened=shortened,
    )


def read_series(links: Sequence[Link]) -> HistoryReductionState:
    """
    Return the reduction of the last of *links*, with those that it carries.

    Raises:
        FormatError: They are no series, or were written by a newer foldline.
    """
    tables = _tables(links)
    try:
        found = picked(_stored(links), links[-1].chain)
        newest, *earlier = [tables.read(one, HistoryReductionState) for one in found]
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise _refused(error) from None
    return readable(linked(newest, earlier))


def _stored(links: Sequence[Link]) -> list[Earlier]:
    return [state for one in links for state in one.states]


def _tables(links: Sequence[Link]) -> Tables:
    return Tables(
        [line for one in links for line in one.lines],
        [quote for one in links for quote in one.quotes],
        [entry for one in links for entry in one.shortened],
    )


def _refused(error: Exception) -> FormatError:
    # The error of msgspec may quote text of a conversation.
    return FormatError(f"not a reduction: {without_values(error)}")
