"""The rules that `{# promptls: ignore[…] #}` may name, and the comment itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.features.completion.item import Item
from promptls.rules.registry import RULES
from promptls.text.span import Span

_LIST: Final = re.compile(r"promptls:\s*ignore(?:-file)?\[([^\]\n]*)$")
_BEGUN: Final = re.compile(r"^\s*([a-z:]*)$")


def suppression_word(text: str, place: int) -> Span | None:
    """The rule's name at `place` of a comment's text; None outside the brackets."""
    if not _LIST.search(text[:place]):
        return None
    start = place
    while start and re.match(r"[\w-]", text[start - 1]):
        start -= 1
    behind = re.compile(r"[\w-]*").match(text, place)
    return Span(start, behind.end() if behind else place)


def rule_items(text: str, place: int) -> Iterator[Item]:
    """The rules' names, without those that stand there already."""
    listed = _LIST.search(text[:place])
    taken = {name.strip() for name in listed[1].split(",")[:-1]} if listed else set()
    for rule in RULES:
        if rule.name not in taken:
            yield Item(rule.name, "enum", 10, detail=rule.summary)


def comment_word(text: str, place: int) -> Span | None:
    """The word that begins a comment, where it may become promptls's own."""
    begun = _BEGUN.match(text[:place])
    if not begun or not begun[1] or not "promptls: ignore".startswith(begun[1]):
        return None
    return Span(place - len(begun[1]), place)


def comment_items() -> Iterator[Item]:
    """The beginning of a comment that silences rules."""
    yield Item(
        "promptls: ignore",
        "snippet",
        10,
        text="promptls: ignore[",
        snippet="promptls: ignore[${1:rule}] ${2:reason}",
        detail="silence rules on this line",
    )
