"""What a view opens with where the model would speak first."""

from collections.abc import Callable
from typing import TypeVar


__all__ = ["opened"]


_Object = TypeVar("_Object")


def opened(view: list[_Object], role: Callable[[_Object], object], note: _Object) -> list[_Object]:
    """
    Return *view* with *note* after its system messages if the model would speak first.

    Some vendors refuse a request in which the model speaks first, and a guest does not say which
    vendor answers.
    """
    first = next((at for at, one in enumerate(view) if role(one) != "system"), None)
    if first is None or role(view[first]) != "assistant":
        return view
    return [*view[:first], note, *view[first:]]
