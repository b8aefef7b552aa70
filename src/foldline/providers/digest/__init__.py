"""The offline digest."""
