"""Texts with pieces: texts derived from them retain the pieces whose origin is certain."""

from __future__ import annotations

import operator
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from string import Formatter
from typing import Any, Final, SupportsIndex

from markupsafe import Markup

from promptls.rendering.source_map.pieces import (
    Leaf,
    PiecedText,
    between,
    in_place_of,
    inserted_leaf,
    leaves_of,
    untraced_leaf,
)

_MAX_REPEATED: Final = 100_000
"""Operations that reorder or repeat a text with more pieces drop them."""


class MappedText(PiecedText):
    """A text with its pieces. Derived texts retain them if the origin of each character is certain."""

    __slots__ = ()

    def __new__(cls, text: str = "", pieces: list[Any] | None = None) -> MappedText:  # noqa: PYI034 - it has no subclasses
        """Create `text` from its `pieces`, or without any known origin."""
        self = super().__new__(cls, text)
        self._promptls_pieces = [inserted_leaf(text)] if pieces is None else pieces
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy as plain text."""
        return str, (str(self),)

    def __add__(self, other: str) -> str:
        if hasattr(other, "__html__"):
            return NotImplemented
        return concatenated((self, other)) if isinstance(other, str) else str.__add__(self, other)

    def __mul__(self, times: SupportsIndex) -> str:
        count = operator.index(times) if hasattr(times, "__index__") else 0
        if not 0 < count * len(self._promptls_pieces) <= _MAX_REPEATED:
            return str.__mul__(self, times)
        return MappedText(str.__mul__(self, times), self._promptls_pieces * count)

    __rmul__ = __mul__

    def __radd__(self, other: str) -> str:
        return concatenated((other, self)) if type(other) is str else NotImplemented

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        found = str.__getitem__(self, key)
        if not isinstance(key, slice):
            start = operator.index(key) % len(self)
            return cut(self, start, start + 1)
        start, end, step = key.indices(len(self))
        if step == 1:
            return cut(self, start, end)
        places = range(start, end, step)
        return picked(self, places) if len(places) <= _MAX_REPEATED else found

    def strip(self, chars: str | None = None) -> str:
        """Return the text without white space, or `chars`, at both ends."""
        return self.lstrip(chars).rstrip(chars)

    def lstrip(self, chars: str | None = None) -> str:
        """Return the text without it at the start."""
        return cut(self, len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None) -> str:
        """Return the text without it at the end."""
        return cut(self, 0, len(str.rstrip(self, chars)))

    def replace(self, old: str, new: str, count: SupportsIndex = -1) -> str:
        """Return the text with `old` replaced by `new`."""
        return replaced(self, old, new, count)

    def upper(self) -> str:
        """Return the text in upper case."""
        return recased(self, str.upper(self), str.upper)

    def lower(self) -> str:
        """Return the text in lower case."""
        return recased(self, str.lower(self), str.lower)

    def capitalize(self) -> str:
        """Return the text with the first letter in upper case and the rest in lower case."""
        return recased(self, str.capitalize(self))

    def title(self) -> str:
        """Return the text in title case."""
        return recased(self, str.title(self))

    def swapcase(self) -> str:
        """Return the text with the case of each letter swapped."""
        return recased(self, str.swapcase(self))

    def center(self, width: SupportsIndex, fillchar: str = " ") -> str:
        """Return the text centered in a given width."""
        return padded(self, str.center(self, width, fillchar))

    def ljust(self, width: SupportsIndex, fillchar: str = " ") -> str:
        """Return the text left-aligned in a given width."""
        return padded(self, str.ljust(self, width, fillchar))

    def rjust(self, width: SupportsIndex, fillchar: str = " ") -> str:
        """Return the text right-aligned in a given width."""
        return padded(self, str.rjust(self, width, fillchar))

    def removeprefix(self, prefix: str) -> str:
        """Return the text without it at the start."""
        return cut(self, len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self, suffix: str) -> str:
        """Return the text without it at the end."""
        return cut(self, 0, len(str.removesuffix(self, suffix)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        """Return the texts between separators, or between runs of white space."""
        return in_order(self, str.split(self, sep, maxsplit), 0 if sep is None else len(sep))

    def splitlines(self, keepends: bool = False) -> list[str]:
        """Return the lines."""
        lines = in_order(self, str.splitlines(self, keepends=True), 0)
        if keepends:
            return lines
        return [cut(line, 0, len(bare)) for line, bare in zip(lines, str.splitlines(self), strict=True)]

    def join(self, parts: Iterable[str]) -> str:
        """Return the parts joined by this text."""
        return joined_by(self, list(parts))


def made_of(leaves: list[Leaf]) -> MappedText:
    """Return the text made of these leaves."""
    return MappedText("".join([leaf.text for leaf in leaves]), leaves)


def concatenated(parts: Iterable[str]) -> MappedText:
    """Return the concatenated texts."""
    texts = list(parts)
    pieces: list[Any] = []
    for text in texts:
        # The pieces are added as they are: a text that grows in a loop must not be flattened in each
        # iteration. The text itself must not be referenced, since that would retain all its earlier versions.
        if type(text) is MappedText:
            pieces.append(text._promptls_pieces)  # noqa: SLF001 - the name keeps templates from it
        elif text:
            pieces.append(inserted_leaf(str(text)))
    return MappedText("".join(texts), pieces)


def picked(text: str, places: Iterable[int]) -> MappedText:
    """Return the characters at these positions, in their order."""
    leaves = leaves_of(text)
    starts = [0, *accumulate(len(leaf.text) for leaf in leaves)]
    found = []
    for place in places:
        number = bisect_right(starts, place) - 1
        found.append(leaves[number].cut(place - starts[number], place - starts[number] + 1))
    return made_of(found)


def cut(text: str, start: int, end: int) -> MappedText:
    """Return the characters from `start` up to `end`."""
    found: list[Leaf] = []
    at = 0
    for leaf in leaves_of(text):
        first, last = max(start - at, 0), min(end - at, len(leaf.text))
        if first < last:
            found.append(leaf.cut(first, last))
        at += len(leaf.text)
        if at >= end:
            break
    return made_of(found)


def by_letter(text: str, changed: Callable[[str], str]) -> MappedText:
    """Return the text with `changed` applied to each of its letters."""
    bounds = [0]
    instead: list[str] = []
    known = {letter: changed(letter) for letter in set(text)}
    for at, letter in enumerate(text):
        made = known[letter]
        if made != letter:
            bounds += (at, at + 1)
            instead.append(made)
    return substituted(text, bounds, instead)


def substituted(text: str, bounds: Sequence[int], instead: Sequence[str]) -> MappedText:
    """Return the text with other texts `instead` of every second range between 0 and the other `bounds`."""
    found: list[Leaf] = []
    for index, leaves in enumerate(between(leaves_of(text), [*bounds, len(text)])):
        if index % 2 == 0:
            found += leaves
        elif instead[index // 2]:
            found += in_place_of(leaves, instead[index // 2])
    return made_of(found)


def recased(text: str, result: str, changed: Callable[[str], str] = str) -> str:
    """Return `result` of a case change of `text`, with pieces.

    If the length has changed, `changed` is applied to each letter.
    """
    result = str(result)
    if len(result) != len(text):
        letters = by_letter(text, changed)
        return letters if letters == result else result
    # For simple letters, equal upper-case forms mean equal letters.
    is_simple = result.isascii() and text.isascii() and result.lower() == str.lower(text)
    if not is_simple and any(
        new != old and new.casefold() != old.casefold() for new, old in zip(result, text, strict=True)
    ):
        return result
    found: list[Leaf] = []
    at = 0
    for leaf in leaves_of(text):
        found.append(leaf.changed(result[at : at + len(leaf.text)]))
        at += len(leaf.text)
    return made_of(found)


def replaced(text: str, old: str, new: str, count: SupportsIndex = -1) -> str:
    """Return `text` with `old` replaced by `new`, which gets the origin of the replaced text."""
    left = int(count)
    if not old:
        return spaced_out(text, new, left)
    if old == new or str.find(text, old) < 0 or not left:
        return text
    plain = str(text)
    bounds = [0]
    place = plain.find(old)
    while left and place >= 0:
        bounds += (place, place + len(old))
        place = plain.find(old, bounds[-1])
        left -= 1
    return substituted(text, bounds, [new] * (len(bounds) // 2))


def padded(text: str, result: str) -> str:
    """Return `result`, which is the text with padding before and after it, with pieces."""
    start = (len(result) - len(text)) // 2
    for place in (start, start + 1, 0, len(result) - len(text)):
        if result[place : place + len(text)] == text:
            return concatenated((result[:place], text, result[place + len(text) :]))
    return result


def in_order(text: str, parts: list[str], apart: int) -> list[str]:
    """Return the parts of a text in order of position, at least a given number of characters apart."""
    bounds = [0]
    for index, part in enumerate(parts):
        start = text.find(part, bounds[-1] + (apart if index else 0))
        if start < 0:
            return parts
        bounds += (start, start + len(part))
    return [made_of(leaves) for leaves in list(between(leaves_of(text), [*bounds, len(text)]))[1::2]]


def spaced_out(text: str, new: str, count: int) -> str:
    """Return `text` with `new` around each character, inserted at most `count` times; -1 for no limit."""
    times = len(text) + 1 if count < 0 else min(count, len(text) + 1)
    if not new or not times:
        return text
    found: list[str] = []
    for at in range(times):
        found.append(new)
        if at < len(text):
            found.append(cut(text, at, at + 1 if at < times - 1 else len(text)))
    return concatenated(found)


def joined_by(separator: str, parts: list[str]) -> str:
    """Return the texts joined by the separator; raises TypeError like `str.join`."""
    if not all(isinstance(part, str) for part in parts):
        return str.join(separator, parts)
    found: list[str] = []
    for index, part in enumerate(parts):
        if index:
            found.append(separator)
        found.append(part)
    return concatenated(found)


class MappedMarkup(Markup):
    """Markup with its pieces. Texts derived from it have none, except the results of filters."""

    __slots__ = ("_promptls_pieces",)

    _promptls_pieces: list[Any] | None

    def __new__(cls, base: Any = "", encoding: str | None = None, errors: str = "strict") -> MappedMarkup:  # noqa: PYI034 - it has no subclasses
        """Create markup like `Markup`."""
        self = super().__new__(cls, base, encoding, errors)
        self._promptls_pieces = None
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy as plain markup."""
        return Markup, (str(self),)


