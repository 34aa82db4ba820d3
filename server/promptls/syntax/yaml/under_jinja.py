"""The YAML of a chunk, taking the branches of its `if` blocks into account.

All branches of the chunk's `if` blocks are parsed together first: most templates are written
that way, and all keys are visible. If that is not valid YAML, the branches are parsed one after
the other. An error is only reported if every variant of the chunk has one, or if one branch
introduces it into a chunk that is valid without that branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, Role, chunk_fact
from promptls.syntax.jinja.blocks import Pair, chunk_blocks
from promptls.syntax.jinja.nodes import Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.projection import (
    PLACEHOLDER,
    Projection,
    begins_text,
    branches,
    dynamic_spans,
    has_else,
    project,
    span_map,
    stands_alone,
)
from promptls.syntax.yaml.compose import Composed, compose, yaml_problem
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence
from promptls.text.positions import Span

_MAX_VARIANTS: Final = 6
_MAX_ALIASES: Final = 100


class ChunkYaml(NamedTuple):
    """The trees of a chunk's variants, their errors, and the anchors that other chunks must define.

    `is_plain` is True if there is one tree, parsed from the projection with all branches, without aliases.
    `is_broken` is True if every variant has an error, even if none is certain enough to be reported, and
    `is_cut_off` if the error is at the end, so that more text could correct it.
    """

    roots: tuple[Node, ...]
    problems: tuple[SyntaxProblem, ...]
    aliases: tuple[tuple[str, Span], ...]
    is_plain: bool = False
    is_broken: bool = False
    is_cut_off: bool = False


class _Variant(NamedTuple):
    projection: Projection
    composed: Composed
    aliases: tuple[tuple[str, Span], ...]
    begins_texts: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether there is one tree, parsed from nothing other than the projection."""
        is_plain = not self.begins_texts and not self.aliases and not self.composed.has_aliases
        return is_plain and self.composed.root is not None


@chunk_fact
def projection_of(chunk: Chunk) -> Projection:
    """Return the projection of the chunk with all its branches."""
    return project(chunk)


@chunk_fact
def chunk_yaml(chunk: Chunk) -> ChunkYaml:
    """Return the YAML of the chunk; every span counts from the chunk's start."""
    if chunk.role in {Role.JSON_MEMBERS, Role.JSON_ELEMENTS}:
        return json_chunk(chunk).yaml
    together = _variant(chunk, {})
    if together.composed.error is None:
        return _without_error([together])._replace(is_plain=together.is_plain)
    ifs = [pair for pair in chunk_blocks(chunk).pairs if pair.keyword == "if"]
    if not ifs:
        return _broken(chunk, together)
    variants = [_variant(chunk, choices) for choices in _choices(chunk, ifs)]
    right = [variant for variant in variants if variant.composed.error is None]
    if not right:
        return _broken(chunk, variants[0])
    return _without_error(right)._replace(problems=_branch_problem(chunk, ifs, variants))


class JsonChunk(NamedTuple):
    """The YAML of a chunk of a JSON object, with the brackets that are open at its end.

    The root is a mapping of members, or a list of elements.
    """

    yaml: ChunkYaml
    is_open: str = ""


_BROKEN_JSON: Final = JsonChunk(ChunkYaml((), (), (), is_broken=True))


@chunk_fact
def json_chunk(chunk: Chunk) -> JsonChunk:
    """Return the YAML of a chunk of a JSON object, parsed with brackets that make it complete."""
    is_elements = chunk.role is Role.JSON_ELEMENTS
    opened = '{"":[' if is_elements else "{"
    if chunk.text.lstrip("\ufeff \t\r\n").startswith("{") and not is_elements:
        opened = ""
    for is_open in ("]}", "}", "") if is_elements else ("}", "]}", ""):
        root = _frame(chunk.text, opened, is_open)
        if root is None:
            continue
        node: Node = root.entries[0].value if is_elements else root
        if is_elements and not (len(root.entries) == 1 and isinstance(node, Sequence)):
            return _BROKEN_JSON
        return JsonChunk(ChunkYaml((node,), (), (), is_plain=True), is_open)
    return _BROKEN_JSON


def _frame(text: str, opened: str, closing: str) -> Mapping | None:
    """Return the mapping of a text between brackets, or None if it does not end with them."""
    written = f"{opened}{text}{closing}"
    places: list[int] = []

    def span(start: int, end: int) -> Span:
        places.append(end)
        by = len(opened)
        return Span(min(max(start - by, 0), len(text)), min(max(end - by, 0), len(text)))

    composed = compose(written, span, lambda _span: False)
    root = composed.root
    is_whole = bool(places) and places[0] == len(written.rstrip()) and not composed.has_aliases
    return root if isinstance(root, Mapping) and is_whole else None


