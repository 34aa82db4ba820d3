"""Find how much of the beginning of a prompt is the same for every request, and the fixed text after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import dedent
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.semantic.names.mentions import TemplateReference, template_references
from promptls.semantic.parts import Part, chunk_items
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.nodes import Call, Expression, Filter, Name, Statement, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text
from promptls.text.positions import Span, line_end


def names_made_of(template: Template, inputs: frozenset[str]) -> dict[str, str]:
    """Return the names whose values depend on inputs, each with its input, including indirect ones."""
    found = dict(zip(sorted(inputs), sorted(inputs), strict=True))
    steps = list(_steps(template))
    for _ in range(len(steps)):
        new = {target: found[name] for target, name in steps if name in found and target not in found}
        if not new:
            break
        found.update(new)
    return found


def _steps(template: Template) -> Iterator[tuple[str, str]]:
    """Yield the names that are set, and the macros as `name()`, each with a name that it depends on."""
    around: list[_Holder | None] = []
    for tag in (tag for chunk in template.source.chunks for tag in chunk.tags):
        if tag.kind not in {"statement", "output"}:
            continue
        statement = tag_tree(tag).statement
        names = (*named_in(statement.expressions), *called_in(statement.expressions))
        holder = next((each for each in reversed(around) if each is not None), None)
        if statement.keyword in {"set", "with"}:
            yield from _set_by(statement)
        elif statement.keyword != "macro" and holder is not None:
            yield from ((target, name) for target in holder.names for name in names if name not in holder.own)
        if statement.keyword.startswith("end"):
            del around[-1:]
        elif statement.opens_block:
            around.append(_holder(statement))


class _Holder(NamedTuple):
    """A macro, or a block whose text is set: the names for its text, and its own parameters."""

    names: tuple[str, ...]
    own: frozenset[str] = frozenset()


def _holder(statement: Statement) -> _Holder | None:
    if statement.keyword == "macro":
        return _Holder((f"{statement.name}()",), frozenset(each.name for each in statement.parameters))
    if statement.keyword == "set":
        return _Holder(tuple(target.name for target in statement.targets if isinstance(target, Name)))
    return None


def _set_by(statement: Statement) -> Iterator[tuple[str, str]]:
    targets, expressions = statement.targets, statement.expressions
    is_paired = statement.keyword == "with" and len(targets) == len(expressions)
    for index, target in enumerate(targets):
        values = expressions[index : index + 1] if is_paired else expressions
        if isinstance(target, Name):
            yield from ((target.name, name) for name in (*named_in(values), *called_in(values)))


def called_in(expressions: tuple[Expression, ...]) -> tuple[str, ...]:
    """Return the functions and macros that expressions call by name, as `name()`."""
    return tuple(
        f"{node.function.name}()"
        for expression in expressions
        for node in walk(expression)
        if isinstance(node, Call) and isinstance(node.function, Name)
    )


def named_in(expressions: tuple[Expression, ...]) -> tuple[str, ...]:
    """Return the names in expressions, without those that are only called or only counted."""
    found: list[str] = []
    for expression in expressions:
        called = {id(node.function) for node in walk(expression) if isinstance(node, Call)}
        if any(isinstance(node, Filter) and node.name in {"length", "count"} for node in walk(expression)):
            continue
        found += [node.name for node in walk(expression) if isinstance(node, Name) and id(node) not in called]
    return tuple(found)


_COMMENT: Final = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_UNSENT: Final = frozenset({"name", "truncation_priority", "expected_template_data_keys", "tokens"})


class SuppressedTags(NamedTuple):
    """Tags inside of macros and set blocks, whose output appears where the macro or variable is printed.

    `still_open` is the number of such blocks that the chunk opens minus those that it closes. `closed_at` is
    the offset of the end of an enclosing block that the chunk closes.
    """

    tags: frozenset[int]
    still_open: int
    closed_at: int


@chunk_fact
def suppressed_tags(chunk: Chunk) -> SuppressedTags:
    """Return the tags of the chunk in macros, and in blocks whose text is set."""
    inside: set[int] = set()
    around: list[bool] = []
    still_open = 0
    closed_at: int | None = None
    for index, tag in enumerate(chunk.tags):
        if any(around):
            inside.add(index)
        statement = tag_tree(tag).statement if tag.kind == "statement" else None
        if statement is None:
            continue
        if statement.keyword.startswith("end"):
            if statement.keyword in {"endmacro", "endset"}:
                still_open -= 1
                closed_at = tag.span.end if closed_at is None and not any(around) else closed_at
            del around[-1:]
        elif statement.opens_block:
            is_holder = statement.keyword in {"macro", "set"}
            still_open += is_holder
            around.append(is_holder)
    return SuppressedTags(frozenset(inside), still_open, len(chunk.text) if closed_at is None else closed_at)


def _unsent(chunk: Chunk) -> list[Span]:
    """Return the lines of keys whose values are not sent to the model, such as a part's name."""
    return [
        Span(entry.key.span.end, line_end(chunk.text, entry.key.span.end))
        for part in chunk_items(chunk).parts
        for entry in part.entries
        if key_text(entry) in _UNSENT
    ]


