"""One call of a tool, from the text of its arguments to its answer."""

import asyncio
import logging
from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial
from inspect import isawaitable
from typing import cast

from foldline.agent.tools.answer import ToolAnswer, answer_of, error_answer
from foldline.agent.tools.context import ToolContext
from foldline.agent.tools.tool import Tool
from foldline.agent.tools.worker import in_thread
from foldline.errors import FormatError


__all__ = ["run_tool", "unknown_tool"]


_LOG = logging.getLogger("foldline")

_MOST_NAME = 64
_NEAREST = 5
_MOST_NAMED = 20


async def run_tool(tool: Tool, arguments_json: str, context: ToolContext) -> ToolAnswer:
    """
    Run *tool* and return what the model is to read; only the end of the turn is raised.

    Arguments that are not what the tool takes, an exception of the tool and a timeout become short
    error texts. That of an exception holds its type and its message, so **the message goes to the
    model** unless `shows_errors` is false. An exception is logged by its type, and as a whole at the
    level DEBUG.

    An async function runs in the task of the caller. Any other one runs in a thread with a copy
    of the context variables; after a timeout or the end of the turn it runs on, because nothing can
    stop it.

    Raises:
        CancelledError: The turn was cancelled.
    """
    try:
        arguments = tool.reader.read(arguments_json, context, schema=tool.parameters)
    except FormatError as error:
        return error_answer(f"{tool.name} was not run: {error}")
    task = asyncio.current_task()
    # A task that once caught its cancellation may go on; only a new one ends the turn.
    cancellations = 0 if task is None else task.cancelling()
    scope = asyncio.timeout(tool.timeout)
    try:
        async with scope:
            value = await _called(tool, arguments)
        return answer_of(value, max_result_chars=tool.max_result_chars)
    except asyncio.CancelledError as error:
        if task is not None and task.cancelling() > cancellations:
            raise
        # The tool gave up by itself; nobody has cancelled the turn.
        return _failed(tool, error)
    except TimeoutError as error:
        return _timed_out(tool) if scope.expired() else _failed(tool, error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool raises, the turn goes on
        return _failed(tool, error)


async def _called(tool: Tool, arguments: dict[str, object]) -> object:
    call = partial(tool.function, **arguments)
    value = call() if tool.is_async else await in_thread(call, name=f"tool {tool.name}")
    return cast("object", await value) if isawaitable(value) else value


def _timed_out(tool: Tool) -> ToolAnswer:
    _LOG.warning("tool %s did not finish within %g s", tool.name, tool.timeout)
    waited = f"{tool.name} did not finish within {tool.timeout:g} seconds"
    if tool.is_async:
        return error_answer(f"{waited} and was stopped")
    return error_answer(f"{waited}; it cannot be stopped and may still have an effect")


def _failed(tool: Tool, error: BaseException) -> ToolAnswer:
    name = type(error).__name__
    _LOG.warning("tool %s failed: %s", tool.name, name)
    # The error's own text may quote the conversation: only who asks for it gets to see it.
    _LOG.debug("tool %s failed", tool.name, exc_info=error)
    if not tool.shows_errors:
        return error_answer(name)
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - an error may fail to say what it is
        said = ""
    return error_answer(f"{name}: {said}" if said else name)


def unknown_tool(name: str, known: Iterable[str]) -> ToolAnswer:
    """Return what the model reads when it calls a tool that does not exist."""
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
