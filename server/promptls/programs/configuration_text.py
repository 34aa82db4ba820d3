"""Write a dataset of an OpenCompass configuration as an evaluation prompt, and map its positions back."""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from promptls.convert.python_values import MixedText, PythonSymbol, TextPiece, pieces_of
from promptls.lint.rule import Edit, Finding, Fix
from promptls.syntax.python_places import PythonPlaces
from promptls.text.positions import Span

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NO_TEXT_IN_YAML: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_JINJA: Final = re.compile(r"\{[{%#]")
UNKNOWN: Final = "{{ unknown }}"
_MAX_DEPTH: Final = 30


class WrittenText(NamedTuple):
    """A text of the dataset: its span in the YAML, and the expressions that produced it.

    `places` are the offsets of its characters in the YAML. `holder` is the index of the enclosing key; None
    at the top.
    """

    span: Span
    places: tuple[int, ...]
    pieces: tuple[TextPiece, ...]
    holder: int | None

    @property
    def inner(self) -> Span:
        """The span without the quotes."""
        return Span(self.places[0], self.places[-1] + 1) if self.places else self.span


class WrittenDataset(NamedTuple):
    """The YAML, and its keys and texts in order."""

    text: str
    texts: tuple[WrittenText, ...]


def written_dataset(dataset: Mapping[Any, Any]) -> WrittenDataset:
    """Return the dataset as YAML under Jinja; raises RecursionError if it is nested too deeply."""
    writer = _Writer()
    writer.mapping(dataset, 0, None)
    return WrittenDataset("".join(writer.written), tuple(writer.texts))


