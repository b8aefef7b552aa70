"""The versions of what is installed."""

from importlib.metadata import PackageNotFoundError, version


__all__ = ["version_of"]


def version_of(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
