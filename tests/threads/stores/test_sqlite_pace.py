"""When calls in place rest, and what a busy machine is not mistaken for."""

import asyncio

from foldline.threads.stores.sqlite.pace import Pace


class Machine:
    """A clock and a count of waits that a call moves on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits = 0
        self.pace = Pace(clock=lambda: self.now, waits=lambda: self.waits)

    def call(self, seconds: float, *, waits: bool) -> bool:
        """Have a call of so many seconds in a turn of its own; return whether it was allowed."""
        self.pace.begin_turn()
        if not self.pace.begin():
            return False
        self.now += seconds
        self.waits += waits
        self.pace.end()
        return True


def test_a_disk_that_waits_twice_in_a_row_rests() -> None:
    """Two long calls in a row end them for a second, if the second has waited for something."""
    machine = Machine()
    assert all(machine.call(0.01, waits=True) for _ in range(2))
    assert not machine.call(0.0, waits=False)
    machine.now += 1.0
    assert machine.call(0.0, waits=False)


def test_a_busy_machine_is_no_slow_disk() -> None:
    """Calls that took long without waiting were put off by other programs, and go on."""
    machine = Machine()
    assert all(machine.call(0.01, waits=False) for _ in range(20))


async def test_tasks_share_a_turn_of_the_loop() -> None:
    """Once it is over no task makes a call in place before the loop has run others."""
    machine = Machine()
    pace = machine.pace
    for _ in range(32):
        assert pace.begin()
        pace.end()
    assert pace.is_turn_over
    assert not pace.begin()
    order: list[str] = []
    other = asyncio.create_task(_note(order))
    await pace.next_turn()
    order.append("next turn")
    await other

    assert order == ["other task", "next turn"]
    assert not pace.is_turn_over
    assert pace.begin()


async def _note(order: list[str]) -> None:
    order.append("other task")


def test_the_turn_of_a_loop_that_has_ended_is_over() -> None:
    """Nobody begins another one there, so a tenth of a second later calls are made again."""
    machine = Machine()
    for _ in range(32):
        assert machine.pace.begin()
        machine.pace.end()
    assert not machine.pace.begin()
    machine.now += 0.11

    assert machine.pace.begin()
