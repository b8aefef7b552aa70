"""
`foldline verify`: whether a store is still as it was written.
"""

from typing import Annotated, Any

import typer

from foldline.apps.cli.documents import json_document
from foldline.apps.cli.faults import fault_documents, print_faults
from foldline.apps.cli.files import print_document
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import KeyOptions, no_threads_of, with_store
from foldline.apps.cli.terminal import output_console, progress
from foldline.apps.cli.threads_counts import counted
from foldline.apps.cli.threads_damage import DAMAGED, way_forward
from foldline.errors import ThreadNotFoundError
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.verification import Verified, count_threads, verify_one, verify_store


__all__ = ["VerifyOptions", "verify"]


class VerifyOptions(KeyOptions, frozen=True, kw_only=True):
    """
    What to verify.
    """

    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Verify this thread alone.")] = (
        None
    )
    """The thread; None for all."""

    tenant: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The owner of the threads; those of all by default."),
    ] = None
    """The owner; None for all."""

    json: JsonOption = False
    """Whether to print JSON."""


@takes(VerifyOptions)
def verify(options: VerifyOptions) -> None:
    """
    Recompute everything that is stored, and name what is not as it was written.

    That is: every message with its seal, its place, its counts and its digest, every reduction,
    execution state, checkpoint and tool call, and whether they belong to these messages; of a
    SQLite file also what SQLite itself checks. Of the messages of a thread the first damaged one is
    named first. Nothing is changed. The exit code is 1 where something is damaged.

    With --json: an object with "threads", "messages", "is_whole", "damaged", a list of threads with
    their "faults", and "store", the faults below the threads.
    """
    verified = with_store(options, lambda store: _verified(store, options))
    damaged = [one for one in verified if one.faults and one.key is not None]
    below = [fault for one in verified if one.key is None for fault in one.faults]
    threads = sum(one.key is not None for one in verified)
    messages = sum(one.messages for one in verified)
    if options.json:
        facts = {"threads": threads, "messages": messages, "is_whole": not damaged and not below}
        rest = {"damaged": [_document(one) for one in damaged], "store": fault_documents(below)}
        print_document(json_document({**facts, **rest}))
    else:
        console = output_console()
        for one in damaged:
            print_faults(console, _name(one.key), one.faults)
        if below:
            print_faults(console, "the store itself", below)
        console.print(
            f"{counted(threads, 'thread')} with {counted(messages, 'whole message')}, "
            f"{len(damaged):,} damaged",
            soft_wrap=True,
        )
        if damaged or (below and threads):
            console.print("`foldline repair` shows what can be saved", soft_wrap=True)
        if below or any(fault.kind == "store" for one in damaged for fault in one.faults):
            way = way_forward(options)
            console.print(f"the store itself is damaged: {way}", soft_wrap=True)
    if damaged or below:
        raise typer.Exit(DAMAGED)


async def _verified(store: ThreadStore, options: VerifyOptions) -> list[Verified]:
    if options.id is not None:
        key = ThreadKey(options.tenant or DEFAULT_TENANT, options.id)
        one = await verify_one(store.backing, key)
        if one is None:
            raise ThreadNotFoundError(thread_id=options.id)
        return [one]
    found: list[Verified] = []
    with progress("verifying", await count_threads(store, tenant=options.tenant)) as advance:
        async for one in verify_store(store, tenant=options.tenant):
            found.append(one)
            advance()
    if options.tenant is not None and not found:
        raise no_threads_of(options.tenant, await store.tenants())
    return found


def _name(key: ThreadKey | None) -> str:
    return "" if key is None else f"thread {key.id} of tenant {key.tenant}"


def _document(one: Verified) -> dict[str, Any]:
    assert one.key is not None
    return {
        "tenant": one.key.tenant,
        "id": one.key.id,
        "whole_messages": one.messages,
        "faults": fault_documents(one.faults),
    }
