"""Files that are there as a whole or not at all, as those of data sets are."""

from __future__ import annotations

from promptls.datasets.atomic import replaced

__all__ = ["replaced"]
