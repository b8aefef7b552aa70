"""
`foldline repair`: what can be saved of damaged threads, and saving it.
"""

from typing import Annotated, Any

import typer
from msgspec import Struct
from rich.text import Text

from foldline.apps.cli.documents import json_document
from foldline.apps.cli.faults import fault_documents, print_faults
from foldline.apps.cli.files import print_document
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import WAY_FORWARD, KeyOptions, no_threads_of, with_store
from foldline.apps.cli.terminal import clean, output_console, progress
from foldline.apps.cli.threads_damage import DAMAGED
from foldline.errors import (
    StoreCorruptError,
    StoreVersionError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.threads.fault import Fault
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.repair import Repair, carry_out, plan_repair
from foldline.threads.store import ThreadStore
from foldline.threads.verification import list_keys, verify_thread


__all__ = ["RepairOptions", "repair"]


_ATTEMPTS = 5


class RepairOptions(KeyOptions, frozen=True, kw_only=True):
    """
    What to repair.
    """

    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Repair this thread alone.")] = (
        None
    )
    """The thread; None for all that are damaged."""

    tenant: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The owner of the threads; those of all by default."),
    ] = None
    """The owner; None for all."""

    write: Annotated[
        bool, typer.Option("--write", help="Do it; without, it is only told what would be done.")
    ] = False
    """Whether anything is written."""

    json: JsonOption = False
    """Whether to print JSON."""


class _Outcome(Struct):
    repair: Repair
    refusal: str = ""
    left: list[Fault] = []
    is_written: bool = False

    @property
    def is_whole(self) -> bool:
        """
        Whether the thread was written, and verified as whole behind that.
        """
        return self.is_written and not self.left and not self.refusal


@takes(RepairOptions)
def repair(options: RepairOptions) -> None:
    """
    Tell what can be saved of damaged threads, and with --write save it.

    A thread goes on, as a new revision, behind its last whole message; damaged messages stay on the
    branch that is left, and documents that cannot be read are dropped one by one. Everything that
    is lost is told. Make a backup first, and where much is lost `threads export --whole-rows`. What
    was written is verified: a thread is repaired where it is whole then. The exit code is 1 where
    damage is left.

    With --json: an object with "written" and "threads", and in each "kept", "lost" (null where
    nobody knows), "faults", "deeds", "refused" and "left".
    """
    outcomes = with_store(options, lambda store: _repaired(store, options))
    if options.json:
        threads = [_document(one) for one in outcomes]
        print_document(json_document({"written": options.write, "threads": threads}))
    else:
        _print(outcomes, is_written=options.write)
    if not all(one.is_whole for one in outcomes):
        raise typer.Exit(DAMAGED)


async def _repaired(store: ThreadStore, options: RepairOptions) -> list[_Outcome]:
    if options.id is not None:
        keys = [ThreadKey(options.tenant or DEFAULT_TENANT, options.id)]
    else:
        keys = await list_keys(store, tenant=options.tenant)
        if options.tenant is not None and not keys:
            raise no_threads_of(options.tenant, await store.tenants())
    outcomes: list[_Outcome] = []
    # Every thread is looked at before anything is written: a wrong key ends it before that.
    with progress("looking", len(keys)) as advance:
        for key in keys:
            outcome = await _planned(store, key, is_named=options.id is not None)
            if outcome is not None:
                outcomes.append(outcome)
            advance()
    if not options.write:
        return outcomes
    written = [await _written(store, one) for one in outcomes]
    return [one for one in written if one is not None]


async def _planned(store: ThreadStore, key: ThreadKey, *, is_named: bool) -> _Outcome | None:
    """
    Return what a repair of a thread would do; None where nothing is wrong with it.
    """
    try:
        planned = await plan_repair(store.backing, key)
    except (StoreCorruptError, StoreVersionError) as error:
        return _refused(key, str(error))
    except ThreadNotFoundError:
        if is_named:
            raise
        # Somebody has deleted it in the meantime.
        return None
    return None if planned.step is None else _Outcome(planned)


async def _written(store: ThreadStore, outcome: _Outcome) -> _Outcome | None:
    """
    Carry out what was planned, anew where somebody has written since; None if nothing is wrong.
    """
    key = outcome.repair.key
    for _ in range(_ATTEMPTS):
        if outcome.refusal:
            return outcome
        try:
            await carry_out(store.backing, outcome.repair)
        except (ThreadConflictError, ThreadNotFoundError):
            found = await _planned(store, key, is_named=False)
            if found is None:
                return None
            outcome = found
            continue
        except StoreCorruptError as error:
            # The file is damaged where it would be written, and the others can still be mended.
            return _refused(key, str(error))
        left = await verify_thread(store.backing, key)
        return _Outcome(outcome.repair, left=left, is_written=True)
    return _refused(key, "somebody writes to it all the time: try again when nobody does")


def _refused(key: ThreadKey, reason: str) -> _Outcome:
    return _Outcome(Repair(key=key, faults=(), kept=0, lost=None), refusal=reason)


def _document(one: _Outcome) -> dict[str, Any]:
    return {
        "tenant": one.repair.key.tenant,
        "id": one.repair.key.id,
        "kept": one.repair.kept,
        "lost": one.repair.lost,
        "faults": fault_documents(one.repair.faults),
        "deeds": one.repair.deeds,
        "refused": one.refusal,
        "left": fault_documents(one.left),
    }


def _print(outcomes: list[_Outcome], *, is_written: bool) -> None:
    console = output_console()
    for one in outcomes:
        key = one.repair.key
        print_faults(console, f"thread {key.id} of tenant {key.tenant}", one.repair.faults)
        for deed in one.repair.deeds:
            console.print(Text(f"  → {clean(deed)}", style="yellow"), soft_wrap=True)
        if one.refusal:
            refusal = f"  cannot be repaired: {clean(one.refusal)}"
            console.print(Text(refusal, style="red"), soft_wrap=True)
        if one.left:
            print_faults(console, "  is still damaged:", one.left)
        if _loses_much(one):
            console.print(Text(f"  {_hint(one)}", style="bold"), soft_wrap=True)
    console.print(_end(outcomes, is_written=is_written), soft_wrap=True)


def _loses_much(one: _Outcome) -> bool:
    """
    Whether whole messages may be among those that a repair loses.
    """
    return one.refusal == "" and (one.repair.lost is None or one.repair.lost > 1)


def _hint(one: _Outcome) -> str:
    key = one.repair.key
    tenant = "" if key.tenant == DEFAULT_TENANT else f" --tenant {key.tenant}"
    command = f"`foldline threads export {key.id}{tenant} --whole-rows`"
    if one.is_written:
        return f"{command}, on a backup made before, writes what is whole of the lost messages"
    return f"first, {command} writes every whole message, those behind the damage too"


def _end(outcomes: list[_Outcome], *, is_written: bool) -> str:
    count = len(outcomes)
    if not count:
        return "nothing is damaged, nothing was written"
    if not is_written:
        return f"{count:,} damaged; nothing was written: make a backup, then add --write"
    left = sum(bool(one.left) for one in outcomes)
    whole = sum(one.is_whole for one in outcomes)
    text = f"{whole:,} of {count:,} repaired"
    if left:
        text += f"; {left:,} written and damaged still: {WAY_FORWARD}"
    if refused := count - whole - left:
        text += f"; {refused:,} cannot be repaired"
    return text