class _Writer:
    """Collects the YAML written so far, and its length."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.length = 0
        self.texts: list[WrittenText] = []

    def mapping(self, value: Mapping[Any, Any], depth: int, holder: int | None) -> None:
        """Write each key on its own line, followed by the lines of its value."""
        if depth > _MAX_DEPTH:
            raise RecursionError
        for key, inner in value.items():
            self._add("  " * depth)
            own = len(self.texts)
            self._key(key, holder)
            self._add(":")
            self._value(inner, depth + 1, own, is_class=key == "type")

    def _value(self, value: Any, depth: int, holder: int, *, is_class: bool = False) -> None:
        """Write the value after a key or a dash, to the end of its last line."""
        if isinstance(value, dict) and value:
            self._add("\n")
            self.mapping(value, depth, holder)
            return
        if isinstance(value, list | tuple) and value:
            self._add("\n")
            for item in value:
                self._add("  " * depth + "-")
                self._value(item, depth + 1, holder)
            return
        self._add(" ")
        if isinstance(value, str | MixedText):
            self._quoted(pieces_of(value), holder)
        elif isinstance(value, PythonSymbol) and is_class:
            # A class is identified by its name, regardless of its module.
            self._add(json.dumps(value.text.rpartition(".")[2]))
        else:
            self._add(_without_text(value))
        self._add("\n")

    def _key(self, key: Any, holder: int | None) -> None:
        start = self.length
        if not isinstance(key, str):
            self._add(_without_text(key))
            self.texts.append(WrittenText(Span(start, self.length), (), (), holder))
        elif _PLAIN_KEY.fullmatch(key) and key.lower() not in _NO_TEXT_IN_YAML:
            self._add(str(key))
            places = tuple(range(start, self.length))
            self.texts.append(WrittenText(Span(start, self.length), places, pieces_of(key), holder))
        else:
            self._quoted(pieces_of(key), holder)

    def _quoted(self, pieces: tuple[TextPiece, ...], holder: int | None) -> None:
        start = self.length
        self._add('"')
        places: list[int] = []
        for piece in pieces:
            if piece.is_symbol:
                places += [self.length] * len(piece.text)
                self._add(UNKNOWN)
                continue
            has_end = "endraw" in piece.text
            is_raw = _JINJA.search(piece.text) is not None and not has_end
            self._add("{% raw %}" if is_raw else "")
            for character in piece.text:
                places.append(self.length)
                self._add("{{ '{' }}" if has_end and character == "{" else _escape(character))
            self._add("{% endraw %}" if is_raw else "")
        self._add('"')
        self.texts.append(WrittenText(Span(start, self.length), tuple(places), pieces, holder))

    def _add(self, text: str) -> None:
        self.written.append(text)
        self.length += len(text)


def _escape(character: str) -> str:
    """Return a character as written in a double-quoted YAML text."""
    if character in '"\\':
        return f"\\{character}"
    if character == "\n":
        return "\\n"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _without_text(value: Any) -> str:
    """Return a non-text value: numbers, booleans and null as in YAML, others as Jinja would print them."""
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list | tuple) else UNKNOWN


_UNESCAPED: Final = re.compile(r"[\w .:;,()<>/!?-]*")
"""A text without characters that need escaping in any literal."""
_ENTRY: Final = re.compile(r'\s*(\w+): (?:"([\w<>/]*)"|(\[[\d, -]*\])),?\s*')
"""A key with a plain text or a list of numbers that a fix adds to a mapping."""
_COMMA: Final = re.compile(r"\s*,\s*")


class PositionMap:
    """Maps positions in the YAML to a Python source text with the syntax tree `tree`."""

    def __init__(self, places: PythonPlaces, tree: ast.Module) -> None:
        self._places = places
        # As long as there is a reference to the tree, the ids of its expressions are not reused.
        self._tree = tree
        self._own = {id(node) for node in ast.walk(tree) if isinstance(node, ast.expr | ast.keyword)}

    def has_part_of(self, written: WrittenDataset) -> bool:
        """Return whether this source contains a part of the dataset."""
        return any(id(piece.node) in self._own for text in written.texts for piece in text.pieces)

    def finding(self, finding: Finding, written: WrittenDataset) -> Finding | None:
        """Return the finding at its position in the Python source; None if it is not in this source.

        Fixes are left out unless they change only characters and arguments of this source.
        """
        number = _text_at(written, finding.span)
        if number is None or (span := self._span(written, number, finding.span)) is None:
            return None
        fixes = tuple(mapped for fix in finding.fixes if (mapped := self._fix(fix, written)) is not None)
        return Finding(span, finding.message, fixes, severity=finding.severity)

    def _span(self, written: WrittenDataset, number: int, span: Span) -> Span | None:
        """Return the position in the Python source of the text at `span`, or of the code that produced it."""
        place: int | None = number
        while place is not None:
            text = written.texts[place]
            pieces = [piece for piece in text.pieces if piece.node is not None]
            if pieces:
                is_inside = place == number and bool(_is_inside(text, span))
                return self._inside(text, span) if is_inside else self._all_of(pieces)
            place = text.holder
        return None

    def _all_of(self, pieces: list[TextPiece]) -> Span | None:
        """Return the span of a text's expressions; for keys, without their quotes."""
        spans = []
        for piece in pieces:
            if piece.node is None or id(piece.node) not in self._own:
                return None
            spans.append(self._places.span(piece.node))
        return Span(min(span.start for span in spans), max(span.end for span in spans))

    def _inside(self, text: WrittenText, span: Span) -> Span | None:
        """Return the span of some of a text's characters, or of the expression that produced them."""
        first = bisect_right(text.places, span.start) - 1
        last = bisect_left(text.places, span.end)
        start = 0
        found: list[Span] = []
        for piece in text.pieces:
            inside = range(max(first, start), min(last, start + len(piece.text)))
            if inside:
                exact = self._in_piece(piece, inside.start - start, inside.stop - start)
                if exact is None:
                    return None
                found.append(exact)
            start += len(piece.text)
        return Span(found[0].start, found[-1].end) if found and found[0].start <= found[-1].end else None

    def _in_piece(self, piece: TextPiece, first: int, last: int) -> Span | None:
        if piece.node is None or id(piece.node) not in self._own:
            return None
        characters = self._places.characters(piece.node, piece.whole)
        first, last = first + piece.start, last + piece.start
        if characters is not None:
            return Span(characters[first].start, characters[last - 1].end)
        # In an f-string, a text that occurs once can be located by searching.
        whole = self._places.span(piece.node)
        source, part = self._places.text[whole.start : whole.end], piece.whole[first:last]
        if source.count(part) != 1:
            return whole
        at = whole.start + source.index(part)
        return Span(at, at + len(part))

    def _fix(self, fix: Fix, written: WrittenDataset) -> Fix | None:
        edits = []
        adds = False
        for edit in fix.edits:
            if edit.span.is_empty():
                added = self._added(edit, written)
                if added is None:
                    return None
                adds = True
                edits.append(added)
                continue
            if not edit.text and (removed := self._removed(edit, written)):
                edits.append(removed)
                continue
            number = _text_at(written, edit.span)
            text = written.texts[number] if number is not None else None
            place = text.inner if text is not None and edit.span == text.span else edit.span
            if text is None or not _is_inside(text, place):
                return None
            if edit.span == text.span and (literal := self._without_quotes(text, edit.text)) is not None:
                edits.append(literal)
                continue
            span = self._inside(text, place)
            plain = edit.text.strip("{}") if "{" in edit.text else edit.text
            if span is None or not _UNESCAPED.fullmatch(plain) or not self._is_same(text, place, span):
                return None
            edits.append(Edit(span, edit.text))
        # An addition may also affect other prompts that share a variable.
        return Fix(fix.title, tuple(edits), fix.preferred and not adds)

    def _without_quotes(self, text: WrittenText, new: str) -> Edit | None:
        """Return the edit of a literal whose text stays the same and loses its quotes; None for any other."""
        node = text.pieces[0].node if len(text.pieces) == 1 else None
        is_literal = isinstance(node, ast.Constant) and node.value == new and id(node) in self._own
        return Edit(self._places.span(node), new) if is_literal and node is not None else None

    def _added(self, edit: Edit, written: WrittenDataset) -> Edit | None:
        """Return the insertion of an argument or a key before others, or at the start of a text."""
        entry = _ENTRY.fullmatch(edit.text)
        if entry is not None:
            after = (text for text in written.texts if text.span.start >= edit.span.start)
            node = next((piece.node for text in after for piece in text.pieces), None)
            if node is None or id(node) not in self._own:
                return None
            key, text, numbers = entry.groups()
            value = numbers or f"'{text}'"
            start = self._places.span(node).start
            is_quoted = self._places.is_quoted(node)
            if is_quoted:
                start -= len("'")
            is_argument = isinstance(node, ast.keyword) and not is_quoted
            added = f"{key}={value}, " if is_argument else f"'{key}': {value}, "
            return Edit.insert(start, added)
        number = _text_at(written, edit.span)
        text = written.texts[number] if number is not None else None
        if text is None or not text.places or edit.span.start != text.places[0]:
            return None
        piece = text.pieces[0]
        if piece.node is None or id(piece.node) not in self._own or not _UNESCAPED.fullmatch(edit.text):
            return None
        characters = self._places.characters(piece.node, piece.whole)
        if characters is None:
            return None
        start = characters[piece.start].start
        return Edit.insert(start, edit.text)

    def _removed(self, edit: Edit, written: WrittenDataset) -> Edit | None:
        """Return the removal of an argument or a key; None if it cannot be removed."""
        inside = (each for each in written.texts if edit.span.start <= each.span.start)
        text = next(inside, None)
        node = text.pieces[0].node if text and text.pieces and text.span.end <= edit.span.end else None
        if not isinstance(node, ast.keyword) or id(node) not in self._own:
            return None
        source = self._places.text
        start, end = self._places.span(node).start, self._places.span(node.value).end
        if self._places.is_quoted(node):
            start -= len("'")
        comma = _COMMA.match(source, end)
        if comma is None:
            start = len(source[:start].rstrip().removesuffix(","))
        return Edit(Span(start, comma.end() if comma else end), "")

    def _is_same(self, text: WrittenText, span: Span, mapped: Span) -> bool:
        """Return whether the characters in the YAML are the same as at the span in the Python source."""
        whole = "".join(piece.text for piece in text.pieces)
        first, last = bisect_left(text.places, span.start), bisect_left(text.places, span.end)
        return whole[first:last] == self._places.text[mapped.start : mapped.end]


def _text_at(written: WrittenDataset, span: Span) -> int | None:
    """Return the index of the key or text at a span; otherwise, of the key before it."""
    found = bisect_right([text.span.start for text in written.texts], span.start) - 1
    return found if found >= 0 else None


def _is_inside(text: WrittenText, span: Span) -> bool:
    """Return whether a span is inside the characters of a text."""
    if not text.places or span.is_empty():
        return False
    return text.places[0] <= span.start and span.end <= text.places[-1] + 1 and text.span.end >= span.end
