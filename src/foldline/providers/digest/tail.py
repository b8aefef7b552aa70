"""How a span ends: the last things that were said, cut short."""

from collections.abc import Sequence

from foldline.providers.digest.selection import Item
from foldline.providers.digest.text import one_line, shorten
from foldline.providers.digest.transcript import Speech


__all__ = ["attribute", "bare", "offer_tail"]


_MOST = 6
_COLON = ": "


def offer_tail(speeches: Sequence[Speech], *, prior: Sequence[str], detail: int) -> list[Item]:
    """
    Offer the beginnings of the last speeches, the last first and in most detail.

    Args:
        prior: The tail of the newest digest that is absorbed; shown where nothing new was said.
        detail: The most characters of the last speech; the others get half of it.
    """
    new = [attribute(speech.role, one_line(speech.text)) for speech in speeches[-_MOST:]]
    texts = new or list(prior[-_MOST:])
    newest = len(texts) - 1
    items = (
        Item(shorten(texts[place], limit=detail if place == newest else detail // 2), place)
        for place in range(newest, -1, -1)
    )
    return [item for item in items if item.text]


def attribute(role: str, text: str) -> str:
    """Write who said *text* in front of it."""
    return f"{role}{_COLON}{text}"


def bare(text: str) -> str:
    """Return what `attribute` was given, without the speaker."""
    return text.partition(_COLON)[2] or text
