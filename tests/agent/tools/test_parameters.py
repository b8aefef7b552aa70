"""Parameters: what is read off functions of every kind, and what is refused."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Annotated, Any, cast

import pytest
from msgspec import UNSET, Meta

from foldline.agent.tools.signature import ToolFunction, read_signature
from foldline.errors import ConfigError


def names(function: ToolFunction) -> list[str]:
    return [one.name for one in read_signature(function, name="t").parameters]


def plain(a: int, b: str = "x", *, c: bool) -> str:
    """Say it.

    Args:
        a: the first
    """
    return f"{a}{b}{c}"


class Kept:
    """A thing.

    Args:
        d: the fourth
    """

    def method(self, a: int) -> int:
        """Do it."""
        return a

    @classmethod
    def of_class(cls, a: int) -> int:
        """Do it."""
        return a

    @staticmethod
    def static(a: int) -> int:
        """Do it."""
        return a

    def __call__(self, d: int) -> int:
        return d


class Told(Kept):
    def __call__(self, d: int) -> int:
        """Call it."""
        return d


def wrapped(function: Callable[..., str]) -> Callable[..., str]:
    @wraps(function)
    def inner(*args: object, **kwargs: object) -> str:
        return function(*args, **kwargs)

    return inner


async def later(a: int) -> int:
    """Do it."""
    return a


@pytest.mark.parametrize(
    ("function", "expected", "description"),
    [
        (plain, ["a", "b", "c"], "Say it."),
        (partial(plain, 1), ["b", "c"], "Say it."),
        (partial(plain, b="y"), ["a", "c"], "Say it."),
        (partial(partial(plain, 1), c=True), ["b"], "Say it."),
        (wrapped(plain), ["a", "b", "c"], "Say it."),
        (Kept().method, ["a"], "Do it."),
        (partial(Kept().method, a=1), [], "Do it."),
        (Kept.of_class, ["a"], "Do it."),
        (Kept.static, ["a"], "Do it."),
        (Kept(), ["d"], "A thing."),
        (Told(), ["d"], "Call it."),
        (partial(Told()), ["d"], "Call it."),
        (partial(Kept()), ["d"], "A thing."),
        (later, ["a"], "Do it."),
        (lambda x: x, ["x"], ""),
    ],
)
def test_every_kind_of_function_is_read(
    function: ToolFunction, expected: list[str], description: str
) -> None:
    """What is bound already is no parameter, and the docstring is that of what is called."""
    assert names(function) == expected
    assert read_signature(function, name="t").description == description


def test_parameters_have_all_that_is_said_of_them() -> None:
    """Annotation, default and text of each parameter are kept."""
    first, second, third = read_signature(plain, name="t").parameters

    assert (first.annotation, first.default, first.description) == (int, UNSET, "the first")
    assert (second.default, second.description) == ("x", "")
    assert (third.annotation, third.default) == (bool, UNSET)


class Elsewhere:
    """As another library describes a field."""

    description = "elsewhere"


def test_an_annotation_may_describe() -> None:
    """What stands with the annotation wins over the docstring; other marks say nothing."""

    def told(
        a: Annotated[int, "here"],
        b: Annotated[int, Meta(description="meta")],
        c: Annotated[int, Elsewhere()],
        d: Annotated[int, 7, Meta(ge=1)],
        e: object,
    ) -> None:
        """
        Do it.

        Args:
            a: not this
            d: but this
        """

    described = [one.description for one in read_signature(told, name="t").parameters]

    assert described == ["here", "meta", "elsewhere", "but this", ""]


def positional(a: int, /) -> None:
    pass


def many(*values: int) -> None:
    pass


def keywords(**values: int) -> None:
    pass


def unknown(a: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    pass


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (positional, "parameter 'a' of tool 't' must .*, got positional-only"),
        (many, r"parameter 'values' of tool 't' must .*, got \*args"),
        (keywords, r"parameter 'values' of tool 't' must .*, got \*\*kwargs"),
        (unknown, "annotation of tool 't' must be defined .*Missing"),
        (Kept.method, "tool 't' must be a method of an instance, .*: pass `instance.method`"),
        (Kept, "tool 't' must be a function, .*, got Kept"),
        (7, "tool 't' must be .*, got int"),
        (partial(cast("ToolFunction", plain), 1, 2, 3, 4), "tool 't' has no readable signature"),
        (dict.fromkeys, "parameter 'iterable' of tool 't' must .*, got positional-only"),
        (iter, "tool 't' has no readable signature"),
    ],
)
def test_what_cannot_be_called_by_name_is_refused(function: Any, said: str) -> None:
    """The error names the tool and the parameter."""
    with pytest.raises(ConfigError, match=said):
        read_signature(function, name="t")
