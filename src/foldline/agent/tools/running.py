"""One call of a tool, from its arguments as JSON to its answer."""

import logging
from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from inspect import isawaitable
from typing import cast

from foldline.agent.bounded import bounded
from foldline.agent.tools.answer import ToolAnswer, answer_of, error_answer
from foldline.agent.tools.signature import ToolContext
from foldline.agent.tools.tool import Tool
from foldline.errors import FormatError
from foldline.history.codec import canonical_json, decode_json
from foldline.providers.worker import in_thread


_LOG = logging.getLogger("foldline")

_MOST_NAME = 64
_NEAREST = 5
_MOST_NAMED = 20


def call_signature(arguments_json: str) -> str:
    """Return a digest that is equal for equal arguments, whatever the order of their keys."""
    try:
        data = b"=" + canonical_json(
            decode_json(arguments_json if arguments_json.strip() else "{}")
        )
    except (FormatError, RecursionError, ValueError):
        data = b"?" + arguments_json.encode("utf-8", "surrogatepass")
    return sha256(data).hexdigest()


async def run_tool(tool: Tool, arguments_json: str, context: ToolContext) -> ToolAnswer:
    """Run *tool* and return what the model reads; only the end of the turn is raised."""
    try:
        arguments = tool.reader.read(arguments_json, context, schema=tool.parameters)
    except FormatError as error:
        return error_answer(f"{tool.name} was not run: {error}")
    outcome = await bounded(partial(_answer, tool, arguments), seconds=tool.timeout)
    if outcome.has_expired:
        return _timed_out(tool)
    if outcome.error is not None:
        return _failed(tool, outcome.error)
    assert outcome.value is not None
    return outcome.value


async def _answer(tool: Tool, arguments: dict[str, object]) -> ToolAnswer:
    call = partial(tool.function, **arguments)
    value = call() if tool.is_async else await in_thread(call, name=f"tool {tool.name}")
    if isawaitable(value):
        value = cast("object", await value)
    return answer_of(value, name=tool.name, max_result_chars=tool.max_result_chars)


def _timed_out(tool: Tool) -> ToolAnswer:
    _LOG.warning("tool %s did not finish within %g s", tool.name, tool.timeout)
    waited = f"{tool.name} did not finish within {tool.timeout:g} seconds"
    if tool.is_async:
        return error_answer(f"{waited} and was stopped")
    return error_answer(f"{waited}; it cannot be stopped and may still have an effect")


def _failed(tool: Tool, error: BaseException) -> ToolAnswer:
    name = type(error).__name__
    _LOG.warning("tool %s failed: %s", tool.name, name)
    # The error's own text may quote the conversation, so it is only logged at DEBUG.
    _LOG.debug("tool %s failed", tool.name, exc_info=error)
    if not tool.shows_errors:
        return error_answer(name)
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - an error may fail to say what it is
        said = ""
    return error_answer(f"{name}: {said}" if said else name)


def unknown_tool(name: str, known: Iterable[str]) -> ToolAnswer:
    """Return what the model reads if it calls a tool that does not exist."""
    names = sorted(known)
    asked = f"there is no tool {name[:_MOST_NAME]!r}"
    if not names:
        return error_answer(f"{asked}: there are no tools")
    lowered = {one.lower(): one for one in names}
    near = get_close_matches(name.lower(), lowered, n=_NEAREST)
    if near:
        return error_answer(f"{asked}; did you mean {', '.join(lowered[one] for one in near)}?")
    more = ", …" if len(names) > _MOST_NAMED else ""
    return error_answer(f"{asked}; there are {', '.join(names[:_MOST_NAMED])}{more}")
