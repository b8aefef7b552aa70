"""Encryption: nothing can be read, moved or changed without the key."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from foldline.errors import ConfigError, StoreCorruptError, StoreKeyError
from foldline.history.digest import EMPTY_DIGEST, chain_digest, hash_text
from foldline.history.messages import Message
from foldline.threads.change import Change, DocumentKind
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.cipher import AesCipher, Cipher, Vault
from foldline.threads.head import decode_head
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.canaries import (
    found_in,
    hide,
    open_state,
    reduction_of,
    secret,
    secrets_at,
    told,
)
from tests.threads.places import Place, place_of, swap


KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))
KINDS_OF_DOCUMENTS = get_args(DocumentKind)


def store_at(path: Path, key: bytes | None = KEY) -> SQLiteStore:
    return SQLiteStore(path, cipher=None if key is None else AesCipher(key), checkpoints="full")


def raw(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


async def written(tmp_path: Path, *ids: str, key: bytes | None = KEY) -> Path:
    """Write threads full of secrets into a file."""
    path = tmp_path / "chat.db"
    async with store_at(path, key) as store:
        for thread_id in ids or ("hidden",):
            await hide(store, thread_id)
    return path


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        assert connection.execute(statement).rowcount > 0
    connection.commit()
    connection.close()


async def read_everything(store: ThreadStore, thread_id: str = "hidden") -> None:
    thread = await store.thread(thread_id)

    await thread.get_messages()
    await thread.reductions()
    await thread.search("the")
    await ThreadCheckpointer(store).history(thread_id)


async def refusal(path: Path, key: bytes | None = KEY) -> str:
    """Return what is said when the threads in a file cannot be read."""

    async def read() -> None:
        async with store_at(path, key) as store:
            for thread_id in ("hidden", "second"):
                await read_everything(store, thread_id)

    with pytest.raises((StoreCorruptError, StoreKeyError)) as refused:
        await read()
    return str(refused.value)


@pytest.mark.parametrize("size", [16, 24, 32])
def test_the_key_sizes_of_aes(size: int) -> None:
    """Keys of 128, 192 and 256 bits give back what they encrypted."""
    cipher = AesCipher(os.urandom(size))

    assert cipher.decrypt(cipher.encrypt(b"secret", b"place"), b"place") == b"secret"
    assert isinstance(cipher, Cipher)


@pytest.mark.parametrize(
    "key",
    [b"", b"short", bytes(15), bytes(31), bytes(33), bytes(64), "x" * 32, bytearray(32), None],
)
def test_other_keys_are_refused_without_showing_them(key: object) -> None:
    """A key of another size or kind is refused, and the message does not hold it."""
    with pytest.raises(ConfigError) as refused:
        AesCipher(key)  # type: ignore[arg-type]

    assert str(refused.value) == "key must be 16, 24 or 32 random bytes"


def test_a_cipher_does_not_show_its_key() -> None:
    """Neither the text nor the attributes of a cipher hold the key."""
    cipher = AesCipher(KEY)

    assert repr(cipher) == str(cipher) == "<AesCipher>"
    assert KEY not in vars(cipher).values()


def test_equal_texts_are_never_stored_equal() -> None:
    """Each value has a nonce of its own: of 2,000 equal ones no two are the same bytes."""
    cipher = AesCipher(KEY)
    stored = [cipher.encrypt(b"secret", b"place") for _ in range(2000)]

    assert len(set(stored)) == 2000
    assert len({one[:12] for one in stored}) == 2000


def test_every_changed_bit_is_found() -> None:
    """Whichever bit of a stored value is changed, it is refused."""
    cipher = AesCipher(KEY)
    stored = cipher.encrypt(b"secret", b"place")
    for place in range(len(stored) * 8):
        changed = bytearray(stored)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(ValueError, match="the tag does not fit"):
            cipher.decrypt(bytes(changed), b"place")


@pytest.mark.parametrize("size", range(0, 30, 3))
def test_a_piece_of_a_value_is_refused(size: int) -> None:
    """A value that was cut off is refused, however short it is."""
    vault = Vault(AesCipher(KEY))
    stored = vault.close_up(b"secret", "execution", "tenant", "chat", "")
    with pytest.raises(StoreCorruptError):
        vault.open_row(stored[:size], bytes(16), 0, system=False)


async def test_no_secret_is_in_any_file_at_any_time(tmp_path: Path) -> None:
    """Before, during and behind every commit the files hold no secret of any kind."""
    async with store_at(tmp_path / "chat.db") as store:
        task = asyncio.create_task(hide(store))
        while not task.done():
            await asyncio.wait([task], timeout=0.002)

            assert found_in(raw(tmp_path)) == []

        thread = await task
        await thread.fork("fork", at=6)
        await thread.clear()
        await store.delete("hidden")

        assert found_in(raw(tmp_path)) == []

    assert found_in(raw(tmp_path)) == []


async def test_without_a_key_the_same_files_hold_them(tmp_path: Path) -> None:
    """The same threads without a cipher can be read in the file, so the search has teeth."""
    await written(tmp_path, key=None)

    assert len(found_in(raw(tmp_path))) > 100


async def test_everything_is_read_back(tmp_path: Path) -> None:
    """With the key another process has every message, name, state, reduction and result."""
    path = await written(tmp_path)

    async with store_at(path) as store:
        thread = await store.thread("hidden")

        assert await thread.get_messages() == told()
        assert thread.display_name == secrets_at("display_name")
        assert dict(thread.metadata) == {"new": secrets_at("metadata")}
        assert thread.execution_state is not None
        assert thread.execution_state.metadata == {"note": secrets_at("state")}
        assert thread.last_reduction is not None
        assert thread.last_reduction.summary_content == secrets_at("summary")
        assert [run.result for run in thread.pending_tools] == [secrets_at("pending")]
        assert len(await ThreadCheckpointer(store).history("hidden")) == 3


async def test_search_reads_what_is_encrypted(tmp_path: Path) -> None:
    """Words are found, messages that were left behind are not, and no index is written."""
    path = await written(tmp_path)

    async with store_at(path) as store:
        thread = await store.thread("hidden")

        word = secret("jwt", "result")

        assert [match.number for match in await thread.search(word)] == [3]
        assert await thread.search(secret("jwt", "rewound")) == []
        assert await thread.search(secret("jwt", "edited")) == []


@pytest.mark.parametrize("key", [OTHER_KEY, KEY[:16]])
async def test_another_key_is_refused(tmp_path: Path, key: bytes) -> None:
    """The refusal names the thread and says that the key is another one."""
    assert await refusal(await written(tmp_path), key) == (
        "the head of thread 'hidden' was encrypted with another key: open this store with that one"
    )


async def test_a_store_is_read_with_its_old_key_and_written_with_a_new_one(tmp_path: Path) -> None:
    """Every place of an old thread is read and written on; what is new needs the new key alone."""
    path = await written(tmp_path)
    both = [AesCipher(OTHER_KEY), AesCipher(KEY)]
    for word in ("once", "again"):
        async with SQLiteStore(path, cipher=both, checkpoints="full") as store:
            await read_everything(store)
            await (await store.thread("hidden")).append([Message.user(word)])
            await (await store.thread("new")).append([Message.user(word)])
    assert "was encrypted with another key" in await refusal(path, OTHER_KEY)
    async with SQLiteStore(path, cipher=both) as store:
        for thread in [one async for one in store.threads() if one.id != "new"]:
            await store.delete(thread.id)
    async with SQLiteStore(path, cipher=AesCipher(OTHER_KEY)) as store:
        new = await store.thread("new")
        assert [one.text for one in await new.get_messages()] == ["once", "again"]


@pytest.mark.parametrize("cipher", [[], b"key", [KEY]])
def test_what_is_no_cipher_is_refused(cipher: object) -> None:
    """An empty list, with which nothing would be encrypted, and a key in place of a cipher."""
    with pytest.raises(ConfigError, match=r"^cipher must be a Cipher, got (None|int|bytes)$"):
        MemoryStore(cipher=cipher)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


async def test_no_key_is_refused(tmp_path: Path) -> None:
    """A store that is opened without its cipher says that it needs its key."""
    assert "is encrypted: open this store with its key" in await refusal(
        await written(tmp_path), None
    )


async def test_a_key_for_what_is_not_encrypted_is_refused(tmp_path: Path) -> None:
    """A cipher for a store that was written without one is refused, and the words say so."""
    assert "is not encrypted: open this store without a key" in await refusal(
        await written(tmp_path, key=None)
    )


async def test_nothing_is_written_with_another_key(tmp_path: Path) -> None:
    """The refusal comes before a commit, and the right key reads all as before."""
    path = await written(tmp_path)

    with pytest.raises(StoreKeyError):
        await store_at(path, OTHER_KEY).open()
    async with store_at(path) as store:
        await read_everything(store)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (place_of(1, "metadata"), place_of(2, "metadata")),
        (place_of(1, "execution"), place_of(2, "execution")),
        (place_of(1, "reduction"), place_of(2, "reduction")),
        (place_of(1, "tool"), place_of(2, "tool")),
        (place_of(1, "metadata"), place_of(1, "execution")),
        (place_of(1, "reduction"), place_of(1, "tool")),
        (place_of(1, "execution"), place_of(2, "metadata")),
    ],
)
async def test_swapped_documents_are_refused(tmp_path: Path, one: Place, other: Place) -> None:
    """A document in the place of another one is damage, of the same thread or of two."""
    path = await written(tmp_path, "hidden", "second")
    swap(path, one, other)

    assert "damaged" in await refusal(path)


async def test_swapped_checkpoints_are_refused(tmp_path: Path) -> None:
    """A checkpoint in the place of another one of the same thread is damage."""
    path = await written(tmp_path, "hidden", "second")
    change(
        path,
        "UPDATE documents SET data = (SELECT data FROM documents WHERE thread = 1 AND "
        "kind = 'checkpoint' ORDER BY name LIMIT 1) WHERE thread = 1 AND kind = 'checkpoint'",
    )

    assert "the checkpoint of thread 'hidden' is damaged" in await refusal(path)


async def test_swapped_heads_are_refused(tmp_path: Path) -> None:
    """The head of one thread is not taken for that of another."""
    path = await written(tmp_path, "hidden", "second")
    swap(path, ("threads", "head", "id = 'hidden'"), ("threads", "head", "id = 'second'"))

    assert "the head of thread 'hidden' is damaged" in await refusal(path)


async def test_refusals_hold_no_secret(tmp_path: Path) -> None:
    """Whatever is damaged, the message has no word of the conversation and no part of the key."""
    path = await written(tmp_path, "hidden", "second", key=None)
    change(path, "UPDATE rows SET data = substr(data, 1, 60) || x'00' || substr(data, 62)")
    said = await refusal(path, None)

    assert found_in(said.encode()) == []


async def test_memory_is_encrypted_too() -> None:
    """In memory rows and documents are closed with the key as in any store."""
    async with MemoryStore(cipher=AesCipher(KEY), checkpoints="full") as store:
        thread = await hide(store)
        await thread.commit(Change(execution=open_state(thread, secrets_at("state"))))
        await thread.add_message(Message.user(secrets_at("user")))
        storage = store.context.storage
        known = b""
        for kind in KINDS_OF_DOCUMENTS:
            known += b"".join(one.data for one in await storage.documents(thread.key, kind))
        stored = await storage.load(thread.key)

        assert stored is not None

        head = store.context.vault.open_up(
            stored.head, "head", thread.tenant, thread.id, str(stored.revision)
        )
        epoch = decode_head(head).epoch
        rows = await storage.rows(thread.key, epoch, 0, thread.count)
        known += stored.head + b"".join(row.data for row in rows)

        assert len(known) > 10_000
        assert found_in(known) == []


async def _spoken(path: Path, key: bytes | None) -> None:
    async with store_at(path, key) as store:
        thread = await store.thread("short")
        await thread.window()
        await thread.add_messages([Message.user("yes"), Message.assistant("4711")])
        await thread.save_reduction(reduction_of(await thread.get_messages(), 1, "s"))
        await thread.add_message(Message.user("no"))
        state = open_state(thread, "n")
        await thread.commit(Change(execution=state))

        assert (await thread.window()).history.total == 3


def _guesses() -> list[bytes]:
    """Return what somebody would look for who guesses the first two messages."""
    found: list[bytes] = []
    for first in ("yes", "no", "maybe"):
        digest = chain_digest(EMPTY_DIGEST, Message.user(first))
        for number in range(4700, 4720):
            pair = chain_digest(digest, Message.assistant(str(number)))
            found += [pair, pair.hex().encode(), hash_text(pair).encode()]
        found += [digest, digest.hex().encode(), hash_text(digest).encode()]
    return found


async def test_what_was_said_cannot_be_guessed(tmp_path: Path) -> None:
    """With a key no digest of a guessed message is in the file; without one the guess is right."""
    for name, key in (("secret", KEY), ("plain", None)):
        (tmp_path / name).mkdir()
        await _spoken(tmp_path / name / "chat.db", key)
    hidden, shown = raw(tmp_path / "secret"), raw(tmp_path / "plain")

    assert [guess for guess in _guesses() if guess in hidden] == []
    assert len([guess for guess in _guesses() if guess in shown]) > 1


async def test_equal_threads_have_no_equal_rows(tmp_path: Path) -> None:
    """Whether two messages are the same cannot be seen: chain hashes and payloads differ."""
    path = tmp_path / "chat.db"

    async with store_at(path) as store:
        for thread_id in ("one", "two"):
            thread = await store.thread(thread_id)
            await thread.add_messages([Message.user("yes")] * 20)
    with closing(sqlite3.connect(path)) as file:
        stored = [data for (data,) in file.execute("SELECT data FROM rows")]

    assert len(stored) == 40
    assert len({data[16:32] for data in stored}) == len({data[32:60] for data in stored}) == 40


async def test_which_are_system_messages_is_bound(tmp_path: Path) -> None:
    """A message that is passed off as a system message, or the other way round, is refused."""
    path = tmp_path / "chat.db"
    await _spoken(path, KEY)
    change(path, "UPDATE rows SET system = 1 WHERE id % 4294967296 = 1")
    async with store_at(path) as store:
        thread = await store.thread("short")
        with pytest.raises(StoreCorruptError, match="message row 1 cannot be decrypted"):
            await thread.get_messages()


async def test_an_older_document_is_not_found_out(tmp_path: Path) -> None:
    """Who can write to the file can put back an earlier valid document: docs/threads.md says so."""
    path = tmp_path / "chat.db"

    async def name(text: str) -> None:
        async with store_at(path) as store:
            await (await store.thread("t")).set_metadata(display_name=text)

    async def read() -> str:
        async with store_at(path) as store:
            return (await store.thread("t")).display_name

    await name("first")
    with closing(sqlite3.connect(path)) as file:
        ((earlier,),) = file.execute("SELECT data FROM documents").fetchall()
    await name("second")

    assert await read() == "second"

    change(path, f"UPDATE documents SET data = x'{earlier.hex()}'")

    assert await read() == "first"
