"""Text as a request can carry it."""


def sendable(text: str) -> str:
    """Return *text* without what no request can carry: NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def cleaned(text: str) -> str:
    """Return *text* as it is sent, without space around it."""
    return sendable(text).strip()
