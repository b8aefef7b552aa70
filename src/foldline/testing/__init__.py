"""For our tests and our users' tests."""
