"""Items as a completion: each label once, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable

from promptls.ide.completion.items import Completion, Item, Request
from promptls.ide.completion.values import MAX_FILES
from promptls.text.positions import Span


def placed(
    request: Request,
    items: Iterable[Item],
    word: Span,
    base: int,
    source: str,
    path: tuple[str, ...] = (),
    in_header: bool = False,
) -> Completion | None:
    """Return the items in the place of `word`, whose span counts from `base`; None if there are none."""
    word = word.shifted(base)
    insert = Span(word.start, max(request.offset, word.start))
    replaced = Span(word.start, max(word.end, insert.end))
    return made(items, insert, replaced, source, ("header" if in_header else "", *path))


def made(
    items: Iterable[Item], insert: Span, replaced: Span, source: str, path: tuple[str, ...]
) -> Completion | None:
    """Return the items in the place of `replaced`, of which `insert` is what stands before the place."""
    by_label: dict[str, Item] = {}
    for item in items:
        known = by_label.get(item.label)
        if known is None or item.rank < known.rank:
            by_label[item.label] = item
    ordered = sorted(by_label.values(), key=lambda item: (item.rank, item.label.casefold()))
    is_cut = sum(item.kind == "file" for item in ordered) >= MAX_FILES
    found = Completion(tuple(ordered), insert, replaced, source, path, is_incomplete=is_cut)
    return found if ordered else None
