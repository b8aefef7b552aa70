"""What the driver of Redis raises, as errors of foldline."""

import pytest
from redis import exceptions

from foldline.errors import CommitUnknownError, StoreBusyError, StoreError
from foldline.threads.stores.redis.link import store_error
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.redis import RedisServer
from tests.threads.stores.redis_image import tell


SECRET = "the bride wore green"


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (exceptions.BusyLoadingError("x"), StoreBusyError, "LOADING"),
        (exceptions.AuthenticationError("x"), StoreError, "WRONGPASS"),
        (exceptions.NoPermissionError("x"), StoreError, "NOPERM"),
        (exceptions.OutOfMemoryError("x"), StoreError, "OOM"),
        (exceptions.ReadOnlyError("x"), StoreError, "READONLY"),
        (exceptions.MovedError("3999 127.0.0.1:6381"), StoreError, "MOVED"),
        (exceptions.MasterDownError("x"), StoreError, "MASTERDOWN"),
        (exceptions.ResponseError("Error running script: 9: WRONGTYPE x"), StoreError, "prefix"),
        (exceptions.ResponseError("NOREPLICAS Not enough"), StoreError, "NOREPLICAS"),
        (exceptions.ResponseError("MISCONF Errors writing"), StoreError, "MISCONF"),
        (exceptions.ResponseError(f"BUSY {SECRET}"), StoreBusyError, "BUSY"),
        (
            exceptions.ResponseError(f"The user can't run this command {SECRET}"),
            StoreError,
            "NOPERM",
        ),
        (exceptions.ResponseError(f"Error running script: -NOPERM {SECRET}"), StoreError, "NOPERM"),
        (exceptions.ResponseError(f"ACL failure in script: {SECRET}"), StoreError, "NOPERM"),
        (exceptions.ResponseError(f"unknown {SECRET}"), StoreError, "ERR"),
        (exceptions.ConnectionError(SECRET), CommitUnknownError, "ConnectionError"),
        (exceptions.TimeoutError(SECRET), CommitUnknownError, "TimeoutError"),
        (exceptions.InvalidResponse(SECRET), CommitUnknownError, "InvalidResponse"),
        (TimeoutError(), CommitUnknownError, "TimeoutError"),
        (BrokenPipeError(SECRET), CommitUnknownError, "BrokenPipeError"),
    ],
)
def test_errors_of_a_commit(error: Exception, kind: type[StoreError], text: str) -> None:
    """
    A refusal means that nothing was written, a broken connection that it is unknown; none quotes.
    """
    found = store_error(error, is_unknown=True)

    assert type(found) is kind
    assert text in str(found)
    assert SECRET not in str(found)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (exceptions.ConnectionError(SECRET), StoreError),
        (exceptions.TimeoutError(SECRET), StoreBusyError),
        (TimeoutError(), StoreBusyError),
        (FileNotFoundError(SECRET), StoreError),
    ],
)
def test_errors_of_a_read(error: Exception, kind: type[StoreError]) -> None:
    """If no commit was sent, nothing is unknown."""
    found = store_error(error, is_unknown=False)

    assert type(found) is kind
    assert SECRET not in str(found)


@pytest.mark.usefixtures("redis_url")
async def test_a_wrong_password(redis_server: RedisServer) -> None:
    """It is named as what it is, not as a Redis that cannot be reached."""
    await tell(redis_server.url, "ACL", "SETUSER", "app", "on", ">other", "~*", "+@all")
    with pytest.raises(StoreError, match="refuses this user or password"):
        await RedisStore(f"unix://app:wrong@{redis_server.socket}").open()
