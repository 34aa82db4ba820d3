"""Optional packages that are installed in some environments only."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def is_installed(package: str) -> bool:
    """Return whether a package is installed. A folder of tests with its name can be imported, too."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
