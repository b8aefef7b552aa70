"""Protection of stored bytes."""

import asyncio
import sys

import pytest

from foldline.errors import (
    ConfigError,
    MissingExtraError,
    StoreCorruptError,
    StoreKeyError,
)
from foldline.history.messages import Message
from foldline.threads.cipher import AesCipher, Cipher, Vault
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage


KEY = bytes(range(32))
VAULTS = [Vault(), Vault(AesCipher(KEY))]


@pytest.mark.parametrize("size", [16, 24, 32])
def test_what_is_encrypted_is_read_with_key_and_context(size: int) -> None:
    """Data comes back with the same key and context, is hidden, and never looks the same twice."""
    cipher = AesCipher(KEY[:size])
    one, other = cipher.encrypt(b"secret", b"place"), cipher.encrypt(b"secret", b"place")

    assert cipher.decrypt(one, b"place") == cipher.decrypt(other, b"place") == b"secret"
    assert one != other
    assert b"secret" not in one
    assert isinstance(cipher, Cipher)


def test_nothing_else_is_read() -> None:
    """Another key, another context, a flipped bit or a missing byte is refused."""
    cipher = AesCipher(KEY)
    data = cipher.encrypt(b"secret", b"place")

    with pytest.raises(ValueError, match="the tag does not fit"):
        AesCipher(KEY[::-1]).decrypt(data, b"place")
    with pytest.raises(ValueError, match="the tag does not fit"):
        cipher.decrypt(data, b"other place")
    for at in range(len(data)):
        with pytest.raises(ValueError):
            cipher.decrypt(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], b"place")
        with pytest.raises(ValueError):
            cipher.decrypt(data[:at], b"place")


@pytest.mark.parametrize("key", [b"", b"short", bytes(33), "x" * 32])
def test_a_key_has_its_size(key: bytes) -> None:
    """A key of another size or kind is refused, without showing it."""
    with pytest.raises(ConfigError, match="must be 16, 24 or 32 random bytes"):
        AesCipher(key)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the error tells what to install."""
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'foldline\[crypto\]'"):
        AesCipher(KEY)


def test_a_key_is_not_shown() -> None:
    """The picture of a cipher holds nothing of its key."""
    assert repr(AesCipher(KEY)) == "<AesCipher>"


@pytest.mark.parametrize("vault", VAULTS, ids=["plain", "encrypted"])
def test_documents_are_bound_to_their_place(vault: Vault) -> None:
    """A document is read from where it was written, and refused when changed, cut or moved."""
    place = ("tool", "tenant", "thread", "name\0of a \ud800 call")
    stored = vault.close_up(b"content", *place)

    assert vault.open_up(stored, *place) == b"content"
    for at, other in enumerate(("execution", "other", "fork", "name")):
        moved = [*place]
        moved[at] = other
        with pytest.raises(StoreCorruptError, match="is damaged: `foldline verify`"):
            vault.open_up(stored, *moved)
    for at in range(len(stored)):
        flipped = stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]
        for changed in (flipped, stored[:at]):
            with pytest.raises((StoreCorruptError, StoreKeyError)):
                vault.open_up(changed, *place)


def test_rows_are_encrypted_where_there_is_a_key() -> None:
    """
    A payload is stored as it is without a key; with one it is bound to branch, number and kind.
    """
    plain, vault = VAULTS
    stored = vault.close_row(b"body", b"b" * 16, 7, system=False)

    assert (plain.encrypts, vault.encrypts) == (False, True)
    assert plain.close_row(b"body", b"b", 7, system=True) == b"body"
    assert plain.open_row(b"body", b"b", 7, system=True) == b"body"
    assert vault.open_row(stored, b"b" * 16, 7, system=False) == b"body"
    for branch, seq, system in ((b"c" * 16, 7, False), (b"b" * 16, 8, False), (b"b" * 16, 7, True)):
        with pytest.raises(StoreCorruptError, match=f"message row {seq} cannot be decrypted"):
            vault.open_row(stored, branch, seq, system=system)


def test_nothing_that_was_said_is_readable() -> None:
    """With a key, neither messages nor metadata are found in what a storage holds."""

    async def written() -> str:
        storage = MemoryStorage()
        async with ThreadStore(storage, cipher=AesCipher(KEY)) as store:
            thread = await store.thread("a")
            await thread.add_messages([Message.user("canary"), Message.system("canary")])
            await thread.set_metadata({"k": "canary"}, display_name="canary")
            assert len(await thread.search("canary")) == 2
        return repr(storage._threads)  # pyright: ignore[reportPrivateUsage]

    assert "canary" not in asyncio.run(written())


def test_another_key_reads_nothing() -> None:
    """A store that is opened with another key tells that, and gives nothing."""

    async def read() -> None:
        storage = MemoryStorage()
        await (await ThreadStore(storage, cipher=AesCipher(KEY)).thread("a")).add_message(
            Message.user("secret")
        )
        await ThreadStore(storage, cipher=AesCipher(KEY[::-1])).thread("a")

    with pytest.raises(StoreKeyError, match="was encrypted with another key"):
        asyncio.run(read())
