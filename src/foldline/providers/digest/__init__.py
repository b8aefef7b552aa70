"""
The offline digest.
"""

from foldline.providers.digest.summarizer import DigestSummarizer, write_digest


__all__ = ["DigestSummarizer", "write_digest"]
