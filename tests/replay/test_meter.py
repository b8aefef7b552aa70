"""How much of a request a cache can serve."""

from foldline.history.messages import Message
from foldline.replay.meter import PrefixMeter


ONE, TWO, THREE = (Message.user(text) for text in ("one", "two", "three"))


def _meter() -> PrefixMeter:
    return PrefixMeter(lambda message: len(message.text))


def test_the_first_request_is_all_new() -> None:
    """Before the first request there is nothing to keep and nothing to break."""
    reading = _meter().read([ONE, TWO])

    assert (reading.tokens, reading.kept, reading.fresh) == (6, 0, 6)
    assert (reading.prior, reading.broke) == (0, False)


def test_what_goes_on_keeps_everything() -> None:
    """A request that only adds messages keeps all of the one before."""
    meter = _meter()
    meter.read([ONE, TWO])

    reading = meter.read([ONE, TWO, THREE])

    assert (reading.kept, reading.fresh, reading.kept_messages) == (6, 5, 2)
    assert reading.broke is False


def test_the_first_difference_ends_the_prefix() -> None:
    """Behind a message that differs nothing counts as kept, however much of it is equal."""
    meter = _meter()
    meter.read([ONE, TWO, THREE])

    reading = meter.read([ONE, THREE, TWO, THREE])

    assert (reading.tokens, reading.kept, reading.prior) == (16, 3, 11)
    assert reading.broke is True


def test_equal_messages_need_not_be_the_same_object() -> None:
    """
    Messages are compared by what they say, so a copy keeps the prefix and another role does not.
    """
    meter = _meter()
    meter.read([ONE])

    assert meter.read([Message.user("one", id="copy")]).broke is False
    assert meter.read([Message.assistant("one")]).broke is True


def test_a_shorter_request_breaks_the_prefix() -> None:
    """The request before has to be there whole."""
    meter = _meter()
    meter.read([ONE, TWO])

    reading = meter.read([ONE])

    assert (reading.kept, reading.broke) == (3, True)
