"""The latest rendering of a file, as plain data for rules and features."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median_low
from textwrap import dedent
from typing import Final, NamedTuple

from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderedPart, RenderFailure, Rendering, WhiteSpace
from promptls.rendering.samples import Sample
from promptls.rendering.varying_prefix import PromptChange
from promptls.semantic.header import Example
from promptls.semantic.parts import Part, chunk_items, written_end
from promptls.semantic.template import PlacedPart, Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.yaml.nodes import Scalar, key_text
from promptls.text.positions import Span
from promptls.tokens import is_approximate
from promptls.workspace.snapshot import Snapshot

_QUOTES: Final = ("'", '"')
_ESCAPED: Final = re.compile(r"\\|''")


@dataclass(frozen=True, slots=True)
class NamePattern:
    """The literal pieces of a computed name, between which any text may occur."""

    pieces: tuple[str, ...]

    def fits(self, name: str) -> bool:
        """Return whether the name contains the pieces in order; a regular expression would backtrack."""
        first, *middle = self.pieces
        if not middle:
            return name == first
        last = middle.pop()
        if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
            return False
        place, end = len(first), len(name) - len(last)
        for piece in middle:
            found = name.find(piece, place, end)
            if found == -1:
                return False
            place = found + len(piece)
        return True


def name_pattern(chunk: Chunk, part: Part, *, is_alone: bool) -> NamePattern | None:
    """Return the pattern of a part's computed name.

    None for a literal name, and if nothing is known about the name.

    Unless the file `is_alone`, without others that may add parts, the pattern must contain letters or digits
    to be distinctive.
    """
    value = part.value("name")
    if not isinstance(value, Scalar) or not value.dynamic or value.style in {"|", ">"}:
        return None
    start, end = value.span
    if chunk.text[start:end].startswith(_QUOTES):
        start, end = start + 1, end - 1
    tags = [*chunk.tags_at(Span(start, end))]
    statements = [tag for tag in tags if tag.kind == "statement"]
    if statements:  # the output of a branch or a loop is unknown
        covered = [(statements[0].span.start, statements[-1].span.end)]
        tags = [tag for tag in tags if tag.span.end <= covered[0][0] or tag.span.start >= covered[0][1]]
    else:
        covered = []
    pieces = []
    for first, last in sorted([*covered, *((tag.span.start, tag.span.end) for tag in tags)]):
        pieces.append(chunk.text[start:first])
        start = last
    pieces.append(chunk.text[start:end])
    if any(_ESCAPED.search(piece) for piece in pieces):
        return None
    if not is_alone and not any(any(map(str.isalnum, piece)) for piece in pieces):
        return None
    return NamePattern(tuple(pieces))


NO_SAMPLE: Final = "none"
"""The name of the sample if the samples cannot be read."""
_MAX_INCLUDED: Final = 50
"""The maximum number of included files that are counted."""
_MAX_EXAMPLES: Final = 100
"""The maximum number of examples that are counted."""


class TokenRange(NamedTuple):
    """The range of a token count over the rows of a dataset: minimum, median and maximum."""

    minimum: int
    median: int
    maximum: int

    @classmethod
    def of(cls, counts: Sequence[int]) -> TokenRange:
        """Return the range of at least one count."""
        return cls(min(counts), median_low(counts), max(counts))


@dataclass(frozen=True, slots=True)
class RowTokens:
    """The token counts of the rows of a dataset; rows are identified by their numbers, from 1."""

    dataset: str
    rows: int
    """The number of rendered rows."""
    over: tuple[int, ...]
    """The rows with more tokens than the limit; empty without a limit."""
    stuck: tuple[int, ...]
    """The rows that exceed the limit even after truncation."""
    maximum: int
    """The tokens of the longest row."""
    total: TokenRange | None = None
    """The tokens of the whole prompt."""
    parts: tuple[TokenRange | None, ...] = ()
    """For each part of the template, in order, the tokens of everything it renders to; 0 if that is nothing.

    None for a part that cannot be identified; empty if there are too many parts.
    """
    included: Mapping[str, TokenRange] = field(default_factory=dict)
    """The same for the parts of included files, by name, if that is unique."""


@dataclass(frozen=True, slots=True)
class PartRange:
    """The token counts of a part with all data that was tried, `times` times; 0 if it was left out."""

    name: str
    """The part's literal, unique name; or the path of an included file, for all parts from that file
    together."""
    minimum: int
    median: int
    maximum: int
    times: int


@dataclass(frozen=True, slots=True)
class FileRendering:
    """The outcome of a job for a file. The file may have changed since: `job.text` is what was rendered."""

    job: RenderJob
    sample: Sample
    outcome: Rendering | RenderFailure
    template_tokens: Mapping[str, int] = field(default_factory=dict)
    """The tokens of the template texts of parts, of included files, and of examples."""
    rows: RowTokens | None = None
    """The token counts of the rows of the first experiment's dataset, once rendered in the background."""

    ranges: tuple[PartRange, ...] = ()
    """The ranges of the tokens of the parts over all samples and rows; empty before those were tried."""
    failing: tuple[FileRendering, ...] | None = None
    """The renderings with other samples and rows that fail; None before they were tried."""
    cut_short: bool = False
    """Whether a time limit may have ended the search for them."""
    other_white_space: tuple[WhiteSpace, ...] = ()
    """The white space that is stripped, added or missing with other samples."""
    change: PromptChange | None = None
    """Where the prompt first differs between requests, once it was rendered with other data."""
    last: FileRendering | None = None
    """After a failure, the last successful rendering with the same sample, whose counts are still shown."""

    @property
    def rendering(self) -> Rendering | None:
        """The rendering, or None if it failed."""
        return self.outcome if isinstance(self.outcome, Rendering) else None

    @property
    def failure(self) -> RenderFailure | None:
        """The failure, or None if it was rendered."""
        return self.outcome if isinstance(self.outcome, RenderFailure) else None

    def after(self, previous: FileRendering | None) -> FileRendering:
        """Return this rendering; after a failure with the same sample, with the last successful one."""
        last = previous.last if previous is not None and previous.rendering is None else previous
        is_same = last is not None and last.job.encoding == self.job.encoding
        is_same = is_same and last is not None and self.sample.name in {last.sample.name, NO_SAMPLE}
        return replace(self, last=last) if self.rendering is None and is_same else self

    def applies_to(self, text: str) -> bool:
        """Return whether the shown counts are of this text of a part or of an included file."""
        return self.last is None or text in self.last.template_tokens

    @property
    def white_space(self) -> tuple[WhiteSpace, ...]:
        """The white space of the template that is stripped, added or missing with any sample, each once."""
        return tuple(dict.fromkeys((*self.outcome.white_space, *self.other_white_space)))

    @property
    def is_exact(self) -> bool:
        """Whether the model would receive exactly this: neither data nor functions are stand-ins."""
        is_made_up = self.sample.kind == "placeholders" and bool(self.sample.data)
        return not is_made_up and not self.job.stand_ins

    @property
    def is_approximate(self) -> bool:
        """Whether the counts are those of the nearest encoding, to be shown after a `≈`."""
        return is_approximate(self.job.encoding)

    @property
    def token_limit(self) -> int | None:
        """The token limit of the prompt."""
        return self.job.token_limit if self.job.token_limit > 0 else None


