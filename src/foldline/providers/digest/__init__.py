"""
The offline digest: the summarizer that always works, without model, network or key.

What matters in a conversation of an agent is written down by code: what the user asked and
forbade, which tools were called and which failed, every identifier that was used or seen, and the
most central sentences. Nothing is said in other words, so nothing can be made up; and a digest that
is absorbed by the next one is merged item by item, so an identifier survives many folds.
"""

from foldline.providers.digest.summarizer import DigestSummarizer, write_digest


__all__ = ["DigestSummarizer", "write_digest"]
