"""Why a verdict is what it is."""

from enum import Enum


__all__ = ["CIRCUIT_BREAKER_TERMINATION", "Reason"]


CIRCUIT_BREAKER_TERMINATION = "History reduction performed - circuit breaker triggered"
"""The termination reason of a turn that ends because a fold happened."""


class Reason(Enum):
    """Why a verdict is what it is; the value is the text that events show."""

    DISABLED = "History reduction is disabled"
    """The configuration does not enable reduction."""

    SKIPPED_BY_RUN = "Explicitly skipped via AgentRunConfig.skip_history_reduction"
    """The run asked for the full history."""

    NO_MESSAGES = "No messages present"
    """There is nothing but system messages."""

    BELOW_THRESHOLD = "Count below threshold"
    """No more than target + threshold has gathered, and no reduction is in force."""

    REDUCTION_VALID = "Cached reduction is valid"
    """The reduction's digest fits, and no more than target + threshold has gathered behind it."""

    THRESHOLD_EXCEEDED = "Count above target and threshold"
    """More than target + threshold has gathered."""

    FORCED = "Explicitly triggered via AgentRunConfig.trigger_history_reduction"
    """The run asked for a fold."""

    NOTHING_TO_CUT = "Nothing worth cutting: hardly anything lies beyond the target"
    """A fold was asked for, but everything belongs to what it would keep, or as good as."""

    FOLDING_BEHIND = "A fold is being made in the background"
    """More than target + threshold has gathered, and the turn does not wait for the summary."""

    NO_SAFE_CUT = "No safe cut that would make the view smaller"
    """
    Too much has gathered, but every cut would tear something apart, or hardly anything would leave
    the view: the last user message stays in it wherever the cut is.
    """

    ATTEMPTS_EXHAUSTED = "Folding failed too often: waiting for more to gather"
    """Three attempts failed; the next comes when as much has gathered as between two folds."""

    FOLDED_BY_FALLBACK = "Every summarizer before the last failed"
    """The summary came from the last summarizer of the chain, which is the offline digest."""

    SUMMARIZERS_FAILED = "Every summarizer failed"
    """No summarizer gave a text that was usable and made the view smaller; what was in force stays."""
