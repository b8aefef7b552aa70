"""Options are given by name, and what was made stays as it was made."""

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType

import msgspec


MOST_POSITIONAL = 3
ROOM_DEPTH = 2


def _classes(modules: Mapping[str, ModuleType]) -> dict[str, type[object]]:
    return {
        name: value
        for module in modules.values()
        # What lies deeper belongs to its room alone.
        if module.__name__.count(".") <= ROOM_DEPTH
        for name in getattr(module, "__all__", vars(module))
        for value in [getattr(module, name)]
        if inspect.isclass(value)
        if value.__module__.startswith("foldline.") and not name.startswith("_")
        if issubclass(value, msgspec.Struct) or dataclasses.is_dataclass(value)
    }


def _positional(kind: type[object]) -> Iterator[inspect.Parameter]:
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            yield parameter


def test_a_field_with_a_default_is_given_by_name(modules: Mapping[str, ModuleType]) -> None:
    """A public class of two or more fields takes those that have a default by keyword only."""
    loose = [
        f"{name}({parameter.name})"
        for name, kind in _classes(modules).items()
        if len(inspect.signature(kind).parameters) > 1
        for parameter in _positional(kind)
        if parameter.default is not inspect.Parameter.empty
    ]

    assert loose == []


def test_many_fields_are_given_by_name(modules: Mapping[str, ModuleType]) -> None:
    """A public class takes at most three fields by position."""
    long = [
        name
        for name, kind in _classes(modules).items()
        if len(list(_positional(kind))) > MOST_POSITIONAL
    ]

    assert long == []


def test_public_records_are_frozen(modules: Mapping[str, ModuleType]) -> None:
    """No public struct or dataclass can be changed after it was made."""
    loose = [name for name, kind in _classes(modules).items() if not _is_frozen(kind)]

    assert loose == []


def _is_frozen(kind: type[object]) -> bool:
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_config__.frozen
    return bool(vars(kind)["__dataclass_params__"].frozen)
