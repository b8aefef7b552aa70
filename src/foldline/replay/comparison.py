"""Several configurations over one session, next to what happens without foldline."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Struct

from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.baselines import no_memory, no_reduction
from foldline.replay.player import Replay, play
from foldline.replay.record import ReplayReport
from foldline.replay.tape import Tape


__all__ = ["USUAL", "Comparison", "compare"]


def _summarizing(**fields: object) -> HistoryReductionConfig:
    return msgspec.convert(
        {"enabled": True, "strategy": "summarizing", **fields}, HistoryReductionConfig
    )


USUAL: Mapping[str, HistoryReductionConfig] = MappingProxyType(
    {
        "rolling": _summarizing(
            counting_unit="messages", target_count=40, summarization_threshold=20
        ),
        "layers": _summarizing(
            counting_unit="messages",
            target_count=40,
            summarization_threshold=20,
            use_single_summary=False,
        ),
        "exchanges": _summarizing(target_count=5, summarization_threshold=5),
        "tokens": _summarizing(
            counting_unit="tokens", target_token_budget=8_000, token_budget_threshold=8_000
        ),
        "counting": _summarizing(
            strategy="message_counting",
            counting_unit="messages",
            target_count=40,
            summarization_threshold=20,
        ),
    }
)
"""What a replay compares where nothing else is asked for."""


class Comparison(Struct, frozen=True, kw_only=True):
    """One session under every configuration."""

    reports: tuple[ReplayReport, ...]
    """The baselines, then one report per configuration."""

    replays: Mapping[str, Replay]
    """What each configuration came to, by its name."""


def compare(
    tape: Tape,
    configs: Mapping[str, HistoryReductionConfig],
    *,
    check: bool = True,
    on_call: Callable[[], None] | None = None,
) -> Comparison:
    """
    Play *tape* under every configuration of *configs*, which go by name.

    Args:
        tape: The session.
        configs: The configurations; the first one that summarizes is the one that the baseline
            without memory is computed for.
        check: Whether every request is judged.
        on_call: Is called after each model call under each configuration.
    """
    replays = {
        name: play(tape, config, name=name, check=check, on_call=on_call)
        for name, config in configs.items()
    }
    baselines = (no_reduction(tape), no_memory(tape, _forgetful(configs)))
    return Comparison(
        reports=(*baselines, *(replay.report for replay in replays.values())), replays=replays
    )


def _forgetful(configs: Mapping[str, HistoryReductionConfig]) -> HistoryReductionConfig:
    """Return the first configuration that summarizes; the first one, made so, where none does."""
    for config in configs.values():
        if config.strategy == "summarizing":
            return config
    first = next(iter(configs.values()))
    return msgspec.structs.replace(first, strategy="summarizing")
