"""Prices on the command line."""

from msgspec.structs import replace

from foldline.apps.cli.options import ConfigOptions
from foldline.apps.cli.sources import configured, read_config
from foldline.apps.cli.terminal import note
from foldline.errors import ConfigError, UsageError
from foldline.providers.book import is_own, window_of_model
from foldline.providers.price_list import PRICES_OF, nearest_listed, prices_for, prices_of_model
from foldline.reduction.budget import DEFAULT_WINDOW
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.config_reader import config_from_mapping
from foldline.reduction.prices import Prices


def named_prices(text: str | None) -> Prices | None:
    """Return the prices that *text* names, of a model or as fields; raise UsageError for others."""
    if text is None:
        return None
    if "=" not in text:
        found = prices_of_model(text)
        if found is None:
            raise UsageError(
                f"--prices: the prices of {text!r} are unknown: name another model, or give them as "
                f"input=3,output=15,cached_read=0.3{nearest_listed(text)}"
            )
        return found
    fields: dict[str, object] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or not value or name in fields:
            raise UsageError(f"--prices: give each field once, as input=3,output=15, got {text!r}")
        fields[name] = _number(value)
    missing = [name for name in ("input", "output") if name not in fields]
    if missing and fields.keys() <= set(Prices.__struct_fields__):
        raise UsageError(f"--prices: {missing[0]} is missing, in dollars for a million tokens")
    try:
        return config_from_mapping({"prices": fields}).prices
    except ConfigError as error:
        raise UsageError(f"--prices: {error}") from error


def with_prices(config: HistoryReductionConfig, text: str | None) -> HistoryReductionConfig:
    """Return *config* with the prices that *text* names, if there are any; see `named_prices`."""
    prices = named_prices(text)
    return config if prices is None else replace(config, prices=prices)


def priced(
    config: HistoryReductionConfig, text: str | None, model: str | None = None
) -> HistoryReductionConfig:
    """Return *config* with the prices and the window that *text* names, else the prices of *model*."""
    named = None if text is None else window_of_model(text)
    config = with_prices(config, text)
    prices = prices_for(config, model)
    if model is not None and prices is None and not (config.counts or is_own(model)):
        near = nearest_listed(model)
        note(f"the prices of {model} are unknown, so that the ceiling alone decides{near}")
    return replace(config, context_window_size=config.context_window_size or named, prices=prices)


def config_for(
    options: ConfigOptions, file: str | None, *, prices: str | None, model: str | None
) -> HistoryReductionConfig:
    """Return what *file* says, or the default, as *options* change it, with what a *model* costs."""
    base = None if file is None else read_config(file)
    return priced(configured(options, base, model=model), prices, model)


def window_for(given: int | None, *models: str | None) -> int:
    """Return the window that is *given*, else that of the first of *models* whose window is known."""
    known = (window_of_model(name) for name in models if name is not None)
    return given or next(filter(None, known), DEFAULT_WINDOW)


def source_of(text: str | None) -> str:
    """Return in a few words where the prices that *text* names come from."""
    if text is None or "=" in text:
        return "the given prices"
    return f"the prices of {text} (genai-prices, or the list of {PRICES_OF})"


def _number(text: str) -> object:
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text
