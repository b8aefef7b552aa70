"""What keeps the tests off the network."""

import socket

import pytest


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_network_is_out_of_reach(family: socket.AddressFamily, method: str) -> None:
    """No test opens a connection to a host, this machine included."""
    with socket.socket(family) as connection, pytest.raises(AssertionError, match="network"):
        getattr(connection, method)(("localhost", 9))


def test_socket_file_is_in_reach(redis_url: str) -> None:
    """A test may connect to a socket file."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(redis_url.removeprefix("unix://"))
        connection.sendall(b"PING\r\n")

        assert connection.recv(64) == b"+PONG\r\n"
