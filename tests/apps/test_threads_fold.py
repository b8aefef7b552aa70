"""`foldline threads fold`: a stored thread is folded, and its agent continues with that view."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from foldline import Agent, HistoryReductionConfig
from foldline.agent.result import TurnResult
from foldline.reduction.event import HistoryReductionEvent
from foldline.testing.model import ScriptedModel
from foldline.testing.summarizer import ScriptedSummarizer
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from tests.apps.conftest import Run
from tests.servers.vendor import Answer, Asked, VendorServer


_Value = TypeVar("_Value")

COUNTING = HistoryReductionConfig(
    counting_unit="messages", target_count=4, summarization_threshold=90
)


@pytest.fixture(autouse=True)
def _store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDLINE_STORE", "a.db")


def agent(
    config: HistoryReductionConfig | None = COUNTING,
    *,
    summarizer: ScriptedSummarizer | None = None,
) -> Agent:
    chain = () if summarizer is None else summarizer
    return Agent(ScriptedModel(repeat="fine " * 99), history_reduction=config, summarizer=chain)


def on_thread(
    folder: Path, work: Callable[[ConversationThread], Coroutine[object, object, _Value]]
) -> _Value:
    """Do *work* on the thread in the store of *folder*."""

    async def run() -> _Value:
        async with SQLiteStore(folder / "a.db") as store:
            return await work(await store.thread("t"))

    return asyncio.run(run())


def talked(folder: Path, one: Agent, turns: int = 6, *, folded: bool = False) -> None:
    """Make a thread of so many turns of *one*, perhaps folded by it once."""

    async def work(thread: ConversationThread) -> TurnResult:
        for number in range(turns - 1):
            await one.run(f"{number} of many " + "words " * 40, thread=thread)
        result = await one.run("the last of many " + "words " * 40, thread=thread)
        if folded:
            await one.fold(thread, keep=9)
        return result

    on_thread(folder, work)


def next_event(folder: Path, one: Agent) -> HistoryReductionEvent:
    """Return what the next turn of *one* does with the reductions of its thread."""
    result = on_thread(folder, lambda thread: one.run("and now?", thread=thread))
    (event,) = (one for one in result.events if isinstance(one, HistoryReductionEvent))
    return event


def next_status(folder: Path, one: Agent) -> str:
    """Return the status of that event."""
    return next_event(folder, one).status


def written() -> Answer:
    """Return the answer of a vendor that holds a summary."""
    text = "Summary of the conversation so far:\nAll was fine.\nEnd of summary."
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 1_000, "completion_tokens": 100}
    choices = [{"message": message, "finish_reason": "stop"}]
    return Answer.of({"id": "c", "model": "m", "choices": choices, "usage": usage})


def configured(folder: Path, vendor: VendorServer) -> None:
    """Write `agent.json`, whose model is that of *vendor*."""
    provider = {"ProviderKey": "openai-chat", "ModelName": "m", "ApiKey": "k"}
    provider["BaseUrl"] = f"{vendor.url}/v1"
    (folder / "agent.json").write_text(json.dumps({"Provider": provider}), encoding="utf-8")


def test_a_thread_is_folded_as_its_agent_did(run: Run, tmp_path: Path) -> None:
    """To its target, in its unit; it continues with that view, although the digest wrote it."""
    one = agent(summarizer=ScriptedSummarizer(repeat="what was said so far"))
    talked(tmp_path, one, folded=True)
    folded = run("threads", "fold", "t", "--json").json()

    assert folded["status"] == "performed"
    assert (folded["folded_before"], folded["folded_now"]) == (3, 8)
    assert folded["tokens_now"] < folded["tokens_before"]
    assert folded["summarizer"] == "digest"
    after = next_event(tmp_path, one)
    assert (after.status, after.removed_count) == ("cache_hit", 8)


def test_the_first_fold_of_a_thread_is_for_an_agent_configured_alike(
    run: Run, tmp_path: Path
) -> None:
    """The usual agent uses it, or the one in `--config`; another makes its own."""
    talked(tmp_path, agent(None))
    said = run("threads", "fold", "t").out
    usual = next_status(tmp_path, agent(None))
    run("threads", "undo", "t")
    reduction = {"CountingUnit": "messages", "TargetCount": 4}
    (tmp_path / "agent.json").write_text(
        json.dumps({"HistoryReduction": reduction}), encoding="utf-8"
    )
    run("threads", "fold", "t", "--config", "agent.json")

    assert re.match(
        r"t: folded before: 0 messages; now: 10, view: \d+ tokens, before it \d+$", said.strip()
    )
    assert (usual, next_status(tmp_path, agent(None))) == ("cache_hit", "skipped")
    assert next_status(tmp_path, agent()) == "cache_hit"


@pytest.mark.parametrize(
    ("options", "now"),
    [
        ((), 8),
        (("--keep", "3"), 9),
        (("--keep", "3", "--unit", "exchanges"), 6),
        (("--strategy", "message-counting"), 8),
    ],
)
def test_options_are_for_this_fold(
    run: Run, tmp_path: Path, options: tuple[str, ...], now: int
) -> None:
    """The reduction stays active for the agent, whatever it was made with."""
    one = agent()
    talked(tmp_path, one, folded=True)

    assert run("threads", "fold", "t", "--json", *options).json()["folded_now"] == now
    assert next_status(tmp_path, one) == "cache_hit"


def test_there_may_be_nothing_to_fold(run: Run, tmp_path: Path) -> None:
    """It is no failure, and the line says why."""
    talked(tmp_path, agent(), turns=1)
    outcome = run("threads", "fold", "t")

    assert outcome.code == 0
    assert outcome.out.startswith("t: nothing was folded: Nothing worth cutting")
    assert run("threads", "fold", "t", "--json").json()["status"] == "skipped"


def test_what_was_archived_stays_so(run: Run, tmp_path: Path) -> None:
    """On a thread whose agent archives, this fold archives what it covers too."""
    archiving = HistoryReductionConfig(target_count=2, retention="reduced")
    talked(tmp_path, agent(archiving), folded=True)
    talked(tmp_path, agent(archiving), turns=9)
    run("threads", "fold", "t", "--keep", "2")

    assert run("threads", "show", "t", "--json").json()["archived"] == 26


@pytest.mark.usefixtures("no_proxy")
def test_a_thread_that_is_rewound_meanwhile_is_left(run: Run, tmp_path: Path) -> None:
    """Another process takes the last answer back while the summary is written: nothing is stored."""

    async def rewind(thread: ConversationThread) -> None:
        await thread.rewind(count=1)

    class Rewinding(VendorServer):
        def answer(self, asked: Asked) -> Answer:
            with ThreadPoolExecutor(1) as other:
                other.submit(on_thread, tmp_path, rewind).result()
            return super().answer(asked)

    talked(tmp_path, agent())
    with Rewinding([written()]) as vendor:
        configured(tmp_path, vendor)
        refused = run("threads", "fold", "t", "--config", "agent.json")

    shown = run("threads", "show", "t", "--json").json()
    assert refused.code == 2
    assert "was rewound, or another reduction was stored" in refused.err
    assert (shown["messages"], shown["folded"]) == (11, 0)


@pytest.mark.usefixtures("no_proxy")
def test_a_model_writes_the_summary(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets the prompt, then the focus; at `--prices` what the vendor counted has an amount."""
    talked(tmp_path, agent())
    with VendorServer([written()] * 2) as vendor:
        configured(tmp_path, vendor)
        options = ("--config", "agent.json", "--focus", "the schema", "--prompt", "Be brief.")
        folded = run("threads", "fold", "t", *options, "--json").json()
        run("threads", "undo", "t")
        again = run("threads", "fold", "t", *options, "--prices", "input=3,output=15")

    asked = vendor.asked[0].body["messages"][-1]["content"]
    assert folded["summarizer"] == "openai-chat:m"
    assert asked.index("Be brief.") < asked.index("the schema")
    assert folded["cost"] is None
    assert again.out.strip().endswith("; the fold cost $0.0045")
