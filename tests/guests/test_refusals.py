"""What follows when a vendor refuses a view as too long."""

import pytest

from foldline.errors import ContextOverflowError
from foldline.guests.refusals import Refusals, is_too_long
from tests.integrations.refused import BadRequestError, too_long


def folded(*sent: int) -> list[bool]:
    """Return for each view of *sent* tokens, which a vendor refuses, whether one more is made."""
    refusals = Refusals()
    return [refusals.after(one) is not None for one in sent]


def test_each_refused_view_is_folded_to_a_quarter() -> None:
    """Of what was sent, and not of what was sent first."""
    refusals = Refusals()
    made = [refusals.after(one) for one in (64_000, 16_000)]

    assert [one and one.history_reduction_target_override for one in made] == [16_000, 4_000]


def test_three_views_are_folded_and_none_that_came_to_be_no_smaller() -> None:
    """What nobody makes smaller is not sent for ever."""
    assert folded(64_000, 16_000, 4_000, 1_000) == [True, True, True, False]
    assert folded(64_000, 64_000) == [True, False]


def raised_from(cause: Exception) -> Exception:
    failed = RuntimeError("the service failed")
    failed.__cause__ = cause
    return failed


@pytest.mark.parametrize(
    ("error", "is_long"),
    [
        (too_long(), True),
        (raised_from(too_long()), True),
        (ContextOverflowError(model="m"), True),
        (RuntimeError("prompt is too long: 9000 tokens > 2000 maximum"), True),
        (BadRequestError(f"{too_long().body}", 429), False),
        (BadRequestError("the key is wrong"), False),
        (RuntimeError("out of memory"), False),
    ],
    ids=["body", "cause", "ours", "words", "rate limit", "other refusal", "other failure"],
)
def test_a_refusal_is_known_in_every_form(error: Exception, *, is_long: bool) -> None:
    """Frameworks pass on what a vendor's SDK has raised, or raise an error of their own from it."""
    assert is_too_long(error) == is_long


def test_any_other_failure_is_raised() -> None:
    """So is a refusal of an answer of which a piece was shown."""
    refusals = Refusals()
    refusals.sent = 9_000
    with refusals.asking():
        raise too_long()
    assert refusals.overrides is not None

    refusals.sent = 2_000
    with pytest.raises(RuntimeError), refusals.asking():
        raise RuntimeError
    refusals.is_over = True
    with pytest.raises(BadRequestError), refusals.asking():
        raise too_long()
