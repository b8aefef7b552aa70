"""What was said. Pure."""
