"""When calls in place rest, and what a busy machine is not mistaken for."""

from foldline.threads.stores.sqlite.pace import Pace


class Machine:
    """A clock and a count of waits that a call moves on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits = 0
        self.pace = Pace(clock=lambda: self.now, waits=lambda: self.waits)

    def call(self, seconds: float, *, waits: bool) -> bool:
        """Have a call of so many seconds; return whether it was allowed."""
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
