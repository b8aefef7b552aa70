"""What two configurations must share so that one may use the reductions of the other."""

from collections.abc import Sequence
from hashlib import sha256

from foldline.history.codec import canonical_json
from foldline.reduction.config import HistoryReductionConfig


FINGERPRINT_VERSION = 1
"""Raised when summaries are made in another way, which makes older ones a miss."""


def fingerprint(config: HistoryReductionConfig, summarizers: Sequence[str] = ()) -> str:
    """
    Return 16 digits that two configurations must share so that one may use the reductions of the other.

    Strategy and unit always count; prompt, layering, provider and the names of the *summarizers*
    count if summaries are written. Target and threshold do not: the current ones decide.
    """
    shape: tuple[object, ...] = (FINGERPRINT_VERSION, config.strategy, config.unit)
    if config.strategy == "summarizing":
        provider = config.summarizer_provider
        shape += (
            config.use_single_summary,
            config.custom_summarization_prompt or "",
            (provider.provider_key, provider.model_name) if provider else (),
            tuple(summarizers),
        )
    return sha256(canonical_json(shape)).hexdigest()[:16]
