"""The edits that lay out a prompt file, in an editor and on the command line."""

from __future__ import annotations

from promptls.features.included_as_text import is_included_as_text
from promptls.formatting.source_format import format_edits
from promptls.formatting.typing_edits import edits_after_brace, edits_after_newline
from promptls.meaning.kind import Kind
from promptls.meaning.parts import chunk_items
from promptls.meaning.template import Template
from promptls.rules.rule import Edit
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot


def file_edits(snapshot: Snapshot, path: str, within: Span | None = None) -> tuple[Edit, ...]:
    """The edits that lay out a prompt file, or what of it stands in `within`; none for other files."""
    template = snapshot.template(path)
    kind = snapshot.kind(path)
    if template is None or kind is Kind.OTHER:
        return ()
    frame = _has_frame(template, kind) and not is_included_as_text(snapshot, path)
    return format_edits(template.source, frame=frame, within=within)


def typing_edits(snapshot: Snapshot, path: str, offset: int, typed: str) -> tuple[Edit, ...]:
    """The edits that are due where `typed`, a brace or a line break, now stands in front of `offset`."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return ()
    if typed == "}":
        return edits_after_brace(template.source, offset)
    return edits_after_newline(template.source, offset) if typed in {"\n", "\r\n", "\r"} else ()


def _has_frame(template: Template, kind: Kind) -> bool:
    """Whether the YAML is a frame around texts: a section may be a text itself, that only looks like YAML."""
    if kind in {Kind.OBJECT, Kind.EVALUATION}:
        return True
    if not template.source.at_items:
        return False
    if kind is Kind.PARTS:
        return True
    items = [chunk_items(chunk) for chunk in template.source.chunks]
    return all(not item.others and all(part.is_likely for part in item.parts) for item in items)
