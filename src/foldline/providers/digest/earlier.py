"""The summaries that a digest absorbs: our own are read back, those of others are quoted."""

from collections.abc import Iterable

from msgspec import Struct

from foldline.providers.digest.document import Counts, Document, Section, parse
from foldline.providers.digest.text import clean


__all__ = ["Earlier", "read_earlier"]


class Earlier(Struct, frozen=True):
    """What is known before the first message of a request."""

    texts: tuple[str, ...]
    """All of them as they are read, oldest first."""

    documents: tuple[Document, ...]
    """Digests, oldest first."""

    foreign: tuple[str, ...]
    """Summaries that others wrote, oldest first."""

    def lines(self, section: Section) -> list[str]:
        """Return the items that the digests have in *section*, oldest first."""
        return [line for document in self.documents for line in document.sections.get(section, ())]

    @property
    def counts(self) -> Counts:
        """How many messages the digests stand for; a summary by others does not say it."""
        total = Counts()
        for document in self.documents:
            total = total.plus(document.counts)
        return total


def read_earlier(texts: Iterable[str]) -> Earlier:
    """Read each of *texts* as a digest where it is one."""
    documents: list[Document] = []
    foreign: list[str] = []
    cleaned = tuple(map(clean, texts))
    for text in cleaned:
        document = parse(text)
        if document is None:
            foreign.append(text)
        else:
            documents.append(document)
    return Earlier(cleaned, tuple(documents), tuple(foreign))
