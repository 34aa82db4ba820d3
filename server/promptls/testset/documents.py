"""Reading the documents for test data, and splitting them into nodes with a single subject."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol, runtime_checkable

from promptls.models.masking import key_mask
from promptls.security.files import read_text
from promptls.testset.graph import CHILD, CHUNK, CONTENT, DOCUMENT, NEXT, SOURCE, Node, Relationship
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import in_code
from promptls.text.suggest import did_you_mean

ENDINGS: Final = (".md", ".markdown", ".rst", ".txt")

_CONVERTED: Final = {".pdf", ".docx", ".doc", ".odt", ".pptx", ".epub", ".html", ".htm"}


def read_documents(paths: Iterable[Path], base: Path | None = None) -> list[Node]:
    """Return a node for each document at the paths; folders are searched recursively, sorted by name.

    `source` is the path relative to `base`, or the name of a file outside of it. Secrets in the environment
    are removed from the texts. Raises `UsageError` for a path without text, and if there are no documents.
    """
    mask = key_mask()
    nodes: dict[Path, Node] = {}
    for path in paths:
        for file in _files(path):
            if file.resolve() in nodes:
                continue
            text = mask.mask(_text(file))
            if text.strip():
                properties = {CONTENT: text, SOURCE: _shown(file, base)}
                nodes[file.resolve()] = Node(properties, DOCUMENT)
    if not nodes:
        raise UsageError("the documents contain no text", remedy="name text files, or folders that have some")
    return list(nodes.values())


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = [each for each in sorted(path.rglob("*")) if each.suffix.lower() in ENDINGS and each.is_file()]
    if not found:
        listed = in_code(ENDINGS)
        raise UsageError("there is no document in the folder", FilePlace(path), f"documents end in {listed}")
    # Hidden folders do not contain documents for readers.
    yield from (each for each in found if not any(part[0] == "." for part in each.relative_to(path).parts))


def _text(file: Path) -> str:
    if file.suffix.lower() in _CONVERTED:
        raise UsageError(
            f"documents of the form `{file.suffix}` are not read",
            FilePlace(file),
            "convert it to Markdown or plain text first",
        )
    try:
        return read_text(file, "utf-8-sig")
    except FileNotFoundError:
        names = [each.name for each in file.parent.iterdir()] if file.parent.is_dir() else []
        raise UsageError(
            f"the document does not exist{did_you_mean(file.name, names)}", FilePlace(file), "check the path"
        ) from None
    except UnicodeDecodeError:
        raise UsageError("the document is not UTF-8", FilePlace(file), "save it in UTF-8") from None
    except OSError as error:
        raise UserError(f"the document cannot be read: {error.strerror}", FilePlace(file)) from None


def _shown(file: Path, base: Path | None) -> str:
    try:
        return file.resolve().relative_to((base or Path.cwd()).resolve()).as_posix()
    except ValueError:
        return file.name


HEADINGS: Final = "headings"
"""The property with the headings above a chunk, outermost first."""

_FENCE: Final = re.compile(r"^\s{0,3}(```|~~~)")
_HEADING: Final = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE: Final = re.compile(r"^([=\-~^*+])\1{2,}\s*$")
_PARAGRAPHS: Final = re.compile(r"\n\s*\n")
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。\uff01\uff1f])")

_LEVELS: Final = {"=": 1, "-": 2}
"""The levels of headings by the character of their underline; others are deeper."""


class Pieces(NamedTuple):
    """The result of splitting a node: nodes, and their relationships to it and to each other."""

    nodes: Sequence[Node]
    relationships: Sequence[Relationship]


@runtime_checkable
class Splitter(Protocol):
    """The interface of splitters, which split nodes into smaller ones."""

    def split(self, node: Node) -> Pieces:
        """Return the pieces of the node; empty if it should not be split."""


@dataclass(frozen=True, slots=True)
class HeadingSplitter:
    """Splits a Markdown or reStructuredText document at its headings.

    A section longer than `limit` characters is split between paragraphs, or else between sentences; sections
    shorter than `fewest` are merged with the next one.
    """

    limit: int = 1500
    fewest: int = 200

    def split(self, node: Node) -> Pieces:
        """See `Splitter`; a text without headings is split by length only."""
        sections = _merge(_sections(node.text), self.fewest, self.limit)
        return pieces_of(
            node, [(text, section.path) for section in sections for text in _cut(section.text, self.limit)]
        )


@dataclass(frozen=True, slots=True)
class PassageSplitter:
    """Splits a text between paragraphs into pieces of at most `limit` characters, ignoring headings."""

    limit: int = 1500

    def split(self, node: Node) -> Pieces:
        """See `Splitter`."""
        return pieces_of(node, [(text, ()) for text in _cut(node.text, self.limit)])


def pieces_of(node: Node, texts: Iterable[tuple[str, Sequence[str]]]) -> Pieces:
    """Create nodes for the texts, with the headings above each, as ordered children of `node`."""
    made = [
        Node(
            {
                CONTENT: text.strip(),
                HEADINGS: list(path),
                "number": number,
                SOURCE: node.properties.get(SOURCE, ""),
            },
            CHUNK,
        )
        for number, (text, path) in enumerate(texts, start=1)
        if text.strip()
    ]
    children = [Relationship(node.id, each.id, CHILD) for each in made]
    following = [Relationship(one.id, other.id, NEXT) for one, other in itertools.pairwise(made)]
    return Pieces(made, [*children, *following])


class _Section(NamedTuple):
    path: tuple[str, ...]
    text: str

    @property
    def is_heading_alone(self) -> bool:
        lines = [line for line in self.text.splitlines() if line.strip()]
        has_text = bool(lines[2:])  # after a heading and its underline
        return not has_text and all(_HEADING.match(line) or _UNDERLINE.match(line) for line in lines[-1:])


def _sections(text: str) -> Iterator[_Section]:
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    fence: str | None = None

    def section() -> _Section:
        return _Section(tuple(title for _, title in path), "\n".join(lines))

    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark is not None and fence in {None, mark[1]}:
            fence = mark[1] if fence is None else None
        found = None if fence else _heading(line, lines)
        if found is None:
            lines.append(line)
            continue
        level, title, above = found
        # An underlined title is on the previous line.
        heading = [lines.pop()] if above else []
        if any(each.strip() for each in lines):
            yield section()
        path = [each for each in path if each[0] < level] + [(level, title)]
        lines = [*heading, line]
    if any(each.strip() for each in lines):
        yield section()


def _heading(line: str, before: Sequence[str]) -> tuple[int, str, bool] | None:
    """Return the level and title of the heading that ends on this line, and whether it has two lines."""
    if (match := _HEADING.match(line)) is not None:
        return len(match[1]), match[2], False
    title = before[-1].strip() if before else ""
    is_title = bool(title) and not _UNDERLINE.match(title) and title[0] not in "|-*>#"
    # The last line of a longer paragraph is not a title.
    is_title = is_title and (len(before) == 1 or not before[-2].strip())
    if is_title and (match := _UNDERLINE.match(line)) is not None and len(line.strip()) + 1 >= len(title):
        return _LEVELS.get(match[1], 3), title, True
    return None


def _merge(sections: Iterable[_Section], fewest: int, limit: int) -> Iterator[_Section]:
    """Merge short sections with the next one, if both are under the same heading."""
    before: _Section | None = None
    for section in sections:
        if before is not None:
            together = f"{before.text.rstrip()}\n\n{section.text}"
            if len(together) <= limit and (before.is_heading_alone or before.path[:1] == section.path[:1]):
                section = _Section(section.path if before.is_heading_alone else before.path, together)  # noqa: PLW2901 - the merged section replaces it
            else:
                yield before
        before = None
        if len(section.text) < fewest:
            before = section
        else:
            yield section
    if before is not None:
        yield before


def _cut(text: str, limit: int) -> Iterator[str]:
    """Split a text into pieces of at most `limit` characters, at the best available boundaries."""
    if len(text) <= limit:
        yield text
        return
    for pattern, glue in ((_PARAGRAPHS, "\n\n"), (re.compile("\n"), "\n"), (_SENTENCES, " ")):
        parts = [part for part in pattern.split(text) if part.strip()]
        if len(parts) > 1:
            for piece in _pack(parts, glue, limit):
                yield from _cut(piece, limit)
            return
    for begin in range(0, len(text), limit):
        yield text[begin : begin + limit]


def _pack(parts: Sequence[str], glue: str, limit: int) -> Iterator[str]:
    piece = parts[0]
    for part in parts[1:]:
        if len(piece) + len(glue) + len(part) > limit:
            yield piece
            piece = part
        else:
            piece = f"{piece}{glue}{part}"
    yield piece
