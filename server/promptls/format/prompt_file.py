"""Formatting of a whole prompt file, depending on its kind and on the files that include it."""

from __future__ import annotations

from promptls.format.frame import REUSED, scalar_texts
from promptls.format.source_format import format_edits
from promptls.format.typing_edits import edits_after_brace, edits_after_newline
from promptls.lint.rule import Edit
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_items
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.source import Layout
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot


def is_included_as_text(snapshot: Snapshot, path: str) -> bool:
    """Return whether this file is included inside a text, directly or through another file."""
    seen = {path}
    pending = [path]
    while pending:
        current = pending.pop()
        for includer in snapshot.includers(current):
            template = snapshot.template(includer)
            if template is not None and _includes_as_text(snapshot, includer, template, current):
                return True
            if includer not in seen:
                seen.add(includer)
                pending.append(includer)
    return False


def _includes_as_text(snapshot: Snapshot, path: str, template: Template, target: str) -> bool:
    for reference in template.references:
        if reference.keyword != "include" or snapshot.resolve(path, reference) != target:
            continue
        found = template.source.located(reference.span.start)
        if _is_text(found.chunk, reference.span.start - found.start):
            return True
        if any(tag.keyword in REUSED for tag in chunk_blocks(found.chunk).loose):
            return True
    return False


def _is_text(chunk: Chunk, offset: int) -> bool:
    """Return whether the place is under a key, in a scalar, or in a block whose text is used elsewhere."""
    if any(text.start < offset <= text.end for text in scalar_texts(chunk)):
        return True
    start = chunk.text.rfind("\n", 0, offset) + 1
    if chunk_items(chunk).parts and chunk.text[start : start + 1] in {" ", "\t"}:
        return True
    return any(
        chunk.tags[pair.opening].span.start <= offset <= chunk.tags[pair.closing].span.end
        for pair in chunk_blocks(chunk).pairs
        if pair.keyword in REUSED
    )


def file_edits(snapshot: Snapshot, path: str, within: Span | None = None) -> tuple[Edit, ...]:
    """Return the formatting edits of a prompt file, limited to `within`; empty for other files."""
    template = snapshot.template(path)
    kind = snapshot.kind(path)
    if template is None or kind is Kind.OTHER:
        return ()
    frame = _has_frame(template, kind) and not is_included_as_text(snapshot, path)
    return format_edits(template.source, frame=frame, within=within)


def typing_edits(snapshot: Snapshot, path: str, offset: int, typed: str) -> tuple[Edit, ...]:
    """Return the on-type formatting edits after `typed`, a brace or line break, was typed before `offset`."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return ()
    if typed == "}":
        return edits_after_brace(template.source, offset)
    return edits_after_newline(template.source, offset) if typed in {"\n", "\r\n", "\r"} else ()


def _has_frame(template: Template, kind: Kind) -> bool:
    """Return whether the YAML is a frame around texts: a section may be a text that only looks like YAML."""
    if kind in {Kind.OBJECT, Kind.EVALUATION}:
        return True
    if template.source.layout is not Layout.LIST:
        return False
    if kind is Kind.PARTS:
        return True
    items = [chunk_items(chunk) for chunk in template.source.chunks]
    return all(not item.others and all(part.is_likely for part in item.parts) for item in items)
