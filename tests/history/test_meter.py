"""How much of a request a cache can serve."""

import pytest

from foldline.history.messages import Message
from foldline.history.meter import PrefixMeter


ONE, TWO, THREE = (Message.user(text) for text in ("one", "two", "three"))
SYSTEM = Message.system("system")


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


@pytest.mark.parametrize(
    ("request_", "kept", "broke"),
    [
        ((SYSTEM, ONE, TWO, THREE), 12, False),
        ((SYSTEM, TWO, THREE), 6, True),
        ((TWO, THREE), 0, True),
        ((Message.system("other"), ONE), 0, True),
    ],
    ids=["it continues", "it begins with the system message", "with none", "with another"],
)
def test_a_mark_stands_in_for_the_request_before(
    request_: tuple[Message, ...], kept: int, *, broke: bool
) -> None:
    """Another meter knows by the mark alone whether a request begins with the one before."""
    before, after = _meter(), _meter()
    before.read((SYSTEM, ONE, TWO))

    after.follow(before.mark, request_)
    reading = after.read(request_)

    assert (reading.kept, reading.prior, reading.broke) == (kept, 12, broke)
    assert reading.resent == (min(12, reading.tokens) - kept if broke else 0)


def test_a_mark_does_not_depend_on_how_a_request_grew() -> None:
    """Whatever was read before, the mark of a request is that of the request alone."""
    grown, alone = _meter(), _meter()
    for request in ((SYSTEM, ONE), (SYSTEM, ONE, TWO), (ONE,), (ONE, THREE)):
        grown.read(request)
    alone.read((ONE, THREE))

    assert grown.mark == alone.mark


def test_a_meter_without_marks_reads_the_same() -> None:
    """What requests have in common is compared by what they say, also where no mark is made."""
    marking, bare = _meter(), PrefixMeter(lambda message: len(message.text), marks=False)

    for request in ((SYSTEM, ONE), (SYSTEM, ONE, TWO), (Message.system("system"), TWO), (TWO,)):
        assert bare.read(request) == marking.read(request)
