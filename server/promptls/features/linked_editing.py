"""Places that are to be typed at once: the words of a block's opening and closing tag.

Linked ranges must hold the same text, so these are the places where a template says one thing twice:

- the keyword in the opening tag and the same word behind `end` in the closing one: `if` becomes
  `for`, and `endif` becomes `endfor` with it. `elif` and `else` stay as they are, because they
  belong to some blocks only;
- a block's name in `block NAME` and in `endblock NAME`. No other end tag of Jinja takes a name.

Variables are left to rename: somebody who types over `{{ user }}` mostly wants another variable
there, and not another name for this one everywhere.
"""

from __future__ import annotations

from promptls.meaning.mentions import chunk_mentions
from promptls.meaning.template import Template
from promptls.syntax.jinja.file_blocks import FileBlock, block_at, blocks_around, blocks_inside
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

WORD_PATTERN = r"[A-Za-z_]\w*"
"""What may be typed at linked places without ending the link."""


def linked_places(snapshot: Snapshot, path: str, offset: int) -> tuple[Span, ...]:
    """The places that are linked with the one at `offset`, itself among them; none where it stands alone."""
    template = snapshot.template(path)
    if template is None:
        return ()
    block = block_at(template.source, offset)
    if block is not None:
        places = _keywords(block)
        return places if any(span.contains(offset) for span in places) else ()
    return _names(template, offset)


def _keywords(block: FileBlock) -> tuple[Span, ...]:
    if not block.is_closed:
        return ()
    closing = block.keywords[-1]
    return (block.keywords[0], Span(closing.start + len("end"), closing.end))


def _names(template: Template, offset: int) -> tuple[Span, ...]:
    """The names in the tags of the block at whose name `offset` is."""
    located = template.source.located(offset)
    at = next(
        (
            mention.span.shifted(located.start)
            for mention in chunk_mentions(located.chunk)
            if mention.kind == "block" and mention.span.contains(offset - located.start)
        ),
        None,
    )
    if at is None:
        return ()
    near = (block.shifted(located.start) for block in blocks_inside(located.chunk))
    for block in (*near, *blocks_around(template.source, offset)):
        if block.keyword == "block" and block.is_closed:
            places = [_name_in(template, tag) for tag in (block.tags[0], block.tags[-1])]
            if at in places and None not in places:
                return tuple(span for span in places if span is not None)
    return ()


def _name_in(template: Template, tag: Span) -> Span | None:
    located = template.source.located(tag.start)
    for mention in chunk_mentions(located.chunk):
        span = mention.span.shifted(located.start)
        if mention.kind == "block" and tag.start <= span.start and span.end <= tag.end:
            return span
    return None
