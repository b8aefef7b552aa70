"""The agent: a model, its tools and a reducer, for any number of threads at once."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from os import urandom
from typing import Protocol, Self, Unpack, runtime_checkable

from foldline.agent.admission import (
    Admission,
    Entry,
    OnConflict,
    OnOpen,
    TurnPolicy,
    checked_policy,
)
from foldline.agent.arguments import by_hand, expect_async
from foldline.agent.asking import Asking
from foldline.agent.background import BackgroundFold
from foldline.agent.config import AgentConfig, AgentOptions, warn_of_vendor_edits
from foldline.agent.event_stream import StreamingTurnResult
from foldline.agent.events import AgentEvent
from foldline.agent.files import TurnFiles, with_files
from foldline.agent.hold import Hold
from foldline.agent.own_reducer import ChatReducer
from foldline.agent.portal import PORTAL
from foldline.agent.progress import FixedParts, Progress, TurnSetup
from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.agent.refold import Refolded, RefoldOptions, refold
from foldline.agent.request import offers_recall
from foldline.agent.result import TurnResult, stored_result
from foldline.agent.service import begun
from foldline.agent.telemetry import ObservedModel, Observer
from foldline.agent.tools import Tool, tools_by_name
from foldline.agent.tools.signature import ToolFunction
from foldline.agent.turn import Turn
from foldline.agent.turn_input import TurnInput, checked_input
from foldline.checks import expect
from foldline.errors import ConfigError
from foldline.history.codec import encode_json
from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator, count_message
from foldline.providers.model import ChatModel, ChatRequest, Summarizer, window_of
from foldline.providers.price_list import prices_for
from foldline.providers.summarizer import ModelSummarizer
from foldline.providers.vendors.opening import open_model
from foldline.reduction.budget import Budget
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig, config_of_run
from foldline.reduction.provider import ProviderConfig
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from foldline.threads.turns import TurnRecord


_OPTIONS = AgentOptions()


@runtime_checkable
class _Closing(Protocol):
    async def close(self) -> None: ...


class Agent:
    """
    Answers on threads, with tools, and keeps what the model sees within a budget.

    An agent has no conversation of its own: one instance serves any number of threads and tasks.
    """

    def __init__(  # noqa: PLR0913 - one name for each part of an agent
        self,
        model: str | ProviderConfig | ChatModel,
        *,
        name: str = "agent",
        instructions: str = "",
        tools: Iterable[Tool | ToolFunction] = (),
        history_reduction: HistoryReductionConfig | None = None,
        reducer: HistoryReducer | ChatReducer | None = None,
        summarizer: Summarizer | Sequence[Summarizer] | None = None,
        options: AgentOptions = _OPTIONS,
        background_fold: BackgroundFold | None = None,
        telemetry: Observer | None = None,
    ) -> None:
        """
        Answer with *model*.

        Args:
            model: `vendor:model`, a provider, or any object with the protocol.
            instructions: The system prompt: sent before every view, not stored with a thread.
            tools: What the model may call: typed functions or `Tool` objects.
            history_reduction: How and when to reduce; see `HistoryReductionConfig`.
            reducer: What reduces instead: a `HistoryReducer`, or any object with the protocol.
            summarizer: What writes summaries; by default the `summarizer_provider`, or the model.
            options: Limits of a turn.
            background_fold: Makes folds in the background; by default turns wait for them.
            telemetry: Receives what the agent does; see `Telemetry`.

        Raises:
            ConfigError: An argument is wrong.
            MissingExtraError: A package is not installed.
        """
        chat, named = _opened(model), tools_by_name(tools)
        _check_parts(name, instructions, history_reduction, options, background_fold, telemetry)
        ours, own, writer = _made(reducer, history_reduction, summarizer, chat, options, telemetry)
        self._opened = [one for one in (chat, writer) if one is not None and one is not model]
        self._setup = TurnSetup(
            agent=name,
            model=chat,
            reducer=ours,
            own_reducer=own,
            tools=named,
            prices=prices_for(ours.config, chat.name),
            instructions=instructions,
            fixed=_fixed(instructions, named, options),
            options=options,
            background=background_fold,
            observer=telemetry,
        )

    @classmethod
    def from_config(
        cls,
        config: AgentConfig,
        *,
        tools: Iterable[Tool | ToolFunction] = (),
        background_fold: BackgroundFold | None = None,
        telemetry: Observer | None = None,
    ) -> "Agent":
        """
        Return the agent that *config* describes; see `agent_config_from_json`.

        Raises:
            ConfigError: It names no model, or an unknown one.
            MissingExtraError: The model needs a package that is not installed.
        """
        expect("config", config, AgentConfig)
        if config.provider is None:
            raise ConfigError("provider must name a model, got None")
        return cls(
            config.provider,
            name=config.name,
            instructions=config.system_instructions,
            tools=tools,
            history_reduction=config.history_reduction,
            options=config.options,
            background_fold=background_fold,
            telemetry=telemetry,
        )

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self._setup.agent

    @property
    def instructions(self) -> str:
        """The system prompt."""
        return self._setup.instructions

    @property
    def model(self) -> ChatModel:
        """The model."""
        return self._setup.model

    @property
    def reducer(self) -> HistoryReducer:
        """What makes views."""
        return self._setup.reducer

    @property
    def budget(self) -> Budget:
        """What a request may hold, before its vendor has shown more of that."""
        return self._setup.budget()

    async def close(self) -> None:
        """Close the connections of the models that the agent has opened, not of those passed in."""
        for model in self._opened:
            if isinstance(model, _Closing):
                await model.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(
        self,
        message: TurnInput = None,
        *,
        thread: ConversationThread | None = None,
        config: AgentRunConfig | None = None,
        files: TurnFiles = (),
        turn_id: str | None = None,
        on_conflict: OnConflict = "wait",
        on_open: OnOpen = "leave",
    ) -> TurnResult:
        """
        Run a turn to its end.

        Args:
            message: The input. Without it the turn continues from what is stored: an interrupted
                run is resumed.
            thread: The thread; by default a new one in memory, which is in the result.
            files: Text files, images, audio files or PDFs, each of at most 20 MB, that go with the
                message; what a vendor has no place for, it gets as a short note.
            turn_id: The id of the turn on this thread, so that it runs once: if it has ended, its
                stored result is returned and no model is asked; if it is open and nobody runs it,
                it is resumed. By default the id of the last message given; a text has none. A
                rewind frees the ids of what it takes back, an edit of all from there on.
            on_conflict: What to do while somebody else, in this process or another, runs a turn on
                the thread. `wait`: wait for its end, then go on; for a turn with the same id, or
                without input and id, that is to return its answer. `error`: raise.
            on_open: What to do with an earlier run of another message that is open and that nobody
                runs any more. `leave`: end it, and answer *message*. `resume`: answer the earlier
                message first. `error`: raise.

        Raises:
            ConfigError: An argument is wrong, or a file is missing, too large or of an unknown kind.
            RunStartError: There is nothing to start from, or `on_open` is `error` and a run is open.
            TurnRunningError: `on_conflict` is `error`, and somebody else runs a turn.
            TurnIdError: The id belongs to a turn with other content.
            CheckpointStaleError: The open run does not match the length of the history.
            ThreadConflictError: Another worker has taken the turn over, or added a message.
            ToolDecisionError: A crash interrupted a tool that needs a decision then.
            ModelError: The model failed; the turn stays open and can be resumed.
            StoreError: The store failed; what was not acknowledged is not stored.
        """
        given = checked_input(message, thread=thread, config=config)
        policy = checked_policy(turn_id, on_conflict, on_open)
        return await self._run(given, thread, config, files, policy, None)

    def run_stream(
        self,
        message: TurnInput = None,
        *,
        thread: ConversationThread | None = None,
        config: AgentRunConfig | None = None,
        files: TurnFiles = (),
        turn_id: str | None = None,
        on_conflict: OnConflict = "wait",
        on_open: OnOpen = "leave",
    ) -> StreamingTurnResult:
        """
        Return a turn as a stream of events; it starts with the first iteration.

        Arguments and errors are those of `run`.
        """
        given = checked_input(message, thread=thread, config=config)
        policy = checked_policy(turn_id, on_conflict, on_open)
        return StreamingTurnResult(
            lambda listen: self._run(given, thread, config, files, policy, listen)
        )

    def run_sync(
        self,
        message: TurnInput = None,
        *,
        thread: ConversationThread | None = None,
        config: AgentRunConfig | None = None,
        files: TurnFiles = (),
        turn_id: str | None = None,
        on_conflict: OnConflict = "wait",
        on_open: OnOpen = "leave",
    ) -> TurnResult:
        """
        Run a turn like `run`, for callers without an event loop.

        All blocking turns of a process run in one loop, so they can share a store.

        Raises:
            BlockingCallError: An event loop is running in this thread.
        """
        given = checked_input(message, thread=thread, config=config)
        policy = checked_policy(turn_id, on_conflict, on_open)
        return PORTAL.run(self._run, given, thread, config, files, policy, None)

    async def work(
        self,
        message: TurnInput,
        *,
        thread: ConversationThread,
        turn_id: str,
        listen: Callable[[AgentEvent], None] | None = None,
    ) -> TurnResult:
        """
        Run a turn like `run`, for a worker of a queue.

        Cancelled, it keeps no partial answer: the turn stays open, and the next worker resumes it.

        *listen* receives each event as it happens; the model is asked to stream then.
        """
        given = checked_input(message, thread=thread)
        policy = TurnPolicy(turn_id=turn_id)
        return await self._run(given, thread, None, (), policy, listen, keeps_partial=False)

    async def fold(
        self,
        thread: ConversationThread,
        *,
        focus: str = "",
        keep: int | None = None,
        config: AgentRunConfig | None = None,
    ) -> ReducedHistory[Message]:
        """
        Fold *thread* now, whatever the counts, and store the reduction; the model is not asked.

        It is an ordinary fold: the next turn uses its view, and `thread.undo_reduction` takes it
        back. A circuit breaker ends nothing here. The event says why, if nothing was folded.

        Args:
            thread: The thread; it may have an open run.
            focus: What the summary keeps before anything else, such as "the schema of the tables".
            keep: How many exchanges stay, or what the configuration or the overrides count; by
                default the configured target, or the last exchange if no more has gathered.
            config: Other overrides: strategy, unit and prompt of this fold.

        Raises:
            ConfigError: An argument is wrong, or the agent has a reducer that is not foldline's.
            ThreadConflictError: Another fold was stored, or the thread was rewound, meanwhile.
            RequestTooLargeError: Instructions, tools and system messages alone are too large.
            StoreError: The store failed.
        """
        checked_input(None, thread=thread, config=config)
        self._check_folds()
        setup = self._setup
        state = begun(thread, run_id="", agent=setup.agent)
        overrides = by_hand(config, setup.reducer.config, focus=focus, keep=keep)
        progress = Progress(thread, state, lambda _: None, hold=Hold(thread, ""))
        return await Asking(setup, progress, overrides=overrides, streams=False).fold()

    async def refold(self, store: ThreadStore, **options: Unpack[RefoldOptions]) -> Refolded:
        """
        Fold the threads of a tenant as the next turn of each would, and store the reductions.

        It may be killed and started again at any time: what is done is in the store.

        The *store* is open. The *options* are `tenant`, `due_only`, `after`, `shard`, `at_once`,
        `limits`, `most_failures` and `on_step`; see `foldline.agent.refold.refold`.

        Raises:
            ConfigError: An argument is wrong, or the agent has a reducer that is not foldline's.
            StoreError: The store failed; what was stored stays.
        """
        self._check_folds()
        return await refold(store, self.reducer, budget=self.budget, **options)

    def _check_folds(self) -> None:
        own = self._setup.own_reducer
        if own is not None:
            raise ConfigError(f"{type(own).__name__} cannot fold by hand: it keeps no record")

    async def _run(
        self,
        given: Sequence[Message],
        thread: ConversationThread | None,
        config: AgentRunConfig | None,
        files: TurnFiles,
        policy: TurnPolicy,
        listen: Callable[[AgentEvent], None] | None,
        *,
        keeps_partial: bool = True,
    ) -> TurnResult:
        # Before anything is stored, and not only once a fold is due.
        if self._setup.background is not None:
            self._setup.background.check()
        if config is not None:
            config_of_run(self._setup.reducer.config, config)
        if files:
            given = await asyncio.to_thread(with_files, given, files)
        thread = await MemoryStore().thread(urandom(16).hex()) if thread is None else thread
        admission, at = Admission(thread, given, policy), thread

        async def attempt(entry: Entry, record: TurnRecord | None) -> TurnResult:
            news = given if entry == "new" else ()
            turn = Turn(self._setup, at, news, overrides=config, listen=listen, turn=record)
            turn.keeps_partial, turn.waited = keeps_partial, admission.waited
            turn.on_begun = admission.began
            return await turn.run()

        return await admission.run(attempt, lambda found: stored_result(at, found, listen))


def _check_parts(
    name: object,
    instructions: object,
    config: object,
    options: object,
    background: object,
    telemetry: object,
) -> None:
    expect("name", name, str)
    expect("instructions", instructions, str)
    hint = (
        "`HistoryReductionConfig(enabled=False)` turns it off; a HistoryReducer goes to `reducer=`"
    )
    expect("history_reduction", config, HistoryReductionConfig | None, hint=hint)
    expect("options", options, AgentOptions)
    expect("background_fold", background, BackgroundFold | None)
    expect("telemetry", telemetry, Observer | None, hint="`Telemetry()` is one")


def _fixed(instructions: str, tools: Mapping[str, Tool], options: AgentOptions) -> FixedParts:
    counter, schemas = TokenEstimator(), [encode_json(tool.definition) for tool in tools.values()]
    texts = [schema.decode() for schema in schemas]
    said = count_message(Message.system(instructions), counter) if instructions else 0
    # Of the settings, those that a vendor puts before the messages.
    given = [options.settings.get(name) for name in ("system", "tools", "tool_choice")]
    written = repr((schemas, given)).encode("utf-8", "surrogatepass")
    front = ChatRequest(
        messages=(Message.system(instructions),) if instructions else (),
        tools=tuple(one.definition for one in tools.values()),
        settings=options.settings,
    )
    return FixedParts(
        front=front,
        instructions=said,
        tools=sum(map(counter.count, texts)),
        digest=sha256(written).digest()[:8],
        recall=offers_recall(texts),
    )


def _opened(model: str | ProviderConfig | ChatModel) -> ChatModel:
    chat = open_model(model)
    expect_async("model", chat, ChatModel, "respond", hint="it needs async respond()")
    return chat


def _made(
    reducer: HistoryReducer | ChatReducer | None,
    config: HistoryReductionConfig | None,
    given: Summarizer | Sequence[Summarizer] | None,
    model: ChatModel,
    options: AgentOptions,
    observer: Observer | None,
) -> tuple[HistoryReducer, ChatReducer | None, ChatModel | None]:
    """Return a reducer of ours, the caller's own in its place, and the model that was opened."""
    if reducer is not None or (config or HistoryReductionConfig()).enabled:
        warn_of_vendor_edits(options.settings)
    if reducer is not None:
        if config is not None or given is not None:
            name = "history_reduction" if given is None else "summarizer"
            raise ConfigError(f"{name} must be given to the reducer, or in place of it")
        return *_own(reducer, model, observer), None
    chain, opened = given or (), None
    config = config or HistoryReductionConfig()
    if given is None and config.enabled:
        provider = config.summarizer_provider
        opened = None if provider is None else open_model(provider)
        writer = opened or model
        if getattr(writer, "writes_summaries", True):
            chain = ModelSummarizer(writer)
    chain = chain if observer is None else _observed(chain, observer)
    made = HistoryReducer(
        config,
        summarizer=chain,
        timeout=options.summarizer_timeout,
        summary_budget=options.summary_budget,
    ).for_model(model.name, window_of(model))
    made.telemetry = observer
    return made, None, opened


def _observed(given: Summarizer | Sequence[Summarizer], observer: Observer) -> list[Summarizer]:
    """Return the summarizers *given*: those that ask a model report its calls."""
    several = given if isinstance(given, Sequence) else (given,)
    return [
        one.with_model(lambda model: ObservedModel(model, observer))
        if isinstance(one, ModelSummarizer)
        else one
        for one in several
    ]


def _own(
    given: HistoryReducer | ChatReducer, model: ChatModel, observer: Observer | None
) -> tuple[HistoryReducer, ChatReducer | None]:
    hint = "it needs async reduce(); a HistoryReductionConfig goes to `history_reduction=`"
    expect_async("reducer", given, HistoryReducer | ChatReducer, "reduce", hint=hint)
    if isinstance(given, HistoryReducer):
        made = given.for_model(model.name, window_of(model))
        made.telemetry = observer or given.telemetry
        return made, None
    return HistoryReducer(HistoryReductionConfig(enabled=False), window=window_of(model)), given
