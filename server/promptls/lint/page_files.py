"""Where the page of a rule lies as a file, for those who follow a link to it."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def page_file(rule: str) -> Path | None:
    """Return the rule's page, made by `promptls.docgen`; None if the installed package has no such file."""
    file = Path(__file__).with_name("pages") / f"{rule}.md"
    return file if file.is_file() else None
