"""Whether a file is included where its text is text of a prompt, and not part of its frame."""

from __future__ import annotations

from promptls.formatting.frame import REUSED
from promptls.formatting.frame_lines import scalar_texts
from promptls.meaning.parts import chunk_items
from promptls.meaning.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.workspace.snapshot import Snapshot


def is_included_as_text(snapshot: Snapshot, path: str) -> bool:
    """Whether a file that includes this one, or one that includes that, does so inside a text."""
    seen = {path}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        for includer in snapshot.includers(current):
            template = snapshot.template(includer)
            if template is not None and _includes_as_text(snapshot, includer, template, current):
                return True
            if includer not in seen:
                seen.add(includer)
                waiting.append(includer)
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
    """Whether the place is indented under a key, in a scalar, or in a block whose text is used elsewhere."""
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
