"""Where in a prompt file a place is: in a tag, in a comment, in the header, or in the YAML around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from promptls.semantic.header import CLOSING, OPENING
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.expected import YamlPlace, yaml_place
from promptls.text.positions import Span, line_end


@dataclass(frozen=True, slots=True)
class TagPlace:
    """A place in a tag that begins at offset `start` of the file; `place` counts from there.

    `text` is the tag's own, or, of a comment that is not closed, the rest of its line.
    """

    tag: Tag
    start: int
    place: int
    text: str


@dataclass(frozen=True, slots=True)
class YamlPosition:
    """A place of the YAML: in the header or around the tags. Spans of `yaml` count from `base`."""

    yaml: YamlPlace
    base: int
    in_header: bool


@dataclass(frozen=True, slots=True)
class Nowhere:
    """A place at which nothing can be named."""


NOWHERE: Final = Nowhere()
_TAGS: Final = frozenset({"output", "statement"})


def place_in(template: Template, offset: int) -> TagPlace | YamlPosition | Nowhere:
    """Return where `offset` stands, by the chunk that holds it and what stands in front of it there."""
    located = template.source.located(offset)
    inside = offset - located.start
    if inside == 0 and located.index > 0 and offset == len(template.source):
        # Behind the last line end the text is that of the chunk above, and not of one to come.
        inside = located.chunk.length if located.start < offset else inside
    tag = _tag_at(located.chunk, inside)
    if tag is not None:
        if tag.kind == "comment" and tag.text.startswith(OPENING) and located.index == 0:
            return _header(tag, located.start, inside)
        if tag.kind in _TAGS or tag.kind == "comment":
            if inside > tag.span.end:
                written = located.chunk.text[tag.span.start : inside]
                tag = replace(tag, text=written, inner_end=len(written))
            return TagPlace(tag, located.start + tag.span.start, inside - tag.span.start, tag.text)
        return NOWHERE
    comment = _unclosed_comment(located.chunk, inside)
    if comment is not None:
        text = located.chunk.text[comment.span.start : line_end(located.chunk.text, comment.span.start)]
        if located.index == 0 and text.startswith(OPENING):
            return _open_header(located.chunk, comment, located.start, inside)
        if inside - comment.span.start <= len(text):
            return TagPlace(comment, located.start + comment.span.start, inside - comment.span.start, text)
    if any(tag.kind == "raw" and tag.span.start < inside < tag.span.end for tag in located.chunk.tags):
        return NOWHERE
    found = yaml_place(masked(located.chunk), inside)
    tags = located.chunk.tags_at(found.word) if found else ()
    if found is None or (tags and tags[0].span.start < inside):
        return NOWHERE  # a word that a tag is part of is for nobody but the tag to say
    if tags:
        found = found._replace(word=Span(found.word.start, tags[0].span.start))
    return YamlPosition(found, located.start, in_header=False)


def _tag_at(chunk: Chunk, inside: int) -> Tag | None:
    """Return the tag whose inside holds the place; of a tag that is not closed, also the space behind it."""
    for tag in chunk.tags:
        start = tag.span.start
        if start >= inside:
            return None
        if tag.unclosed == "#}":
            continue
        if tag.kind == "raw":
            continue
        if start + tag.inner_start <= inside <= start + tag.inner_end:
            return tag
        behind = chunk.text[tag.span.end : inside]
        if tag.unclosed and inside >= tag.span.end and not behind.strip(" \t") and tag.kind in _TAGS:
            if tag.text[2:].endswith(("}}", "%}")):
                continue
            return tag
    return None


def _unclosed_comment(chunk: Chunk, inside: int) -> Tag | None:
    for tag in reversed(chunk.tags):
        if tag.unclosed == "#}" and tag.span.end <= inside:
            return tag
    return None


def _header(tag: Tag, start: int, inside: int) -> YamlPosition | Nowhere:
    end = len(tag.text) - (len(CLOSING) if tag.text.endswith(CLOSING) else 2)
    place = inside - tag.span.start - len(OPENING)
    if place < 0 or place > end - len(OPENING):
        return NOWHERE
    found = yaml_place(tag.text[len(OPENING) : end], place)
    base = start + tag.span.start + len(OPENING)
    return (
        YamlPosition(found, base, in_header=True) if found and _is_below_opening(tag.text, place) else NOWHERE
    )


def _open_header(chunk: Chunk, tag: Tag, start: int, inside: int) -> YamlPosition | Nowhere:
    """Return a header that is not closed yet, as somebody writes it."""
    base = tag.span.start + len(OPENING)
    text = chunk.text[base:]
    if inside < base or not _is_below_opening(OPENING + text, inside - base):
        return NOWHERE
    found = yaml_place(text, inside - base)
    return YamlPosition(found, start + base, in_header=True) if found else NOWHERE


def _is_below_opening(text: str, place: int) -> bool:
    """Return whether the place is on a line below that of the header's opening."""
    return (
        "\n" in text[len(OPENING) : len(OPENING) + place] or "\r" in text[len(OPENING) : len(OPENING) + place]
    )


@chunk_fact
def masked(chunk: Chunk) -> str:
    """Return the chunk's text with its tags masked: what is printed as letters, everything else as spaces."""
    pieces = []
    behind = 0
    for tag in chunk.tags:
        if tag.kind == "raw":
            continue
        pieces.append(chunk.text[behind : tag.span.start])
        cover = "x" if tag.kind == "output" else " "
        pieces.append("".join(each if each in "\r\n" else cover for each in tag.text))
        behind = tag.span.end
    pieces.append(chunk.text[behind:])
    return "".join(pieces)
