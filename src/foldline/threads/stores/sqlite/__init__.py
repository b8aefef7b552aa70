"""Threads in one SQLite file."""
