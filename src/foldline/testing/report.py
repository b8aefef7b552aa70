"""What the checks of a kit have shown."""

from typing import Literal, TypeAlias

from msgspec import Struct


CheckOutcome: TypeAlias = Literal["kept", "broken", "not_applicable"]
"""The outcome for one promise; it does not apply if what is judged does not make it."""


class Check(Struct, frozen=True, kw_only=True):
    """One promise."""

    name: str
    """Its name."""

    fact: str
    """What it proves, in a sentence."""


class CheckResult(Check, frozen=True, kw_only=True):
    """What one check has shown."""

    outcome: CheckOutcome
    """Whether it holds."""

    reason: str = ""
    """What was found instead, if it does not."""


class ConformanceReport(Struct, frozen=True):
    """What all checks have shown."""

    results: tuple[CheckResult, ...]
    """One for each check, in their order."""

    @property
    def broken(self) -> tuple[CheckResult, ...]:
        """The promises that are broken."""
        return tuple(one for one in self.results if one.outcome == "broken")

    @property
    def is_conformant(self) -> bool:
        """Whether no promise is broken."""
        return not self.broken

    def __str__(self) -> str:
        lines = [f"{one.outcome:<14} {one.name}: {one.reason or one.fact}" for one in self.results]
        return "\n".join(lines)
