"""What content that is not text costs."""

from base64 import b64encode
from typing import Any

import pytest

from foldline.history.formats import CONVERTERS
from foldline.history.media import (
    MEDIA_TOKENS,
    blob_of,
    media_inside,
    media_tokens,
    modality_of,
)
from foldline.history.messages import Message, Native, NativeFormat
from foldline.history.parts import BlobPart, FilePart, Part, UriPart
from foldline.history.tokens import MESSAGE_TOKENS, TokenEstimator, count_message


OPENAI, ANTHROPIC = NativeFormat.OPENAI_CHAT, NativeFormat.ANTHROPIC
RESPONSES = NativeFormat.OPENAI_RESPONSES


def blob(modality: str, mime_type: str, data: bytes) -> BlobPart:
    return BlobPart(modality, mime_type, b64encode(data).decode())


def png(width: int, height: int) -> BlobPart:
    size = width.to_bytes(4) + height.to_bytes(4)
    return blob("image", "image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"x" * 5_000)


def jpeg(width: int, height: int, *, before: bytes = b"") -> BlobPart:
    frame = b"\xff\xc2\0\x11\x08" + height.to_bytes(2) + width.to_bytes(2) + b"\x03" * 12
    return blob("image", "image/jpeg", b"\xff\xd8" + before + frame)


def webp(kind: bytes, rest: bytes) -> BlobPart:
    return blob("image", "image/webp", b"RIFF\0\0\0\0WEBPVP8" + kind + b"\0\0\0\0" + rest)


# The profile of a JPEG, with the size of a preview inside it.
PROFILE = b"\xff\xe1\xff\xff" + b"\xff\xc0\0\x11\x08\0\x10\0\x10" + b"p" * 65_524

# All of them are 1,000 wide and 560 high: 36 by 20 squares of 28.
IMAGES = {
    "png": png(1_000, 560),
    "gif": blob("image", "image/gif", b"GIF89a" + bytes.fromhex("e8033002")),
    "jpeg": jpeg(1_000, 560),
    "jpeg with a profile": jpeg(1_000, 560, before=PROFILE),
    "webp": webp(b" ", b"\0\0\0\x9d\x01\x2a" + bytes.fromhex("e8033002")),
    "webp, lossless": webp(b"L", b"\x2f" + (999 | 559 << 14).to_bytes(4, "little")),
    "webp, extended": webp(b"X", b"\0\0\0\0" + bytes.fromhex("e703002f0200")),
}


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
def test_the_size_of_an_image_is_read(image: BlobPart) -> None:
    """Each format says width and height in its first bytes."""
    assert media_tokens(image, ANTHROPIC) == 36 * 20


@pytest.mark.parametrize(
    ("width", "height", "vendor", "tokens"),
    [
        # Anthropic: one for each 28 by 28 square, and no more than 4,784.
        (1_000, 1_000, ANTHROPIC, 36 * 36),
        (4_000, 3_000, ANTHROPIC, 4_784),
        (5_152, 280, ANTHROPIC, 92 * 5),
        # OpenAI: tiles are more for small images, patches for large ones.
        (64, 64, OPENAI, 85 + 170),
        (1_024, 1_024, NativeFormat.OPENAI_RESPONSES, 1_229),
        (20_000, 20_000, OPENAI, 36_000),
        # Not known: the largest of all; Gemini takes 1,120 for a small image, then 258 a tile.
        (64, 64, None, 1_120),
        (960, 540, NativeFormat.OTEL, 6 * 258),
        (4_000, 3_000, None, 14_100),
    ],
)
def test_each_vendor_has_its_rule(
    width: int, height: int, vendor: NativeFormat | None, tokens: int
) -> None:
    """An image costs what the pages of the vendors say, and no less where none is known."""
    assert media_tokens(png(width, height), vendor) == tokens


WAV = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0" + bytes(4) + (32_000).to_bytes(4, "little")
PAGES = b"%PDF-1.7 /Type /Pages /Count 3 /Type /Page /x /Type/Page\n/Type /Page>>"


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (blob("audio", "audio/mpeg", bytes(80_000)), 10 * 32),
        (blob("audio", "audio/wav", WAV + bytes(320_000 - len(WAV))), 10 * 32),
        (blob("audio", "audio/wav", b"RIFF\0\0\0\0WAVE" + bytes(79_000)), 10 * 32),
        (blob("video", "video/mp4", bytes(1_250_000)), 10 * 300),
        (blob("document", "application/pdf", PAGES), 3 * 3_000),
        (blob("document", "application/pdf", bytes(250_000)), 3 * 3_000),
        (blob("document", "text/plain", bytes(3_000)), 1_000),
    ],
)
def test_length_is_charged(part: BlobPart, tokens: int) -> None:
    """Seconds of sound and video and pages of a document cost what each of them costs."""
    assert media_tokens(part) == tokens


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (BlobPart("image", "image/png", "A" * 90_000), "image"),
        (BlobPart("image", "image/png", "no base64 é"), "image"),
        (png(0, 100), "image"),
        (blob("image", "image/jpeg", b"\xff\xd8\xff\xe0\0\x02"), "image"),
        (blob("image", "image/jpeg", b"\xff\xd8 and no field"), "image"),
        (UriPart("image", "https://x"), "image"),
        (UriPart("video", "https://x"), "video"),
        (FilePart("document", "file-1"), "document"),
        (FilePart("hologram", "file-1"), "document"),
    ],
)
def test_what_has_no_size_has_a_fixed_price(part: BlobPart | UriPart | FilePart, kind: str) -> None:
    """Content that is elsewhere, or unreadable, costs what a usual one costs."""
    assert media_tokens(part) == MEDIA_TOKENS[kind]


