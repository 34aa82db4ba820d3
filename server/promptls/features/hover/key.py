"""A key of an input's value: in a tag, behind a dot or in quotes, and in a schema or an example."""

from __future__ import annotations

from promptls.features.hover.hover import Hover, code
from promptls.features.hover.key_texts import key_texts
from promptls.features.symbols.keys import key_symbol_at
from promptls.meaning.key_ways import path_along
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering
from promptls.workspace.snapshot import Snapshot


def hover_key(
    snapshot: Snapshot, path: str, template: Template, offset: int, newest: FileRendering | None
) -> Hover | None:
    """What is known of the key of an input's value at `offset`."""
    symbol = key_symbol_at(template, path, offset)
    if symbol is None:
        return None
    data = newest.sample.data if newest is not None else {}
    origin = f"{code(newest.sample.name)} ({newest.sample.source})" if newest is not None else ""
    return Hover(symbol.span, "\n\n".join(key_texts(snapshot, path, path_along(symbol.way), data, origin)))
