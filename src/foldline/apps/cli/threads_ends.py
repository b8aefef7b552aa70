"""`foldline threads undo` and `delete`: taking back a reduction, and ending a thread."""

import sys
from typing import Annotated

import typer

from foldline.apps.cli.documents import json_document
from foldline.apps.cli.files import print_document
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import TenantOptions, found_thread, with_store
from foldline.apps.cli.terminal import output_console
from foldline.apps.cli.threads_counts import counted, folded_in
from foldline.apps.cli.threads_views import IdArgument
from foldline.errors import ThreadNotFoundError, UsageError
from foldline.reduction.state import HistoryReductionState
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore


__all__ = ["DeleteOptions", "UndoOptions", "delete_thread", "undo_reduction"]


class UndoOptions(TenantOptions, frozen=True, kw_only=True):
    """Which reduction to revoke."""

    id: IdArgument
    """The thread."""

    json: JsonOption = False
    """Whether to print JSON."""


@takes(UndoOptions)
def undo_reduction(options: UndoOptions) -> None:
    """
    Revoke the newest reduction of a thread; the one before it is in force again.

    Messages that it had archived are in the working history again, byte for byte.
    """

    async def _undo(
        store: ThreadStore,
    ) -> tuple[HistoryReductionState | None, HistoryReductionState | None]:
        thread = await found_thread(store, options, options.id)
        before = thread.last_reduction
        return before, await thread.undo_reduction()

    before, after = with_store(options, _undo)
    cuts = [folded_in(one) for one in (before, after)]
    if options.json:
        facts = {"id": options.id, "undone": before is not None}
        print_document(json_document({**facts, "folded_before": cuts[0], "folded_now": cuts[1]}))
        return
    were = "was" if cuts[0] == 1 else "were"
    text = f"{options.id}: {counted(cuts[0], 'message')} {were} folded, {cuts[1]:,} now"
    if before is None:
        text = f"{options.id}: there is no reduction to undo"
    output_console().print(text, soft_wrap=True)


class DeleteOptions(TenantOptions, frozen=True, kw_only=True):
    """Which thread to delete."""

    id: IdArgument
    """The thread."""

    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
    """Whether nobody is asked."""

    json: JsonOption = False
    """Whether to print JSON."""


@takes(DeleteOptions)
def delete_thread(options: DeleteOptions) -> None:
    """
    Delete a thread with all that was ever said in it; what forks of it share stays there.

    It asks first, on a terminal; elsewhere --yes has to be given.
    """
    key = ThreadKey(options.tenant, options.id)
    _ask(options)

    async def _delete(store: ThreadStore) -> None:
        if not await store.delete(key.id, tenant=key.tenant):
            raise ThreadNotFoundError(thread_id=key.id)

    with_store(options, _delete)
    if options.json:
        print_document(json_document({"id": options.id, "deleted": True}))
    else:
        output_console().print(f"{options.id}: deleted", soft_wrap=True)


def _ask(options: DeleteOptions) -> None:
    if options.yes:
        return
    if not sys.stdin.isatty():
        message = f"deleting {options.id!r} needs a yes: add --yes, or ask on a terminal"
        raise UsageError(message)
    question = f"Delete thread {options.id!r} of tenant {options.tenant!r} for good?"
    typer.confirm(question, abort=True, err=True)
