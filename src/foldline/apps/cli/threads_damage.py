"""
A word of damage that an answer does not show.
"""

from foldline.apps.cli.notes import tell
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.verification import verify_one


__all__ = ["warn_of_damage"]


async def warn_of_damage(store: ThreadStore, key: ThreadKey, *, last: int) -> None:
    """
    Tell on the standard error what is the first damage among the first *last* messages of a thread.

    Raises:
        StoreError: The storage failed, for another reason than damage.
    """
    verified = await verify_one(store.backing, key)
    if verified is None:
        return
    for fault in verified.faults:
        if fault.kind != "row" or int(fault.name) < last:
            tell(
                f"thread {key.id!r} is damaged ({fault}): `foldline verify` names all, "
                "`foldline repair` shows what can be saved"
            )
            return