def _comments(chunk: Chunk, contents: list[Span]) -> list[Span]:
    """Return the comments of YAML, which are not sent."""
    return [
        Span(match.start(), match.end())
        for match in _COMMENT.finditer(chunk.text)
        if not any(span.start <= match.start() < span.end for span in contents)
    ]


@dataclass(frozen=True, slots=True)
class UnstablePrefix:
    """The first position that an input changes, its name, and the fixed texts after it, part by part.

    If `is_condition`, the position is an `if` that tests the input. The texts are then those up to where
    an input is printed, because each outcome has the same beginning every time.
    """

    span: Span
    name: str
    fixed: tuple[str, ...]
    is_condition: bool = False


class _Piece(NamedTuple):
    """A piece of a part's content: fixed text, or a tag that prints one of the names.

    `tested` are the names that are tested by an `if` outside of other blocks whose output depends on them.
    """

    text: str
    tag: Span
    names: tuple[str, ...]
    tested: tuple[str, ...] = ()


Included: TypeAlias = Callable[[TemplateReference], Template | None]
"""A function that returns the template that an include leads to."""


def unstable_prefixes(
    template: Template,
    included: Included = lambda _reference: None,
    read_below: frozenset[str] = frozenset(),
) -> tuple[UnstablePrefix, ...]:
    """Return where the prompt first changes between requests; empty if no fixed text follows.

    First where an input is printed, then where an `if` depends on one, if there are such positions.
    `read_below` are the inputs that included files read. Includes outside of any block are followed at any
    depth if `included` returns their template; changes inside them are reported at the include.
    """
    inputs = (template.names.input_names | _declared(template) | read_below) - _constants(template)
    if not inputs:
        return ()
    changing = names_made_of(template, inputs)
    found: tuple[Span, str] | None = None
    asking: tuple[Span, str] | None = None
    fixed: list[str] = []
    tested: list[str] = []
    depth = open_blocks = 0
    for start, chunk in zip(template.source.starts, template.source.chunks, strict=False):
        references = template_references(chunk)
        own = suppressed_tags(chunk)
        suppressed_until, open_blocks = own.closed_at if open_blocks > 0 else 0, open_blocks + own.still_open
        if found is None and asking is None and not references and not _reads(chunk, changing):
            depth += _opened(chunk)
            continue
        texts: list[str] = []
        before: list[str] = []
        for piece in _with_included(chunk, included, (template,)) if depth == 0 else _pieces(chunk):
            if found is None and piece.tag.start >= suppressed_until:
                found = _first(piece.names, changing, piece.tag.shifted(start))
                if asking is None and depth == 0:
                    asking = _first(piece.tested, changing, piece.tag.shifted(start))
            if piece.text and depth == 0:
                if found is not None:
                    texts.append(piece.text)
                elif asking is not None:
                    before.append(piece.text)
        for pieces, collected in ((texts, fixed), (before, tested)):
            if text := "".join(pieces).strip():
                collected.append(text)
        depth += _opened(chunk)
    printed = (UnstablePrefix(*found, tuple(fixed)),) if found and fixed else ()
    hanging = (UnstablePrefix(*asking, tuple(tested), is_condition=True),) if asking and tested else ()
    return (*printed, *hanging)


def _first(names: tuple[str, ...], changing: dict[str, str], tag: Span) -> tuple[Span, str] | None:
    """Return the tag with the input that the first of its changing names comes from."""
    return next(((tag, changing[name]) for name in names if name in changing), None)


