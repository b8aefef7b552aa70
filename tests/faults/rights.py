"""Doing something as somebody who may not do everything."""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar


_Result = TypeVar("_Result")

# See capget(2): the version, and twice the effective, permitted and inheritable set.
_VERSION: Final = 0x20080522
_SETS: Final = 6


def without_privileges(work: Callable[[], _Result]) -> _Result:
    """
    Return what *work* returns where the modes of files count, also if the tests are run by root.

    It is done in a thread of its own, whose capabilities, and those of all threads that it starts,
    are gone for good. The user stays the same, so that whatever is to be imported can be read.
    """
    if os.geteuid() != 0:
        return work()
    with ThreadPoolExecutor(1, initializer=_drop) as thread:
        return thread.submit(work).result()


def _drop() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    if library.capset(header, (ctypes.c_uint32 * _SETS)()):
        raise OSError(ctypes.get_errno(), "capset")
