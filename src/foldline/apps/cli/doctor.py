"""`foldline doctor`: the environment of a store."""

import asyncio
import platform
import sys
from collections.abc import AsyncIterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import typer
from rich.text import Text

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import StoreOptions, address_of, file_of
from foldline.apps.cli.terminal import clean, output_console, plain_table
from foldline.threads.finding import Finding
from foldline.threads.stores.sqlite.diagnosis import diagnose_file, diagnose_library


__all__ = ["doctor", "version_of"]


_DANGER = 1
# The package that shows whether an extra is installed.
_EXTRAS = {"cli": "typer", "crypto": "cryptography", "postgres": "psycopg", "redis": "redis"}
_STYLES = {"fine": "", "note": "yellow", "danger": "bold red"}


class _DoctorOptions(StoreOptions, frozen=True, kw_only=True):
    json: JsonOption = False


@takes(_DoctorOptions)
def doctor(options: _DoctorOptions) -> None:
    """
    Check a store's environment: versions, modes, locks, sizes and the disk.

    Nothing is changed. Each line is fine, a note, or a danger, which may lose data and makes the
    exit code 1. Of a SQLite file the quick check is run too; `foldline verify` checks the data.

    With --json: an object with "findings", each with "name", "value", "weight" and "advice".
    """
    findings = [*_programs(), *_store(options)]
    if options.json:
        print_json({"findings": findings})
    else:
        table = plain_table()
        for one in findings:
            text = clean(f"{one.value}: {one.advice}" if one.advice else one.value)
            weight = "" if one.weight == "fine" else one.weight
            style = _STYLES[one.weight]
            table.add_row(one.name, Text(weight, style=style), Text(text, style=style))
        output_console().print(table)
    if any(one.weight == "danger" for one in findings):
        raise typer.Exit(_DANGER)


def _programs() -> list[Finding]:
    missing = sorted(name for name, package in _EXTRAS.items() if find_spec(package) is None)
    there = sorted(set(_EXTRAS) - set(missing))
    return [
        Finding(name="foldline", value=version_of("foldline")),
        Finding(name="Python", value=f"{platform.python_version()} on {sys.platform}"),
        Finding(name="msgspec", value=version_of("msgspec")),
        Finding(
            name="extras", value=f"{', '.join(there)}; missing: {', '.join(missing) or 'none'}"
        ),
    ]


def version_of(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"


def _store(options: StoreOptions) -> list[Finding]:
    path = file_of(options)
    if path is not None:
        return [*diagnose_library(), *diagnose_file(path)]
    address = address_of(options)
    name = "postgres" if address.lower().startswith("postgres") else "redis"
    module: Any = import_module(f"foldline.threads.stores.{name}.diagnosis")
    return asyncio.run(_all(getattr(module, f"diagnose_{name}")(address)))


async def _all(findings: AsyncIterator[Finding]) -> list[Finding]:
    return [one async for one in findings]
