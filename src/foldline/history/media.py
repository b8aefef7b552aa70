"""
How many tokens content that is not text costs, by the rules that the vendors publish.

- **OpenAI**, images and vision (developers.openai.com/api/docs/guides/images-vision, 2026-09): tiles
  (85, and 170 for each 512 by 512 square of the image at 768 pixels on its short side) or patches
  (1.2 for each 32 by 32 square, at most 30,000), whichever is more; sound 10 a second.
- **Anthropic**, vision (platform.claude.com/docs/en/build-with-claude/vision, 2026-10): one for
  each 28 by 28 square, at most 4,784 and 2,576 pixels on the long side; PDF support: up to 3,000 a page.
- **Google**, tokens and media resolution (ai.google.dev/gemini-api/docs/tokens, 2026-10): 258 for each
  tile, at least the 1,120 of Gemini 3; 32 a second of sound, near 300 a second of video.

The size of an image is read from its first bytes, the length of a sound from its size in bytes, and
the pages of a PDF are counted. A vendor whose format a message has is asked alone, else the largest
rule counts.
"""

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from math import ceil
from types import MappingProxyType
from typing import Final

from foldline.history.messages import NativeFormat
from foldline.history.parts import BlobPart, FilePart, UriPart


MEDIA_TOKENS: Final[Mapping[str, int]] = MappingProxyType(
    {"image": 1_600, "audio": 2_000, "video": 18_000, "document": 3_000}
)
"""What content costs whose size is not known: one of about 1,000 by 1,000, a minute, a page."""

# What sizes in bytes mean for seconds: 64 kbit of sound and 1 Mbit of video are low rates.
_SOUND_RATE = 8_000
_VIDEO_RATE = 125_000
_SOUND_TOKENS = 32
_VIDEO_TOKENS = 300
_PAGE_TOKENS = 3_000
_PAGE = rb"/Type\s*/Page(?![A-Za-z])"
# Of a PDF whose objects are compressed.
_PAGE_BYTES = 100_000
# The fields of a JPEG stand after its profile and preview, each of at most 64 KiB.
_FIRST = 64
_FIRST_OF_JPEG = 400_000
# How PNG, JPEG, GIF, RIFF and PDF begin. Nothing else in JSON that long begins so.
_INSIDE = re.compile(
    r'"(?:data:[^",]{0,100},)?((?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|(JVBERi0))[A-Za-z0-9+/]{99,}={0,2})"'
)
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def modality_of(mime: str) -> str:
    """Return what content of the type *mime* is, such as `image/png`: a key of `MEDIA_TOKENS`."""
    kind = mime.partition("/")[0]
    return kind if kind in MEDIA_TOKENS else "document"


def blob_of(data: bytes, mime: str) -> BlobPart:
    """Return *data*, content of the type *mime*, as a part."""
    return BlobPart(modality_of(mime), mime, b2a_base64(data, newline=False).decode())


def media_inside(text: str) -> tuple[str, list[BlobPart]]:
    """Return *text*, JSON of which no more is known, without the images and PDF in it, and these."""
    found = [
        BlobPart("document" if held[2] else "image", "", held[1]) for held in _INSIDE.finditer(text)
    ]
    return (_INSIDE.sub("", text) if found else text), found


def media_tokens(part: BlobPart | UriPart | FilePart, vendor: NativeFormat | None = None) -> int:
    """Return what *part*, no text, costs in a message in the format of *vendor*, if it has one."""
    fixed = MEDIA_TOKENS.get(part.modality, MEDIA_TOKENS["document"])
    if not isinstance(part, BlobPart):
        return fixed
    size = len(part.content) * 3 // 4 - part.content[-2:].count("=")
    match part.modality:
        case "image":
            pixels = _pixels(part.content)
            return _image_tokens(*pixels, vendor) if pixels else fixed
        case "audio":
            return ceil(size / _sound_rate(part.content)) * _SOUND_TOKENS
        case "video":
            return ceil(size / _VIDEO_RATE) * _VIDEO_TOKENS
        case _ if part.mime_type.startswith("text/"):
            return size // 3
        case _:
            pages = len(re.findall(_PAGE, _decoded(part.content, len(part.content))))
            return (pages or ceil(size / _PAGE_BYTES)) * _PAGE_TOKENS


def _image_tokens(width: int, height: int, vendor: NativeFormat | None) -> int:
    if vendor is NativeFormat.ANTHROPIC:
        return _anthropic(width, height)
    openai = max(_openai_tiles(width, height), _openai_patches(width, height))
    if vendor in {NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES}:
        return openai
    return max(openai, _anthropic(width, height), _google(width, height))


def _squares(width: float, height: float, side: int) -> int:
    return ceil(width / side) * ceil(height / side)


def _openai_tiles(width: int, height: int) -> int:
    shrink = min(1, 2_048 / max(width, height))
    shrink = min(shrink, 768 / min(width, height))
    return 85 + 170 * _squares(width * shrink, height * shrink, 512)


def _openai_patches(width: int, height: int) -> int:
    return ceil(1.2 * min(_squares(width, height, 32), 30_000))


def _anthropic(width: int, height: int) -> int:
    shrink = min(1, 2_576 / max(width, height))
    return min(_squares(width * shrink, height * shrink, 28), 4_784)


def _google(width: int, height: int) -> int:
    side = min(max(int(min(width, height) / 1.5), 256), 768)
    # One of at most 384 by 384 is one tile, which is less than the smallest of Gemini 3.
    return max(258 * _squares(width, height, side), 1_120)


def _decoded(content: str, length: int) -> bytes:
    try:
        return a2b_base64(content[:length])
    except ValueError:
        return b""


def _pixels(content: str) -> tuple[int, int] | None:
    """Return width and height of an image, as PNG, GIF, WebP and JPEG say them."""
    data = _decoded(content, _FIRST)
    size = (0, 0)
    if data.startswith(b"\x89PNG"):
        size = _big(data[16:20]), _big(data[20:24])
    elif data.startswith(b"GIF8"):
        size = _little(data[6:8]), _little(data[8:10])
    elif data[8:15] == b"WEBPVP8":
        size = _webp_pixels(data)
    elif data.startswith(b"\xff\xd8"):
        size = _jpeg_pixels(_decoded(content, _FIRST_OF_JPEG))
    return size if all(size) else None


def _big(data: bytes) -> int:
    return int.from_bytes(data)


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _webp_pixels(data: bytes) -> tuple[int, int]:
    match data[15:16]:
        case b"X":
            return _little(data[24:27]) + 1, _little(data[27:30]) + 1
        case b"L":
            bits = _little(data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF


def _jpeg_pixels(data: bytes) -> tuple[int, int]:
    at = 2
    while data[at : at + 1] == b"\xff" and at + 9 <= len(data):
        if data[at + 1] in _JPEG_SIZES:
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        at += 2 + _big(data[at + 2 : at + 4])
    return 0, 0


def _sound_rate(content: str) -> int:
    """Return the bytes of a second of sound; a WAV says how many it has."""
    data = _decoded(content, _FIRST)
    return (_little(data[28:32]) if data[8:12] == b"WAVE" else 0) or _SOUND_RATE
