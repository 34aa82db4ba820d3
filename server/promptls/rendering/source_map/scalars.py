"""Which character of a YAML scalar's value stands where in the text: libyaml's reading, followed.

A value is given as runs: so many characters of it, made of these of the text. A run of as many
characters as it is made of is those characters, one by one; any other one is made of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_BLANKS: Final = " \t"
_SPACES: Final = re.compile("[ \t\r\n\x85\u2028\u2029]+")
_WORD: Final = {
    "": re.compile("[^ \t\r\n\x85\u2028\u2029]+"),
    "'": re.compile("[^' \t\r\n\x85\u2028\u2029]+"),
    '"': re.compile('[^"\\\\ \t\r\n\x85\u2028\u2029]+'),
}
_HEADER: Final = re.compile(
    "([|>])([-+0-9]*)[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?(?:\r\n|[\n\r\x85\u2028\u2029]|$)"
)
_PROPERTIES: Final = re.compile("(?:[&!][^ \t\r\n\x85\u2028\u2029]*[ \t\r\n\x85\u2028\u2029]+)+")
"""An anchor and a tag, which belong to the node and not to its value."""
_LEADING: Final = re.compile("( *)(\r\n|[\n\r\x85\u2028\u2029]|)")
_ESCAPES: Final = {
    "0": "\0", "a": "\x07", "b": "\x08", "t": "\t", "\t": "\t", "n": "\n", "v": "\x0b", "f": "\x0c",
    "r": "\r", "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0",
    "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_CODES: Final = {"x": 2, "u": 4, "U": 8}


class Run(NamedTuple):
    """A stretch of a value, and the characters from `start` to `end` of the text that it is made of."""

    text: str
    start: int
    end: int


def scalar_bounds(text: str, node: Any) -> tuple[int, int]:
    """Where a scalar `node` that libyaml read from `text` begins and ends there."""
    start: int = node.start_mark.index
    end: int = node.end_mark.index
    # libyaml takes it for the mark of an encoding, and does not count it.
    return (start + 1, end + 1) if text.startswith("\ufeff") else (start, end)


def scalar_runs(raw: str, value: str, style: str | None, indent: int) -> list[Run] | None:
    """The runs of the `value` that libyaml read from the text `raw`; None where they do not fit it.

    `style` is how the scalar is written, as libyaml names it, and `indent` the column of the mapping that
    it is a value of. The runs count from the beginning of `raw`.
    """
    properties = _PROPERTIES.match(raw)
    start = properties.end() if properties else 0
    if style in {"|", ">"}:
        runs = _block(raw, start, indent)
    elif style in {"'", '"'}:
        runs = _folded(raw, start + 1, len(raw) - 1, style)
    else:
        runs = _folded(raw, start, len(raw), "")
    found = _merged(raw, runs)
    return found if "".join([run.text for run in found]) == value else None


def _merged(text: str, runs: Iterator[Run]) -> list[Run]:
    """The runs, with neighbours that are one in the text as one, and without empty ones."""
    found: list[Run] = []
    # The stretch of the text that stands as it is: it is taken out once, however many runs it has.
    start = end = 0
    for run in runs:
        if not run.text:
            continue
        if _is_plain(text, run):
            if run.start != end:
                found += _stretch(text, start, end)
                start = run.start
            end = run.end
        else:
            found += _stretch(text, start, end)
            found.append(run)
            start = end = run.end
    return [*found, *_stretch(text, start, end)]


def _stretch(text: str, start: int, end: int) -> list[Run]:
    return [Run(text[start:end], start, end)] if start < end else []


def _is_plain(text: str, run: Run) -> bool:
    return text[run.start : run.end] == run.text


def _break_run(match: re.Match[str]) -> Run:
    """A line break as YAML reads it."""
    kept = match[0] in {"\u2028", "\u2029"}
    return Run(match[0] if kept else "\n", match.start(), match.end())


def _folded(text: str, start: int, end: int, quote: str) -> Iterator[Run]:
    """The runs of a plain or quoted scalar, between its quotes."""
    at = start
    while at < end:
        match = _SPACES.match(text, at, end)
        if match:
            yield from _fold(text, at, match.end(), is_escaped=False)
            at = match.end()
        elif quote == "'" and text[at] == "'":
            yield Run("'", at, at + 2)
            at += 2
        elif quote == '"' and text[at] == "\\":
            behind = _BREAK.match(text, at + 1, end)
            if behind:
                spaces = _SPACES.match(text, behind.end(), end)
                last = spaces.end() if spaces else behind.end()
                yield from _fold(text, behind.end(), last, is_escaped=True)
            else:
                length = 2 + _CODES.get(text[at + 1], 0)
                last = at + length
                code = text[at + 2 : last]
                yield Run(chr(int(code, 16)) if code else _ESCAPES.get(text[at + 1], ""), at, last)
            at = last
        else:
            found = _WORD[quote].match(text, at, end)
            last = found.end() if found else at + 1
            yield Run(text[at:last], at, last)
            at = last


def _fold(text: str, start: int, end: int, *, is_escaped: bool) -> Iterator[Run]:
    """The runs of white space between two words; `is_escaped` behind a line break that counts as nothing."""
    breaks = [_break_run(match) for match in _BREAK.finditer(text, start, end)]
    if is_escaped:
        yield from breaks
    elif not breaks:
        yield Run(text[start:end], start, end)
    elif breaks[0].text != "\n":
        yield from breaks
    elif len(breaks) > 1:
        yield from breaks[1:]
    else:
        yield Run(" ", start, end)


def _block(text: str, start: int, indent: int) -> Iterator[Run]:
    """The runs of a block scalar whose indicator stands at `start`."""
    header = _HEADER.match(text, start)
    if header is None:
        return
    at = header.end()
    digit = next((int(sign) for sign in header[2] if sign.isdigit()), 0)
    column = indent + digit if digit else max(_detected(text, at), indent + 1, 1)
    is_folded = header[1] == ">"
    leading: Run | None = None
    was_blank = False
    line_start, at, breaks = _empty_lines(text, at, column)
    while at < len(text) and at - line_start == column:
        is_blank = text[at] in _BLANKS
        if leading is not None:
            if not is_folded or leading.text != "\n" or was_blank or is_blank:
                yield leading
            elif not breaks:
                yield Run(" ", leading.start, leading.end)
        yield from breaks
        was_blank = is_blank
        match = _BREAK.search(text, at)
        if match is None:
            yield Run(text[at:], at, len(text))
            return
        yield Run(text[at : match.start()], at, match.start())
        leading = _break_run(match)
        line_start, at, breaks = _empty_lines(text, match.end(), column)
    if "-" not in header[2] and leading is not None:
        yield leading
    if "+" in header[2]:
        yield from breaks


def _detected(text: str, at: int) -> int:
    """The indentation of the first line that is not empty, or of a longer empty one above it."""
    most = 0
    while match := _LEADING.match(text, at):
        most = max(most, len(match[1]))
        if not match[2]:
            break
        at = match.end()
    return most


def _empty_lines(text: str, at: int, column: int) -> tuple[int, int, list[Run]]:
    """The first line that is not empty: where it begins, and where it does behind its indentation.

    With them, the line breaks up to it.
    """
    found: list[Run] = []
    while True:
        last = at
        most = min(at + column, len(text))
        while last < most and text[last] == " ":
            last += 1
        match = _BREAK.match(text, last)
        if match is None:
            return at, last, found
        found.append(_break_run(match))
        at = match.end()
