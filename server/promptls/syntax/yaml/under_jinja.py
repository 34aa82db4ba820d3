"""The YAML of a chunk, as its branches allow it.

All branches of the chunk's `if` blocks are read together first: that is how most
templates are written, and it shows every key. Where that is no YAML, the branches are
read one after the other. An error counts only when no reading of the chunk is without it,
or when one branch brings it into a chunk that is right without that branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.blocks import Pair, chunk_blocks
from promptls.syntax.jinja.nodes import Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.projection import (
    PLACEHOLDER,
    Projection,
    begins_text,
    branches,
    has_else,
    project,
    projected_again,
    stands_alone,
    text_span,
)
from promptls.syntax.yaml.compose import Composed, YamlError, compose, nesting_of, yaml_problem
from promptls.syntax.yaml.leading_back import dynamics, spans
from promptls.syntax.yaml.nodes import Mapping, Node
from promptls.syntax.yaml.reread import reread
from promptls.syntax.yaml.retyped import retyped
from promptls.syntax.yaml.stretches import LastReading, Written
from promptls.text.positions import Span

_MAX_READINGS: Final = 6
_MAX_ALIASES: Final = 100


class ChunkYaml(NamedTuple):
    """The trees of a chunk's readings, their errors, and the anchors that other chunks must define.

    `is_read_together` says that the branches of its `if` blocks stand in one tree. `retyped` is the key
    whose text is all that an edit has changed, where that is certain. `is_plain` says that there is one tree,
    read with all branches from what `project` gives, without aliases.
    """

    roots: tuple[Node, ...]
    problems: tuple[SyntaxProblem, ...]
    aliases: tuple[tuple[str, Span], ...]
    is_read_together: bool = False
    retyped: str | None = None
    is_plain: bool = False


class _Reading(NamedTuple):
    projection: Projection
    composed: Composed
    aliases: tuple[tuple[str, Span], ...]
    begins_texts: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether there is one tree, which nothing but what `project` gives was read for."""
        is_plain = not self.begins_texts and not self.aliases and not self.composed.has_aliases
        return is_plain and self.composed.root is not None


def _chunk_yaml(chunk: Chunk) -> ChunkYaml:
    """Return what YAML the chunk holds; every span counts from the chunk's start."""
    again = _again(chunk)
    if again is not None:
        return again
    before = _last_reading(chunk)
    found: ChunkYaml | None = None
    if before is not None:
        now = projection_of(chunk)
        known = reread(before, Written(chunk.text, chunk.tags, now, spans(now), dynamics(chunk)))
        if known is not None:
            chunk.kept[_nesting_of] = known.nesting
            if isinstance(known.found, Mapping):
                return ChunkYaml((known.found,), (), (), is_read_together=True, is_plain=True)
            found = _with_error(chunk, now, known.found)
            if found is not None:
                chunk.kept[error_seen] = known.until
    if found is None:
        found = _read(chunk)
    if before is not None and not found.is_plain:
        chunk.kept[_last_reading] = before
    return found


def _with_error(chunk: Chunk, projection: Projection, error: YamlError) -> ChunkYaml | None:
    """Return what is known of a chunk with that error; None if another reading of it may be without it."""
    if any(pair.keyword == "if" for pair in chunk_blocks(chunk).pairs) or _may_begin_texts(chunk):
        return None
    return ChunkYaml((), yaml_problem(chunk, projection, error), ())


def _again(chunk: Chunk) -> ChunkYaml | None:
    """Return the YAML of a chunk in which somebody typed where nothing else of it can change; else None."""
    known = chunk.before.chunk.kept.get(_chunk_yaml) if chunk.before is not None else None
    if not isinstance(known, ChunkYaml) or not known.roots or known.problems or known.aliases:
        return None
    # Which branches count depends on their conditions, where they are not read together.
    if not chunk.has_same_tags and not known.is_read_together:
        return None
    again = retyped(chunk, known.roots, is_plain=known.is_plain, is_read_together=known.is_read_together)
    return None if again is None else known._replace(roots=again.roots, retyped=again.key)


def _last_reading(chunk: Chunk) -> LastReading | None:
    """Return the last text that became this one and was a mapping without an error; None if there is none."""
    if chunk.before is None:
        return None
    former = chunk.before.chunk
    known = former.kept.get(_chunk_yaml)
    if isinstance(known, ChunkYaml) and known.is_plain:
        (root,) = known.roots
        if not isinstance(root, Mapping) or not root.entries:
            return None
        return LastReading(former.length, former.tags, projection_of(former), root, _nesting(former))
    return last_reading(former)


def last_reading(chunk: Chunk) -> LastReading | None:
    """Return the last text without an error that became that of a chunk with one.

    None if none is known.
    """
    earlier = chunk.kept.get(_last_reading)
    return earlier if isinstance(earlier, LastReading) else None


def error_seen(chunk: Chunk) -> int | None:
    """Up to where libyaml reads what the chunk gives until it sees an error; None if that is unknown."""
    seen = chunk.kept.get(error_seen)
    return seen if isinstance(seen, int) else None


def _projection_of(chunk: Chunk) -> Projection:
    """Return what the chunk gives with all its branches."""
    former = chunk.before.chunk.kept.get(_projection_of) if chunk.before is not None else None
    again = projected_again(chunk, former) if isinstance(former, Projection) else None
    return project(chunk) if again is None else again


