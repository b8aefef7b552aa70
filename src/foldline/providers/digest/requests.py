"""What the user asked for, and what was said last."""

from collections.abc import Iterable, Sequence

from foldline.providers.digest.outline import Item
from foldline.providers.digest.span import Speech
from foldline.providers.digest.text import attribute, distinct, one_line, shorten


__all__ = ["offer_requests", "offer_tail"]


_MOST_REQUESTS = 200
_MOST_LAST = 6


def offer_requests(speeches: Iterable[Speech], *, prior: Sequence[str], detail: int) -> list[Item]:
    """
    Offer the beginnings of user messages: the newest first, then the very first, then the rest.

    The newest may have *detail* characters, the very first two thirds of it, the others a third.
    """
    new = [one_line(speech.text) for speech in speeches if speech.role == "user"]
    texts = distinct([*prior, *new])
    newest = len(texts) - 1
    ranked = [newest, 0, *range(newest - 1, 0, -1)][:_MOST_REQUESTS] if texts else []
    limits = {0: detail * 2 // 3, newest: detail}
    items = (
        Item(shorten(texts[place], limit=limits.get(place, detail // 3)), place)
        for place in dict.fromkeys(ranked)
    )
    return [item for item in items if item.text]


def offer_tail(speeches: Sequence[Speech], *, prior: Sequence[str], detail: int) -> list[Item]:
    """Offer the beginnings of the last messages with text, or of *prior* ones, the last first."""
    new = [attribute(speech.role, one_line(speech.text)) for speech in speeches[-_MOST_LAST:]]
    texts = new or list(prior[-_MOST_LAST:])
    newest = len(texts) - 1
    items = (
        Item(shorten(texts[place], limit=detail if place == newest else detail // 2), place)
        for place in range(newest, -1, -1)
    )
    return [item for item in items if item.text]
