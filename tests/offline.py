"""A plugin of pytest: no test reaches another machine."""

import socket
from collections.abc import Iterator

import pytest


Address = str | tuple[str, int]

_LOOPBACK = {"127.0.0.1", "::1"}


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def check(one: socket.socket, address: Address) -> None:
        # A socket file and a loopback address lead to this machine, never to the network; a name
        # may lead anywhere.
        if one.family != socket.AF_UNIX and address[0] not in _LOOPBACK:
            message = "a test tried to open a network connection"
            raise AssertionError(message)

    def guarded(one: socket.socket, address: Address) -> None:
        check(one, address)
        connect(one, address)

    def guarded_ex(one: socket.socket, address: Address) -> int:
        check(one, address)
        return connect_ex(one, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket.socket, "connect_ex", guarded_ex)
        yield
