"""Random bytes that are asked for many at once."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from foldline.threads.random_bytes import RandomBytes


def test_no_bytes_come_twice() -> None:
    """Four threads that draw from one object get ids that all differ, of the size asked for."""
    draw = RandomBytes()
    with ThreadPoolExecutor(4) as threads:
        parts = threads.map(lambda _: [draw(8) for _ in range(1_000)], range(4))
        drawn = [one for part in parts for one in part]

    assert len(set(drawn)) == 4_000
    assert {len(one) for one in drawn} == {8}
    assert (len(draw(16)), len(draw(0))) == (16, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_forked_process_draws_others() -> None:
    """A process and the one that it forks do not get the same bytes."""
    draw = RandomBytes()
    draw(8)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, b"".join(draw(8) for _ in range(16)))
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reading, 16 * 8)
    os.close(reading)
    os.close(writing)
    ours = {draw(8) for _ in range(16)}

    assert len(theirs) == 16 * 8
    assert not ours & {theirs[at : at + 8] for at in range(0, len(theirs), 8)}
