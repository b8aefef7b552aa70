"""Threads in Redis."""
