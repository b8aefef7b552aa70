"""Types that check themselves, as the models of pydantic do. They are known by what they can do."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from foldline.agent.tools.references import REFERENCE, JsonSchema


__all__ = ["foreign_schema", "foreign_value", "plain_value"]


@runtime_checkable
class _Model(Protocol):
    def model_validate(self, value: object) -> object: ...

    def model_json_schema(self, *, ref_template: str) -> JsonSchema: ...


def foreign_schema(kind: type) -> JsonSchema:
    """
    Return the JSON schema that *kind* gives for itself.

    Raises:
        TypeError: It gives none.
    """
    if not isinstance(kind, _Model):
        message = f"{kind} is of no kind that JSON can hold"
        raise TypeError(message)
    # With the whole name before it, a definition of one model is never taken for another's.
    prefix = f"{kind.__module__}.{kind.__qualname__}."
    schema = dict(kind.model_json_schema(ref_template=f"{REFERENCE}{prefix}{{model}}"))
    if "$defs" in schema:
        schema["$defs"] = {f"{prefix}{key}": one for key, one in schema["$defs"].items()}
    return schema


def foreign_value(kind: type, value: object) -> object:
    """
    Return what *kind* makes of *value*, which was read from JSON.

    Raises:
        ValueError: It does not take it.
    """
    try:
        # A type that has no schema was refused when the tool was made.
        return cast("_Model", kind).model_validate(value)
    except ValueError as error:
        message = _faults(error)
    # Outside the handler: the error of another library shows addresses and the whole input.
    raise ValueError(message)


def _faults(error: ValueError) -> str:
    told: object = getattr(error, "errors", None)
    if not callable(told):
        return str(error)
    faults = cast("Sequence[dict[str, Any]]", cast("Callable[[], object]", told)())
    return "; ".join(_fault(one) for one in faults)


def _fault(told: dict[str, Any]) -> str:
    place = ".".join(str(step) for step in told.get("loc", ()))
    said = str(told.get("msg", "not allowed"))
    return f"{place}: {said}" if place else said


def plain_value(value: object) -> object:
    """
    Return *value*, of a type that JSON does not have, as one that it has: at the least as a text.
    """
    dump: object = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    return str(value)
