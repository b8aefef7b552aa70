"""What shapes a summary, as one short string."""

from collections.abc import Sequence
from hashlib import sha256

from foldline.history.codec import canonical_json
from foldline.reduction.config import HistoryReductionConfig


__all__ = ["FINGERPRINT_VERSION", "fingerprint"]


FINGERPRINT_VERSION = 1
"""Goes up when summaries are made in another way, which makes older ones a miss."""


def fingerprint(config: HistoryReductionConfig, summarizers: Sequence[str] = ()) -> str:
    """
    Return what two configurations must share so that one may use the reductions of the other.

    Strategy and unit always count; prompt, layering, provider and the names of the *summarizers*
    count where summaries are written. Target and threshold do not: the live ones decide.

    Returns:
        16 hexadecimal digits.
    """
    shape: tuple[object, ...] = (FINGERPRINT_VERSION, config.strategy, config.counting_unit)
    if config.strategy == "summarizing":
        provider = config.summarizer_provider
        shape += (
            config.use_single_summary,
            config.custom_summarization_prompt or "",
            (provider.provider_key, provider.model_name) if provider else (),
            tuple(summarizers),
        )
    return sha256(canonical_json(shape)).hexdigest()[:16]
