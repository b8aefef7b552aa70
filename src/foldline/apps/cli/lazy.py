"""A command whose module is loaded when the command is called, or asked for its own help."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand


__all__ = ["LazyCommand"]


class LazyCommand(TyperCommand):
    """A command that a list shows without loading it."""

    def __init__(self, name: str, module: str, function: str, summary: str) -> None:
        """Stand for *function* of *module*, the docstring of which begins with *summary*."""
        super().__init__(name, help=summary)
        self._place = module, function

    def load(self) -> Any:
        """Return the command itself, with its options and its whole help."""
        module, function = self._place
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        alone.command(self.name)(getattr(import_module(module), function))
        return typer.main.get_command(alone)

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Return the context of the command itself, which runs in it."""
        command = self.load()
        from foldline.apps.cli.terminal import name_flags  # noqa: PLC0415 - a list does without

        name_flags()
        return command.make_context(*given, **named)
