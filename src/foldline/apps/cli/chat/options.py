"""The options of `foldline chat`, and who answers as they say."""

from typing import Annotated

from msgspec import structs

from foldline.agent.agent import Agent
from foldline.agent.config import AgentConfig, agent_config_from_mapping
from foldline.apps.cli.chat.recording import Recording, Speaker
from foldline.apps.cli.files import STANDARD_INPUT, read_file
from foldline.apps.cli.options import ConfigOptions, PricesOption, flag, option
from foldline.apps.cli.prices import with_prices
from foldline.apps.cli.replay import recorded_session
from foldline.apps.cli.sources import config_in, configured, note_sessions, one_session
from foldline.apps.cli.stores import TenantOptions, as_id
from foldline.apps.cli.terminal import note
from foldline.errors import ConfigError, UsageError
from foldline.reduction.provider import ProviderConfig


DEFAULT_STORE = "chat.db"
"""The store if none is named: a file in the current folder."""

_SCRIPTED = "scripted:"
_DEMO = "demo"


class ChatOptions(TenantOptions, frozen=True, kw_only=True):
    """Who answers, on which thread, and what is said."""

    model: Annotated[
        str | None,
        option(
            "VENDOR:MODEL",
            "Who answers, for example openai:gpt-5-mini; the key comes from the environment. "
            "scripted:FILE repeats what the assistant says in a recorded conversation, without a "
            "key or a network; scripted:demo does so with the session that comes with foldline.",
        ),
    ] = None
    base_url: Annotated[
        str | None, option("URL", "The address of a server with the vendor's API.")
    ] = None
    prices: PricesOption = None
    thread: Annotated[
        str,
        option(
            "ID",
            "The thread to continue, created if it does not exist; chat by default.",
            show_default=False,
            callback=as_id,
        ),
    ] = "chat"
    instructions: Annotated[
        str | None, option("TEXT|@FILE", "The instructions that start every request.")
    ] = None
    config: Annotated[
        str | None,
        option(
            "FILE",
            "An agent in JSON or TOML: its provider, instructions, options and history "
            "reduction; every option here wins over it.",
        ),
    ] = None
    message: Annotated[
        str | None,
        option(
            "TEXT",
            "Say this, print the answer and exit; text piped into the standard input does "
            "the same.",
        ),
    ] = None
    resume: Annotated[bool, flag("--resume", "First resume a run that was interrupted.")] = False
    delay: Annotated[
        float | None,
        option(
            "SECONDS",
            "With scripted: how long to wait before each answer and each piece of it.",
            min=0,
            max=3600,
        ),
    ] = None
    json: Annotated[
        bool,
        flag(
            "--json",
            "Print one JSON object a line for each event, and the result or the error last.",
        ),
    ] = False


def speaker_of(options: ChatOptions, flags: ConfigOptions) -> Speaker:
    """Return who answers."""
    config = agent_config(options.config)
    reduction = with_prices(configured(flags, config.history_reduction), options.prices)
    if not reduction.enabled:
        note(f"{options.config} disables reduction: the full history is sent")
    instructions = _instructions(options.instructions, config)
    config = structs.replace(config, system_instructions=instructions, history_reduction=reduction)
    if options.model is not None and options.model.startswith(_SCRIPTED):
        return _recording(options, flags, config)
    given = {"--delay": options.delay, "--format": flags.format, "--session": flags.session}
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} has no effect without --model scripted:FILE: leave it out")
    provider = provider_of(config, options.model, base_url=options.base_url)
    return Speaker(Agent.from_config(structs.replace(config, provider=provider)))


def agent_config(name: str | None) -> AgentConfig:
    """Return the agent in the file *name*, or the usual one."""
    if name is None:
        return AgentConfig()
    if name == STANDARD_INPUT:
        raise UsageError("--config -: the standard input is for your messages; name a file")
    return config_in(name, agent_config_from_mapping)


def _instructions(given: str | None, config: AgentConfig) -> str:
    if given is None:
        return config.system_instructions
    if not given.startswith("@"):
        return given
    try:
        return read_file(given[1:]).decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        message = f"{given[1:]}: not UTF-8 text: save it as UTF-8"
    raise ConfigError(message)


def provider_of(
    config: AgentConfig, model: str | None, *, base_url: str | None = None
) -> ProviderConfig:
    """Return the *model* that was named, or that of *config*."""
    provider = config.provider
    if model is not None:
        vendor, _, name = model.partition(":")
        if not (vendor and name):
            raise UsageError(
                f"--model {model[:80]!r}: write vendor:model, for example openai:gpt-5-mini, or "
                "scripted:FILE"
            )
        if provider is not None and provider.provider_key == vendor:
            # The key belongs to the address beside it: neither is used without the other.
            provider = structs.replace(provider, model_name=name)
        else:
            provider = ProviderConfig(provider_key=vendor, model_name=name)
    if provider is None:
        raise UsageError(
            "no model is named: give --model vendor:model, or try --model scripted:demo, which "
            "needs no key"
        )
    return provider if base_url is None else structs.replace(provider, base_url=base_url)


def _recording(options: ChatOptions, flags: ConfigOptions, config: AgentConfig) -> Recording:
    if options.base_url is not None:
        raise UsageError("--base-url has no effect on a recording: leave it out")
    name = options.model or ""
    file = name.removeprefix(_SCRIPTED)
    if not file or file == STANDARD_INPUT:
        raise UsageError(f"--model {name}: name a file (scripted:session.json), or scripted:demo")
    if file == _DEMO:
        session = recorded_session()
    else:
        session = one_session(structs.replace(flags, file=file))
        note_sessions([session])
    return Recording(config, session, name=name, delay=options.delay)