def _with_included(chunk: Chunk, included: Included, around: tuple[Template, ...]) -> Iterator[_Piece]:
    """Yield the pieces of a chunk outside of any block, with those of all its includes.

    `around` are the including templates: one that includes itself is not followed again.
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
        if depth or reference is None or reference.keyword != "include" or reference.is_choice:
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
    """Return the inputs that the file declares.

    Included files may read more of them than the file itself.
    """
    return frozenset(key.name for key in template.declarations.inputs or ())


def _constants(template: Template) -> frozenset[str]:
    """Return the inputs that are declared to have only one value."""
    return frozenset(
        key.name
        for key in template.declarations.inputs or ()
        if "const" in key.schema or len(_enum(key.schema)) == 1
    )


def _enum(schema: dict[str, Any]) -> list[Any]:
    values = schema.get("enum")
    return values if isinstance(values, list) else []


@chunk_fact
def _names(chunk: Chunk) -> frozenset[str]:
    return frozenset(name for piece in _pieces(chunk) for name in (*piece.names, *piece.tested))


def _reads(chunk: Chunk, names: dict[str, str]) -> bool:
    return not _names(chunk).isdisjoint(names)


@chunk_fact
def _opened(chunk: Chunk) -> int:
    """Return the number of blocks that the chunk opens minus those that it closes."""
    return sum(_step(chunk, index) for index in range(len(chunk.tags)))


def _step(chunk: Chunk, index: int) -> int:
    tag = chunk.tags[index]
    if tag.kind != "statement":
        return 0
    statement = tag_tree(tag).statement
    if statement.keyword.startswith("end"):
        return -1
    return int(statement.opens_block)


@chunk_fact
def _pieces(chunk: Chunk) -> tuple[_Piece, ...]:
    """Return the fixed texts of the chunk's contents outside of its blocks, and the tags that print names."""
    spans = sorted(scalar.span for part in chunk_items(chunk).parts for scalar in _contents(part))
    unsent = [*_unsent(chunk), *_comments(chunk, spans)]
    suppressed = suppressed_tags(chunk).tags
    pieces: list[_Piece] = []
    depth = 0
    position = 0
    for index, tag in enumerate(chunk.tags):
        is_sent = index not in suppressed and not any(
            span.start <= tag.span.start < span.end for span in unsent
        )
        tested: tuple[str, ...] = ()
        if depth == 0:
            pieces += _texts_between(chunk, spans, position, tag.span.start)
            tested = _tested_names(chunk, index, spans) if is_sent else ()
        depth += _step(chunk, index)
        pieces.append(_Piece("", tag.span, _printed(chunk, index) if is_sent else (), tested))
        position = tag.span.end
    if depth == 0:
        pieces += _texts_between(chunk, spans, position, len(chunk.text))
    return tuple(pieces)


def _texts_between(chunk: Chunk, spans: list[Span], start: int, end: int) -> Iterator[_Piece]:
    """Yield the parts of the contents between two offsets."""
    for span in spans:
        first, last = max(span.start, start), min(span.end, end)
        if first < last:
            yield _Piece(_dedent(chunk.text, first, last), span, ())


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
    """Return the names that a tag prints or loops over; a macro that it calls is `name()`."""
    tag = chunk.tags[index]
    if tag.kind == "output":
        expressions = tag_tree(tag).statement.expressions
    elif tag.kind == "statement" and tag_tree(tag).statement.keyword == "for":
        expressions = tag_tree(tag).statement.expressions[:1]
    else:
        return ()
    return (*named_in(expressions), *called_in(expressions))


def _tested_names(chunk: Chunk, index: int, spans: list[Span]) -> tuple[str, ...]:
    """Return the names that the tag tests if it is an `if` whose block prints something."""
    tag = chunk.tags[index]
    if tag.kind != "statement" or tag_tree(tag).statement.keyword != "if" or not _prints(chunk, index, spans):
        return ()
    return named_in(tag_tree(tag).statement.expressions)


def _prints(chunk: Chunk, index: int, spans: list[Span]) -> bool:
    """Return whether the block that the tag opens contains text of a content, or a tag that prints."""
    depth = _step(chunk, index)
    position = chunk.tags[index].span.end
    for number, tag in enumerate(chunk.tags[index + 1 :], index + 1):
        if any(piece.text.strip() for piece in _texts_between(chunk, spans, position, tag.span.start)):
            return True
        position = tag.span.end
        depth += _step(chunk, number)
        if depth == 0:
            return False
        if tag.kind == "output":
            return True
    return depth > 0


def _dedent(text: str, start: int, end: int) -> str:
    """Return a range of a block scalar without its indentation and header."""
    piece = text[start:end]
    first, line_break, rest = piece.partition("\n")
    head = "" if first.strip() in {"|", ">", "|-", ">-"} else first
    return head + line_break + dedent(rest)
