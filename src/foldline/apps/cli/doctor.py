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
from foldline.apps.cli.stores import StoreOptions, address_of, file_of, server_of
from foldline.apps.cli.terminal import clean, output_console, plain_table
from foldline.threads.stores.fact import Fact
from foldline.threads.stores.sqlite.doctor import sqlite_facts


__all__ = ["doctor", "version_of"]


_DANGER = 1
# The package that shows whether an extra is installed.
_EXTRAS = {"cli": "typer", "crypto": "cryptography", "postgres": "psycopg", "redis": "redis"}


class _DoctorOptions(StoreOptions, frozen=True, kw_only=True):
    json: JsonOption = False


@takes(_DoctorOptions)
def doctor(options: _DoctorOptions) -> None:
    """
    Check a store's environment: versions, modes, locks, sizes and the disk.

    Nothing is changed. A danger may lose data, and makes the exit code 1. Of a SQLite file the
    quick check is run too; `foldline verify` checks the data.

    With --json: an object with "facts", each with "name", "value", "advice" and "is_danger".
    """
    facts = [*_programs(), *_store(options)]
    if options.json:
        print_json({"facts": facts})
    else:
        table = plain_table()
        for one in facts:
            text = clean(f"{one.value}: {one.advice}" if one.advice else one.value)
            style = "bold red" if one.is_danger else "yellow" if one.advice else ""
            table.add_row(one.name, Text(text, style=style))
        output_console().print(table)
    if any(one.is_danger for one in facts):
        raise typer.Exit(_DANGER)


def _programs() -> list[Fact]:
    missing = sorted(name for name, package in _EXTRAS.items() if find_spec(package) is None)
    there = sorted(set(_EXTRAS) - set(missing))
    return [
        Fact(name="foldline", value=version_of("foldline")),
        Fact(name="Python", value=f"{platform.python_version()} on {sys.platform}"),
        Fact(name="msgspec", value=version_of("msgspec")),
        Fact(name="extras", value=f"{', '.join(there)}; missing: {', '.join(missing) or 'none'}"),
    ]


def version_of(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"


def _store(options: StoreOptions) -> list[Fact]:
    path = file_of(options)
    if path is not None:
        return list(sqlite_facts(path))
    address = address_of(options)
    name = server_of(address)
    home = f"foldline.threads.stores.{name}.doctor"
    if find_spec(home) is None:
        return []
    module: Any = import_module(home)
    return asyncio.run(_all(getattr(module, f"{name}_facts")(address)))


async def _all(facts: AsyncIterator[Fact]) -> list[Fact]:
    return [one async for one in facts]
