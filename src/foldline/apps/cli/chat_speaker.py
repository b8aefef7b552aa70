"""From the command line to who answers."""

from msgspec import structs

from foldline.agent.agent import Agent
from foldline.agent.config import AgentConfig, agent_config_from_mapping
from foldline.agent.options import AgentOptions
from foldline.agent.reducer import HistoryReducer
from foldline.apps.cli.chat_options import ChatOptions, chat_reduction
from foldline.apps.cli.chat_recording import AS_RECORDED, Recording, answers_in
from foldline.apps.cli.demo import recorded_session
from foldline.apps.cli.files import STANDARD_INPUT, read_file
from foldline.apps.cli.notes import tell, tell_of_sessions
from foldline.apps.cli.options import ConfigOptions
from foldline.apps.cli.sources import (
    config_fields,
    configured,
    enabled_unless_said,
    one_session,
    placed,
    reduction_section,
)
from foldline.errors import ConfigError, UsageError
from foldline.providers.model import ChatModel
from foldline.providers.vendors.opening import open_model
from foldline.providers.vendors.pydantic_model import PydanticModel
from foldline.providers.vendors.wire_model import WireModel
from foldline.reduction.config import HistoryReductionConfig, ProviderConfig
from foldline.threads.read_only import ReadOnlyThread


__all__ = ["Speaker", "speaker_of"]


_SCRIPTED = "scripted:"
_DEMO = "demo"
_EXAMPLE = ("name", "agent")


class Speaker:
    """Whoever answers: an agent with a vendor's model, or a recording."""

    def __init__(
        self, config: AgentConfig, who: ChatModel | Recording, *, has_own_address: bool = False
    ) -> None:
        """
        Answer as *config* says.

        Args:
            config: The agent; its provider is not looked at.
            who: The model, or the recording.
            has_own_address: Whether it is asked somewhere else than at its vendor.

        Raises:
            ConfigError: The configuration names a summarizer that cannot be opened.
            MissingExtraError: The summarizer needs a package that is not installed.
        """
        self._config = config
        self._who = who
        self.has_own_address = has_own_address
        """Whether it is asked somewhere else than at its vendor."""
        self._first = self._agent(0)

    @property
    def name(self) -> str:
        """Who it is."""
        return self._first.model.name

    @property
    def is_recorded(self) -> bool:
        """Whether it is a recording."""
        return isinstance(self._who, Recording)

    @property
    def reducer(self) -> HistoryReducer:
        """What makes folds."""
        return self._first.reducer

    async def agent(self, thread: ReadOnlyThread) -> Agent:
        """
        Return the agent that answers next on *thread*.

        Raises:
            ModelError: It is a recording, and has ended.
        """
        if not isinstance(self._who, Recording):
            return self._first
        messages = await thread.get_messages()
        place = answers_in(messages)
        given = 0
        state = thread.execution_state
        if state is not None and state.is_open:
            given = answers_in(messages[state.turn_start :])
        if not given:
            self._who.check(place)
        # A recording may end in a call: its result is the last that the turn comes to.
        return self._agent(place, most=given + max(0, self._who.count - place))

    async def request(self, thread: ReadOnlyThread) -> str:
        """Return what the user said next in the recording; empty where there is none."""
        if not isinstance(self._who, Recording):
            return ""
        return self._who.request(answers_in(await thread.get_messages()))

    async def left(self, thread: ReadOnlyThread) -> int | None:
        """Return how many answers of the recording are left; None where nothing was recorded."""
        if not isinstance(self._who, Recording):
            return None
        return max(0, self._who.count - answers_in(await thread.get_messages()))

    async def close(self) -> None:
        """Close the connections to the vendor."""
        if isinstance(self._who, WireModel | PydanticModel):
            await self._who.close()

    def _agent(self, place: int, *, most: int = 1) -> Agent:
        config, who = self._config, self._who
        if not isinstance(who, Recording):
            return Agent(
                who,
                name=config.name,
                instructions=config.system_instructions,
                history_reduction=config.history_reduction,
                options=config.options,
            )
        model = who.model_at(place)
        options = AS_RECORDED if config.options == AgentOptions() else config.options
        by_itself = config.history_reduction.summarizer_provider is None
        return Agent(
            model,
            name=config.name,
            instructions=config.system_instructions,
            tools=who.tools(model, place),
            history_reduction=config.history_reduction,
            # A recording cannot write summaries: what it would say is the next answer.
            summarizer=() if by_itself else None,
            options=structs.replace(options, max_iterations=min(options.max_iterations, most)),
        )


