"""The agent: a model, its tools and a way to reduce, for any number of threads at once."""

import os
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from foldline.agent.arguments import check_config, check_model, check_overrides, check_parts
from foldline.agent.background import BackgroundFold
from foldline.agent.config import AgentConfig
from foldline.agent.events import AgentEvent
from foldline.agent.input import TurnInput, messages_of
from foldline.agent.options import DEFAULT_OPTIONS, AgentOptions
from foldline.agent.portal import PORTAL
from foldline.agent.reducer import HistoryReducer
from foldline.agent.result import TurnResult
from foldline.agent.setup import TurnSetup
from foldline.agent.streaming import StreamingTurnResult
from foldline.agent.telemetry import UNOBSERVED, ObservedModel, Observer
from foldline.agent.tools import Tool, tools_by_name
from foldline.agent.tools.parameters import ToolFunction
from foldline.agent.turn import Turn
from foldline.errors import ConfigError
from foldline.history.messages import Message
from foldline.providers.model import ChatModel
from foldline.providers.model_summarizer import ModelSummarizer
from foldline.providers.summarizer import Summarizer
from foldline.providers.vendors.opening import open_model
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig, ProviderConfig
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread


__all__ = ["Agent"]


# Of a summarizer's window, so much is for what it reads; the rest is for what it writes, and for the
# difference between our estimate and its count.
_READING_SHARE = 0.6


@runtime_checkable
class _Closing(Protocol):
    async def close(self) -> None: ...


class Agent:
    """
    Answers on threads, with tools, and keeps what the model sees inside a budget.

    An agent holds no conversation: one instance serves any number of threads and tasks at once.
    """

    def __init__(  # noqa: PLR0913 - one name for each thing that an agent is made of
        self,
        model: str | ProviderConfig | ChatModel,
        *,
        name: str = "agent",
        instructions: str = "",
        tools: Iterable[Tool | ToolFunction] = (),
        history_reduction: HistoryReductionConfig | None = None,
        summarizer: Summarizer | Sequence[Summarizer] | None = None,
        options: AgentOptions = DEFAULT_OPTIONS,
        background_fold: BackgroundFold | None = None,
        telemetry: Observer = UNOBSERVED,
    ) -> None:
        """
        Answer with *model*.

        Args:
            model: Who answers: `vendor:model`, a provider, or any object with the protocol.
            name: The name of the agent.
            instructions: What stands in front of every view; it is not stored with a thread.
            tools: What the model may call: typed functions, or tools.
            history_reduction: How and when to reduce; not at all by default.
            summarizer: Who writes summaries; the `summarizer_provider`, else the model, by default.
            options: What bounds a turn.
            background_fold: What makes folds in the background; a turn waits for them by default.
            telemetry: Who watches, as a `Telemetry` does.

        Raises:
            ConfigError: An argument is not allowed.
            MissingExtraError: The model needs a package that is not installed.
        """
        config = HistoryReductionConfig() if history_reduction is None else history_reduction
        check_config(config)
        check_parts(name=(name, str), instructions=(instructions, str))
        check_parts(options=(options, AgentOptions), telemetry=(telemetry, Observer))
        check_parts(background_fold=(background_fold, BackgroundFold | None))
        chat = check_model(open_model(model))
        chain, writer = _summarizers(summarizer, config, chat, telemetry)
        self._opened = [one for one in (chat, writer) if one is not None and one is not model]
        self._setup = TurnSetup(
            agent=name,
            model=chat,
            reducer=_reducer(config, chain, options).observed_by(telemetry),
            tools=tools_by_name(tools),
            instructions=instructions,
            options=options,
            ahead=background_fold,
            observer=telemetry,
            new_id=_new_id,
        )

    @classmethod
    def from_config(
        cls,
        config: AgentConfig,
        *,
        tools: Iterable[Tool | ToolFunction] = (),
        background_fold: BackgroundFold | None = None,
        telemetry: Observer = UNOBSERVED,
    ) -> "Agent":
        """
        Return the agent that *config* describes; see `agent_config_from_json`.

        Args:
            config: The description.
            tools: What the model may call.
            background_fold: What makes folds in the background.
            telemetry: Who watches.

        Raises:
            ConfigError: It names no model, or one that is not known.
            MissingExtraError: The model needs a package that is not installed.
        """
        check_parts(config=(config, AgentConfig))
        if config.provider is None:
            message = "provider=None: an agent needs a model, as in Provider.ProviderKey"
            raise ConfigError(message)
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
        """What stands in front of every view."""
        return self._setup.instructions

    @property
    def model(self) -> ChatModel:
        """Who answers."""
        return self._setup.model

    @property
    def reducer(self) -> HistoryReducer:
        """What makes views."""
        return self._setup.reducer

    async def close(self) -> None:
        """
        Close the connections of the models that the agent has opened, as leaving its context does.

        Models that were given to it stay as they are.
        """
        for model in self._opened:
            if isinstance(model, _Closing):
                await model.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def run(
        self,
        message: TurnInput = None,
        *,
        thread: ConversationThread | None = None,
        config: AgentRunConfig | None = None,
    ) -> TurnResult:
        """
        Run a turn to its end.

        Args:
            message: What the turn begins with. Without it the turn goes on from what is stored: a
                run that did not come to its end is resumed.
            thread: The thread; a new one in memory by default, which the result holds.
            config: What this run changes.

        Raises:
            RunStartError: There is nothing to start from, or an open run and new messages.
            CheckpointStaleError: The open run belongs to a history of another length.
            ThreadConflictError: Somebody else goes on with the thread, or has said something.
            ToolDecisionError: A crash interrupted a tool that waits for a decision then.
            ModelError: The model failed; the turn stays open and can be resumed.
            StoreError: The store failed; what was not acknowledged is not there.
        """
        return await self._run(messages_of(message), thread, config, None)

    def run_stream(
        self,
        message: TurnInput = None,
        *,
        thread: ConversationThread | None = None,
        config: AgentRunConfig | None = None,
    ) -> StreamingTurnResult:
        """
        Return a turn whose events can be watched; it begins when somebody does.

        Args:
            message: What the turn begins with, as in `run`.
            thread: The thread; a new one in memory by default.
            config: What this run changes.

        Raises:
            ConfigError: An argument is of another kind.
        """
        given = messages_of(message)
        check_overrides(config)
        return StreamingTurnResult(lambda listen: self._run(given, thread, config, listen))

    def run_sync(
        self,
        message: TurnInput = None,
        *,
        thread: ConversationThread | None = None,
        config: AgentRunConfig | None = None,
    ) -> TurnResult:
        """
        Do what `run` does, for callers without an event loop.

        All blocking turns of a process run in one loop, and so does a store that they share.

        Raises:
            BlockingCallError: An event loop is running in this thread.
        """
        return PORTAL.run(self._run, messages_of(message), thread, config, None)

    async def _run(
        self,
        given: Sequence[Message],
        thread: ConversationThread | None,
        config: AgentRunConfig | None,
        listen: Callable[[AgentEvent], None] | None,
    ) -> TurnResult:
        check_overrides(config)
        check_parts(thread=(thread, ConversationThread | None))
        if thread is None:
            thread = await MemoryStore().thread(self._setup.new_id())
        turn = Turn(self._setup, thread, given, overrides=config, listen=listen)
        await turn.run()
        return turn.result()


