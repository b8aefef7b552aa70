"""The middle that every foreign framework shares: its own messages in, its own messages out."""

from foldline.guests.blocking import blocking
from foldline.guests.codec import GuestCodec
from foldline.guests.thinking import with_thinking
from foldline.guests.view import GuestView
from foldline.history.digest import message_digest, prefix_digest
from foldline.history.formats.renderings.sending import summary_text
from foldline.history.repair import NO_RESPONSE


__all__ = [
    "NO_RESPONSE",
    "GuestCodec",
    "GuestView",
    "blocking",
    "message_digest",
    "prefix_digest",
    "summary_text",
    "with_thinking",
]
