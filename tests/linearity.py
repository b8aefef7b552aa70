"""
Whether patterns and functions take time that grows no faster than the text they are given.

A pattern is tried with its own literals: strings that each of its alternatives may match are taken
apart, and each stretch of them is repeated, alone and after what comes before it.
"""

import ast
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import signature
from itertools import groupby
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any, TypeAlias

from msgspec import Struct


__all__ = ["is_linear", "patterns_of", "slow_pump"]


ROUNDS = ((250, 1, 6), (1_000, 1, 9), (1_000, 3, 9), (2_000, 3, 9), (4_000, 3, 9))
"""
How long the shorter text is, how often its time is taken, and how many times that the longer takes.

Four times the length is 4 times the time if that is linear, and 16 times if it is quadratic.
"""

CERTAIN = 0.02
"""How many CPU seconds for a text, the best of several times, are more than chance."""

SEPARATORS = ("", " ", "-", ".", "\n", ": ", '"', "a", "1 ", "/", "_")
OF_A_CLASS = "- a1._"
"""What stands in for a class of characters: the first of these that is in it."""

CATEGORIES: dict[str, Callable[[str], bool]] = {
    "WORD": lambda char: char.isalnum() or char == "_",
    "DIGIT": str.isdigit,
    "SPACE": str.isspace,
}

CACHED = type(cache(int))

WAYS = frozenset({"findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"})

Use: TypeAlias = Callable[[str], object]


def patterns_in(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the patterns in *value* and the methods of patterns, also those inside of others."""
    if isinstance(value, re.Pattern) or isinstance(getattr(value, "__self__", None), re.Pattern):
        yield name, value
    elif isinstance(value, tuple):
        for place, one in enumerate(value):
            yield from patterns_in(one, f"{name}[{place}]")
    elif isinstance(value, Struct):
        for field in value.__struct_fields__:
            yield from patterns_in(getattr(value, field), f"{name}.{field}")
    elif isinstance(value, CACHED) and not signature(value).parameters:
        # A pattern that is made when it is first needed.
        yield from patterns_in(value(), name)


def patterns_used(source: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the patterns that *source* gives to a function of `re`, as text or by its *names*."""
    used: dict[str, Any] = {}
    for call in ast.walk(ast.parse(source)):
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=way),
                args=[ast.Name() | ast.Constant() as given, *_],
            ) if way in WAYS:
                text = names.get(given.id) if isinstance(given, ast.Name) else given.value
                if isinstance(text, str | bytes):
                    name = given.id if isinstance(given, ast.Name) else f"line {given.lineno}"
                    made = re.compile(text)
                    used[name] = made if way in {"split", "sub", "subn"} else getattr(made, way)
            case _:
                pass
    return used


def patterns_of(package: ModuleType) -> dict[str, Any]:
    """Return all patterns of *package*, and methods of patterns, by their names."""
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        path = info.name.replace(".", "/")
        if path.startswith("foldline/integrations/"):
            # Only in the environment of its framework can it be loaded; it has no pattern.
            file = Path(str(package.__file__)).parents[1] / f"{path}.py"
            assert "re.compile(" not in file.read_text("utf-8"), info
            continue
        module = import_module(info.name)
        own = dict(
            pair for name, value in vars(module).items() for pair in patterns_in(value, name)
        )
        source = Path(str(module.__file__)).read_text("utf-8")
        own.update(patterns_used(source, vars(module)))
        assert own or "re.compile(" not in source, info
        found.update({f"{info.name.partition('.')[2]}.{name}": one for name, one in own.items()})
    return found


def samples(tree: Iterable[Any]) -> list[list[str]]:
    """Return strings, as lists of pieces, that *tree* may match: one for each alternative."""
    runs = groupby(tree, key=lambda one: str(one[0]) == "LITERAL")
    choices = [
        choice
        for are_literal, run in runs
        for choice in (
            [[["".join(chr(value) for _, value in run)]]]
            if are_literal
            else [_choices(str(kind), value) for kind, value in run]
        )
    ]
    first = [piece for choice in choices for piece in choice[0]]
    others = [
        [
            piece
            for choice in (*choices[:place], [other], *choices[place + 1 :])
            for piece in choice[0]
        ]
        for place, choice in enumerate(choices)
        for other in choice[1:]
    ]
    return [first, *others]


def _choices(kind: str, value: Any) -> list[list[str]]:
    match kind:
        case "BRANCH":
            return [one for branch in value[1] for one in samples(branch)]
        case "SUBPATTERN" | "ATOMIC_GROUP":
            return samples(value[3] if kind == "SUBPATTERN" else value)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [one * max(value[0], 1) for one in samples(value[2])]
        case "IN":
            return [[_member(value)]]
        case _:
            return [["a"] if kind in {"ANY", "NOT_LITERAL"} else []]


def _member(members: list[tuple[Any, Any]]) -> str:
    is_negated = str(members[0][0]) == "NEGATE"
    fitting = (one for one in OF_A_CLASS if any(_holds(m, one) for m in members) != is_negated)
    return next(fitting, chr(members[0][1]) if str(members[0][0]) == "LITERAL" else "")


def _holds(member: tuple[Any, Any], char: str) -> bool:
    kind, value = str(member[0]), member[1]
    if kind == "RANGE":
        low, high = value
        return low <= ord(char) <= high  # type: ignore[no-any-return]
    if kind == "CATEGORY":
        _, *negated, name = str(value).split("_")
        return CATEGORIES[name](char) != bool(negated)
    return kind == "LITERAL" and chr(value) == char


def pumps(sample: list[str]) -> Iterator[tuple[str, str]]:
    """Yield beginnings and what is repeated after them, both taken from *sample*."""
    for start in range(len(sample)):
        for end in range(start + 1, min(start + 12, len(sample)) + 1):
            yield "".join(sample[:start]), "".join(sample[start:end])
    whole = "".join(sample)
    yield from (("", whole + separator) for separator in SEPARATORS)
    yield "", "\n"


def seconds(use: Use, text: str, *, times: int) -> float:
    """Return the CPU time that *use* takes for *text*, the best of so many *times*."""
    taken: list[float] = []
    for _ in range(times):
        started = process_time()
        use(text)
        taken.append(process_time() - started)
    return min(taken)


def is_linear(use: Use, beginning: str, unit: str) -> bool:
    """Whether *use* takes no more than linear time; what looks slow is tried again, longer."""
    for size, times, most in ROUNDS:
        short, long = (beginning + unit * (n // len(unit) + 1) for n in (size, 4 * size))
        taken = seconds(use, long, times=times)
        if taken <= most * seconds(use, short, times=times):
            return True
        if times > 1 and taken > CERTAIN:
            return False
    return False


def slow_pump(found: Any) -> tuple[str, str] | None:
    """
    Return what makes *found*, a pattern or its method, take longer than linear time; None if none.

    A pattern is tried with `finditer`, whatever it is used for.
    """
    pattern = getattr(found, "__self__", found)
    is_bytes = isinstance(pattern.pattern, bytes)

    def use(text: str) -> object:
        given = text.encode() if is_bytes else text
        return sum(1 for _ in found.finditer(given)) if pattern is found else found(given)

    tree = re._parser.parse(pattern.pattern, pattern.flags)  # type: ignore[attr-defined]
    tried = dict.fromkeys(pump for sample in samples(tree) for pump in pumps(sample) if pump[1])
    assert tried
    return next((pump for pump in tried if not is_linear(use, *pump)), None)
