"""Names of threads."""

import pytest

from foldline.errors import ConfigError, ThreadIdError
from foldline.threads.key import DEFAULT_TENANT, ThreadKey


@pytest.mark.parametrize("name", ["a", "A-z.0_9:x", "..", "-", "x" * 200])
def test_plain_names_are_allowed(name: str) -> None:
    """Letters, digits, dots, underscores, colons and hyphens make a name of 1 to 200 characters."""
    key = ThreadKey(name, name)

    assert (key.tenant, key.id) == (name, name)


@pytest.mark.parametrize(
    "name", ["", "x" * 201, "a b", "a/b", "ä", "a\n", "\0", "\ud800", "\uff11"]
)
def test_other_names_are_refused_without_showing_them(name: str) -> None:
    """Any other id or tenant is an error that tells which of both it is and its length alone."""
    with pytest.raises(ThreadIdError, match=f"thread id of {len(name)} characters") as id_error:
        ThreadKey(DEFAULT_TENANT, name)
    with pytest.raises(ThreadIdError, match=f"tenant of {len(name)} characters"):
        ThreadKey(name, "a")

    assert not name or len(name) == 1 or name not in str(id_error.value)


@pytest.mark.parametrize(("value", "got"), [(None, "None"), (7, "int"), (b"a", "bytes")])
def test_a_name_is_a_str(value: object, got: str) -> None:
    """The error for another type names the type."""
    with pytest.raises(ConfigError, match=f"^thread id must be a str, got {got}$"):
        ThreadKey("a", value)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_keys_are_ordered_by_tenant_and_id() -> None:
    """Keys compare by tenant first, then by id, and hash by both."""
    keys = [ThreadKey("b", "a"), ThreadKey("a", "b"), ThreadKey("a", "B")]

    assert sorted(keys) == [ThreadKey("a", "B"), ThreadKey("a", "b"), ThreadKey("b", "a")]
    assert len({*keys, ThreadKey("b", "a")}) == 3
