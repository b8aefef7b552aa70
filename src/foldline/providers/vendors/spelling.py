"""The names of vendors, and what is nearly one of them."""

from foldline.errors import ConfigError


COMMON_VENDORS = (
    *("openai", "openai-chat", "anthropic", "google", "azure", "bedrock"),
    *("mistral", "groq", "deepseek", "openrouter", "ollama"),
)
"""The vendors that the error for an unknown vendor lists."""

_TYPO = 0.85


def check_spelling(name: str) -> None:
    """Raise ConfigError if the vendor of *name*, not opened here, is nearly a common one."""
    vendor, colon, _ = name.lower().partition(":")
    # A gateway or a framework has names of its own, which are longer: `google-vertex`, `mistralai`.
    if not colon or not vendor.isalpha() or vendor.startswith(COMMON_VENDORS):
        return
    from difflib import get_close_matches  # noqa: PLC0415 - a known vendor needs none

    if near := get_close_matches(vendor, COMMON_VENDORS, cutoff=_TYPO):
        raise unknown_vendor(vendor, near)


def unknown_vendor(vendor: str, near: list[str], *, others: str = "") -> ConfigError:
    """Return the error for *vendor*, with those that are written *near* it; *others* has more."""
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    known = f"common ones are {', '.join(COMMON_VENDORS)}"
    more = f"; {others} has more" if others else ""
    return ConfigError(f"unknown vendor {vendor!r}: {hint}{known}{more}")
