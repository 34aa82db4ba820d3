"""The tables in the page of a metric: arguments and the resulting score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml


def rows_of(page: str) -> Iterator[dict[str, str]]:
    """Return the rows of a page's tables, by column."""
    columns: list[str] = []
    for line in page.splitlines():
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = [cell.strip() for cell in line.strip("|").split(" | ")]
        elif set(line) - set("|- "):
            yield dict(zip(columns, (cell.strip() for cell in line.strip("|").split(" | ")), strict=True))


def value_of(cell: str) -> Any:
    return None if cell == "no score" else yaml.safe_load(cell.strip("`"))
