"""A conversation that is far too long for its model, and what vendors say of that."""

from collections.abc import Iterable
from itertools import pairwise


WINDOW = 2_000
ROOMS = range(200)


def question(room: int) -> str:
    """Return what the user asked of *room*."""
    return f"Room {room}? " * 9


def answer(room: int) -> str:
    """Return what the assistant said of *room*."""
    return f"{room} chairs and a table. " * 20


class BadRequestError(Exception):
    """A refusal of the SDK of OpenAI, without the SDK."""

    def __init__(self, text: str, status: int = 400) -> None:
        """Say *text*."""
        super().__init__(f"Error code: {status}")
        self.status_code = status
        self.body = {"message": text, "type": "invalid_request_error"}


def too_long() -> BadRequestError:
    """Return what vLLM says."""
    text = "This model's maximum context length is 2000 tokens. However, your request has 9000 input tokens"
    return BadRequestError(text)


def tokens(texts: Iterable[str]) -> int:
    """Return about how many tokens *texts* have."""
    return sum(map(len, texts)) // 4


def check(sizes: list[int]) -> None:
    """Check the *sizes* of the requests of two turns: the first is folded until it fits."""
    assert len(sizes) in {4, 5}
    assert sizes[0] > 4 * WINDOW
    assert all(after * 2 < before for before, after in pairwise(sizes[:-1]))
    assert sizes[-2] < WINDOW
    assert sizes[-1] < WINDOW
