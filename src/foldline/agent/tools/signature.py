"""What two calls with the same arguments have in common."""

from hashlib import sha256

from foldline.errors import FormatError
from foldline.history.codec import canonical_json, decode_json


__all__ = ["call_signature"]


def call_signature(arguments_json: str) -> str:
    """
    Return a digest that is equal for equal arguments, whatever the order of their keys.

    Arguments that are not JSON are compared as texts.
    """
    try:
        data = b"=" + canonical_json(
            decode_json(arguments_json if arguments_json.strip() else "{}")
        )
    except (FormatError, RecursionError, ValueError):
        data = b"?" + arguments_json.encode("utf-8", "surrogatepass")
    return sha256(data).hexdigest()
