"""Threads in a PostgreSQL database."""
