"""What others need for the same work."""