def test_the_vendor_is_that_of_the_message() -> None:
    """The format in which a message came decides whose rule counts its images."""

    def cost(native: Native | None) -> int:
        parts: tuple[Part, ...] = (png(4_000, 3_000),)
        message = Message(role="user", parts=parts, native=native)
        return count_message(message, TokenEstimator()) - MESSAGE_TOKENS

    assert cost(Native(format=ANTHROPIC, item="")) == 4_784
    assert cost(None) == 14_100


PICTURE = png(1_000, 1_000).content
DOCUMENT = b64encode(b"%PDF-1.7 " + b"<< /Type /Page >> " * 9).decode()
SHOT = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PICTURE}"}
FETCHED = {"type": "document", "source": {"type": "base64", "data": DOCUMENT}}


@pytest.mark.parametrize(
    ("native", "item", "tokens"),
    [
        (RESPONSES, {"type": "image_generation_call", "id": "ig", "result": PICTURE}, 1_229),
        (RESPONSES, {"type": "computer_call_output", "call_id": "c", "output": SHOT}, 1_229),
        (
            ANTHROPIC,
            {
                "role": "assistant",
                "content": [
                    {"type": "web_fetch_tool_result", "tool_use_id": "s", "content": FETCHED}
                ],
            },
            27_000,
        ),
    ],
    ids=["made by the model", "seen on a screen", "fetched by the vendor"],
)
def test_media_in_what_is_the_vendors_own_are_no_text(
    native: NativeFormat, item: dict[str, Any], tokens: int
) -> None:
    """An image costs what it would anywhere, a PDF what its pages do, beside a few words of JSON."""
    (message,) = CONVERTERS[native].messages([item])

    assert tokens < count_message(message, TokenEstimator()) < tokens + 70


@pytest.mark.parametrize("held", ["iVBORw0KGgo", "gAAAA" * 900, "look at iVBORw0KGgo" + "A" * 900])
def test_what_is_no_medium_stays_text(held: str) -> None:
    """What is short, sealed, or a word within a sentence."""
    text = f'{{"a":"{held}"}}'

    assert media_inside(text) == (text, [])


@pytest.mark.parametrize(
    ("mime", "modality"),
    [("image/png", "image"), ("audio/wav", "audio"), ("text/plain", "document"), ("", "document")],
)
def test_bytes_are_content_of_their_type(mime: str, modality: str) -> None:
    """Image, audio and video are what they are called; everything else is a document."""
    assert modality_of(mime) == modality
    assert blob_of(b"\xff\x00hi", mime) == BlobPart(
        modality, mime, b64encode(b"\xff\x00hi").decode()
    )
