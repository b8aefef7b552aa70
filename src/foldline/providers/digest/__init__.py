"""The offline digest."""

__all__ = ["DIGEST"]


DIGEST = "digest"
"""The name of the digest among the summarizers."""
