"""What takes the place of the messages that are folded away."""
