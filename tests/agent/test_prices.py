"""Which prices a reducer and an agent go by."""

import logging

import pytest
from msgspec.structs import replace

from foldline.agent.agent import Agent
from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.summarizer import ModelSummarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.prices import Prices
from foldline.testing.model import ScriptedModel


DEAR = Prices(input=1_000, output=1, minimum_prefix=0)
BALANCE = HistoryReductionConfig(trigger="balance", counting_unit="messages", target_count=2)


def long_talk(turns: int = 12) -> list[Message]:
    """Return a conversation of long messages that ends with a question."""
    found = []
    for turn in range(turns):
        found += [Message.user(f"Question {turn}: " + "what about the parcel " * 60)]
        found += [Message.assistant(f"Answer {turn}: " + "it is on the way " * 60)]
    return found[:-1]


def test_the_prices_of_a_named_model_decide() -> None:
    """A model of the price list is enough; by default its prices decide when to fold."""
    named = HistoryReducer(model="openai:gpt-4o").plan(long_talk(100))
    nameless = HistoryReducer().plan(long_talk(100))

    assert named.reason is Reason.FOLD_PAYS
    assert nameless.reason is Reason.BELOW_THRESHOLD


def test_prices_of_the_configuration_go_first() -> None:
    """They are used for a model that no list knows, and instead of a listed one."""
    config = HistoryReductionConfig(prices=Prices(input=0, output=0))

    cheap = HistoryReducer(config, model="openai:gpt-4o").plan(long_talk(100))

    # Where nothing costs anything, no fold pays.
    assert cheap.reason is Reason.BELOW_THRESHOLD


def test_without_prices_the_ceiling_decides_and_one_warning_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """However often the reducer is asked."""
    reducer = HistoryReducer(BALANCE, model="acme:new-model", window=128_000)
    with caplog.at_level(logging.WARNING, "foldline"):
        reasons = {reducer.plan(long_talk(turns)).reason for turns in (4, 8, 12)}

    assert reasons == {Reason.BELOW_THRESHOLD}
    assert [one.message for one in caplog.records] == [
        "the prices of acme:new-model are unknown, so that the ceiling alone decides: set `prices`"
    ]


BOTH = (
    "the window and the prices of acme:new-model are unknown, so that 128,000 tokens are assumed and "
    "the ceiling alone decides: set `window` and `prices`"
)
MISSPELLED = (
    "the prices of openai:gpt-5-minni are unknown, so that the ceiling alone decides: set `prices`; "
    "the nearest known model is 'gpt-5-mini'"
)
TOO_LATE = (
    "a fold is asked for at 120,000 tokens, but requests are reduced near their ceiling of 64,000 "
    "before that: raise `ceiling`, or lower target and threshold"
)
TOO_HIGH = "the ceiling is 120,000 tokens for a window of 128,000: set `window` if it is larger"
LATE = HistoryReductionConfig(target_token_budget=20_000, token_budget_threshold=100_000)
SHARE = HistoryReductionConfig(
    counting_unit="tokens", context_window_size=150_000, token_budget_trigger_percentage=0.8
)
WINDOW = "the window of acme:new-model is unknown, so that 128,000 tokens are assumed: set `window`"

LOCAL = "the window of {} is unknown, so that 32,768 tokens are assumed: set `window`"
LOCAL_BOTH = (
    "the window and the prices of vllm:qwen3 are unknown, so that 32,768 tokens are assumed and the "
    "ceiling alone decides: set `window` and `prices`"
)
OWN = ("qwen3:8b", "ollama:qwen3", "hosted_vllm/qwen3")


