"""Encryption of what a store keeps."""

import os
from contextlib import suppress
from hashlib import sha256
from typing import Final, Protocol, runtime_checkable

from foldline.errors import ConfigError, MissingExtraError, StoreCorruptError, StoreKeyError


_KEY_SIZES = (16, 24, 32)
_NONCE_SIZE = 12
_CHECK_SIZE = 16
_KEY_ID_SIZE = 8

DAMAGE_ADVICE: Final = (
    "`foldline verify` names what is damaged, `foldline threads export ID --whole-rows` saves what "
    "is whole"
)
"""What to do about a damaged thread."""

# So far apart that damage makes neither of the other.
_PLAIN = b"fold"
_ENCRYPTED = b"AEAD"
_MARK_SIZE = 4
_HEADER = _MARK_SIZE + _CHECK_SIZE


@runtime_checkable
class Cipher(Protocol):
    """What encrypts and authenticates bytes."""

    @property
    def key_id(self) -> bytes:
        """8 bytes that identify the key and reveal nothing else about it."""
        ...

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        """Return *data* encrypted, so that it can be read with the same *context* only."""
        ...

    def decrypt(self, data: bytes, context: bytes) -> bytes:
        """
        Return what was encrypted.

        Raises:
            ValueError: It was changed, belongs to another *context*, or the key is another one.
        """
        ...


class AesCipher:
    """AES in Galois/Counter Mode (NIST SP 800-38D) with a random nonce for each value."""

    def __init__(self, key: bytes) -> None:
        """
        Encrypt with *key*.

        Raises:
            ConfigError: *key* has not 16, 24 or 32 bytes.
            MissingExtraError: The `crypto` extra is not installed.
        """
        if type(key) is not bytes or len(key) not in _KEY_SIZES:
            message = "key must be 16, 24 or 32 random bytes"
            raise ConfigError(message)
        try:
            from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an optional package
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
        except ImportError:
            raise MissingExtraError(package="cryptography", extra="crypto") from None
        self._aes = AESGCM(key)
        self._key_id = sha256(b"foldline key id\0" + key).digest()[:_KEY_ID_SIZE]
        self._refusal = InvalidTag

    @property
    def key_id(self) -> bytes:
        """The first 8 bytes of a hash of the key."""
        return self._key_id

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        """Return a nonce of 12 bytes, *data* encrypted, and a tag of 16 bytes."""
        nonce = os.urandom(_NONCE_SIZE)
        return nonce + self._aes.encrypt(nonce, data, context)

    def decrypt(self, data: bytes, context: bytes) -> bytes:
        """Return what was encrypted; see `Cipher.decrypt`."""
        try:
            return self._aes.decrypt(data[:_NONCE_SIZE], data[_NONCE_SIZE:], context)
        except self._refusal:
            message = "the tag does not fit: another key, or the data was changed"
            raise ValueError(message) from None

    def __repr__(self) -> str:
        return "<AesCipher>"


class Vault:
    """
    Binds stored bytes to their place, so that they are refused when changed or moved.

    Of several ciphers the first one writes, and each reads what it has written.

    Without a cipher a checksum finds what a disk or a program damaged; it keeps nobody out who can
    write to the store. A cipher does.
    """

    def __init__(self, *ciphers: Cipher) -> None:
        self._ciphers = ciphers
        self._cipher = ciphers[0] if ciphers else None
        self.encrypts = bool(ciphers)

    def close_up(self, data: bytes, *place: str) -> bytes:
        """Return *data* as it is stored at *place*."""
        # None of the words has a NUL but the name of a document, which is the last.
        context = "\0".join(place).encode("utf-8", "surrogatepass")
        if self._cipher is not None:
            return _ENCRYPTED + self._cipher.key_id + self._cipher.encrypt(data, context)
        checked = b"%d\0" % len(context) + context + data
        return _PLAIN + sha256(checked).digest()[:_CHECK_SIZE] + data

    def open_up(self, stored: bytes, *place: str) -> bytes:
        """Return the data in *stored*; StoreCorruptError or StoreKeyError if it does not fit."""
        try:
            context = "\0".join(place).encode("utf-8", "surrogatepass")
        except TypeError:
            # A damaged file may return values and names of any type.
            raise _damaged(place) from None
        if type(stored) is not bytes:
            raise _damaged(place)
        if stored.startswith(_ENCRYPTED):
            return self._decrypted(stored[_MARK_SIZE:], place, context)
        data = stored[_HEADER:]
        checked = b"%d\0%b%b" % (len(context), context, data)
        if stored[:_HEADER] != _PLAIN + sha256(checked).digest()[:_CHECK_SIZE]:
            raise _damaged(place)
        if self._cipher is not None:
            message = f"{_named(place)} is not encrypted: open this store without a key"
            raise StoreKeyError(message)
        return data

    def _decrypted(self, stored: bytes, place: tuple[str, ...], context: bytes) -> bytes:
        if self._cipher is None:
            message = f"{_named(place)} is encrypted: open this store with its key"
            raise StoreKeyError(message)
        key_id, data = stored[:_KEY_ID_SIZE], stored[_KEY_ID_SIZE:]
        cipher = next((one for one in self._ciphers if one.key_id == key_id), self._cipher)
        try:
            plain = cipher.decrypt(data, context)
        except ValueError:
            if key_id == cipher.key_id:
                raise _damaged(place) from None
            message = (
                f"{_named(place)} was encrypted with another key: open this store with that one"
            )
            raise StoreKeyError(message) from None
        if key_id != cipher.key_id:
            raise _damaged(place)
        return plain

    def close_row(self, payload: bytes, branch: bytes, seq: int, *, system: bool) -> bytes:
        """Return *payload* as a row holds it; without a cipher, chain hashes protect it."""
        if self._cipher is None:
            return payload
        return self._cipher.encrypt(payload, _row_context(branch, seq, system=system))

    def open_row(self, stored: bytes, branch: bytes, seq: int, *, system: bool) -> bytes:
        """Return the payload in *stored*; `StoreCorruptError` if it is not what was stored there."""
        if self._cipher is None:
            return stored
        context = _row_context(branch, seq, system=system)
        for cipher in self._ciphers:
            # A row does not say which key it was written with.
            with suppress(ValueError):
                return cipher.decrypt(stored, context)
        message = f"message row {seq} cannot be decrypted: another key, or damage"
        raise StoreCorruptError(message)


def _row_context(branch: bytes, seq: int, *, system: bool) -> bytes:
    return b"row\0%b%d%b" % (branch, seq, b"s" if system else b"")


def _damaged(place: tuple[str, ...]) -> StoreCorruptError:
    return StoreCorruptError(f"{_named(place)} is damaged: {DAMAGE_ADVICE}")


def _named(place: tuple[str, ...]) -> str:
    return f"the {place[0]} of thread {place[2]!r}"
