"""One name for each file, however many ways it was written."""

from collections.abc import Iterable, Mapping

from foldline.providers.digest.identifiers import KindOf, kind_of


__all__ = ["canonical_paths"]


_DEEPEST = 12


def canonical_paths(values: Iterable[str], *, kinds: KindOf = kind_of) -> Mapping[str, str]:
    """
    Map each path among *values* that is the end of a longer one to the longest such.

    `main.ts`, `./src/main.ts` and `@app/src/main.ts` all become `/home/me/app/src/main.ts` where
    that is among the values too.
    """
    paths = sorted(
        (value for value in values if kinds(value) == "path"),
        key=lambda value: (-len(value), value),
    )
    by_ending: dict[str, str] = {}
    for path in paths:
        steps = _bare(path).split("/")
        for start in range(max(len(steps) - _DEEPEST, 0), len(steps)):
            by_ending.setdefault("/".join(steps[start:]), path)
    return {path: by_ending.get(_bare(path), path) for path in paths}


def _bare(path: str) -> str:
    bare = path.lstrip("@~./").rstrip("/")
    return bare or path
