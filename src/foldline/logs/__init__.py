"""Conversations recorded by other programs, read as sessions of messages."""

from foldline.logs.importer import Importer, Session
from foldline.logs.sessions import FORMATS, read_sessions


__all__ = ["FORMATS", "Importer", "Session", "read_sessions"]
