"""The data types of completion: the request, the position in the file, the items, and the resulting list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.samples import file_samples
from promptls.semantic.header import CLOSING, OPENING, Declarations
from promptls.semantic.kind import Kind
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.names.scopes import Binding
from promptls.semantic.names.visible import Visible, visible_at
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.source import Source
from promptls.syntax.yaml.expected import YamlPlace, yaml_place
from promptls.text.errors import UserError
from promptls.text.positions import Span, line_end
from promptls.workspace.contract import passes_data, scopes_before, targets
from promptls.workspace.snapshot import Snapshot

ItemKind = Literal[
    "variable",
    "property",
    "function",
    "method",
    "keyword",
    "value",
    "enum",
    "file",
    "snippet",
    "module",
    "constant",
    "field",
]

SETTING: Final = "setting"
"""The source of the items for a settings file."""
FIRST: Final = 0
"""The rank of items that are expected first."""


@dataclass(frozen=True, slots=True)
class CompletionItem:
    """A completion item.

    `text` is inserted if it differs from `label`; `snippet` is inserted instead by clients that support
    placeholders, and contains valid text. `detail` is a short description; `parameters` are shown right after
    the label. Items are sorted by `rank` and then by label.
    """

    label: str
    kind: ItemKind
    rank: int = 50
    text: str = ""
    snippet: str = ""
    detail: str = ""
    parameters: str = ""
    is_deprecated: bool = False
    is_preselected: bool = False
    filter_text: str = ""
    commits: str = ""
    """The commit characters, which accept the item when they are typed."""
    takes_arguments: bool = False
    """Whether `snippet` is a call with a placeholder for its arguments."""

    @property
    def plain_text(self) -> str:
        """The text inserted by clients without snippet support."""
        return self.text or self.label


def call_item(
    name: str, kind: ItemKind, rank: int, detail: str, *, takes_arguments: bool, parameters: str = ""
) -> CompletionItem:
    """Return an item with parentheses, and a placeholder between them if it takes arguments."""
    return CompletionItem(
        name,
        kind,
        rank,
        text="" if takes_arguments else f"{name}()",
        snippet=f"{name}($1)$0" if takes_arguments else "",
        detail=detail,
        parameters=parameters,
        takes_arguments=takes_arguments,
    )


@dataclass(frozen=True, slots=True)
class CompletionList:
    """The items for a place.

    `insert` is the part of the word before the cursor, which every item replaces, and `replace` the whole
    word. `source` and `path` identify the documentation of an item when it is resolved. `is_incomplete` means
    that further typing may yield other items.
    """

    items: tuple[CompletionItem, ...]
    insert: Span
    replace: Span
    source: str
    path: tuple[str, ...] = ()
    is_incomplete: bool = False


def table_items(values: Iterable[str], rank: int = 10) -> Iterator[CompletionItem]:
    """Yield values in order, with consecutive ranks."""
    for index, name in enumerate(values):
        yield CompletionItem(name, "enum", rank + index)


def name_items(names: Iterable[str], detail: str) -> Iterator[CompletionItem]:
    """Yield names of the file or its data in order, each with its description."""
    for index, name in enumerate(names):
        yield CompletionItem(name, "field", 10 + min(index, 80), detail=detail)


MAX_FILES: Final = 400
"""The maximum number of files offered from a folder."""
_MAX_INCLUDERS: Final = 20
"""The maximum number of including files whose variables are examined."""


class Inclusion(NamedTuple):
    """A reference to a file, and the file that contains it."""

    path: str
    template: Template
    reference: TemplateReference

    @property
    def bound(self) -> dict[str, Binding]:
        """The variables of the including file that are visible in the included file."""
        scopes = reversed([*scopes_before(self.template, self.reference).visible_scopes()])
        return {
            name: known[0]
            for scope in scopes
            for name, known in scope.bound.items()
            if known[0].kind != "implied"
        }


@dataclass(frozen=True)
class Request:
    """A completion request: a place in a file, and its context.

    `latest` is the file's latest rendering, whose sample provides keys; `typed` is the word around the
    cursor.
    """

    snapshot: Snapshot
    path: str
    template: Template
    kind: Kind
    offset: int
    latest: FileRendering | None = None
    typed: str = ""

    @cached_property
    def visible(self) -> Visible:
        """The variables visible at the place."""
        return visible_at(self.template, self.offset)

    @cached_property
    def declarations(self) -> Declarations:
        """The file's declarations; without the line being edited if that makes them invalid."""
        declared = self.template.declarations
        is_broken = any(problem.kind == "syntax" for problem in declared.problems)
        if not is_broken and (self.template.header is not None or self.template.root is not None):
            return declared
        if self.template.header is None and self.kind not in {Kind.OBJECT, Kind.EVALUATION}:
            return declared
        source = self.template.source
        line = source.line_span(source.line_column(self.offset).line)
        # Only this file's header is parsed again; other files come from the cache.
        end = declared.span.end if self.template.header is not None else len(source)
        if line.start >= end:
            return declared
        text = source.slice(Span(0, end))
        return Template(Source.of(text[: line.start] + text[line.end :])).declarations

    @cached_property
    def data(self) -> dict[str, Any]:
        """The preview data: the selected sample, else the file's first sample, else the first example."""
        if self.latest is not None and self.latest.sample.kind not in {"placeholders", "branch"}:
            return self.latest.sample.data
        try:
            samples = file_samples(self.template, self.path)
        except UserError:  # reported by the preview
            samples = ()
        if samples:
            return samples[0].data
        examples = self.declarations.examples
        return examples[0].data if examples else {}

    @cached_property
    def all_declarations(self) -> tuple[Declarations, ...]:
        """The declarations of the file, and of the entry templates that include it."""
        others = (each.declarations for each in self.entry_templates if each is not self.template)
        return (self.declarations, *others)

    @cached_property
    def includes(self) -> tuple[Inclusion, ...]:
        """The includes of this file in other files, which pass their variables on to it."""
        found = []
        for includer in sorted(self.snapshot.includers(self.path))[:_MAX_INCLUDERS]:
            template = self.snapshot.template(includer)
            for reference, target in targets(self.snapshot, includer):
                if template is not None and target == self.path and passes_data(reference):
                    found.append(Inclusion(includer, template, reference))
        return tuple(found)

    @cached_property
    def entry_templates(self) -> tuple[Template, ...]:
        """The file itself, and the entry templates that include it."""
        paths = dict.fromkeys([self.path, *self.snapshot.entries(self.path)])
        return tuple(template for path in paths if (template := self.snapshot.template(path)) is not None)


