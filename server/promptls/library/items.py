r"""The items of a rendered text, read piece by piece: a piece that was read before is not read again.

A piece reaches from one `- ` in the first column to the next. Behind nothing but blank lines and
comments, each such piece is one item of the list, whatever stands in the others, as long as

- the text has no anchors, which reach over pieces, and no end of a document;
- no line but those begins with `-` in the first column, and lines end at `\n` alone;
- the pieces read together are as many items: no quote and no bracket swallows the next piece.

A text that is not so, or that is no YAML, is read as a whole.
"""

from __future__ import annotations

import datetime as dt
import re
import threading
from collections import OrderedDict
from typing import Any, Final

from promptls.systems.prompt_poet import document
from promptls.systems.prompt_poet.failure import PromptPoetError

KEPT_ITEMS: Final = 10_000
"""How many items are kept, those that were used last."""
LONGEST_KEPT: Final = 4_000
"""The longest piece that is kept, in characters."""

_UNSURE: Final = re.compile("[\r\x85\u2028\u2029\ufeff]|\n-(?! )|\n\\.\\.\\.|(?<![A-Za-z0-9])&(?!\\s)")
_BLANK: Final = re.compile(r"(?: *(?:#[ -~]*)?\n)*")
_BETWEEN: Final = re.compile(r"(?<=\n)(?=- )")
_UNCHANGING: Final = frozenset({str, int, float, bool, type(None), dt.date, dt.datetime})

_lock = threading.Lock()
_kept: OrderedDict[str, Any] = OrderedDict()


def load_items(text: str) -> Any:
    """The data that the rendered `text` holds; nobody may change them, as others get them too.

    Raises PromptPoetError of kind `yaml` with the place.
    """
    first = 0 if text.startswith("- ") else text.find("\n- ") + 1
    is_list = text.startswith("- ", first) and _BLANK.fullmatch(text, 0, first)
    if not is_list or _UNSURE.search(text):
        return document.load(text)
    pieces = _BETWEEN.split(text[first:])
    items = _known(pieces)
    # A last line without its end can only be the last piece, and stays the last one here.
    missing = [piece for piece in dict.fromkeys(pieces) if piece not in items]
    if missing:
        try:
            read = document.load("".join(missing))
        except PromptPoetError:
            return document.load(text)
        if not isinstance(read, list) or len(read) != len(missing):
            return document.load(text)
        items.update(zip(missing, read, strict=True))
        _keep(missing, items)
    if len(items) < len(pieces) and not all(map(_is_unchanging, items.values())):
        # What can be changed must not stand twice.
        return document.load(text)
    return [items[piece] for piece in pieces]


def _known(pieces: list[str]) -> dict[str, Any]:
    """The items of those pieces that were read before."""
    found = {}
    with _lock:
        for piece in pieces:
            if piece in _kept:
                _kept.move_to_end(piece)
                found[piece] = _kept[piece]
    return found


def _keep(pieces: list[str], items: dict[str, Any]) -> None:
    with _lock:
        for piece in pieces:
            item = items[piece]
            if len(piece) <= LONGEST_KEPT and _is_unchanging(item):
                _kept[piece] = item
        while len(_kept) > KEPT_ITEMS:
            _kept.popitem(last=False)


def _is_unchanging(item: Any) -> bool:
    """Whether nobody who gets a value of the item can change it."""
    return isinstance(item, dict) and all(type(value) in _UNCHANGING for value in item.values())