def _nesting_of(chunk: Chunk) -> int:
    """Return how deep brackets stand in one another in what the chunk gives, or more."""
    return nesting_of(projection_of(chunk).text)


projection_of: Final = chunk_fact(_projection_of)
_nesting: Final = chunk_fact(_nesting_of)
chunk_yaml: Final = chunk_fact(_chunk_yaml)


def _read(chunk: Chunk) -> ChunkYaml:
    together = _reading(chunk, {})
    if together.composed.error is None:
        found = _without_error([together])
        return found._replace(is_read_together=True, is_plain=together.is_plain)
    ifs = [pair for pair in chunk_blocks(chunk).pairs if pair.keyword == "if"]
    if not ifs:
        return ChunkYaml((), _problem_in(chunk, together), together.aliases)
    readings = [_reading(chunk, choices) for choices in _choices(chunk, ifs)]
    right = [reading for reading in readings if reading.composed.error is None]
    if not right:
        return ChunkYaml((), _problem_in(chunk, readings[0]), readings[0].aliases)
    result = _without_error(right)
    return result._replace(problems=_branch_problem(chunk, ifs, readings))


def _without_error(readings: list[_Reading]) -> ChunkYaml:
    roots = tuple(reading.composed.root for reading in readings if reading.composed.root is not None)
    return ChunkYaml(roots, (), tuple(alias for reading in readings for alias in reading.aliases))


def _reading(chunk: Chunk, choices: dict[int, int]) -> _Reading:
    """Return the chunk with these branches.

    A value that is printed at the start of a text may be nothing, or the line that says how deep the
    text is indented: an error counts when it is there both ways.
    """
    reading = _reading_of(chunk, project(chunk, choices))
    if reading.composed.error is not None and _may_begin_texts(chunk):
        other = _reading_of(chunk, project(chunk, choices, begins_texts=True))
        if other.composed.error is None:
            return other._replace(begins_texts=True)
    return reading


def _may_begin_texts(chunk: Chunk) -> bool:
    """Return whether a value is printed at the start of a text."""
    return any(
        tag.kind == "output" and stands_alone(chunk, tag) and begins_text(chunk, tag) for tag in chunk.tags
    )


def _reading_of(chunk: Chunk, projection: Projection) -> _Reading:
    """Return what a projection of the chunk holds.

    Aliases of anchors elsewhere are noted and read as plain text.
    """
    span, has_jinja = spans(projection), dynamics(chunk)
    text = projection.text
    aliases: list[tuple[str, Span]] = []

    def is_dynamic(place: Span) -> bool:
        return any(place == alias for _, alias in aliases) or has_jinja(place)

    composed = compose(text, span, is_dynamic)
    while composed.error and composed.error.alias and len(aliases) < _MAX_ALIASES:
        offset, name = composed.error.offset, composed.error.alias
        aliases.append((name, text_span(projection, offset, offset + len(name) + 1)))
        text = f"{text[:offset]}{PLACEHOLDER}{text[offset + 1 :]}"
        composed = compose(text, span, is_dynamic)
    return _Reading(projection, composed, tuple(aliases))


def _choices(chunk: Chunk, ifs: list[Pair]) -> Iterator[dict[int, int]]:
    """Yield every branch at least once: all first branches, all second ones, and so on."""
    widths = {pair.opening: len(branches(pair)) + (not has_else(chunk, pair)) for pair in ifs}
    for number in range(min(max(widths.values()), _MAX_READINGS)):
        yield {opening: min(number, width - 1) for opening, width in widths.items()}


def _problem_in(chunk: Chunk, reading: _Reading) -> tuple[SyntaxProblem, ...]:
    error = reading.composed.error
    return () if error is None else yaml_problem(chunk, reading.projection, error)


def _branch_problem(chunk: Chunk, ifs: list[Pair], readings: list[_Reading]) -> tuple[SyntaxProblem, ...]:
    """Return the error that one branch brings, where its condition has nothing to do with the others'."""
    for reading in readings:
        error = reading.composed.error
        if error is None:
            continue
        origin = reading.projection.origin(error.offset)
        inside = [pair for pair in ifs if _spans(chunk, pair, origin)]
        outside = [pair for pair in ifs if pair not in inside]
        if not inside or any(
            _names(chunk, pair) & _names(chunk, other) for pair in inside for other in outside
        ):
            continue
        choices = {pair.opening: len(pair.middles) + 1 for pair in outside}
        for pair in inside:
            choices[pair.opening] = next(
                number
                for number, (begin, end) in enumerate(branches(pair))
                if chunk.tags[begin].span.start <= origin <= chunk.tags[end].span.end
            )
        alone = _reading(chunk, choices)
        if alone.composed.error is not None:
            return _problem_in(chunk, alone)
    return ()


def _spans(chunk: Chunk, pair: Pair, offset: int) -> bool:
    return chunk.tags[pair.opening].span.start <= offset <= chunk.tags[pair.closing].span.end


def _names(chunk: Chunk, pair: Pair) -> frozenset[str]:
    """Return the variables in the conditions of an `if`."""
    return frozenset(
        node.name
        for index in (pair.opening, *pair.middles)
        for expression in tag_tree(chunk.tags[index]).statement.expressions
        for node in walk(expression)
        if isinstance(node, Name)
    )
