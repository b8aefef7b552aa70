"""`foldline verify`: whether a store is still as it was written."""

from typing import Annotated, Any

import typer

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import DAMAGED, WAY_FORWARD, KeyOptions, tenants_note, with_store
from foldline.apps.cli.terminal import counted, progress, say
from foldline.errors import ThreadNotFoundError, UsageError
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.verify import Verified, list_keys, verify_store, verify_thread


__all__ = ["verify"]


class _VerifyOptions(KeyOptions, frozen=True, kw_only=True):
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Verify only this thread.")] = (
        None
    )
    tenant: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The owner of the threads; all tenants by default."),
    ] = None
    json: JsonOption = False


@takes(_VerifyOptions)
def verify(options: _VerifyOptions) -> None:
    """
    Recompute the chain hashes of everything stored, and name what is not as it was written.

    Of each damaged thread the first bad row is named, or else the first bad document; of a SQLite
    file also what its own integrity check finds. Nothing is repaired. The exit code is 1 if
    anything is damaged.

    With --json: an object with "threads", "messages", "is_whole", "damaged", a list of threads with
    all their "faults", and "store", the faults of the database itself.
    """
    found = with_store(options, lambda store: _verified(store, options))
    damaged = [one for one in found if one.key is not None and one.faults]
    below = [fault for one in found if one.key is None for fault in one.faults]
    threads = sum(one.key is not None for one in found)
    messages = sum(one.messages for one in found)
    if options.json:
        facts = {"threads": threads, "messages": messages, "is_whole": not (damaged or below)}
        print_json({**facts, "damaged": [_document(one) for one in damaged], "store": below})
    else:
        for one in damaged:
            first, *others = one.faults
            more = f" (and {len(others):,} more)" if others else ""
            name = "" if one.key is None else f"thread {one.key.id} of tenant {one.key.tenant}"
            say(f"{name}: {first}{more}", style="red")
        for fault in below:
            say(f"the store itself: {fault}", style="red")
        say(
            f"{counted(threads, 'thread')} with {counted(messages, 'whole message')}, "
            f"{len(damaged):,} damaged"
        )
        if damaged or below:
            say(f"what to do: {WAY_FORWARD}")
    if damaged or below:
        raise typer.Exit(DAMAGED)


async def _verified(store: ThreadStore, options: _VerifyOptions) -> list[Verified]:
    if options.id is not None:
        key = ThreadKey(options.tenant or DEFAULT_TENANT, options.id)
        one = await verify_thread(store.context, key)
        if one is None:
            raise ThreadNotFoundError(thread_id=options.id)
        return [one]
    found: list[Verified] = []
    total = len(await list_keys(store, tenant=options.tenant))
    with progress("verifying", total) as advance:
        async for one in verify_store(store, tenant=options.tenant):
            found.append(one)
            advance()
    if options.tenant is not None and not found:
        message = f"no threads of tenant {options.tenant!r}: {tenants_note(await store.tenants())}"
        raise UsageError(message)
    return found


def _document(one: Verified) -> dict[str, Any]:
    assert one.key is not None
    return {
        "tenant": one.key.tenant,
        "id": one.key.id,
        "whole_messages": one.messages,
        "faults": one.faults,
    }
