"""How much of a request a cache can serve."""

import pytest

from foldline.history.messages import Message
from foldline.history.meter import PrefixMeter


ONE, TWO, THREE = (Message.user(text) for text in ("one", "two", "three"))


def _meter() -> PrefixMeter:
    return PrefixMeter(lambda message: len(message.text))


@pytest.mark.parametrize(
    ("before", "request_", "kept", "prior", "broke"),
    [
        ((), (ONE, TWO), 0, 0, False),
        ((ONE, TWO), (ONE, TWO, THREE), 6, 6, False),
        ((ONE, TWO, THREE), (ONE, THREE, TWO, THREE), 3, 11, True),
        ((ONE, TWO), (ONE,), 3, 6, True),
    ],
    ids=["the first", "one that continues", "a difference", "a shorter one"],
)
def test_the_first_difference_ends_the_prefix(
    before: tuple[Message, ...],
    request_: tuple[Message, ...],
    kept: int,
    prior: int,
    *,
    broke: bool,
) -> None:
    """What a request begins with as the one before did is kept; all of that has to be there."""
    meter = _meter()
    meter.read(before)

    reading = meter.read(request_)

    assert reading.tokens == sum(len(one.text) for one in request_)
    assert (reading.kept, reading.fresh) == (kept, reading.tokens - kept)
    assert (reading.prior, reading.broke) == (prior, broke)


def test_equal_messages_need_not_be_the_same_object() -> None:
    """Messages are compared by what they say: a copy keeps the prefix, another role does not."""
    meter = _meter()
    meter.read([ONE])

    assert meter.read([Message.user("one", id="copy")]).broke is False
    assert meter.read([Message.assistant("one")]).broke is True
