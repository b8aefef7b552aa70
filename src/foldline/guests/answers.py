"""The reductions that the answers of a guest keep: each as what is new since one before it."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256

from foldline.guests.kept import REDUCTION_KEY
from foldline.reduction.series import Link, next_link, read_series
from foldline.reduction.state import HistoryReductionState


# How many links are read for one reduction.
_MOST = 100


class AnsweredReductions:
    """The newest reduction that answers keep, and what the next answer has to keep of a newer one."""

    def __init__(self, stores: Iterable[Mapping[str, object] | None]) -> None:
        """
        Find it in *stores*, those of the answers, oldest first.

        Raises:
            FormatError: What one keeps is damaged.
        """
        kept = (one.get(REDUCTION_KEY) for one in stores if one)
        texts = [text for text in kept if text and isinstance(text, str)]
        self._text, self._links = "", list[Link]()
        while texts and not self._text:
            links = _series(texts)
            if links is not None:
                self._text, self._links = texts[-1], links
            texts.pop()

    @cached_property
    def state(self) -> HistoryReductionState | None:
        """
        The reduction; None if they keep none.

        Raises:
            FormatError: What they keep is no reduction, or was written by a newer foldline.
        """
        if self._links:
            return read_series(self._links)
        return HistoryReductionState.from_json(self._text) if self._text else None

    def new(self, state: HistoryReductionState | None) -> dict[str, str]:
        """Return what the next answer has to keep; nothing if *state* is kept already."""
        if state is None or state is self.state or state == self.state:
            return {}
        links = self._links if len(self._links) < _MOST else []
        link = next_link(links, _name(self._text) if links else "", state)
        return {REDUCTION_KEY: link.to_json()}


def _series(texts: Sequence[str]) -> list[Link] | None:
    """Return the links up to the last of *texts*, none if it is whole; None if one of them is gone."""
    links, name = list[Link](), ""
    for text in reversed(texts):
        if not links or _name(text) == name:
            link = Link.from_json(text)
            if link is None:
                return [] if not links else None
            links.append(link)
            name = link.after
            if not name:
                return links[::-1]
    return None


def _name(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]