def as_markup(text: str) -> Markup:
    """Return the text as markup that retains its pieces."""
    found = MappedMarkup(str(text))
    if type(text) is MappedText:
        found._promptls_pieces = text._promptls_pieces  # noqa: SLF001 - the name keeps templates from it
    return found


def as_text(value: Any) -> str:
    """Return `str(value)`, with its pieces if it has any."""
    if type(value) is str or type(value) is MappedText:
        return value
    if type(value) is MappedMarkup and value._promptls_pieces is not None:  # noqa: SLF001 - as above
        return MappedText(str(value), value._promptls_pieces)  # noqa: SLF001 - as above
    return str(value)


_DIRECTIVE: Final = re.compile(r"%(?:\((?P<key>[^()]*)\))?[#0\- +]*\d*(?:\.\d*)?[hlL]?(?P<kind>[a-zA-Z%])")
_SIMPLE_FIELD: Final = re.compile(r"[A-Za-z0-9_]*")


def percent_leaves(result: str, text: str, values: Any) -> str:
    """Return `result` of `text % values` with pieces, or unchanged if there are none."""
    if not _have_pieces(text, values.values() if isinstance(values, Mapping) else _listed(values)):
        return result
    try:
        found = concatenated(_percent(text, values))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return result
    return found if found == result else result


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, tuple) else (values,)


