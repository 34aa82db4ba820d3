"""From a place in the YAML that a data set was written as to the Python that wrote it."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from typing import Final

from promptls.conversions.literal_places import PythonPlaces
from promptls.conversions.placed_text import TextPiece
from promptls.features.configurations.written_dataset import WrittenDataset, WrittenText
from promptls.rules.rule import Edit, Finding, Fix
from promptls.text.span import Span

_HARMLESS: Final = re.compile(r"[\w .:;,()<>/!?-]*")
"""A text that stands in every literal as it is."""
_ENTRY: Final = re.compile(r'\s*(\w+): "([\w<>/]*)",?\s*')
"""A key with a plain text that a fix adds to a mapping."""


class LeadingBack:
    """Leads back to one text of Python, whose expressions are those of `tree`."""

    def __init__(self, places: PythonPlaces, tree: ast.Module) -> None:
        self._places = places
        # The tree is kept, so that no other expression gets the number of one of its own.
        self._tree = tree
        self._own = {id(node) for node in ast.walk(tree) if isinstance(node, ast.expr | ast.keyword)}

    def finding(self, finding: Finding, written: WrittenDataset) -> Finding | None:
        """The finding at its place in the Python, or None where that place is not in this text.

        Of its fixes those are left that change nothing but words of this text.
        """
        number = _text_at(written, finding.span)
        if number is None or (span := self._span(written, number, finding.span)) is None:
            return None
        fixes = tuple(led for fix in finding.fixes if (led := self._fix(fix, written)) is not None)
        return Finding(span, finding.message, fixes, severity=finding.severity)

    def _span(self, written: WrittenDataset, number: int, span: Span) -> Span | None:
        """The place in the Python of what stands at `span`: the words themselves, or what wrote them."""
        place: int | None = number
        while place is not None:
            text = written.texts[place]
            pieces = [piece for piece in text.pieces if piece.node is not None]
            if pieces:
                is_inside = place == number and not _is_whole(text, span)
                return self._words(text, span) if is_inside else self._all_of(pieces)
            place = text.holder
        return None

    def _all_of(self, pieces: list[TextPiece]) -> Span | None:
        """Where the expressions of a text stand; of keys, without their quotes."""
        spans = []
        for piece in pieces:
            if piece.node is None or id(piece.node) not in self._own:
                return None
            spans.append(self._places.span(piece.node))
        return Span(min(span.start for span in spans), max(span.end for span in spans))

    def _words(self, text: WrittenText, span: Span) -> Span | None:
        """The place of some of a text's words; or the expression that wrote them."""
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
        # In an f-string, words that stand there once are those words.
        whole = self._places.span(piece.node)
        source, words = self._places.text[whole.start : whole.end], piece.whole[first:last]
        if source.count(words) != 1:
            return whole
        at = whole.start + source.index(words)
        return Span(at, at + len(words))

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
            number = _text_at(written, edit.span)
            text = written.texts[number] if number is not None else None
            if text is None or not _stands_in(text, edit.span):
                return None
            span = self._words(text, edit.span)
            plain = edit.text.strip("{}") if "{" in edit.text else edit.text
            if span is None or not _HARMLESS.fullmatch(plain) or not self._is_same(text, edit.span, span):
                return None
            edits.append(Edit(span, edit.text))
        # What is added may reach other prompts too, which share a variable.
        return Fix(fix.title, tuple(edits), fix.preferred and not adds)

    def _added(self, edit: Edit, written: WrittenDataset) -> Edit | None:
        """An argument or a key that is put ahead of others, or words that a text begins with."""
        entry = _ENTRY.fullmatch(edit.text)
        if entry is not None:
            behind = (text for text in written.texts if text.span.start >= edit.span.start)
            node = next((piece.node for text in behind for piece in text.pieces), None)
            if node is None or id(node) not in self._own:
                return None
            key, value = entry.groups()
            added = f"{key}='{value}', " if isinstance(node, ast.keyword) else f"'{key}': '{value}', "
            start = self._places.span(node).start
            return Edit(Span(start, start), added)
        number = _text_at(written, edit.span)
        text = written.texts[number] if number is not None else None
        if text is None or not text.places or edit.span.start != text.places[0]:
            return None
        piece = text.pieces[0]
        if piece.node is None or id(piece.node) not in self._own or not _HARMLESS.fullmatch(edit.text):
            return None
        characters = self._places.characters(piece.node, piece.whole)
        if characters is None:
            return None
        start = characters[piece.start].start
        return Edit(Span(start, start), edit.text)

    def _is_same(self, text: WrittenText, span: Span, led: Span) -> bool:
        """Whether the words in the YAML are, letter for letter, those at the place in the Python."""
        whole = "".join(piece.text for piece in text.pieces)
        first, last = bisect_left(text.places, span.start), bisect_left(text.places, span.end)
        return whole[first:last] == self._places.text[led.start : led.end]


def _text_at(written: WrittenDataset, span: Span) -> int | None:
    """The number of the key or text at a place; of what is neither, the key that it stands behind."""
    found = bisect_right([text.span.start for text in written.texts], span.start) - 1
    return found if found >= 0 else None


def _is_whole(text: WrittenText, span: Span) -> bool:
    """Whether a span is all of a text, or reaches out of it."""
    return not _stands_in(text, span)


def _stands_in(text: WrittenText, span: Span) -> bool:
    """Whether a span is words of a text."""
    if not text.places or span.is_empty():
        return False
    return text.places[0] <= span.start and span.end <= text.places[-1] + 1 and text.span.end >= span.end
