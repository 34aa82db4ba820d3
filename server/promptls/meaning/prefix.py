"""How far the beginning of a prompt is the same for every request, and what fixed text stands behind.

Providers keep the beginning of a prompt that they have read before; it ends at the first
character that differs. Only text that stands in the file's own parts, outside of any `if` or
`for`, is certain to be in every request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import dedent
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.meaning.parts import Part, chunk_items
from promptls.meaning.references import TemplateReference, template_references
from promptls.meaning.template import Template
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.nodes import Call, Filter, Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text
from promptls.text.lines import line_end
from promptls.text.span import Span


@dataclass(frozen=True, slots=True)
class UnstablePrefix:
    """The first place that an input changes, its name, and the fixed texts behind it, part by part."""

    span: Span
    name: str
    fixed: tuple[str, ...]


class _Piece(NamedTuple):
    """What a part's content is made of: fixed text, or a tag that prints one of the names."""

    text: str
    tag: Span
    names: tuple[str, ...]


_UNSENT: Final = frozenset({"name", "truncation_priority", "expected_template_data_keys", "tokens"})

Included: TypeAlias = Callable[[TemplateReference], Template | None]
"""The template that an include leads to."""


def unstable_prefix(
    template: Template,
    included: Included = lambda _reference: None,
    read_below: frozenset[str] = frozenset(),
) -> UnstablePrefix | None:
    """Where the prompt first changes from request to request; None without fixed text behind it.

    `read_below` are the inputs that included files read. What an include outside of any block brings in
    counts where `included` gives its template, however deep: the place of a change in there is the include's.
    """
    changing = (template.names.input_names | _declared(template) | read_below) - _constants(template)
    if not changing:
        return None
    found: tuple[Span, str] | None = None
    fixed: list[str] = []
    depth = 0
    for start, chunk in zip(template.source.starts, template.source.chunks, strict=False):
        references = template_references(chunk)
        if found is None and not references and not _reads(chunk, changing):
            depth += _opened(chunk)
            continue
        texts: list[str] = []
        for piece in _with_included(chunk, included, (template,)) if depth == 0 else _pieces(chunk):
            if found is None:
                name = next((name for name in piece.names if name in changing), None)
                if name is not None:
                    found = (piece.tag.shifted(start), name)
            elif piece.text and depth == 0:
                texts.append(piece.text)
        if text := "".join(texts).strip():
            fixed.append(text)
        depth += _opened(chunk)
    if found is None or not fixed:
        return None
    return UnstablePrefix(*found, tuple(fixed))


def _with_included(chunk: Chunk, included: Included, around: tuple[Template, ...]) -> Iterator[_Piece]:
    """The pieces of a chunk that stands in no block, with those of all that it includes.

    `around` are the templates that it stands in: one that includes itself is not looked into again.
    """
    references = template_references(chunk)
    depth = 0
    steps = {tag.span: _step(chunk, index) for index, tag in enumerate(chunk.tags)}
    for piece in _pieces(chunk):
        yield piece
        if piece.text:
            continue
        depth += steps.get(piece.tag, 0)
        reference = next(
            (each for each in references if piece.tag.start <= each.span.start < piece.tag.end), None
        )
        if depth or reference is None or reference.keyword != "include":
            continue
        template = included(reference)
        if template is None or any(template is each for each in around):
            continue
        inside = 0
        for below in template.source.chunks:
            if inside == 0:
                pieces = _with_included(below, included, (*around, template))
                yield from (each._replace(tag=piece.tag) for each in pieces)
            inside += _opened(below)


def _declared(template: Template) -> frozenset[str]:
    """The inputs that the file declares; files that it includes may read more of them than it does itself."""
    return frozenset(key.name for key in template.declarations.inputs or ())


def _constants(template: Template) -> frozenset[str]:
    """The inputs that are declared to have one value only."""
    return frozenset(
        key.name
        for key in template.declarations.inputs or ()
        if "const" in key.schema or len(_enum(key.schema)) == 1
    )


