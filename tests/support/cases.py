"""Fixtures by their titles, out of text files in which a line `=== title` begins each."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "rules" / "cases"


def cases(name: str) -> dict[str, str]:
    """The fixtures of one file below `tests/rules/cases`."""
    _, *texts = ("\n" + (_FOLDER / f"{name}.txt").read_text("utf-8").removesuffix("\n")).split("\n=== ")
    return {title: f"{text}\n" for title, text in (each.split("\n", 1) for each in texts)}
