"""What is reported of each verdict, and why it was taken."""

from enum import Enum
from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.history.messages import Usage
from foldline.history.units import CountingUnit
from foldline.reduction.config import ReductionStrategy
from foldline.reduction.reading import Reading


CIRCUIT_BREAKER_TERMINATION = "History reduction performed - circuit breaker triggered"
"""The termination reason of a turn that ends because of a fold."""


class Reason(Enum):
    """The reason of a verdict; the value is the text that events show."""

    DISABLED = "History reduction is disabled"
    """The configuration does not enable reduction."""

    SKIPPED_BY_RUN = "Explicitly skipped via AgentRunConfig.skip_history_reduction"
    """The run asked for the full history."""

    NO_MESSAGES = "No messages present"
    """There is nothing but system messages."""

    BELOW_THRESHOLD = "Count below threshold"
    """No more than target + threshold has gathered, and there is no active reduction."""

    REDUCTION_VALID = "Cached reduction is valid"
    """The reduction's digest fits, and no more than target + threshold has gathered since."""

    THRESHOLD_EXCEEDED = "Count above target and threshold"
    """More than target + threshold has gathered."""

    FOLD_PAYS = "Holding old messages has cost as much as a fold"
    """By the prices of the model; no count is compared."""

    CEILING_REACHED = "Request near its ceiling"
    """With everything that is sent beside the view, the request comes near its ceiling."""

    CLEARED = "Old tool results cleared, since the request was near its ceiling"
    """The cut stays where it is; a summarizer is not asked."""

    CLEARING_DUE = "Old tool results cleared, since the count is above target and threshold"
    """The same with the strategy `clearing`; the request may be far from its ceiling."""

    CLEARING_PAYS = "Old tool results cleared, since holding them has cost as much as that"
    """The same by the prices of the model; no count is compared."""

    CLIPPED = "A message above its share of the ceiling is shown as its head and tail"
    """The cut stays where it is; a summarizer is not asked."""

    PINS_CHANGED = "A message before the cut was pinned or unpinned"
    """The cut stays where it is; a summarizer is not asked."""

    OPEN_TOOL_LOOP = "An open tool loop holds reasoning that a fold would make invalid"
    """More than target + threshold has gathered, and the fold waits for the end of the tool loop."""

    CANNOT_FIT = "Instructions, tools and system messages alone are above the ceiling"
    """No fold helps: `reduce` raises RequestTooLargeError."""

    OWN_REDUCER = "The agent has a reducer of its own"
    """The view is what that reducer returned; it names no strategy or unit."""

    FORCED = "Explicitly triggered via AgentRunConfig.trigger_history_reduction"
    """The run asked for a fold."""

    NOTHING_TO_CUT = "Nothing worth cutting: hardly anything lies beyond the target"
    """A fold was asked for, but everything, or nearly everything, belongs to what it would keep."""

    FOLDING_BEHIND = "A fold is being made in the background"
    """More than target + threshold has gathered, and the turn does not wait for the summary."""

    NO_SAFE_CUT = "No safe cut that would make the view smaller"
    """
    Too much has gathered, but every cut would tear something apart, or hardly anything would leave
    the view: the last user message stays in it wherever the cut is.
    """

    FOLDED_BY_FALLBACK = "Every summarizer before the last failed"
    """The summary came from the last summarizer of the chain, which is the offline digest."""

    READ_IN_PART = "Summarizers have read a part within their time; the next call goes on"
    """
    What they have read is kept. The rest stays in the view, or a text by the last summarizer of the
    chain stands for it, until the next call reads it.
    """

    SUMMARIZERS_FAILED = "Every summarizer failed"
    """No summarizer gave a usable text that makes the view smaller; the old reduction stays."""


ReductionStatus: TypeAlias = Literal["skipped", "cache_hit", "performed", "failed"]
"""
What happened to the history before a model call.

`skipped`: the full history was used. `cache_hit`: the view of an existing reduction. `performed`: a
new reduction was made. `failed`: a fold failed, and the active reduction stays.
"""


EarlierReduction: TypeAlias = Literal[
    "none", "used", "older_used", "other_messages", "other_unit", "other_configuration"
]
"""
The outcome for the caller's previous reduction.

`none`: there was none, or the run did not ask for it. `used`: it is active, or a fold continued it.
`older_used`: it does not fit, but an older one that it carries does. All others: neither fits, and
this is what differs: it was made from other messages, with another unit, or with another
configuration, such as another prompt or summarizer.
"""


class HistoryReductionEvent(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="history_reduction"
):
    """One verdict, with its counts before and after. There is exactly one per model call."""

    status: ReductionStatus
    """What happened to the history."""

    reason: Reason
    """Why."""

    strategy: ReductionStrategy
    """The configured strategy."""

    counting_unit: CountingUnit
    """The unit of *units*."""

    units: int
    """What had gathered after the active cut before the call, in the unit."""

    original_count: int
    """The messages of the full history, system messages included."""

    reduced_count: int
    """The messages of the view."""

    removed_count: int
    """The messages of the history that the view does not show unchanged."""

    original_tokens: int
    """The estimated tokens of the full history."""

    reduced_tokens: int
    """The estimated tokens of the view."""

    summary: str | None = None
    """The summary in the view; None if there is none."""

    earlier: EarlierReduction = "none"
    """The outcome for the reduction that was passed in, or found in the cache."""

    cache_age: float | None = None
    """With a cache hit: the age of the reduction, in seconds."""

    duration: float = 0.0
    """How long the verdict and its work took, in seconds."""

    summarizer: str | None = None
    """With a performed fold: the name of the summarizer that wrote it."""

    summarizer_calls: int = 0
    """How often a summarizer was asked, the offline digest included."""

    summarizer_tokens: int = 0
    """The estimated tokens that summarizers were given to read."""

    summarizer_usage: Usage | None = None
    """What the vendors of the summarizers counted, failed calls included; None if none said."""

    readings: tuple[Reading, ...] = ()
    """What each summarizer that was asked was given to read, the first of the chain first."""

    ceiling: int = 0
    """The most tokens that the whole request may have."""

    request_tokens: int = 0
    """The tokens of the whole request as the vendor counts them, as far as that is known."""

    left_out: tuple[str, ...] = ()
    """What should have stayed word for word and did not fit: pins, the first request, user messages.
    A pin whose files are not shown is named too: they are too large, or it is an answer or a tool result.
    The call that leaves it out names it, and those after it do not. The numbers are those of `recall`: each tool result
    is a message, and system messages are not counted."""

    failures: tuple[str, ...] = ()
    """What went wrong before there was a summary: defects of texts, errors of ours with their text, of
    others the class and the place, since their text may quote."""

    dropped_statements: int = 0
    """How many statements a summary lost for what the conversation does not have; no failure."""
