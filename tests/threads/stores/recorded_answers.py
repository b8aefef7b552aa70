"""What a store answers about the threads of a recording, and what comes of using them."""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import cast

import msgspec

from foldline.agent.agent import Agent
from foldline.agent.tools import Tool, tool
from foldline.history.messages import Message
from foldline.providers.model import ChatModel, ChatRequest, ChatResponse, Summarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_of
from foldline.testing.summarizer import ScriptedSummarizer
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread
from tests.threads.stores.recorded import Json


TENANTS = ("acme", "globex", "nobody")
"""The tenants that are asked for their threads; the last has none."""

WORDS = ("AB3CD99", "straße", "order")
"""What is searched for in each thread."""

INSTRUCTIONS = "Answer briefly."
"""The instructions of every agent in the recordings."""

HELD_MODEL = "holding"
"""The name of the model whose vendor holds the history."""

_SUMMARIZING = HistoryReductionConfig(
    enabled=True, strategy="summarizing", target_count=2, summarization_threshold=1
)

CONFIGS: Mapping[str, HistoryReductionConfig] = {
    "folded": _SUMMARIZING,
    "undone": _SUMMARIZING,
    "layers": msgspec.structs.replace(_SUMMARIZING, use_single_summary=False),
    "counted": msgspec.structs.replace(_SUMMARIZING, strategy="message_counting"),
    "archived": msgspec.structs.replace(_SUMMARIZING, retention="reduced"),
    "archivedundone": msgspec.structs.replace(_SUMMARIZING, retention="reduced"),
    "moments": _SUMMARIZING,
    "heldfolded": _SUMMARIZING,
    "openfolded": _SUMMARIZING,
}
"""How the agents of the threads fold, by the ids up to the first dot; others do not fold."""

CONTINUED = (
    "plain",
    "plain.fork",
    "plain.fork.fork",
    "orphan",
    "layers",
    "layers.fork",
    "counted",
    "archived",
    "archived.fork",
    "held",
    "heldfolded",
    "moments",
    "edited",
    "tools",
)
"""The threads on which a turn more is taken; none of them is due for a fold."""

_FORKED = {
    "plain": "plain.fork",
    "plain.fork": "plain.fork.fork",
    "archived": "archived.fork",
    "layers": "layers.fork",
}

_HASHES = ("digest", "message_hash", "service_mark", "summary_hash")
# Fields of a reduction and labels of its summary that later versions have added or dropped, and a
# thread does not need.
_CHANGED = (
    *("failed_attempts", "failed_hash", "failed_index", "failed_units", "number"),
    *("history_length", "quotes", "sealed_index", "sealed_item", "shortened", "thinking_from"),
    *("summarizer", "summarizer_calls", "summarizer_usage", "readings", "level", "is_stopgap"),
    *("__created_at__", "__summarized_range__", "last_request"),
)


def comparable(value: Json) -> Json:
    """
    Return *value* without hashes, and without the fields that only some versions of a state have.

    A later version of the digest gives other hashes for the same messages. That they are carried
    over is seen in what `consequences` finds: no summarizer is asked, and a vendor is sent nothing
    again.
    """
    if isinstance(value, list):
        return [comparable(one) for one in value]
    if isinstance(value, dict):
        return {
            name: comparable(one)
            for name, one in value.items()
            if name not in _HASHES and name not in _CHANGED
        }
    return value


async def answers(store: ThreadStore) -> dict[str, Json]:
    """Return everything that can be read out of *store*."""
    found: dict[str, Json] = {"tenants": list(await store.tenants())}
    checkpointer = ThreadCheckpointer(store)
    for tenant in TENANTS:
        threads = [thread async for thread in store.threads(tenant=tenant)]
        found[tenant] = {
            thread.id: {
                **await _thread(thread),
                "checkpoints": await _checkpoints(checkpointer, thread),
            }
            for thread in threads
        }
    gone = [await store.find(name, tenant="acme") for name in ("expired", "doomed", "missing")]
    found["gone"] = [one is None for one in gone]
    return found