def _broken(chunk: Chunk, variant: _Variant) -> ChunkYaml:
    error = variant.composed.error
    return ChunkYaml(
        (),
        _problem_in(chunk, variant),
        variant.aliases,
        is_broken=True,
        is_cut_off=error is not None and error.is_at_end,
    )


def _without_error(variants: list[_Variant]) -> ChunkYaml:
    roots = tuple(variant.composed.root for variant in variants if variant.composed.root is not None)
    return ChunkYaml(roots, (), tuple(alias for variant in variants for alias in variant.aliases))


def _variant(chunk: Chunk, choices: dict[int, int]) -> _Variant:
    """Return the variant of the chunk with these branches.

    A value that is printed at the start of a text may be empty, or the line that determines the
    indentation of the text: an error only counts if it occurs in both cases.
    """
    variant = _variant_of(chunk, project(chunk, choices))
    if variant.composed.error is not None and _may_begin_texts(chunk):
        other = _variant_of(chunk, project(chunk, choices, begins_texts=True))
        if other.composed.error is None:
            return other._replace(begins_texts=True)
    return variant


def _may_begin_texts(chunk: Chunk) -> bool:
    """Return whether a value is printed at the start of a text."""
    return any(
        tag.kind == "output" and stands_alone(chunk, tag) and begins_text(chunk, tag) for tag in chunk.tags
    )


def _variant_of(chunk: Chunk, projection: Projection) -> _Variant:
    """Return the variant of a projection of the chunk.

    Aliases of anchors in other chunks are recorded and parsed as plain text.
    """
    span, has_jinja = span_map(projection), dynamic_spans(chunk)
    text = projection.text
    aliases: list[tuple[str, Span]] = []

    def is_dynamic(place: Span) -> bool:
        return any(place == alias for _, alias in aliases) or has_jinja(place)

    composed = compose(text, span, is_dynamic)
    while composed.error and composed.error.alias and len(aliases) < _MAX_ALIASES:
        offset, name = composed.error.offset, composed.error.alias
        aliases.append((name, span(offset, offset + len(name) + 1)))
        text = f"{text[:offset]}{PLACEHOLDER}{text[offset + 1 :]}"
        composed = compose(text, span, is_dynamic)
    return _Variant(projection, composed, tuple(aliases))


def _choices(chunk: Chunk, ifs: list[Pair]) -> Iterator[dict[int, int]]:
    """Yield choices that cover every branch: all first branches, all second ones, and so on."""
    widths = {pair.opening: len(branches(pair)) + (not has_else(chunk, pair)) for pair in ifs}
    for index in range(min(max(widths.values()), _MAX_VARIANTS)):
        yield {opening: min(index, width - 1) for opening, width in widths.items()}


def _problem_in(chunk: Chunk, variant: _Variant) -> tuple[SyntaxProblem, ...]:
    error = variant.composed.error
    return () if error is None else yaml_problem(chunk, variant.projection, error)


def _branch_problem(chunk: Chunk, ifs: list[Pair], variants: list[_Variant]) -> tuple[SyntaxProblem, ...]:
    """Return the error of a branch whose condition does not share variables with those of other blocks."""
    for variant in variants:
        error = variant.composed.error
        if error is None:
            continue
        origin = variant.projection.origin(error.offset)
        inside = [pair for pair in ifs if _spans(chunk, pair, origin)]
        outside = [pair for pair in ifs if pair not in inside]
        if not inside or any(
            _names(chunk, pair) & _names(chunk, other) for pair in inside for other in outside
        ):
            continue
        choices = {pair.opening: len(pair.middles) + 1 for pair in outside}
        for pair in inside:
            choices[pair.opening] = next(
                index
                for index, (begin, end) in enumerate(branches(pair))
                if chunk.tags[begin].span.start <= origin <= chunk.tags[end].span.end
            )
        alone = _variant(chunk, choices)
        if alone.composed.error is not None:
            return _problem_in(chunk, alone)
    return ()


def _spans(chunk: Chunk, pair: Pair, offset: int) -> bool:
    return chunk.tags[pair.opening].span.start <= offset <= chunk.tags[pair.closing].span.end


def _names(chunk: Chunk, pair: Pair) -> frozenset[str]:
    return frozenset(
        node.name
        for index in (pair.opening, *pair.middles)
        for expression in tag_tree(chunk.tags[index]).statement.expressions
        for node in walk(expression)
        if isinstance(node, Name)
    )
