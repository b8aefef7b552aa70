"""The contents of Google's Agent Development Kit, which are those of Gemini."""

from foldline.history.messages import Role
from foldline.history.parts import TextPart
from foldline.integrations.google_genai_messages import Content, ContentCodec


_OTHER_AGENT = ("For context:", "For context: below is a transcript of what another agent did")


class GoogleADKCodec(ContentCodec):
    """Reads and writes contents; what one relays of another agent no user has said."""

    def role(self, item: Content, /) -> Role:
        """Return the role of *item*."""
        return "assistant" if self._is_relayed(item) else super().role(item)

    def _is_relayed(self, item: Content) -> bool:
        whole, begin = _OTHER_AGENT
        match self.said(item):
            case (TextPart(content=text), *_):
                return text == whole or text.startswith(begin)
            case _:
                return False
