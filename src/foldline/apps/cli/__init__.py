"""The command `foldline`."""
