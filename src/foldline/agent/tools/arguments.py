"""The arguments of a call: read, checked and converted for the function."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct, field

from foldline.agent.tools.schema import JsonSchema, foreign_value
from foldline.agent.tools.signature import Parameter, Signature, ToolContext
from foldline.errors import ConfigError, FormatError


_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
_TOP = re.compile(r"`\$\.(\w+)")
_MOST_SAID = 600


class ArgumentReader(Struct, frozen=True, kw_only=True):
    """Reads the arguments of a function from the JSON that a model wrote."""

    # The type of the arguments; None accepts any object.
    fields: type[Struct] | None = None
    # The names of the parameters that get the `ToolContext`.
    contexts: tuple[str, ...] = ()
    # What makes the defaults where the function itself has a `Field` of pydantic.
    makers: Mapping[str, Callable[[], object]] = field(
        default_factory=dict[str, Callable[[], object]]
    )

    def read(
        self, text: str, context: ToolContext, *, schema: Mapping[str, Any]
    ) -> dict[str, object]:
        """Return the keyword arguments in *text*; numbers and booleans may be strings."""
        text = text if text.strip() else "{}"
        given = _any_object(text) if self.fields is None else _checked(text, self.fields, schema)
        made = {name: make() for name, make in self.makers.items() if name not in given}
        return made | given | dict.fromkeys(self.contexts, context)


def reader_of(signature: Signature, *, name: str) -> ArgumentReader:
    """Return what reads arguments for *signature*, of the tool *name*."""
    try:
        fields = msgspec.defstruct(
            name.replace("-", "_"),
            [_field(one) for one in signature.parameters],
            kw_only=True,
            forbid_unknown_fields=True,
        )
        msgspec.json.Decoder(fields, dec_hook=foreign_value)
    except (TypeError, ValueError, NameError, RuntimeError) as error:
        raise ConfigError(f"the arguments of tool {name!r} cannot be read: {error}") from error
    makers = {one.name: one.maker for one in signature.parameters if one.maker}
    return ArgumentReader(fields=fields, contexts=signature.contexts, makers=makers)


def _field(one: Parameter) -> tuple[str, Any] | tuple[str, Any, object]:
    if one.default is UNSET:
        return one.name, one.annotation
    return one.name, one.annotation, UNSET


def _any_object(text: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.ValidationError as error:
        raise FormatError(f"the arguments must be an object: {error}") from error
    except _UNREADABLE as error:
        raise FormatError(_not_json(error)) from error


def _checked(text: str, fields: type[Struct], schema: Mapping[str, Any]) -> dict[str, object]:
    try:
        made = _converted(text, fields)
        given = {name: cast("object", getattr(made, name)) for name in fields.__struct_fields__}
        endless = next((name for name, value in given.items() if not _is_finite(value)), None)
    except msgspec.ValidationError as error:
        raise FormatError(_fault(str(error), schema)) from error
    except _UNREADABLE as error:
        raise FormatError(_not_json(error)) from error
    if endless is not None:
        raise FormatError(_fault(f"Expected a finite number - at `$.{endless}`", schema))
    return {name: value for name, value in given.items() if value is not UNSET}


def _converted(text: str, fields: type[Struct]) -> Struct:
    try:
        return msgspec.json.decode(text, type=fields, dec_hook=foreign_value)
    except msgspec.ValidationError:
        # Strict first, so that of several types the one that was written is taken.
        return msgspec.json.decode(text, type=fields, dec_hook=foreign_value, strict=False)


def _is_finite(value: object) -> bool:
    """Whether no number in *value* is NaN or infinite, which could be written as strings."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, Decimal):
        return value.is_finite()
    if isinstance(value, Struct):
        return all(_is_finite(getattr(value, name)) for name in value.__struct_fields__)
    if is_dataclass(value):
        return all(_is_finite(getattr(value, one.name, None)) for one in fields_of(value))
    return all(map(_is_finite, _inside(value)))


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[object, object]", value).values()
    if isinstance(value, list | tuple | set | frozenset):
        return cast("Iterable[object]", value)
    return ()


def _not_json(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "the arguments are nested too deeply"
    if isinstance(error, UnicodeError):
        return "the arguments are not JSON: they contain half of a surrogate pair"
    return f"the arguments are not valid JSON: {str(error).removeprefix('JSON is malformed: ')}"


def _fault(said: str, schema: Mapping[str, Any]) -> str:
    properties: JsonSchema = schema.get("properties", {})
    place = _TOP.search(said)
    if place is not None and place[1] in properties:
        allowed = msgspec.json.encode(properties[place[1]]).decode()
        return f"{_short(said)}. The schema of {place[1]} is {_short(allowed)}"
    return f"{_short(said)}. {_wanted(properties, schema.get('required', ()))}"


def _wanted(properties: Mapping[str, object], required: Sequence[str]) -> str:
    named = [name if name in required else f"{name} (optional)" for name in properties]
    return f"The arguments are {_short(', '.join(named))}" if named else "It takes no arguments"


def _short(text: str) -> str:
    # The message may quote a long string of the model.
    return text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}…"
