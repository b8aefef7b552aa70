"""What summarizers have read for folds that did not come to their end."""

from collections.abc import Mapping
from hashlib import sha256
from threading import Lock

from foldline.history.codec import canonical_json
from foldline.history.digest import prefix_digest
from foldline.reduction.request import SummaryRequest, Written


_MOST_TEXTS = 512


class UnfinishedFolds:
    """A bounded memory of texts for folds that are made again; each is given once, not asked for."""

    def __init__(self) -> None:
        self._texts: dict[bytes, str | Written] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._texts)

    def take(self, key: bytes) -> str | Written | None:
        """Return the reply of *key*, if there is one, and forget it."""
        with self._lock:
            return self._texts.pop(key, None)

    def keep(self, texts: Mapping[bytes, str | Written]) -> None:
        """Remember *texts*; the oldest ones go."""
        with self._lock:
            self._texts |= texts
            for key in [*self._texts][:-_MOST_TEXTS]:
                del self._texts[key]


def key_of(request: SummaryRequest, scope: str) -> bytes:
    """Return the same key for requests of one tenant that give a summarizer the same to read."""
    asked = (scope, request.summarizer, request.prompt, request.focus, request.earlier)
    return sha256(canonical_json(asked) + prefix_digest(request.messages)).digest()