def _have_pieces(text: str, values: Any) -> bool:
    return type(text) is MappedText or any(type(each) is MappedText for each in values)


def _percent(text: str, values: Any) -> Iterator[str]:
    waiting = iter(_listed(values))
    at = 0
    for match in _DIRECTIVE.finditer(text):
        yield cut(text, at, match.start())
        at = match.end()
        if match["kind"] == "%":
            yield cut(text, match.start(), match.start() + 1)
            continue
        value = values[match["key"]] if match["key"] is not None else next(waiting)
        made = f"%{match[0].partition(')')[2] if match['key'] is not None else match[0][1:]}" % (value,)
        yield _as_pieces(made, value, is_text=match["kind"] == "s")
    yield cut(text, at, len(text))


def method_leaves(
    result: Any, method: str, text: str, positional: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """Return `result` of a string `method` of `text`, with pieces if the method inserts its arguments."""
    if method == "join" and positional and isinstance(positional[0], list | tuple):
        return joined_by(text, list(positional[0])) if _have_pieces(text, positional[0]) else result
    if method != "format" or not _have_pieces(text, (*positional, *named.values())):
        return result
    try:
        found = concatenated(_braces(text, positional, named))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        found = MappedText()
    return found if found == result else MappedText(result, [untraced_leaf(result)])


def _braces(text: str, positional: Sequence[Any], named: Mapping[str, Any]) -> Iterator[str]:
    if type(text) is MappedText:
        raise ValueError(text)
    number = 0
    for literal, field, spec, conversion in Formatter().parse(text):
        yield literal
        if field is None:
            continue
        if not _SIMPLE_FIELD.fullmatch(field) or "{" in (spec or ""):
            raise ValueError(field)
        if not field:
            value, number = positional[number], number + 1
        else:
            value = positional[int(field)] if field.isdigit() else named[field]
        how = f"!{conversion}" if conversion else ""
        made = f"{{{how}:{spec or ''}}}".format(value)
        yield _as_pieces(made, value, is_text=conversion in {None, "s"})


def _as_pieces(made: str, value: Any, *, is_text: bool) -> str:
    """Return the pieces of one inserted value."""
    if type(value) is not MappedText or not is_text:
        return MappedText(made, [untraced_leaf(made)]) if made else made
    if made == value:
        return value
    result = padded(value, made)
    if type(result) is MappedText:
        return result
    if value.startswith(made):
        return cut(value, 0, len(made))
    return MappedText(made, [untraced_leaf(made)])