async def _thread(thread: ConversationThread) -> dict[str, Json]:
    head, messages = thread.head, await thread.get_messages()
    return {
        "messages": [_plain(one) for one in messages],
        "newest": _digest(await thread.get_messages(last=5)),
        "middle": _digest(await thread.get_range(head.length // 3, head.length // 2)),
        "working": _digest(await thread.working_messages()),
        "count": head.count,
        "length": head.length,
        "users": head.users,
        "tokens": head.tokens + head.system_tokens,
        "archived": head.archived,
        "title": await thread.title(),
        "display_name": thread.display_name,
        "metadata": _plain(thread.metadata),
        "created_at": _plain(thread.created_at),
        "last_activity": _plain(thread.last_activity),
        "expires_at": _plain(head.expires_at),
        "last_reduction": _reduction(thread.last_reduction),
        "reductions": [_reduction(one) for one in await thread.reductions()],
        "window": await _window(thread),
        "execution_state": _state(thread),
        "tools": [_plain(one) for one in thread.pending_tools],
        "search": {
            word: [[one.number, one.excerpt] for one in await thread.search(word)] for word in WORDS
        },
    }


async def _window(thread: ConversationThread) -> dict[str, Json]:
    window = await thread.window()
    history, reduction = window.history, window.reduction
    return {
        "cut": 0 if reduction is None else reduction.summarized_up_to_index,
        "length": len(history),
        "total": history.total,
        "tokens": history.tokens(),
        "view": [_plain(one) for one in view_of(history, reduction)],
    }


async def _checkpoints(checkpointer: ThreadCheckpointer, thread: ConversationThread) -> list[Json]:
    found: list[Json] = []
    for one in await checkpointer.history(thread.id, tenant=thread.tenant):
        moment = await checkpointer.load_at(thread.id, one.id, tenant=thread.tenant)
        found.append(
            {
                "id": one.id,
                "source": one.source,
                "step": one.step,
                "message_index": one.message_index,
                "created_at": _plain(one.created_at),
                "moment": None if moment is None else await _moment(moment),
            }
        )
    return found


async def _moment(moment: ReadOnlyThread) -> dict[str, Json]:
    return {
        "messages": _digest(await moment.get_messages()),
        "count": moment.head.count,
        "length": moment.head.length,
        "tokens": moment.head.tokens + moment.head.system_tokens,
        "archived": moment.head.archived,
        "execution_state": _state(moment),
        "reductions": [one.summarized_up_to_index for one in await moment.reductions()],
    }


async def consequences(store: ThreadStore) -> dict[str, Json]:
    """Use the threads of *store*, which changes them, and return what comes of it."""
    return {
        "forks of moments": await _forks(store),
        "runs": await _runs(store),
        "undone": await _undone(store),
        "rewound": await _rewound(store),
        "purged": [await store.purge_expired(), await store.find("expired", tenant="acme") is None],
        "forks": {
            name: await _without(store, name, fork) for name, fork in sorted(_FORKED.items())
        },
    }


async def _forks(store: ThreadStore) -> dict[str, Json]:
    """Go on from every moment in a thread of its own."""
    checkpointer, found = ThreadCheckpointer(store), dict[str, Json]()
    for name in ("moments", "pruned"):
        for one in await checkpointer.history(name, tenant="acme"):
            moment = await checkpointer.load_at(name, one.id, tenant="acme")
            if moment is not None:
                fork = await moment.fork(f"{name}.again")
                await fork.add_message(Message.user("And from here?"))
                found[f"{name} {one.id}"] = {
                    "messages": _digest(await fork.get_messages()),
                    "reductions": [_reduction(state) for state in await fork.reductions()],
                    "archived": fork.head.archived,
                }
                await store.delete(fork.id, tenant="acme")
    return found


class _Vendor:
    """A model that answers every request, and holds conversations where its name says so."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.requests: list[ChatRequest] = []

    async def respond(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        held = "conversation-next" if self.name == HELD_MODEL else None
        answer = Message.assistant("Yes.")
        return ChatResponse(messages=(answer,), model=self.name, service_thread_id=held)


def agent_of(
    thread_id: str,
    model: ChatModel,
    *,
    tools: Iterable[Tool] = (),
    summarizer: Summarizer | None = None,
) -> Agent:
    """Return the agent that the thread *thread_id* was recorded with."""
    config = CONFIGS.get(thread_id.partition(".")[0], HistoryReductionConfig())
    return Agent(
        model,
        name="clerk",
        instructions=INSTRUCTIONS,
        tools=tools,
        history_reduction=config,
        summarizer=summarizer if config.enabled else None,
    )


async def _runs(store: ThreadStore) -> dict[str, Json]:
    """Resume every open run, and take one more turn on the others of `CONTINUED`."""
    found: dict[str, Json] = {}
    for thread in [one async for one in store.threads(tenant="acme")]:
        state = thread.execution_state
        is_open = state is not None and state.is_open
        if is_open or thread.id in CONTINUED:
            found[thread.id] = await _run(thread, None if is_open else "What else?")
    return found


async def _run(thread: ConversationThread, question: str | None) -> dict[str, Json]:
    model = _Vendor(HELD_MODEL if "held" in thread.id else "scripted")
    summarizer, ran = ScriptedSummarizer(), list[str]()
    agent = agent_of(thread.id, model, tools=_tools(ran), summarizer=summarizer)
    result = await agent.run(question, thread=thread)
    return {
        "requests": [
            {
                "held": request.service_thread_id,
                "messages": [_plain(one) for one in request.messages],
            }
            for request in model.requests
        ],
        "ran": list(ran),
        "summarizer_calls": len(summarizer.requests),
        "reason": result.termination_reason,
        "count": thread.head.count,
        "messages": _digest(await thread.get_messages()),
    }


def _tools(ran: list[str]) -> list[Tool]:
    def find_order(number: str) -> str:
        ran.append(f"find_order {number}")
        return f"Order {number} was found."

    def pay(amount: int) -> str:
        ran.append(f"pay {amount}")
        return f"{amount} were paid."

    return [tool(find_order, policy="idempotent"), tool(pay, policy="at_most_once")]


async def _undone(store: ThreadStore) -> dict[str, Json]:
    """Revoke the reductions of every thread, one after the other."""
    found: dict[str, Json] = {}
    for thread in [one async for one in store.threads(tenant="acme")]:
        steps: list[Json] = []
        while thread.last_reduction is not None:
            now = await thread.undo_reduction()
            working = _digest(await thread.working_messages())
            steps.append([_reduction(now), thread.head.archived, working])
        if steps:
            found[thread.id] = steps
    return found


async def _rewound(store: ThreadStore) -> dict[str, Json]:
    """Take back the second half of some threads, and speak again."""
    found: dict[str, Json] = {}
    for name in ("plain", "plain.fork", "orphan", "moments", "edited"):
        thread = await store.find(name, tenant="acme")
        assert thread is not None
        await thread.rewind(thread.head.length // 2)
        await thread.add_message(Message.user("Once more: AB3CD99?"))
        numbers: list[Json] = [one.number for one in await thread.search("AB3CD99")]
        found[name] = [thread.head.count, _digest(await thread.get_messages()), numbers]
    return found


async def _without(store: ThreadStore, name: str, fork: str) -> list[Json]:
    """Delete the thread *name* and return what its fork still reads."""
    is_deleted = await store.delete(name, tenant="acme")
    thread = await store.find(fork, tenant="acme")
    assert thread is not None
    return [is_deleted, thread.head.count, _digest(await thread.get_messages())]


def _state(thread: ReadOnlyThread) -> Json:
    state = thread.execution_state
    return None if state is None else cast("Json", json.loads(state.to_json()))


def _reduction(state: HistoryReductionState | None) -> Json:
    return None if state is None else cast("Json", json.loads(state.to_json()))


def _plain(value: object) -> Json:
    # Once through JSON, as what it is compared with: its lists are no tuples.
    return cast("Json", json.loads(json.dumps(msgspec.to_builtins(value, order="sorted"))))


def _digest(messages: Iterable[Message]) -> str:
    plain = json.dumps([_plain(one) for one in messages], sort_keys=True)
    return sha256(plain.encode()).hexdigest()[:24]