def _enum(schema: dict[str, Any]) -> list[Any]:
    values = schema.get("enum")
    return values if isinstance(values, list) else []


@kept
def _names(chunk: Chunk) -> frozenset[str]:
    return frozenset(name for piece in _pieces(chunk) for name in piece.names)


def _reads(chunk: Chunk, names: frozenset[str]) -> bool:
    return not _names(chunk).isdisjoint(names)


@kept
def _opened(chunk: Chunk) -> int:
    """How many more blocks the chunk opens than it closes."""
    return sum(_step(chunk, index) for index in range(len(chunk.tags)))


def _step(chunk: Chunk, index: int) -> int:
    tag = chunk.tags[index]
    if tag.kind != "statement":
        return 0
    statement = tag_tree(tag).statement
    if statement.keyword.startswith("end"):
        return -1
    return int(statement.opens_block)


@kept
def _pieces(chunk: Chunk) -> tuple[_Piece, ...]:
    """The fixed texts of the chunk's contents outside of its blocks, and the tags that print names."""
    spans = sorted(scalar.span for part in chunk_items(chunk).parts for scalar in _contents(part))
    unsent = _unsent(chunk)
    pieces: list[_Piece] = []
    depth = 0
    position = 0
    for index, tag in enumerate(chunk.tags):
        if depth == 0:
            pieces += _texts_between(chunk, spans, position, tag.span.start)
        depth += _step(chunk, index)
        is_sent = not any(span.start <= tag.span.start < span.end for span in unsent)
        pieces.append(_Piece("", tag.span, _printed(chunk, index) if is_sent else ()))
        position = tag.span.end
    if depth == 0:
        pieces += _texts_between(chunk, spans, position, len(chunk.text))
    return tuple(pieces)


def _unsent(chunk: Chunk) -> list[Span]:
    """The lines of keys whose values the model never gets, such as a part's name."""
    return [
        Span(entry.key.span.end, line_end(chunk.text, entry.key.span.end))
        for part in chunk_items(chunk).parts
        for entry in part.entries
        if key_text(entry) in _UNSENT
    ]


def _texts_between(chunk: Chunk, spans: list[Span], start: int, end: int) -> Iterator[_Piece]:
    """What of the contents stands between two places."""
    for span in spans:
        first, last = max(span.start, start), min(span.end, end)
        if first < last:
            yield _Piece(_dedented(chunk.text, first, last), span, ())


def _contents(part: Part) -> Iterator[Scalar]:
    yield from _texts(part.value("content"))
    sections = part.value("sections")
    for item in sections.items if isinstance(sections, Sequence) else ():
        if isinstance(item, Mapping):
            yield from _texts(item.value("content"))


def _texts(node: Node | None) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node


def _printed(chunk: Chunk, index: int) -> tuple[str, ...]:
    """The names that a tag prints, or that a loop goes over; those that are only called are left out."""
    tag = chunk.tags[index]
    if tag.kind == "output":
        expressions = tag_tree(tag).statement.expressions
    elif tag.kind == "statement" and tag_tree(tag).statement.keyword == "for":
        expressions = tag_tree(tag).statement.expressions[:1]
    else:
        return ()
    found: list[str] = []
    for expression in expressions:
        called = {id(node.function) for node in walk(expression) if isinstance(node, Call)}
        if any(isinstance(node, Filter) and node.name in {"length", "count"} for node in walk(expression)):
            continue
        found += [node.name for node in walk(expression) if isinstance(node, Name) and id(node) not in called]
    return tuple(found)


def _dedented(text: str, start: int, end: int) -> str:
    """A stretch of a block scalar without its indentation and its head."""
    piece = text[start:end]
    first, line_break, rest = piece.partition("\n")
    head = "" if first.strip() in {"|", ">", "|-", ">-"} else first
    return head + line_break + dedent(rest)
