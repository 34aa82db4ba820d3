"""Which value, or which line of a template, makes the rendered text no YAML.

A value is to blame where the text is read further with an ordinary word in its place; that is
tried, not guessed. Otherwise the place is the text that libyaml stops at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import yaml

from promptls.rendering.trace import Origin, Stretch
from promptls.systems.prompt_poet.cleanup import escape

_WORD = "x"
_MOST_TRIED = 40
"""How many values are tried, those nearest to the error first."""
_MOST_READ = 2_000_000
"""How many characters are read for it, all tries together."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """What made the error: its origin, the turns of the loops around it, and the includes that led there.

    `value` is the value to blame; None where it is the template's own text. `mended` says that the
    value would do no harm behind `escape_special_characters`, and `whatever` that the text fails at
    the same place whatever its values print, be it nothing or a word.
    """

    origin: Origin
    line: int
    turns: tuple[int, ...]
    includes: tuple[Origin, ...]
    value: str | None = None
    mended: bool = False
    whatever: bool = False


def find_culprit(text: str, stretches: Sequence[Stretch], offset: int | None) -> Culprit | None:
    """What makes `text` fail at `offset`, by default where libyaml stops; None where nobody can tell."""
    stops = _stop(text)
    at = offset if offset is not None else stops
    if at is None:
        return None
    if stops is not None:
        budget = _MOST_READ
        for start, end, stretch in _values(stretches, stops)[:_MOST_TRIED]:
            budget -= len(text)
            if budget < 0:
                break
            if _is_better(text, start, end, _WORD, stops):
                value = text[start:end]
                mended = _is_better(text, start, end, escape(value), stops)
                return Culprit(
                    stretch.origin, stretch.origin.line, stretch.turns, stretch.includes, value, mended
                )
    culprit = _at(text, stretches, at)
    if culprit is None or culprit.origin.output is not None or stops is None:
        return culprit
    same = all(_fails_there(text, stretches, instead, culprit) for instead in ("", _WORD))
    return replace(culprit, whatever=same)


def _fails_there(text: str, stretches: Sequence[Stretch], instead: str, culprit: Culprit) -> bool:
    """Whether the text fails at the culprit's line too where every value is another one."""
    pieces: list[str] = []
    moved: list[Stretch] = []
    length = 0
    last = 0
    for stretch in stretches:
        printed = text[stretch.start : stretch.end] if stretch.origin.output is None else instead
        if stretch.origin.output is not None and stretch.time == last:
            printed = ""
        last = stretch.time
        moved.append(stretch._replace(start=length, end=length + len(printed)))
        pieces.append(printed)
        length += len(printed)
    changed = "".join(pieces)
    stop = _stop(changed)
    found = None if stop is None else _at(changed, moved, stop)
    return found is not None and (found.origin.path, found.line) == (culprit.origin.path, culprit.line)


def offset_of_line(text: str, line: int) -> int:
    """The offset of the first character of a 0-based line that is no space; lines end as in YAML 1.1."""
    start = 0
    for _ in range(line):
        found = [place for end in "\n\r\x85\u2028\u2029" if (place := text.find(end, start)) >= 0]
        if not found:
            break
        start = min(found) + (2 if text.startswith("\r\n", min(found)) else 1)
    while start < len(text) and text[start] in " -":
        start += 1
    return start


def _at(text: str, stretches: Sequence[Stretch], offset: int) -> Culprit | None:
    """The text that printed the character at `offset`, or the last visible one ahead of it."""
    while offset > 0 and (offset >= len(text) or text[offset].isspace()):
        offset -= 1
    for stretch in stretches:
        if stretch.start <= offset < stretch.end:
            line = stretch.origin.line
            if stretch.origin.output is None:
                line += text.count("\n", stretch.start, offset)
            return Culprit(stretch.origin, line, stretch.turns, stretch.includes)
    return None


def _values(stretches: Sequence[Stretch], stops: int) -> list[tuple[int, int, Stretch]]:
    """The printed values that begin ahead of the place where reading stops, the nearest first."""
    values = []
    for _, run in groupby(stretches, key=lambda stretch: stretch.time):
        pieces = list(run)
        if len(pieces) == 1 and pieces[0].origin.output is not None and pieces[0].start <= stops:
            values.append((pieces[0].start, pieces[0].end, pieces[0]))
    return sorted(values, key=lambda value: value[0], reverse=True)


def _is_better(text: str, start: int, end: int, instead: str, stops: int) -> bool:
    """Whether the text is read to the end, or at least beyond where it stopped, with another value."""
    stop = _stop(f"{text[:start]}{instead}{text[end:]}")
    if stop is None:
        return True
    return stop >= start + len(instead) and stop - len(instead) + (end - start) > stops


def _stop(text: str) -> int | None:
    """Where libyaml stops reading; None where it reads to the end."""
    try:
        # A document is composed, not only parsed: undefined aliases and second documents fail too.
        yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return mark.index if mark else 0
    except yaml.reader.ReaderError as error:
        encoded = text.encode("utf-8", "surrogatepass")[: error.position]
        return len(encoded.decode("utf-8", "ignore"))
    except (RecursionError, UnicodeEncodeError, ValueError):
        return 0
    return None
