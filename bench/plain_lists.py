"""The conversation of the bench as plain dictionaries, in the formats of the vendors."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from bench import workload


Kind: TypeAlias = Callable[[int], list[dict[str, Any]]]
_ROUND = 4


def text(count: int) -> list[dict[str, Any]]:
    """Return *count* messages of plain text."""
    return [{"role": role, "content": said} for role, said in workload.texts(count)]


def tools(count: int) -> list[dict[str, Any]]:
    """Return *count* messages of OpenAI Chat, every fourth one a call."""
    items: list[dict[str, Any]] = []
    for at, (asked, _, result, answer) in enumerate(_rounds(count)):
        arguments = f'{{"path": "src/module_{at}.py", "lines": [1, 200]}}'
        function = {"name": "read_file", "arguments": arguments}
        call = {"id": f"call_{at}", "type": "function", "function": function}
        items += [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{at}", "content": result},
            {"role": "assistant", "content": answer},
        ]
    return items


def responses(count: int) -> list[dict[str, Any]]:
    """Return *count* items of OpenAI Responses, every fourth one a call."""
    items: list[dict[str, Any]] = []
    for at, (asked, _, result, answer) in enumerate(_rounds(count)):
        arguments = f'{{"path": "src/module_{at}.py", "lines": [1, 200]}}'
        call = {"type": "function_call", "call_id": f"call_{at}", "name": "read_file"}
        said = {"type": "output_text", "text": answer, "annotations": []}
        items += [
            {"role": "user", "content": asked},
            {**call, "arguments": arguments},
            {"type": "function_call_output", "call_id": f"call_{at}", "output": result},
            {"type": "message", "role": "assistant", "content": [said]},
        ]
    return items


def anthropic(count: int) -> list[dict[str, Any]]:
    """Return *count* messages of Anthropic as lists of blocks, every fourth one with a call."""
    items: list[dict[str, Any]] = []
    for at, (asked, said, result, answer) in enumerate(_rounds(count)):
        wanted = {"path": f"src/module_{at}.py", "lines": [1, 200]}
        use = {"type": "tool_use", "id": f"toolu_{at}", "name": "read_file", "input": wanted}
        found = {"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": [_block(result)]}
        items += [
            {"role": "user", "content": [_block(asked)]},
            {"role": "assistant", "content": [_block(said), use]},
            {"role": "user", "content": [found]},
            {"role": "assistant", "content": [_block(answer)]},
        ]
    return items


KINDS: Mapping[str, Kind] = MappingProxyType(
    {"text": text, "tools": tools, "responses": responses, "anthropic": anthropic}
)
"""The kinds of lists that are measured."""

PEER_KINDS = ("text", "tools", "anthropic")
"""Those of them that LangChain reads as well."""


def _rounds(count: int) -> list[list[str]]:
    texts = [said for _, said in workload.texts(count)]
    return [texts[at : at + _ROUND] for at in range(0, count, _ROUND)]


def _block(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}
