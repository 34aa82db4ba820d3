"""What a chunk gives, by what it gave before an edit of the text between two of its tags."""

from __future__ import annotations

from bisect import bisect_right

from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.projection import Projection
from promptls.text.span import Span


def projected_again(chunk: Chunk, former: Projection) -> Projection | None:
    """The projection of a chunk with all its branches, by that of the chunk that it was.

    None where a tag may take white space away or stand by itself now, or no longer.
    """
    if chunk.before is None or not chunk.before.has_same_tags:
        return None
    old, (start, end), growth, _ = chunk.before
    if not _is_apart(old, Span(start, end), chunk, growth):
        return None
    number = bisect_right(former.origins, start) - 1
    if number < 0 or former.ends[number] < end or former.origins[number] == former.ends[number]:
        return None
    place = former.starts[number] + start - former.origins[number]
    typed = chunk.text[start : end + growth]
    behind = number + 1
    return Projection(
        former.text[:place] + typed + former.text[place + end - start :],
        (*former.starts[:behind], *[each + growth for each in former.starts[behind:]]),
        (*former.origins[:behind], *[each + growth for each in former.origins[behind:]]),
        (*former.ends[:number], *[each + growth for each in former.ends[number:]]),
    )


def _is_apart(old: Chunk, span: Span, new: Chunk, growth: int) -> bool:
    """Whether whole lines with text stand between an edited span and the tags around it, which stay."""
    number = bisect_right(old.tags, span.start, key=_end)
    begin, until = 0, old.length
    if number > 0:
        begin = old.tags[number - 1].span.end
        if new.tags[number - 1].span.end != begin:
            return False
    if number < len(old.tags):
        until = old.tags[number].span.start
        if until < span.end or new.tags[number].span.start != until + growth:
            return False
    return _has_line(old.text[begin : span.start]) and _has_line(old.text[span.end : until])


def _has_line(text: str) -> bool:
    """Whether two lines end in a text, with more than white space between them."""
    first, last = text.find("\n"), text.rfind("\n")
    return bool(text[first:last].strip()) if 0 <= first < last else False


def _end(tag: Tag) -> int:
    return tag.span.end
