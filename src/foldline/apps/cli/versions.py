"""The versions of what is installed."""

__all__ = ["version_of"]


def version_of(package: str) -> str:
    """Return the version of an installed package."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - costs a fifth

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
