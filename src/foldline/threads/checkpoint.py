"""Until the stores are converted."""

from foldline.threads.storage import CheckpointRetention


__all__ = ["CheckpointRetention"]
