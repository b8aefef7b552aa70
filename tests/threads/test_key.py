"""Names of threads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.errors import ConfigError, ThreadIdError
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.stores.memory import MemoryStore


@pytest.mark.parametrize("name", ["a", "A-z.0_9:x", "..", "-", "x" * 200])
def test_plain_names_are_allowed(name: str) -> None:
    """Letters, digits, dots, underscores, colons and hyphens make a name of 1 to 200 characters."""
    key = ThreadKey(name, name)

    assert (key.tenant, key.id) == (name, name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "of 0 characters is not allowed"),
        ("x" * 201, "of 201 characters is not allowed"),
        ("user@example.com", "must not have '@', its character 5"),
        ("a b", "must not have ' ', its character 2"),
        ("a/b", "must not have '/', its character 2"),
        ("ä", "must not have 'ä', its character 1"),
        ("a\n", r"must not have '\n', its character 2"),
        ("\0", r"must not have '\x00', its character 1"),
        ("\ud800", r"must not have '\ud800', its character 1"),
        ("\uff11", "must not have '\uff11', its character 1"),
        ("x" * 250 + "/", "must not have '/', its character 251"),
    ],
)
def test_other_names_are_refused(name: str, problem: str) -> None:
    """Any other id or tenant is an error that shows its first other character, or its length."""
    allowed = "use 1 to 200 of A-Z a-z 0-9 . _ : -"
    with pytest.raises(ThreadIdError) as id_error:
        ThreadKey(DEFAULT_TENANT, name)
    with pytest.raises(ThreadIdError) as tenant_error:
        ThreadKey(name, "a")

    advice = "or `foldline.storage.ThreadKey.named(text)` for any text"
    assert str(id_error.value) == f"thread id {problem}: {allowed}, {advice}"
    assert str(tenant_error.value) == f"tenant {problem}: {allowed}"


@pytest.mark.parametrize("name", ["a", "A-z.0_9:x", "x" * 200, "0" * 40, "repo:" + "a" * 40])
def test_a_text_that_is_allowed_is_the_id(name: str) -> None:
    """What may be an id stays as it is, also if it is a hash."""
    assert ThreadKey.named(name, tenant="acme") == ThreadKey("acme", name)


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("user@example.com", "user-example.com:named-b4c9a289323b21a01c3e940f150eb9b8c542587f"),
        ("", "named-e3b0c44298fc1c149afbf4c8996fb92427ae41e4"),
        ("\ud800", "named-91a681b998555fb475479817b126c94e57e52011"),
        ("\u00fc", "named-607474ca475a9724d7360aba71a56d5df77e6135"),
        ("u\u0308", "u:named-f6a166c825947779f740e71de9b4c25feb1e1b39"),
        ("x" * 201, "x" * 60 + ":named-84a0678c90937f5dcf9994d5866668da6b995109"),
    ],
)
def test_any_other_text_has_an_id_for_ever(text: str, id: str) -> None:
    """Every other text has a readable part and a hash, which no version may change."""
    assert ThreadKey.named(text) == ThreadKey(DEFAULT_TENANT, id)


@given(st.text(st.characters(codec=None)))
def test_every_text_has_an_id_of_its_own(text: str) -> None:
    """The id of a text, as another text, has another id unless it is the text itself."""
    made = ThreadKey.named(text).id

    assert made == text or ThreadKey.named(made).id != made


@pytest.mark.parametrize("way", ["thread", "find", "delete"])
async def test_a_store_takes_a_key(way: str) -> None:
    """A key is taken where an id is, and brings its tenant; a second tenant beside it is refused."""
    store, key = MemoryStore(), ThreadKey.named("a/b", tenant="acme")
    assert (await store.thread(key)).key == key
    assert await getattr(store, way)(key)

    with pytest.raises(ConfigError, match=r"^tenant must be 'acme', as the key says, got 'other'$"):
        await getattr(store, way)(key, tenant="other")


async def test_a_fork_and_a_restored_thread_take_a_key() -> None:
    """Both may be named by a key; a fork stays with the tenant of its thread."""
    store, key = MemoryStore(), ThreadKey.named("a/b")
    thread = await store.thread("t", tenant="acme")
    forked = await thread.fork(key)
    restored = await store.restore(await thread.to_snapshot(), thread_id=key, tenant="other")

    assert (forked.key, restored.key) == (ThreadKey("acme", key.id), ThreadKey("other", key.id))
    with pytest.raises(ConfigError, match=r"^tenant must be 'other', as the key says, got 'acme'$"):
        await thread.fork(ThreadKey("other", "u"))
    with pytest.raises(
        ConfigError, match=r"^a fork belongs to the tenant of its thread, 'default', got"
    ):
        await (await store.thread("t")).fork(ThreadKey("other", "u"))


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
