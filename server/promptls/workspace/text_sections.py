"""Included files whose lines are text of a prompt: prose, lists and markup, and no YAML of their own."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING, Final

from promptls.meaning.contents import chunk_contents, column_of
from promptls.meaning.kind import Kind
from promptls.meaning.leading import leading_references
from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.yaml.under_jinja import chunk_yaml

if TYPE_CHECKING:
    from promptls.workspace.snapshot import Snapshot

_MOST_INCLUDERS: Final = 40
"""How many includers are looked at; a file that more of them include is judged by these."""
_ELSEWHERE: Final = frozenset({"set", "macro", "call"})
"""Blocks whose text is printed where nobody sees from here."""


def is_text_section(snapshot: Snapshot, path: str) -> bool:
    """Whether the file at `path` is included where its lines are text.

    That is: inside a content, or by a file that is such a text. In a `set`, a macro or a `call`, and where
    only macros are imported from it, it counts as one unless it looks like a list of parts. Such a list is a
    text only where every place that includes it says so.
    """
    return _is_text(snapshot, path, frozenset())


def _is_text(snapshot: Snapshot, path: str, above: frozenset[str]) -> bool:
    template = snapshot.template(path)
    if template is None or path in above:
        return False
    has_parts = template.kind is Kind.PARTS
    includers = sorted(snapshot.includers(path) - above - {path})
    found = False
    for includer in islice(includers, _MOST_INCLUDERS):
        outer = snapshot.template(includer)
        for reference in leading_references(outer) if outer else ():
            if snapshot.resolve(includer, reference) != path:
                continue
            assert outer is not None
            place = _place(outer, reference)
            if place == "elsewhere":
                is_text = not has_parts
            else:
                is_text = place == "text" or _is_text(snapshot, includer, above | {path})
            if is_text and not has_parts:
                return True
            if not is_text and has_parts:
                return False
            found = found or is_text
    return found


def _place(template: Template, reference: TemplateReference) -> str:
    """Where a file names another one: in a `text`, `elsewhere`, or in the `frame` around the texts."""
    kept = template.source.root.kept
    known = kept.get((_place, reference))
    if known is None:
        found = template.source.located(reference.span.start)
        offset = reference.span.start - found.start
        known = kept[_place, reference] = _place_in(found.chunk, offset, reference.keyword)
    return known  # type: ignore[return-value]  # put there above


def _place_in(chunk: Chunk, offset: int, keyword: str) -> str:
    if keyword == "extends":
        return "frame"
    if keyword != "include":
        return "elsewhere"
    if any(
        chunk.tags[pair.opening].span.start <= offset <= chunk.tags[pair.closing].span.end
        for pair in chunk_blocks(chunk).pairs
        if pair.keyword in _ELSEWHERE
    ):
        return "elsewhere"
    line = bisect_right(chunk.line_starts, offset) - 1
    start = chunk.line_starts[line]
    indent = offset - start - len(chunk.text[start:offset].lstrip(" \t"))
    for content in chunk_contents(chunk):
        # A block scalar whose last lines are nothing but tags ends, as YAML has it, ahead of them.
        is_inside = start <= content.key.start or indent > column_of(chunk, content.key.start)
        if is_inside and content.value.span.start <= offset < content.end:
            return "text"
    # What stands around the place cannot be told while the YAML there is broken.
    return "elsewhere" if indent and chunk_yaml(chunk).problems else "frame"


def section_kind(snapshot: Snapshot, path: str) -> Kind:
    """The kind of a file that parts templates include."""
    return Kind.TEXT if is_text_section(snapshot, path) else Kind.SECTION