def describe_sample(sample: Sample) -> str:
    """Return a description of the sample for use in a sentence."""
    return f"the sample `{sample.name}`" if sample.kind == "named" else sample.name


def varying(latest: FileRendering, name: str | None) -> PartRange | None:
    """Return the range of the part of this name; None if its token count is the same with all data."""
    if latest.rendering is None:
        return None
    found = next((each for each in latest.ranges if each.name == name), None)
    return found if found is not None and found.minimum < found.maximum else None


def part_place(placed: PlacedPart, key: str = "name") -> Span:
    """Return the span of the value of a part's key, or else of the part's first key."""
    value = placed.part.value(key)
    if value is not None and not value.span.is_empty():
        return value.span.shifted(placed.start)
    return placed.part.first_key.shifted(placed.start)


def template_text(template: Template, placed: PlacedPart) -> str:
    """Return the part's content as in the template, with tags, but without YAML quotes and indentation."""
    return _part_texts(template.source.located(placed.start).chunk)[placed.part.span]


@chunk_fact
def _part_texts(chunk: Chunk) -> dict[Span, str]:
    """Return the content of each part in the chunk, by the part's position."""
    return {part.span: _part_text(chunk, part) for part in chunk_items(chunk).parts}


def _part_text(chunk: Chunk, part: Part) -> str:
    texts = []
    for entry in part.entries:
        if key_text(entry) in {"content", "sections"}:
            text = chunk.text[entry.value.span.start : written_end(chunk, (entry,))]
            style = entry.value.style if isinstance(entry.value, Scalar) else ""
            if style in {"|", ">"}:
                text = text.partition("\n")[2]
            elif style in {"'", '"'}:
                text = text.removeprefix(style).removesuffix(style)
            texts.append(dedent(text))
    return "\n".join(texts)


def example_text(example: Example) -> str:
    """Return an example as Ragas formats it: `key: value` lines with the values in JSON."""
    return "\n".join(
        f"{key}: {json.dumps(value, ensure_ascii=False, default=str)}" for key, value in example.data.items()
    )


def template_texts(template: Template) -> tuple[str, ...]:
    """Return the texts whose tokens are counted: parts and examples."""
    parts = (text for chunk in template.source.chunks for text in _part_texts(chunk).values())
    return (*parts, *map(example_text, template.declarations.examples[:_MAX_EXAMPLES]))


