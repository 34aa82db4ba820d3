"""The other places of what stands at the cursor, in the same file: a symbol's, or the tags of one block."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from promptls.features.symbols import places_here, symbol_at
from promptls.syntax.jinja.file_blocks import block_at
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

_NAMES: Final = frozenset({"file", "part", "section"})
"""Kinds of symbols that are neither read nor written."""


class Highlight(NamedTuple):
    """A place, and whether the symbol gets a value there, is read, or neither can be said."""

    span: Span
    kind: Literal["text", "read", "write"]


def highlights(snapshot: Snapshot, path: str, offset: int) -> tuple[Highlight, ...]:
    """The places in the file of what stands at `offset`, in order."""
    symbol = symbol_at(snapshot, path, offset)
    if symbol is not None:
        return tuple(
            Highlight(
                each.span, "text" if symbol.kind in _NAMES else "read" if each.use == "read" else "write"
            )
            for each in places_here(snapshot, symbol)
        )
    template = snapshot.template(path)
    block = block_at(template.source, offset) if template is not None else None
    return tuple(Highlight(span, "text") for span in block.keywords) if block is not None else ()
