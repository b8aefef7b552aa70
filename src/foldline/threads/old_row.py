"""Until the stores are converted."""

from foldline.threads.row import seal_of


__all__ = ["seal_of"]
