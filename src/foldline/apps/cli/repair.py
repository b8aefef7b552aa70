"""`foldline repair`: what can be saved of damaged threads, and saving it."""

from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from foldline.apps.cli.documents import json_document
from foldline.apps.cli.faults import INDEX_NOTE, STRAY_NOTE, fault_documents, print_faults
from foldline.apps.cli.files import print_document
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import COPY_TABLES, KeyOptions, no_threads_of, with_store
from foldline.apps.cli.terminal import clean, output_console, progress
from foldline.apps.cli.threads_damage import DAMAGED, NAME_NOTE, way_forward
from foldline.errors import (
    StoreCorruptError,
    StoreVersionError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.threads.fault import Fault, FaultKind
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.repair import Repair, carry_out, plan_repair
from foldline.threads.salvage import Mender, Salvage
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.damaged_log import kept_faults
from foldline.threads.stores.sqlite.inspection import Inspection, look_into
from foldline.threads.stores.sqlite.storage import SQLiteStorage
from foldline.threads.verification import find_keys, verify_thread


__all__ = ["RepairOptions", "repair"]


_ATTEMPTS = 5
_BELOW_NOTE = "with --write the store is mended before its threads, which may be whole then"
_WITHHELD = "nothing is written while the store itself is damaged"
# A backup copies the pages as they are.
_COPY = (
    f"every thread is whole: {COPY_TABLES}; else restore a backup, or `foldline threads export` "
    "each, and `foldline threads import` it into a new store"
)


class RepairOptions(KeyOptions, frozen=True, kw_only=True):
    """What to repair."""

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
        """Whether the thread was written, and verified as whole behind that."""
        return self.is_written and not self.left and not self.refusal


class _Found(Struct, frozen=True, kw_only=True):
    outcomes: list[_Outcome]
    below: Inspection
    others: list[Fault]
    mended: list[Fault]
    misnamed: list[Fault]
    # How many threads were looked at; None where not all that there are were asked for.
    listed: int | None
    way: str

    @property
    def is_mended(self) -> bool:
        """Whether no damage is left, neither in a thread nor below all of them."""
        return not self.faults and all(one.is_whole for one in self.outcomes)

    @property
    def is_written(self) -> bool:
        """Whether anything was written."""
        return bool(self.mended) or any(one.is_written for one in self.outcomes)

    @property
    def faults(self) -> list[Fault]:
        """What is wrong below the threads."""
        return [*self.misnamed, *self.below.faults, *self.others]

    def has(self, kind: FaultKind) -> bool:
        """Whether a fault of *kind* is left below the threads."""
        return any(one.kind == kind for one in self.faults)


@takes(RepairOptions)
def repair(options: RepairOptions) -> None:
    """
    Tell what can be saved of damaged threads, and with --write save it.

    A thread goes on, as a new revision, behind its last whole message; damaged messages stay on the
    branch that is left, and documents that cannot be read are dropped one by one. Everything that
    is lost is told. Make a backup first, and where much is lost `threads export --whole-rows`. What
    was written is verified: a thread is repaired where it is whole then. Before that, what a store
    makes of its threads is mended where it can only be meant in one way: the index of words in a
    file, and in Redis the lists of threads and branches. Into a file that SQLite itself finds
    damaged nothing is written, since rows that are only out of reach there would be lost. The exit
    code is 1 where damage is left.

    With --json: an object with "written", whether anything was, "threads", and in each "kept",
    "lost" (null where nobody knows), "faults", "deeds", "refused" and "left", and "store" and
    "mended", the faults below the threads that are left and that were mended.
    """
    found = with_store(options, lambda store: _repaired(store, options))
    if options.json:
        threads = [_document(one) for one in found.outcomes]
        rest = {
            "store": fault_documents(found.faults),
            "mended": fault_documents(found.mended),
        }
        print_document(json_document({"written": found.is_written, "threads": threads, **rest}))
    else:
        _print(found, writes=options.write)
    if not found.is_mended:
        raise typer.Exit(DAMAGED)


async def _repaired(store: ThreadStore, options: RepairOptions) -> _Found:
    below, others = await _inspected(store)
    is_listed = options.id is None and options.tenant is None
    mended: list[Fault] = []
    try:
        keys, misnamed = await _keys(store, options)
    except StoreCorruptError as error:
        if not below.broken:
            raise
        unlisted = f"the threads cannot be listed: {error}"
        below = replace(below, broken=(unlisted, *below.broken))
        keys, misnamed = [], []
        is_listed = False
    outcomes = await _looked_at(store, keys, is_named=options.id is not None)
    if below.broken:
        outcomes = [_withheld(one) for one in outcomes]
    elif options.write:
        mended = await _mended(store) if below.faults or others else []
        if mended:
            # Threads that could not be read or were not even listed may be whole.
            below, others = await _inspected(store)
            keys, misnamed = await _keys(store, options)
            outcomes = await _looked_at(store, keys, is_named=options.id is not None)
        written = [await _written(store, one) for one in outcomes]
        outcomes = [one for one in written if one is not None]
    return _Found(
        outcomes=outcomes,
        below=below,
        others=others,
        mended=mended,
        misnamed=misnamed,
        listed=len(set(keys)) if is_listed else None,
        way=way_forward(options),
    )


async def _inspected(store: ThreadStore) -> tuple[Inspection, list[Fault]]:
    """Return what is wrong below the threads, in a file and in any other store."""
    storage = store.backing.storage
    if isinstance(storage, SQLiteStorage):
        below = await storage.reader.run(lambda connection: look_into(connection, storage.sql))
        return below, kept_faults(storage.file.path)
    return Inspection(), await storage.inspect() if isinstance(storage, Salvage) else []


async def _mended(store: ThreadStore) -> list[Fault]:
    storage = store.backing.storage
    return await storage.mend() if isinstance(storage, Mender) else []


async def _keys(store: ThreadStore, options: RepairOptions) -> tuple[list[ThreadKey], list[Fault]]:
    """Return the threads to look at, and what is wrong with names that nobody can ask for."""
    keys, misnamed = await find_keys(store.backing, tenant=options.tenant)
    if options.id is not None:
        return [ThreadKey(options.tenant or DEFAULT_TENANT, options.id)], misnamed
    if options.tenant is not None and not keys:
        raise no_threads_of(options.tenant, await store.tenants())
    return keys, misnamed


async def _looked_at(
    store: ThreadStore, keys: list[ThreadKey], *, is_named: bool
) -> list[_Outcome]:
    outcomes: list[_Outcome] = []
    # Every thread is looked at before anything is written: a wrong key ends it before that.
    with progress("looking", len(keys)) as advance:
        for key in keys:
            outcome = await _planned(store, key, is_named=is_named)
            if outcome is not None:
                outcomes.append(outcome)
            advance()
    return outcomes


async def _planned(store: ThreadStore, key: ThreadKey, *, is_named: bool) -> _Outcome | None:
    """Return what a repair of a thread would do; None where nothing is wrong with it."""
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
            # Damaged since it was looked at: the others may still be mended.
            return _refused(key, str(error))
        left = await verify_thread(store.backing, key)
        return _Outcome(outcome.repair, left=left, is_written=True)
    return _refused(key, "somebody writes to it all the time: try again when nobody does")


def _refused(key: ThreadKey, reason: str) -> _Outcome:
    return _Outcome(Repair(key=key, faults=(), kept=0, lost=None), refusal=reason)


def _withheld(one: _Outcome) -> _Outcome:
    # What cannot be reached may be there all the same.
    told = replace(one.repair, lost=None, deeds=(), step=None)
    return _Outcome(told, refusal=one.refusal or _WITHHELD)


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


def _print(found: _Found, *, writes: bool) -> None:
    console = output_console()
    for one in found.outcomes:
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
    if found.faults:
        print_faults(console, "the store itself", found.faults)
    if found.mended:
        print_faults(console, "mended below the threads", found.mended)
    console.print(_end(found, writes=writes), soft_wrap=True)


def _loses_much(one: _Outcome) -> bool:
    """Whether whole messages may be among those that a repair loses."""
    return one.refusal == "" and (one.repair.lost is None or one.repair.lost > 1)


def _hint(one: _Outcome) -> str:
    key = one.repair.key
    tenant = "" if key.tenant == DEFAULT_TENANT else f" --tenant {key.tenant}"
    command = f"`foldline threads export {key.id}{tenant} --whole-rows`"
    if one.is_written:
        return f"{command}, on a backup made before, writes what is whole of the lost messages"
    return f"first, {command} writes every whole message, those behind the damage too"


def _end(found: _Found, *, writes: bool) -> str:
    outcomes, count = found.outcomes, len(found.outcomes)
    if found.below.broken:
        damaged = f"{count:,} damaged; " if count else ""
        return f"{damaged}nothing was written, since the store itself is damaged: {_way(found)}"
    rest = _rest(found, writes=writes)
    if not count:
        what = "no thread is damaged" if found.faults else "nothing is damaged"
        was = "" if found.mended else ", nothing was written"
        return f"{what}{was}{rest}"
    if not writes:
        return f"{count:,} damaged; nothing was written: make a backup, then add --write{rest}"
    left = sum(bool(one.left) for one in outcomes)
    whole = sum(one.is_whole for one in outcomes)
    text = f"{whole:,} of {count:,} repaired"
    if refused := count - whole - left:
        text += f"; {refused:,} cannot be repaired"
    if left:
        text += f"; {left:,} written and damaged still: {found.way}"
    return f"{text}{rest}"


def _way(found: _Found) -> str:
    """Return the way forward where the store itself is damaged."""
    if found.outcomes or not found.listed:
        return found.way
    if found.misnamed or found.listed != found.below.threads:
        return f"every thread that can be listed is whole: {found.way}"
    return _COPY


def _rest(found: _Found, *, writes: bool) -> str:
    """Return what stays as it is, whatever is repaired."""
    notes = (
        (found.mended, f"{len(found.mended):,} mended below the threads"),
        (found.has("index"), INDEX_NOTE),
        (found.has("store") and not writes, _BELOW_NOTE),
        (found.misnamed, NAME_NOTE),
        (found.has("stray"), STRAY_NOTE),
    )
    return "".join(f"; {note}" for is_due, note in notes if is_due)
