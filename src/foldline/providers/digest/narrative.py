"""What was said, by its most central sentences, and what others summarized, by its first ones."""

from collections.abc import Iterable, Sequence

from foldline.providers.digest.selection import Item
from foldline.providers.digest.sentences import rank_sentences, split_sentences
from foldline.providers.digest.tail import attribute, bare
from foldline.providers.digest.transcript import Speech


__all__ = ["offer_quotes", "offer_sentences"]


_MOST = 120


def offer_sentences(speeches: Iterable[Speech], *, prior: Sequence[str], shown: str) -> list[Item]:
    """
    Offer sentences by their centrality.

    Args:
        prior: Sentences of the digests that are absorbed; they compete with the new ones.
        shown: Text that other sections show; its sentences are not said again.
    """
    new = [
        attribute(speech.role, sentence)
        for speech in speeches
        for sentence in split_sentences(speech.text)
    ]
    texts = list(dict.fromkeys([*prior, *new]))
    fresh = [text for text in texts if bare(text) not in shown]
    return [Item(fresh[index], index) for index in rank_sentences(fresh)[:_MOST]]


def offer_quotes(foreign: Iterable[str], *, prior: Sequence[str]) -> list[Item]:
    """
    Offer the sentences of summaries that others wrote, from their beginnings on.

    Args:
        foreign: The summaries, oldest first.
        prior: Quotes that the absorbed digests hold already.
    """
    quoted = [sentence for text in foreign for sentence in split_sentences(text)]
    texts = list(dict.fromkeys([*prior, *quoted]))[:_MOST]
    return [Item(text, place) for place, text in enumerate(texts)]
