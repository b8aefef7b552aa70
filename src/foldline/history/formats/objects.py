"""
Items as the SDKs of the vendors give them: objects that dump themselves, also inside dictionaries.

An object is written as its SDK sends it: the fields that were set, by their names on the wire,
without those that the SDK keeps to itself (`__api_exclude__`).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType, NoneType
from typing import Any

from foldline.errors import FormatError


# What the content of an answer consists of; those of the Responses API have other types.
_ANTHROPIC_BLOCKS = frozenset({"redacted_thinking", "text", "thinking", "tool_use"})
_HIDDEN = "__api_exclude__"
_SCALARS = frozenset({str, int, float, bool, NoneType})
# Messages of frameworks dump themselves too, in forms of their own.
_FRAMEWORKS = MappingProxyType(
    {
        "agent_framework": "agent_framework",
        "agno": "agno",
        "google": "google_genai",
        "langchain": "langchain",
        "langchain_core": "langchain",
        "llama_index": "llama_index",
        "pydantic_ai": "pydantic_ai",
    }
)


def plain_items(items: Iterable[Any]) -> list[Any]:
    """Return *items* as plain JSON; FormatError for a framework's own."""
    made: list[Any] = []
    for place, item in enumerate(items):
        try:
            if type(item) is dict and _are_plain(item.values()):
                made.append(item)
                continue
            made.append(plain(item))
            _check_message(made[-1], item)
        except FormatError as error:
            raise FormatError(f"messages[{place}]: {error}") from error
        except RecursionError as error:
            raise FormatError(f"messages[{place}] is nested too deeply") from error
    return made


def _are_plain(values: Iterable[Any]) -> bool:
    """Whether there is no object in *values*, as `plain` finds out more slowly."""
    for one in values:
        kind = type(one)
        if kind in _SCALARS:
            continue
        if not (_are_plain(one.values()) if kind is dict else kind is list and _are_plain(one)):
            return False
    return True


def plain(value: Any) -> Any:
    """Return *value* with objects of an SDK as dictionaries; the very object if it has none."""
    if type(value) in _SCALARS or (type(value) is dict and _are_plain(value.values())):
        return value
    if isinstance(value, dict):
        changed = {
            key: new
            for key, inner in value.items()
            if type(inner) not in _SCALARS and (new := plain(inner)) is not inner
        }
        return {**value, **changed} if changed else value
    if isinstance(value, list | tuple):
        made = [plain(inner) for inner in value]
        same = all(new is old for new, old in zip(made, value, strict=True))
        return value if same else made
    try:
        return dumped(value)
    except TypeError:
        # The readers name the field that holds it.
        return value


def dumped(value: Any) -> Any:
    """Return an object of an SDK as JSON; FormatError for a framework's, TypeError for others."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return plain({**value})
    package = type(value).__module__.partition(".")[0]
    if package in _FRAMEWORKS:
        text = f"it is a {type(value).__name__}: use foldline.integrations.{_FRAMEWORKS[package]}"
        raise FormatError(text)
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} is no JSON")
    # To ask a model of pydantic for a name that it lacks takes longer than to dump it.
    hides = any(_HIDDEN in vars(one) for one in type(value).__mro__)
    hidden = getattr(value, _HIDDEN, None) if hides else None
    try:
        return dump(mode="json", by_alias=True, exclude_unset=True, exclude=hidden, warnings=False)
    except ValueError as error:
        text = f"a {type(value).__name__} holds what is no JSON ({type(error).__name__})"
        raise FormatError(text) from None


def _check_message(made: Any, given: object) -> None:
    """Refuse what an SDK returns around a message, or inside of one, in the place of a message."""
    if made is given or not isinstance(made, dict):
        return
    wanted = ""
    if "choices" in made or "finish_reason" in made:
        wanted = "append response.choices[0].message"
    elif "stop_reason" in made or made.get("type") in _ANTHROPIC_BLOCKS:
        wanted = 'append {"role": "assistant", "content": response.content}'
    elif made.get("object") == "response":
        wanted = "extend the list by response.output"
    elif not made.keys() & {"role", "type"}:
        wanted = "pass a dictionary with its role and content"
    if wanted:
        raise FormatError(f"it is a {type(given).__name__}: {wanted}")
