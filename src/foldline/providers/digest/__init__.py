"""
The offline digest: the summarizer that always works, without model, network or key.

Code extracts what matters in a conversation of an agent: what the user asked and forbade, which
tools were called and which failed, every identifier that was used or seen, and the most central
sentences. Nothing is reworded, so nothing can be made up; and a digest that the next one absorbs is
merged item by item, so an identifier survives many folds.
"""

from foldline.providers.digest.summarizer import DigestSummarizer, write_digest


__all__ = ["DigestSummarizer", "write_digest"]
