"""The failures that programs may ask for by the names of Python's own exceptions."""

from __future__ import annotations

from promptls.text.failure import WrongUse


class MissingData(WrongUse, FileNotFoundError):  # noqa: N818 - as its base
    """A data set, or results, that are not there."""


class UnknownBackend(WrongUse, ValueError):  # noqa: N818 - as its base
    """A back end that no package has, or that is given what it does not take."""
