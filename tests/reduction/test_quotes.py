"""What is quoted beside a summary: pins before anything else, each once, word for word."""

from collections.abc import Sequence

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.quotes import Pins, Quote, joined, quoted


BUDGET = budget_of(HistoryReductionConfig())
CONFIG = HistoryReductionConfig()


def said() -> list[Message]:
    return [
        Message.user("first request"),
        Message.assistant("answer", pin=True),
        Message.user("  - a rule\n"),
        Message.assistant("other"),
        Message.user("last"),
    ]


def quotes(
    *,
    pins: Pins | None,
    before: Sequence[Quote] = (),
    aged: Sequence[int] = (),
    config: HistoryReductionConfig = CONFIG,
) -> tuple[Quote, ...]:
    return quoted(
        History(said()), before, aged=aged, cut=4, pins=pins, config=config, budget=BUDGET
    )


def kinds(found: Sequence[Quote]) -> list[tuple[int, str]]:
    return [(one.index, one.kind) for one in found]


def pinned(*indexes: int) -> list[tuple[int, Message]]:
    messages = said()
    return [(index, messages[index]) for index in indexes]


def test_a_list_pins_by_its_messages() -> None:
    """Without a list of pins the messages that are marked are pinned; with one it alone counts."""
    marked = quotes(pins=None, aged=range(4))
    listed = quotes(pins=pinned(3), aged=range(4))

    assert kinds(marked) == [(0, "first"), (1, "pin"), (2, "user")]
    assert kinds(listed) == [(0, "first"), (2, "user"), (3, "pin")]


def test_what_is_quoted_already_can_be_pinned() -> None:
    """A message that is quoted as the user's becomes a pin, which nothing else crowds out."""
    before = quotes(pins=[], aged=range(4))

    assert kinds(quotes(pins=pinned(0, 2), before=before)) == [(0, "pin"), (2, "pin")]


def test_an_unpinned_message_is_what_it_was() -> None:
    """The first request and user messages stay quoted, what others said does not."""
    before = quotes(pins=pinned(0, 1, 2), aged=range(4))

    assert kinds(quotes(pins=[], before=before)) == [(0, "first"), (2, "user")]
    assert kinds(quotes(pins=pinned(1), before=before)) == [(0, "first"), (1, "pin"), (2, "user")]


def test_an_unpinned_message_goes_if_nothing_is_quoted() -> None:
    """Where user messages are not quoted, an unpinned one is not quoted either."""
    for config in (
        HistoryReductionConfig(quote_user_messages=0),
        HistoryReductionConfig(strategy="message_counting", quote_user_messages=0),
    ):
        before = quotes(pins=pinned(0), aged=range(4), config=config)

        assert kinds(before) == [(0, "pin")]
        assert quotes(pins=[], before=before, config=config) == ()


def test_a_pin_after_the_cut_is_no_quote_yet() -> None:
    """A pinned message that the view shows is not quoted beside the summary."""
    assert quotes(pins=pinned(4)) == ()


def test_a_quote_is_word_for_word() -> None:
    """Space at both ends stays; a text of nothing but space is no quote."""
    found = quotes(pins=pinned(2))
    history = History([Message.user(" \n "), Message.user("last")])
    (blank,) = quoted(history, (), aged=[0], cut=1, pins=None, config=CONFIG, budget=BUDGET)

    assert found[0].text == "  - a rule\n"
    assert joined("", found).endswith('pinned="yes">\n  - a rule\n\n</quote>')
    assert (blank.text, blank.tokens) == ("", 0)
