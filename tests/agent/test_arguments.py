"""What a caller without a type checker gets wrong is said in one line."""

from functools import partial, wraps

import msgspec
import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig, ProviderConfig
from foldline.reduction.request import SummaryRequest
from foldline.testing.summarizer import ScriptedSummarizer


CONFIG = HistoryReductionConfig(enabled=True, strategy="summarizing", counting_unit="messages")
TALK = [Message.user("a"), Message.assistant("b")]


class Named:
    """Has whatever name and method it is given."""

    def __init__(self, name: object, summarize: object) -> None:
        self.name = name
        self.summarize = summarize


class Calling:
    """A wrapper that is called, and awaits."""

    async def __call__(self, request: SummaryRequest) -> str:
        return "text"


class Opaque:
    """A wrapper of which nobody can tell."""

    def __call__(self, request: SummaryRequest) -> object:
        return write(request)


async def write(request: SummaryRequest) -> str:
    return "text"


def blocking(request: SummaryRequest) -> str:
    return "text"


@wraps(write)
def wrapped(request: SummaryRequest) -> object:
    return write(request)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"summarizer": print}, "summarizer is a builtin"),
        ({"summarizer": "model"}, "summarizer is a str"),
        ({"summarizer": [1]}, "summarizer holds a int"),
        ({"summarizer": ScriptedSummarizer}, "summarizer is the class ScriptedSummarizer: pass"),
        ({"summarizer": [Named]}, "summarizer holds the class Named: pass an instance"),
        ({"summarizer": Named(7, write)}, "the name of the Named is a int"),
        ({"summarizer": Named("n", blocking)}, "summarize must be async"),
        ({"summarizer": [Named("n", partial(blocking))]}, "summarize must be async"),
        ({"summarizer": Named("n", "text")}, "summarize must be async"),
        ({"summary_budget": 0}, "summary_budget=0"),
        ({"summary_budget": 1.5}, "summary_budget=1.5"),
        ({"summary_budget": True}, "summary_budget=True"),
        ({"summarizer_window": -1}, "summarizer_window=-1"),
        ({"timeout": 0.0}, "timeout=0.0"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"timeout": "60"}, "timeout='60': allowed is a number of seconds"),
        ({"timeout": True}, "timeout=True"),
        ({"timeout": None}, "timeout=None"),
        ({"counter": len}, "counter is a builtin"),
        ({"cache": {}}, "cache is a dict: allowed is a ReductionCache"),
    ],
)
def test_arguments_of_another_kind_are_refused(arguments: dict[str, object], said: str) -> None:
    """The error names the argument and what it was, in one line."""
    with pytest.raises(ConfigError, match=said) as caught:
        HistoryReducer(CONFIG, **arguments)  # type: ignore[arg-type]

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "method",
    [write, wrapped, partial(write), Calling(), Opaque()],
    ids=["plain", "wrapped", "partial", "calling", "opaque"],
)
def test_whatever_may_be_awaited_is_a_summarizer(method: object) -> None:
    """Wrappers of all kinds are taken, also those that nobody can look into."""
    assert HistoryReducer(CONFIG, summarizer=Named("n", method)).plan(TALK).kind == "skip"  # type: ignore[arg-type]


@pytest.mark.parametrize("overrides", [{}, {"skip_history_reduction": True}, CONFIG, True])
def test_overrides_have_to_be_what_a_run_changes(overrides: object) -> None:
    """An empty dictionary is not taken for no overrides either."""
    with pytest.raises(ConfigError, match="allowed is an AgentRunConfig"):
        HistoryReducer(CONFIG).plan(TALK, overrides=overrides)  # type: ignore[arg-type]


def test_a_configuration_has_to_be_one() -> None:
    """A dictionary is not taken for a configuration, nor JSON for a state."""
    with pytest.raises(ConfigError, match="see config_from_mapping"):
        HistoryReducer({"enabled": True})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"see HistoryReductionState\.from_json"):
        HistoryReducer(CONFIG).reduce_sync(TALK, state=b"{}")  # type: ignore[call-overload]


def test_a_model_by_name_needs_its_summarizer() -> None:
    """A provider that nobody stands for is not silently left out."""
    provider = ProviderConfig(provider_key="openai", model_name="m")
    config = msgspec.structs.replace(CONFIG, summarizer_provider=provider)

    with pytest.raises(ConfigError, match="pass the summarizer"):
        HistoryReducer(config)
    assert HistoryReducer(config, summarizer=ScriptedSummarizer()).plan(TALK).kind == "skip"
