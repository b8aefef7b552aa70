"""Which model writes or answers."""

from msgspec import Struct

from foldline.checks import expect


class ProviderConfig(Struct, frozen=True, kw_only=True):
    """Which model answers, and where it runs."""

    provider_key: str
    """The vendor, such as `openai` or `anthropic`."""

    model_name: str
    """The vendor's name of the model."""

    api_key: str | None = None
    """The key, if the environment has none; never shown and never hashed."""

    base_url: str | None = None
    """The address of a compatible server; None is the vendor's own."""

    def __post_init__(self) -> None:
        expect("provider_key", self.provider_key, str)
        expect("model_name", self.model_name, str)
        expect("api_key", self.api_key, str | None)
        expect("base_url", self.base_url, str | None)

    def __repr__(self) -> str:
        secret = None if self.api_key is None else "***"
        return (
            f"ProviderConfig(provider_key={self.provider_key!r}, model_name={self.model_name!r}, "
            f"api_key={secret!r}, base_url={self.base_url!r})"
        )