def included_texts(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Return the texts of the file's direct includes, whose tokens are counted."""
    template = snapshot.template(path)
    targets = {snapshot.resolve(path, reference) for reference in template.references} if template else set()
    found = [snapshot.template(target) for target in sorted(filter(None, targets))]
    return tuple(each.source.text for each in found[:_MAX_INCLUDED] if each is not None)


def rendered_parts(
    template: Template, foreign_names: frozenset[str], rendering: Rendering
) -> tuple[tuple[RenderedPart, ...], ...]:
    """Return the rendered parts of each part of the template: none, one, or many in a loop.

    A part with a literal name that is unique in the file and its includes (`foreign_names`) is matched by
    name, and one with a computed name by the literal pieces of the name. If every part is rendered exactly
    once, parts are matched by their order. Parts that cannot be identified get no rendered parts.
    """
    names = [placed.part.name for placed in template.parts]
    counts = Counter(names)
    by_name: dict[str, list[RenderedPart]] = {}
    for part in rendering.parts:
        by_name.setdefault(part.name, []).append(part)
    if _is_one_to_one(template) and len(rendering.parts) == len(names):
        return tuple((part,) for part in rendering.parts)
    computed = _with_computed_names(template, {*names, *foreign_names}, rendering)
    return tuple(
        computed.get(index, ())
        if name is None
        else tuple(by_name.get(name, ()))
        if counts[name] == 1 and name not in foreign_names
        else ()
        for index, name in enumerate(names)
    )


def _with_computed_names(
    template: Template, others: Collection[str | None], rendering: Rendering
) -> dict[int, tuple[RenderedPart, ...]]:
    """Return the rendered parts of the parts with computed names, by their indices.

    `others` are the literal names.
    """
    is_alone = not template.references
    patterns = {
        index: pattern
        for index, placed in enumerate(template.parts)
        if (pattern := _name_pattern(template, placed, is_alone=is_alone)) is not None
    }
    found: dict[int, list[RenderedPart]] = {index: [] for index in patterns}
    for part in rendering.parts if patterns else ():
        if part.name in others:
            continue
        fitting = [index for index, pattern in patterns.items() if pattern.fits(part.name)]
        for index in fitting:
            if len(fitting) > 1:  # the match is ambiguous
                found.pop(index, None)
            elif index in found:
                found[index].append(part)
    return {index: tuple(parts) for index, parts in found.items()}


_ANY_NAME: Final = NamePattern(("", ""))


def parts_by_file(snapshot: Snapshot, path: str, rendering: Rendering) -> dict[str, tuple[RenderedPart, ...]]:
    """Return the rendered parts that come from each file included by the one at `path`, by path.

    Parts are assigned by their names: a literal name in one file only, or else a match for a computed name of
    one file only. Files whose parts may also come from a different file are left out.
    """
    owners: dict[str, set[str]] = {}
    patterns: dict[str, set[NamePattern]] = {}
    found: dict[str, list[RenderedPart]] = {}
    for other in snapshot.included(path):
        template = snapshot.template(other)
        for placed in template.parts if template is not None else ():
            assert template is not None
            found.setdefault(other, [])
            if placed.part.name is not None:
                owners.setdefault(placed.part.name, set()).add(other)
            else:
                pattern = _name_pattern(template, placed, is_alone=True) or _ANY_NAME
                patterns.setdefault(other, set()).add(pattern)
    for part in rendering.parts:
        its = owners.get(part.name) or {
            other for other, known in patterns.items() if any(each.fits(part.name) for each in known)
        }
        for other in its:
            if len(its) > 1:
                found.pop(other, None)
            elif other in found:
                found[other].append(part)
    return {other: tuple(parts) for other, parts in found.items() if other != path}


def brought_in(
    snapshot: Snapshot, by_file: Mapping[str, tuple[RenderedPart, ...]], target: str
) -> tuple[RenderedPart, ...] | None:
    """Return the rendered parts that an include of `target` adds, from the result of `parts_by_file`.

    None if the file has no parts, or they are unknown.
    """
    templates = {other: snapshot.template(other) for other in snapshot.included(target)}
    files = [other for other, template in templates.items() if template is not None and template.parts]
    if not files or any(other not in by_file for other in files):
        return None
    return tuple(sorted((part for other in files for part in by_file[other]), key=lambda part: part.index))


def _name_pattern(template: Template, placed: PlacedPart, *, is_alone: bool) -> NamePattern | None:
    return name_pattern(template.source.located(placed.start).chunk, placed.part, is_alone=is_alone)


def _is_one_to_one(template: Template) -> bool:
    """Return whether no tag between the parts could add, repeat or leave out one of them."""
    if template.references:
        return False
    by_chunk: dict[int, list[PlacedPart]] = {}
    for placed in template.parts:
        by_chunk.setdefault(placed.start, []).append(placed)
    for start, chunk in zip(template.source.starts, template.source.chunks, strict=False):
        values = [entry.value.span for placed in by_chunk.get(start, ()) for entry in placed.part.entries]
        for tag in chunk.tags:
            if tag.kind == "comment":
                continue
            if not any(value.start <= tag.span.start and tag.span.end <= value.end for value in values):
                return False
    return True
