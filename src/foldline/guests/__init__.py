"""The middle that every foreign framework shares: its own messages in, its own messages out."""

from foldline.guests.answers import AnsweredReductions
from foldline.guests.blocks import with_thinking
from foldline.guests.codec import GuestCodec
from foldline.guests.kept import (
    REDUCTION_KEY,
    kept_reduction,
    new_reduction,
    objects_in,
    reduced_in,
    rows_of,
)
from foldline.guests.view import GuestView, blocking, opened, taking_turns
from foldline.history.digest import message_digest, prefix_digest
from foldline.history.formats.renderings.sending import OPENING_NOTE, summary_text
from foldline.history.repair import NO_RESPONSE


__all__ = [
    "NO_RESPONSE",
    "OPENING_NOTE",
    "REDUCTION_KEY",
    "AnsweredReductions",
    "GuestCodec",
    "GuestView",
    "blocking",
    "kept_reduction",
    "message_digest",
    "new_reduction",
    "objects_in",
    "opened",
    "prefix_digest",
    "reduced_in",
    "rows_of",
    "summary_text",
    "taking_turns",
    "with_thinking",
]
