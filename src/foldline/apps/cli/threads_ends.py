"""`foldline threads undo` and `delete`: taking back a reduction, and ending a thread."""

import sys
from typing import Annotated

import typer

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import TenantOptions, folded_in, found_thread, with_store
from foldline.apps.cli.terminal import counted, say
from foldline.apps.cli.threads_views import IdArgument
from foldline.errors import ThreadNotFoundError, UsageError
from foldline.reduction.state import HistoryReductionState
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore


__all__ = ["confirm", "delete_thread", "undo_reduction"]


class _UndoOptions(TenantOptions, frozen=True, kw_only=True):
    id: IdArgument
    json: JsonOption = False


@takes(_UndoOptions)
def undo_reduction(options: _UndoOptions) -> None:
    """
    Take back the newest reduction of a thread; the one before it is active again.

    Messages that it had archived return to the working history, byte for byte.
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
        print_json({**facts, "folded_before": cuts[0], "folded_now": cuts[1]})
    elif before is None:
        say(f"{options.id}: there is no reduction to undo")
    else:
        say(f"{options.id}: folded before: {counted(cuts[0], 'message')}; now: {cuts[1]:,}")


class _DeleteOptions(TenantOptions, frozen=True, kw_only=True):
    id: IdArgument
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
    json: JsonOption = False


@takes(_DeleteOptions)
def delete_thread(options: _DeleteOptions) -> None:
    """
    Delete a thread with all its messages; its forks keep theirs.

    It asks first on a terminal; elsewhere --yes is required.
    """
    key = ThreadKey(options.tenant, options.id)
    if not options.yes:
        question = f"Delete thread {options.id!r} of tenant {options.tenant!r} for good?"
        confirm(question, f"deleting {options.id!r} must be confirmed: add --yes")

    async def _delete(store: ThreadStore) -> None:
        if not await store.delete(key.id, tenant=key.tenant):
            raise ThreadNotFoundError(thread_id=key.id)

    with_store(options, _delete)
    if options.json:
        print_json({"id": options.id, "deleted": True})
    else:
        say(f"{options.id}: deleted")


def confirm(question: str, refusal: str) -> None:
    """Ask *question*; end the command unless the answer is yes."""
    if not sys.stdin.isatty():
        raise UsageError(refusal)
    typer.confirm(question, abort=True, err=True)