def _reducer(
    config: HistoryReductionConfig,
    chain: Summarizer | Sequence[Summarizer],
    options: AgentOptions,
) -> HistoryReducer:
    return HistoryReducer(
        config,
        summarizer=chain,
        summarizer_window=_window_of(chain),
        timeout=options.summarizer_timeout,
        summary_budget=options.summary_budget,
    )


def _summarizers(
    given: Summarizer | Sequence[Summarizer] | None,
    config: HistoryReductionConfig,
    model: ChatModel,
    observer: Observer,
) -> tuple[Summarizer | Sequence[Summarizer], ChatModel | None]:
    """Return who writes summaries, and the model that was opened for it, if one was."""
    if given is not None:
        return given, None
    if not config.enabled or config.strategy != "summarizing":
        return (), None
    provider = config.summarizer_provider
    opened = None if provider is None else open_model(provider)
    writer = opened or model
    watched = writer if observer is UNOBSERVED else ObservedModel(writer, observer)
    return ModelSummarizer(watched), opened


def _window_of(chain: Summarizer | Sequence[Summarizer]) -> int | None:
    """
    Return how many tokens each of *chain* can be given to read; None where none of them says so.
    """
    summarizers = chain if isinstance(chain, Sequence) else (chain,)
    windows = [one.context_window for one in summarizers if isinstance(one, ModelSummarizer)]
    known = [window for window in windows if window is not None]
    return max(1, int(min(known) * _READING_SHARE)) if known else None


def _new_id() -> str:
    return os.urandom(16).hex()
