"""Protection of stored bytes."""

import sys

import pytest

from foldline.errors import (
    MissingExtraError,
    StoreCorruptError,
    StoreKeyError,
)
from foldline.threads.cipher import AesCipher, Vault


KEY = bytes(range(32))
VAULTS = [Vault(), Vault(AesCipher(KEY))]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the error tells what to install."""
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'foldline\[crypto\]'"):
        AesCipher(KEY)


@pytest.mark.parametrize("vault", VAULTS, ids=["plain", "encrypted"])
def test_documents_are_bound_to_their_place(vault: Vault) -> None:
    """A document is read from where it was written, and refused when changed, cut or moved."""
    place = ("tool", "tenant", "thread", "name\0of a \ud800 call")
    stored = vault.close_up(b"content", *place)

    assert vault.open_up(stored, *place) == b"content"
    moves = [(*place[:at], "other", *place[at + 1 :]) for at in range(4)]
    for moved in (*moves, ("tool", "tenantthread", "", place[3])):
        with pytest.raises(StoreCorruptError, match="is damaged: `foldline verify`"):
            vault.open_up(stored, *moved)
    for at in range(len(stored)):
        flipped = stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]
        for changed in (flipped, stored[:at]):
            with pytest.raises((StoreCorruptError, StoreKeyError)):
                vault.open_up(changed, *place)
