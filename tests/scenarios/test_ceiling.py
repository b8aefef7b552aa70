"""A request that always fits: generated histories, and recorded ones if they are there."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench import fits
from bench.vocabularies import Vocabulary
from foldline.agent.reducer import HistoryReducer
from foldline.errors import RequestTooLargeError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import TextPart, UriPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.logs.importer import Session
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.tape import model_calls
from tests.depth import by_depth
from tests.histories import damaged_history, legal_history
from tests.properties.test_valid_requests import faults


# A vendor that counts more than is estimated, and not the same for prose, code and results.
PIECES = re.compile(r"\s?[A-Za-z]{1,6}|\d{1,3}|\s?[^\sA-Za-z\d]{1,2}|\s+")
WAYS = [*product((8_000, 32_000, 128_000), (True, False), fits.UNITS)]


@pytest.fixture(scope="module")
def vendor() -> Vocabulary:
    """Return a vendor's way of counting, which is not the estimator's."""
    return Vocabulary("pieces", lambda text: len(PIECES.findall(text)))


@pytest.fixture(scope="module")
def recordings(shared_data: Path) -> dict[str, Session]:
    """Return the recorded sessions."""
    return fits.sessions(shared_data)


def long_session(recordings: dict[str, Session]) -> Session:
    return next(one for name, one in recordings.items() if "pi-coding" in name)


def reducer_of(summarizer: object = None, **fields: Any) -> HistoryReducer:
    config = HistoryReductionConfig(**fields)
    return HistoryReducer(config, summarizer=() if summarizer is None else [fits.Full()])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("damaged", [False, True])
def test_no_generated_request_is_larger_than_its_ceiling(seed: int, *, damaged: bool) -> None:
    """Whatever the history, the unit and the vendor, a request fits and is valid, or is refused.

    What is refused names its parts, which are larger than the ceiling.
    """
    random = Random(f"{seed} {damaged}")
    make = damaged_history if damaged else legal_history
    counts = Counter[str]()
    for number in range(by_depth(8, 60)):
        reducer = reducer_of(
            context_window_size=random.choice((1_500, 3_000)),
            use_single_summary=random.random() < 0.5,
            **random.choice([*fits.UNITS.values()]),
        )
        more, messages = random.uniform(0.8, 1.6), make(random, exchanges=30)
        # Labels are estimated, and repairs and later system messages change what is counted, which
        # is some percent of ceilings as small as these.
        for request in grown(messages, reducer, more, slack=1.4 if damaged else 1.05):
            if isinstance(request, RequestTooLargeError):
                counts["refused"] += 1
                assert sum(request.parts.values()) > request.ceiling, (seed, number)
            else:
                counts["fitted"] += 1
                assert not faults(request), (seed, number)

    assert counts["fitted"] > 20 * counts["refused"]


def grown(
    messages: list[Message], reducer: HistoryReducer, more: float, *, slack: float
) -> Iterator[list[Message] | RequestTooLargeError]:
    """Yield each request while a history grows; a vendor counts *more* than is estimated."""
    history, state, usage, says_much = History(), None, None, more <= 1
    for position in model_calls(messages):
        history.extend(messages[history.total : position])
        try:
            reduced = reducer.reduce_sync(history, state=state, usage=usage)
        except RequestTooLargeError as error:
            yield error
            return
        state, ceiling = reduced.state, reduced.event.ceiling
        assert reduced.event.request_tokens <= ceiling
        estimated = sum(count_message(one, TokenEstimator()) for one in reduced.messages)
        usage = int(more * estimated)
        assert usage <= ceiling * slack or not says_much
        # The usage of a small request says little about a large one.
        says_much = more <= 1 or estimated * 4 > ceiling
        yield reduced.messages


@pytest.mark.slow
@pytest.mark.parametrize(("window", "rolling", "unit"), WAYS)
def test_no_recorded_request_is_above_the_ceiling(
    recordings: dict[str, Session], vendor: Vocabulary, window: int, unit: str, *, rolling: bool
) -> None:
    """Counted by the vendor, whose usage is reported, no request is above the ceiling."""
    reducer = reducer_of(
        "full", context_window_size=window, use_single_summary=rolling, **fits.UNITS[unit]
    )
    found = fits.measured(
        recordings, reducer, vendor, ceiling=fits.ceiling_of(window), reports=True
    )

    assert found["later"] > 1_500
    assert (found["first_above"], found["later_above"], found["impossible"]) == (0, 0, 0)


@pytest.mark.slow
def test_a_long_session_fits_a_small_window(
    recordings: dict[str, Session], vendor: Vocabulary
) -> None:
    """A session of 414,000 tokens stays below the ceiling of a window of 8,000 in each request."""
    found = fits.measured(
        {"long": long_session(recordings)},
        reducer_of(context_window_size=8_000),
        vendor,
        ceiling=5_600,
        reports=True,
    )

    assert (found["first_above"], found["later_above"], found["impossible"]) == (0, 0, 0)
    assert found["folds"] > 100


TEXT = "look" * 300
IMAGE = UriPart("image", "https://example.org/plan.png")


@pytest.mark.parametrize(
    ("window", "parts"),
    [(8_000, (TEXT, IMAGE)), (2_000, (TEXT[:20], "[image left out]"))],
)
def test_media_are_left_out_if_nothing_else_helps(window: int, parts: tuple[object, ...]) -> None:
    """An image of more than a quarter of the ceiling stays, unless the request does not fit."""
    asked = Message(role="user", parts=(TextPart(TEXT), IMAGE))

    view = reducer_of(context_window_size=window).reduce_sync([Message.system("s"), asked]).messages
    shown = view[-1].parts

    assert all(
        part == want or (isinstance(part, TextPart) and part.content.startswith(f"{want}"))
        for part, want in zip(shown, parts, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("unit", fits.UNITS)
def test_sixty_large_results_of_one_question_fit(vendor: Vocabulary, unit: str) -> None:
    """One question and sixty results of 8.8 KB stay below the ceiling, and every view is valid."""
    session = fits.joined([fits.steps(60)])
    ceiling = fits.ceiling_of(128_000)

    for request in fits.played(session, reducer_of(**fits.UNITS[unit]), vendor):
        assert isinstance(request, fits.Request)
        assert request.tokens <= ceiling
        assert not faults(list(request.view))


@pytest.mark.parametrize("strategy", ["summarizing", "clearing"])
def test_eighty_steps_break_the_prefix_five_times_at_most(
    vendor: Vocabulary, strategy: str
) -> None:
    """Old results are cleared in batches, so that most requests begin as the one before did."""
    session = fits.joined([fits.steps(80)])
    requests = list(fits.played(session, reducer_of(strategy=strategy), vendor))

    assert len(requests) == 81
    assert 0 < sum(isinstance(one, fits.Request) and one.broke for one in requests) <= 5


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "window"), [*product(fits.UNITS, (8_000, 128_000))])
def test_the_first_request_is_there_word_for_word(
    recordings: dict[str, Session], vendor: Vocabulary, unit: str, window: int
) -> None:
    """Every folded session shows its first request, if that has at most 600 tokens."""
    there, folded = fits.first_requests(recordings, vendor, unit, window)

    assert there == folded > 0


@pytest.mark.slow
def test_rules_of_the_user_are_there_word_for_word(
    recordings: dict[str, Session], vendor: Vocabulary
) -> None:
    """After all folds of a long session the last request has every rule that the user gave."""
    folds, text = fits.last_of(long_session(recordings), reducer_of(), vendor)

    assert folds > 5
    assert [rule for rule in fits.RULES if rule not in text] == []


@pytest.mark.slow
def test_default_settings_cost_little(recordings: dict[str, Session]) -> None:
    """At most 1.1 of never folding, 0.6 if there is much to fold, and in at most twelve folds."""
    usual = Vocabulary("as estimated", TokenEstimator().count)
    rows = [row for row in fits.bill(recordings, usual) if row["settings"] == "default"]

    assert len(rows) == 3
    for row in rows:
        assert row["times_never"] <= (0.6 if row["messages"] > 900 else 1.1), row
        assert row["folds"] <= 12, row
