"""The filters behind a `|`, the tests behind an `is`, and the words behind an operand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.features.completion.item import Item
from promptls.syntax.jinja.builtins import FILTERS, TESTS, filter_signature, test_signature
from promptls.syntax.jinja.signature import Signature

_USUAL_FILTERS: Final = frozenset(
    [
        "default",
        "join",
        "length",
        "trim",
        "indent",
        "tojson",
        "upper",
        "lower",
        "title",
        "replace",
        "truncate",
        "first",
        "last",
        "list",
        "map",
        "selectattr",
        "sort",
        "int",
    ]
)
"""Filters that prompts use most: they come first."""
_HTML_FILTERS: Final = frozenset(
    {"e", "escape", "forceescape", "safe", "striptags", "urlize", "xmlattr", "urlencode"}
)
_SHORT: Final = frozenset({"d", "e", "count"})
_USUAL_TESTS: Final = frozenset(
    {"defined", "none", "string", "mapping", "number", "iterable", "in", "undefined"}
)


def filter_items() -> Iterator[Item]:
    """Every filter; with parentheses where it cannot do without arguments."""
    for name in sorted(FILTERS):
        rank = 10 if name in _USUAL_FILTERS else 40 if name in _HTML_FILTERS or name in _SHORT else 20
        yield _item(filter_signature(name), "filter", rank)


def test_items(words: tuple[str, ...]) -> Iterator[Item]:
    """Every test that is a word, and the `words` that may stand in its place."""
    for name in sorted(TESTS):
        if name.isidentifier():
            yield _item(test_signature(name), "test", 10 if name in _USUAL_TESTS else 20)
    yield from word_items(words, 30)


def word_items(words: tuple[str, ...], rank: int = 10) -> Iterator[Item]:
    """Words of Jinja, the first of them first."""
    for index, word in enumerate(words):
        yield Item(word, "keyword", rank + index, text=f"{word} ")


def _item(signature: Signature, detail: str, rank: int) -> Item:
    name = signature.name
    shown = ", ".join(each.text for each in signature.parameters)
    needs = signature.needs_arguments
    return Item(
        name,
        "function",
        rank,
        snippet=f"{name}($1)$0" if needs else "",
        detail=detail,
        parameters=f"({shown})" if shown else "",
        commits="" if needs else "|",
    )
