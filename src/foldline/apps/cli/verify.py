"""`foldline verify`: whether a store is still as it was written."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from foldline.apps.cli.documents import json_document
from foldline.apps.cli.faults import INDEX_NOTE, STRAY_NOTE, fault_documents, print_faults
from foldline.apps.cli.files import print_document
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import KeyOptions, no_threads_of, with_store
from foldline.apps.cli.terminal import output_console, progress
from foldline.apps.cli.threads_counts import counted
from foldline.apps.cli.threads_damage import DAMAGED, NAME_NOTE, way_forward
from foldline.errors import StoreBusyError, StoreKeyError, ThreadNotFoundError
from foldline.threads.fault import Fault
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.verification import Verified, count_threads, verify_one, verify_store


__all__ = ["VerifyOptions", "verify"]


class VerifyOptions(KeyOptions, frozen=True, kw_only=True):
    """What to verify."""

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
    named first. No message is changed; an older file is brought up to date. The exit code is 1
    where anything is not as it was written, also where that is stray: it belongs to nothing then,
    and harms no thread; and where the copy of a damaged log lies beside the file.

    With --json: an object with "threads", "messages", "is_whole", "damaged", a list of threads with
    their "faults", and "store", the faults below the threads, of the kind "store", "name", "stray",
    "index" or "log".
    """
    verified = with_store(options, lambda store: _verified(store, options))
    _print(verified, options, is_complete=True)
    if any(one.faults for one in verified):
        raise typer.Exit(DAMAGED)


def _print(verified: list[Verified], options: VerifyOptions, *, is_complete: bool) -> None:
    damaged = [one for one in verified if one.faults and one.key is not None]
    below = [fault for one in verified if one.key is None for fault in one.faults]
    threads = sum(one.key is not None for one in verified)
    messages = sum(one.messages for one in verified)
    if options.json:
        is_whole = is_complete and not damaged and not below
        facts = {"threads": threads, "messages": messages, "is_whole": is_whole}
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
        for line in _advice(damaged, below, options, has_threads=threads > 0):
            console.print(line, soft_wrap=True)


def _advice(
    damaged: list[Verified], below: list[Fault], options: VerifyOptions, *, has_threads: bool
) -> Iterator[str]:
    """Give what to do, one line each; nothing is to be done about what is stray."""
    kinds = {fault.kind for fault in below}
    is_broken = "store" in kinds
    if damaged or (is_broken and has_threads):
        yield "`foldline repair` shows what can be saved"
    if is_broken or any(fault.kind == "store" for one in damaged for fault in one.faults):
        yield f"the store itself is damaged: {way_forward(options)}"
    elif "name" in kinds:
        yield NAME_NOTE
    if "index" in kinds:
        yield INDEX_NOTE
    if "stray" in kinds:
        yield STRAY_NOTE


async def _verified(store: ThreadStore, options: VerifyOptions) -> list[Verified]:
    if options.id is not None:
        key = ThreadKey(options.tenant or DEFAULT_TENANT, options.id)
        one = await verify_one(store.backing, key)
        if one is None:
            raise ThreadNotFoundError(thread_id=options.id)
        return [one]
    found: list[Verified] = []
    total = await count_threads(store, tenant=options.tenant)
    try:
        with progress("verifying", total) as advance:
            async for one in verify_store(store, tenant=options.tenant):
                found.append(one)
                advance()
    except (StoreBusyError, StoreKeyError):
        # Of a thread that nobody can judge; what was found in the others is told before.
        if found:
            _print(found, options, is_complete=False)
        raise
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
