"""Packages that a metric needs, and that not everybody installs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from promptls.text.errors import UserError


def needed(module: str) -> Any:
    """Return the module; raises `UserError` with what to install where it is not there."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0].replace("_", "-")
        raise UserError(
            f"this metric needs the package `{package}`", remedy='run `pip install "promptls[metrics]"`'
        ) from None
