"""The offline digest."""

import sys


__all__ = ["DIGEST", "is_digest"]


DIGEST = "digest"
"""The name of the digest among the summarizers."""

_HOME = f"{__name__}.summarizer"


def is_digest(one: object) -> bool:
    """Whether *one* is a `DigestSummarizer`: nothing is, where its module was never loaded."""
    module = sys.modules.get(_HOME)
    return module is not None and isinstance(one, module.DigestSummarizer)