def speaker_of(options: ChatOptions, flags: ConfigOptions) -> Speaker:
    """
    Return who answers, as *options* and the configuration that they name say.

    Raises:
        UsageError: No model is named, a file cannot be read, or options exclude each other.
        ConfigError: There is no such vendor, it lacks its key, or a value is not allowed.
        FormatError: The recording is no conversation that foldline reads.
        MissingExtraError: The model needs a package that is not installed.
    """
    config = _agent_config(options.config, chat_reduction(flags))
    reduction = configured(flags, config.history_reduction)
    if not reduction.enabled:
        tell(f"{options.config} says that reduction is disabled: the full history is sent")
    instructions = _instructions(options.instructions, config)
    config = structs.replace(config, system_instructions=instructions, history_reduction=reduction)
    if options.model is not None and options.model.startswith(_SCRIPTED):
        return Speaker(config, _recording(options, flags))
    _check_unscripted(options, flags)
    provider = _provider(options, config)
    return Speaker(config, open_model(provider), has_own_address=provider.base_url is not None)


def _provider(options: ChatOptions, config: AgentConfig) -> ProviderConfig:
    provider = config.provider
    if options.model is not None:
        vendor, _, name = options.model.partition(":")
        if not (vendor and name):
            message = (
                f"--model {options.model[:80]!r}: write vendor:model, as in openai:gpt-5-mini, or "
                "scripted:FILE"
            )
            raise UsageError(message)
        if provider is not None and provider.provider_key == vendor:
            # The key belongs to the address beside it: neither goes anywhere without the other.
            provider = structs.replace(provider, model_name=name)
        else:
            provider = ProviderConfig(provider_key=vendor, model_name=name)
    if provider is None:
        message = (
            "no model is named: give --model vendor:model, or try --model scripted:demo, which "
            "needs no key"
        )
        raise UsageError(message)
    if options.base_url is None:
        return provider
    return structs.replace(provider, base_url=options.base_url)


def _recording(options: ChatOptions, flags: ConfigOptions) -> Recording:
    if options.base_url is not None:
        message = "--base-url has no effect on a recording: leave it out"
        raise UsageError(message)
    name = options.model or ""
    file = name.removeprefix(_SCRIPTED)
    if not file or file == STANDARD_INPUT:
        message = f"--model {name}: name a file, as in scripted:session.json, or scripted:demo"
        raise UsageError(message)
    if file == _DEMO:
        session = recorded_session()
    else:
        session = one_session(structs.replace(flags, file=file))
        tell_of_sessions([session])
    return Recording(session, name=name, delay=options.delay)


def _check_unscripted(options: ChatOptions, flags: ConfigOptions) -> None:
    given = {"--delay": options.delay, "--format": flags.format, "--session": flags.session}
    for name, value in given.items():
        if value is not None:
            message = f"{name} has no effect without --model scripted:FILE: leave it out"
            raise UsageError(message)


def _instructions(given: str | None, config: AgentConfig) -> str:
    if given is None:
        return config.system_instructions
    if not given.startswith("@"):
        return given
    name = given[1:]
    try:
        return read_file(name).decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        message = f"{name}: no text in UTF-8: save it as such"
    raise ConfigError(message)


def _agent_config(name: str | None, default: HistoryReductionConfig) -> AgentConfig:
    """
    Return the agent in the file *name*; its reduction is enabled unless the file says otherwise.

    Where there is no file, or it says nothing of reduction, that is *default*.
    """
    if name is None:
        return AgentConfig(history_reduction=default)
    if name == STANDARD_INPUT:
        message = "--config -: the standard input is for what you say; name a file"
        raise UsageError(message)
    fields = config_fields(name, _EXAMPLE)
    try:
        config = agent_config_from_mapping(fields)
    except ConfigError as error:
        raise placed(name, error) from error
    section = reduction_section(fields)
    if section is not None:
        # The other commands read the section so too.
        default = enabled_unless_said(config.history_reduction, section)
    return structs.replace(config, history_reduction=default)