def placed(
    request: Request,
    items: Iterable[CompletionItem],
    word: Span,
    base: int,
    source: str,
    path: tuple[str, ...] = (),
    in_header: bool = False,
) -> CompletionList | None:
    """Return the items as replacements of `word`, whose span is relative to `base`; None without items."""
    word = word.shifted(base)
    insert = Span(word.start, max(request.offset, word.start))
    replaced = Span(word.start, max(word.end, insert.end))
    return made(items, insert, replaced, source, ("header" if in_header else "", *path))


def made(
    items: Iterable[CompletionItem], insert: Span, replaced: Span, source: str, path: tuple[str, ...]
) -> CompletionList | None:
    """Return the items as replacements of `replaced`; `insert` is the part before the cursor."""
    by_label: dict[str, CompletionItem] = {}
    for item in items:
        known = by_label.get(item.label)
        if known is None or item.rank < known.rank:
            by_label[item.label] = item
    ordered = sorted(by_label.values(), key=lambda item: (item.rank, item.label.casefold()))
    is_cut = sum(item.kind == "file" for item in ordered) >= MAX_FILES
    found = CompletionList(tuple(ordered), insert, replaced, source, path, is_incomplete=is_cut)
    return found if ordered else None


@dataclass(frozen=True, slots=True)
class TagPlace:
    """A place in a tag that begins at offset `start` of the file; `place` is relative to it.

    `text` is the tag's own text, or for an unclosed comment, the rest of its line.
    """

    tag: Tag
    start: int
    place: int
    text: str


@dataclass(frozen=True, slots=True)
class YamlPosition:
    """A place of the YAML: in the header or around the tags. Spans of `yaml` are relative to `base`."""

    yaml: YamlPlace
    base: int
    in_header: bool


@dataclass(frozen=True, slots=True)
class Nowhere:
    """A place without completions."""


NOWHERE: Final = Nowhere()
_TAGS: Final = frozenset({"output", "statement"})


def place_in(template: Template, offset: int) -> TagPlace | YamlPosition | Nowhere:
    """Return the context of `offset`, from the chunk that contains it and the text before it."""
    located = template.source.uncut().located(offset)
    inside = offset - located.start
    if inside == 0 and located.index > 0 and offset == len(template.source):
        # A place after the last line break belongs to the chunk above.
        inside = located.chunk.length if located.start < offset else inside
    tag = _tag_at(located.chunk, inside)
    if tag is not None:
        if tag.kind == "comment" and tag.text.startswith(OPENING) and located.index == 0:
            return _header(tag, located.start, inside)
        if tag.kind in _TAGS or tag.kind == "comment":
            if inside > tag.span.end:
                written = located.chunk.text[tag.span.start : inside]
                tag = tag._replace(text=written, inner_end=len(written))
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
    found = yaml_place(mask_tags(located.chunk), inside)
    tags = located.chunk.tags_at(found.word) if found else ()
    if found is None or (tags and tags[0].span.start < inside):
        return NOWHERE  # a word that contains a tag cannot be completed
    if tags:
        found = found._replace(word=Span(found.word.start, tags[0].span.start))
    return YamlPosition(found, located.start, in_header=False)


def _tag_at(chunk: Chunk, inside: int) -> Tag | None:
    """Return the tag whose inside contains the place; for an unclosed tag, also the space after it."""
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
        after = chunk.text[tag.span.end : inside]
        if tag.unclosed and inside >= tag.span.end and not after.strip(" \t") and tag.kind in _TAGS:
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
    """Return the position in an unclosed header that is being written."""
    base = tag.span.start + len(OPENING)
    text = chunk.text[base:]
    if inside < base or not _is_below_opening(OPENING + text, inside - base):
        return NOWHERE
    found = yaml_place(text, inside - base)
    return YamlPosition(found, start + base, in_header=True) if found else NOWHERE


def _is_below_opening(text: str, place: int) -> bool:
    """Return whether the place is below the line of the header's opening delimiter."""
    return (
        "\n" in text[len(OPENING) : len(OPENING) + place] or "\r" in text[len(OPENING) : len(OPENING) + place]
    )


@chunk_fact
def mask_tags(chunk: Chunk) -> str:
    """Return the chunk's text with its tags masked: printed expressions as letters, other tags as spaces."""
    pieces = []
    after = 0
    for tag in chunk.tags:
        if tag.kind == "raw":
            continue
        pieces.append(chunk.text[after : tag.span.start])
        cover = "x" if tag.kind == "output" else " "
        pieces.append("".join(each if each in "\r\n" else cover for each in tag.text))
        after = tag.span.end
    pieces.append(chunk.text[after:])
    return "".join(pieces)
