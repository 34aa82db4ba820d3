"""The semantic tokens of a file, kept with its pieces.

The run of a chunk, or of a group of chunks, stays for as long as what it reads from around it
means the same there; of an edited file only the way to the edited chunks is made again.
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.features.semantic_tokens.jinja_words import jinja_tokens, reading_type
from promptls.features.semantic_tokens.legend import SemanticToken
from promptls.features.semantic_tokens.numbers import EMPTY, Run, encoded, joined
from promptls.features.semantic_tokens.yaml_words import node_tokens, yaml_tokens
from promptls.meaning.header import Declarations
from promptls.meaning.header_text import CLOSING, OPENING
from promptls.meaning.kind import Kind
from promptls.meaning.name_events import NameEvent
from promptls.meaning.names import FileNames
from promptls.meaning.outline import outline, pass_outline
from promptls.meaning.scopes import Reading, Resolver
from promptls.meaning.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Piece, chunks_from
from promptls.text.lines import Unit
from promptls.workspace.snapshot import Snapshot


def file_run(snapshot: Snapshot, path: str, unit: Unit) -> Run:
    """The tokens of the file at `path`, columns and lengths in `unit`; none in a file that is no prompt."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return EMPTY
    return _Colouring(template, unit).of_file()


def run_of_lines(snapshot: Snapshot, path: str, unit: Unit, first: int, last: int) -> Run:
    """The tokens of the chunks that hold the lines from `first` to `last`; no other chunk is looked at."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return EMPTY
    return _Colouring(template, unit).of_lines(first, last)


class _Colouring:
    """One text, and the unit that its columns are counted in."""

    def __init__(self, template: Template, unit: Unit) -> None:
        self._root = template.source.root
        self._source = template.source
        self._names: FileNames = template.names
        self._header = template.header
        self._unit = unit

    def of_file(self) -> Run:
        return self._run(self._root, self._names.scopes_at(0)[0], 0)

    def of_lines(self, first: int, last: int) -> Run:
        resolver, begin = self._names.scopes_at(self._source.line_span(first).start)
        parts = []
        for located in chunks_from(self._root, begin.index):
            if located.first_line > last:
                break
            parts.append((located.first_line, self._run(located.chunk, resolver, located.start)))
        return joined(parts)

    def _run(self, piece: Piece, resolver: Resolver, start: int) -> Run:
        """The run of a piece that begins at offset `start`, as `resolver` does, which goes over it."""
        declared = self._header if start == 0 else None
        readings: list[Reading] = []
        if isinstance(piece, Chunk) and _has_loose(piece):
            readings = list(resolver.readings(piece, start))
            meanings: tuple[object, ...] = tuple(map(reading_type, readings))
        else:
            meanings = self._meanings(piece, resolver, start)
        key = (meanings, self._unit)
        known = piece.kept.get(_Colouring)
        if isinstance(known, tuple) and known[:2] == key and known[2] is declared:
            if isinstance(piece, Chunk) and not _has_loose(piece):
                pass_outline(resolver, piece, start)
            found = known[3]
            assert isinstance(found, Run)
            return found
        if isinstance(piece, Chunk):
            if not _has_loose(piece):
                readings = list(resolver.readings(piece, start))
            run = self._of_chunk(piece, readings, start, declared)
        else:
            inside = self._names.scopes_at(start)[0]
            run = joined(
                (line, self._run(child, inside, start + begin))
                for line, begin, child in zip(piece.first_lines, piece.starts, piece.children, strict=False)
            )
        piece.kept[_Colouring] = (*key, declared, run)
        return run

    def _meanings(self, piece: Piece, resolver: Resolver, start: int) -> tuple[object, ...]:
        """What the names mean that the piece reads from around it, as far as it can be seen in their colour.

        The resolver stays where it is for a chunk, and goes over a group.
        """
        found: list[tuple[str, str]] = []
        late = self._names.bound_at_end
        for step in outline(piece):
            if isinstance(step, NameEvent):
                resolver.pass_event(step, start)
                continue
            for name in sorted(step.reads):
                binding = resolver.meaning(name)[0]
                if binding is not None:
                    found.append((name, binding.kind))
                elif name in late:
                    found.append((name, f"late {late[name][0].kind}"))
            if not isinstance(piece, Chunk):
                for binding, certain, offset in step.binds:
                    resolver.bind((binding, certain, offset + start))
        return tuple(found)

    def _of_chunk(
        self, chunk: Chunk, readings: list[Reading], start: int, declared: Declarations | None
    ) -> Run:
        placed = [reading._replace(span=reading.span.shifted(-start)) for reading in readings]
        tokens = [*jinja_tokens(chunk, placed), *yaml_tokens(chunk)]
        if declared is not None:
            tokens = _with_header(tokens, declared, chunk.text)
        return encoded(chunk, tokens, self._unit)


def _has_loose(chunk: Chunk) -> bool:
    """Whether a block tag of the chunk has its partner elsewhere: names may change their meaning at it."""
    return any(isinstance(step, NameEvent) for step in outline(chunk))


def _with_header(tokens: list[SemanticToken], header: Declarations, text: str) -> list[SemanticToken]:
    """The tokens with those of the header's YAML in the place of its comment."""
    start, end = header.span
    rest = [token for token in tokens if not (token.type == "comment" and token.start == start)]
    rest.append(SemanticToken(start, start + len(OPENING), "comment"))
    rest.append(SemanticToken(max(end - len(CLOSING), start + len(OPENING)), end, "comment"))
    return [*rest, *_of_header(header, text)]


def _of_header(header: Declarations, text: str) -> Iterator[SemanticToken]:
    for token in node_tokens(header.tree, text) if header.tree is not None else ():
        is_part = token.type in {"partName", "role", "promptText"}
        yield token._replace(type="string", modifiers=0) if is_part else token