@pytest.mark.parametrize(
    ("config", "model", "warnings"),
    [
        (HistoryReductionConfig(), "acme:new-model", [BOTH]),
        (HistoryReductionConfig(), None, []),
        (HistoryReductionConfig(), "openai:gpt-4o", []),
        (HistoryReductionConfig(), "openai:gpt-5-minni", [MISSPELLED]),
        (
            HistoryReductionConfig(),
            "openai-chat:gpt-5-minni",
            [MISSPELLED.replace("openai:", "openai-chat:")],
        ),
        (HistoryReductionConfig(trigger="count"), "acme:new-model", [WINDOW]),
        (HistoryReductionConfig(target_count=20), "acme:new-model", [WINDOW]),
        *((HistoryReductionConfig(), name, [LOCAL.format(name)]) for name in OWN),
        (HistoryReductionConfig(), "openai-chat:Qwen/Qwen3-8B", []),
        (
            HistoryReductionConfig(context_window_size=9_000),
            "openai-chat:ft:gpt-9:acme",
            [
                MISSPELLED.partition(";")[0].replace(
                    "openai:gpt-5-minni", "openai-chat:ft:gpt-9:acme"
                )
            ],
        ),
        (BALANCE, "vllm:qwen3", [LOCAL_BOTH]),
        (HistoryReductionConfig(prices=DEAR), "acme:new-model", [WINDOW]),
        (HistoryReductionConfig(prices=DEAR, context_window_size=9_000), "acme:new-model", []),
        (HistoryReductionConfig(enabled=False), "acme:new-model", []),
        (LATE, "openai:gpt-4o", [TOO_LATE]),
        (LATE, "acme:new-model", [f"{WINDOW}; {TOO_LATE}"]),
        (SHARE, None, [TOO_LATE]),
        (HistoryReductionConfig(ceiling=128_001), None, [TOO_HIGH]),
        (HistoryReductionConfig(ceiling=128_000), None, []),
        (replace(SHARE, ceiling=150_000), None, []),
        (replace(LATE, trigger="balance", token_budget_threshold=None), "openai:gpt-4o", []),
        (replace(LATE, enabled=False), None, []),
    ],
)
def test_one_warning_says_what_is_not_known_of_a_named_model(
    config: HistoryReductionConfig,
    model: str | None,
    warnings: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A name may be misspelled; where no model is named, nothing is missing."""
    reducer = HistoryReducer(config, model=model)
    with caplog.at_level(logging.WARNING, "foldline"):
        reducer.plan(long_talk(4))
        reducer.plan(long_talk(6))

    assert caplog.messages == warnings


def test_what_is_assumed_of_a_local_model_holds() -> None:
    """Alone, for an agent and for a summarizer, the window is what its vendor gives the model."""
    alone = HistoryReducer(model="qwen3:8b")
    agents = HistoryReducer().for_model("openai-chat:qwen3:8b", None)

    assert (alone.window, agents.window) == (32_768, 32_768)
    assert "32,768 tokens are assumed" in agents.warning
    assert ModelSummarizer(ScriptedModel(name="qwen3:8b")).context_window == 32_768
    assert HistoryReducer(model=" Qwen3:8B ").window == 32_768
    assert HistoryReducer(model="qwen3:8b", window=4_096).window == 4_096


@pytest.mark.parametrize(
    ("name", "warning"),
    [
        ("scripted", ""),
        (
            "mine",
            WINDOW.replace("acme:new-model", "mine").replace("`window`", "`context_window_size`"),
        ),
        ("acme:new-model", BOTH.replace("`window`", "`context_window_size`")),
    ],
)
def test_an_agent_warns_of_what_is_not_known_of_its_model(
    name: str, warning: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A model of one's own has no prices to miss, and a script has no window."""
    with caplog.at_level(logging.WARNING, "foldline"):
        Agent(ScriptedModel(["Hello."], name=name)).run_sync("Hello?")

    assert caplog.messages == [warning][: len(warning)]


def test_each_model_has_its_own_prices() -> None:
    """A reducer that is used for another model goes by the prices of that one."""
    reducer = HistoryReducer(model="openai:gpt-4o")

    assert reducer.for_model("acme:new", None).plan(long_talk(100)).reason is Reason.BELOW_THRESHOLD
    assert reducer.for_model("openai:gpt-4o", None).plan(long_talk(100)).reason is Reason.FOLD_PAYS


def test_the_digest_costs_nothing_if_it_is_named_too() -> None:
    """So that it folds as often as by default."""
    talks = [long_talk(turns) for turns in range(20, 100, 4)]
    named = HistoryReducer(model="openai:gpt-4o", summarizer=DigestSummarizer())
    usual = HistoryReducer(model="openai:gpt-4o")

    assert [named.plan(talk).reason for talk in talks] == [
        usual.plan(talk).reason for talk in talks
    ]


async def test_an_agent_goes_by_the_prices_of_its_model() -> None:
    """Those of the configuration, for a model that no list knows; the summarizer is that model too."""
    config = HistoryReductionConfig(
        trigger="balance", counting_unit="messages", target_count=2, prices=DEAR
    )
    summary = "Summary of the conversation so far:\nThe user asked about a parcel on its way.\nEnd of summary."
    model = ScriptedModel([summary, "It comes tomorrow."])
    agent = Agent(model, history_reduction=config)
    result = await agent.run([*long_talk(40)])

    assert result.reduction is not None
    assert result.reduction.event.reason is Reason.FOLD_PAYS
