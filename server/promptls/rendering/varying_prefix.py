"""Find where a prompt begins to differ between requests, by comparing it with a rendering of other data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from promptls.rendering.outcome import RenderedPart, Rendering, rows_of

_PREFIX: Final = "another "
"""What makes a text differ from its first character on."""


class PromptChange(NamedTuple):
    """The first place at which a prompt differs from the one that was rendered with other data.

    `offset` is where the file `path` prints it. `fixed` is the text after that place which both prompts
    have, without that of loops, and `tokens` is its length.
    """

    path: str
    offset: int
    fixed: str
    tokens: int = 0


def other_data(data: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return data of another request: every input has another value, except for constants and today's date.

    `schemas` are the JSON Schemas of the inputs.
    """
    return {
        name: value if name in _DAILY else _other(value, schemas.get(name, {}))
        for name, value in data.items()
    }


_DAILY: Final = frozenset({"today", "current_date", "today_date", "todays_date", "weekday"})
"""Names of inputs that are the same in all requests of a day; caches live for minutes."""


def _other(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return another value of the same type, or the same value if the type has no other."""
    if "const" in schema:
        return value
    if isinstance(choices := schema.get("enum"), list):
        return next((each for each in choices if each != value), value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return _PREFIX + value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, dt.date):
        return value + dt.timedelta(days=1)
    if isinstance(value, Mapping):
        return {key: _other(each, {}) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_other(each, {}) for each in (*value, *value[-1:])]
    return value


def first_change(one: Rendering, other: Rendering) -> PromptChange | None:
    """Return where the prompts differ first; None if they do not. `one` has a source map of its parts."""
    changed = next((index for index in range(len(one.parts)) if not _is_same_part(one, other, index)), None)
    if changed is None or one.source_map is None:
        return None
    before, after = _content(one.parts, changed), _content(other.parts, changed)
    is_other_role = changed >= len(other.parts) or one.parts[changed].role != other.parts[changed].role
    start = 0 if is_other_role else _common_length(before, after)
    segments = list(rows_of(one.source_map["parts"][changed]))
    if not segments:
        return None
    at = len(before) - len(before[start:].lstrip())  # Prompt Poet strips the ends of a content
    first, end, file, place, last, verbatim, _, _ = next(
        (segment for segment in segments if segment[1] > at), segments[-1]
    )
    offset = last if at >= end else place + (max(at - first, 0) if verbatim else 0)
    following = [_content(other.parts, index) for index in range(changed + 1, len(other.parts))]
    rest = "\n".join([after[start:], *following])
    return PromptChange(one.source_map["files"][file], offset, _fixed_text(one, changed, start, rest))


def _is_same_part(one: Rendering, other: Rendering, index: int) -> bool:
    if index >= min(len(one.parts), len(other.parts)):
        return False
    before, after = one.parts[index], other.parts[index]
    return (before.role, before.content) == (after.role, after.content)


def _common_length(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginnings."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (before, after) in pairs if before != after), min(len(one), len(other)))


def _content(parts: tuple[RenderedPart, ...], index: int) -> str:
    return str(parts[index].content) if index < len(parts) else ""


def _fixed_text(rendering: Rendering, changed: int, start: int, rest: str) -> str:
    """Return the literal text after a place that is in `rest` as well, without that of loops."""
    assert rendering.source_map is not None
    loops = [bool(each) for each in rendering.source_map["iterations"]]
    pieces = []
    for index, rows in islice(enumerate(rendering.source_map["parts"]), changed, None):
        content = _content(rendering.parts, index)
        for begin, end, _, _, _, verbatim, iterations, _ in rows_of(rows):
            piece = content[max(begin, start) if index == changed else begin : end]
            if verbatim and not loops[iterations] and piece.strip() and piece.strip() in rest:
                pieces.append(piece)
    return "".join(pieces)
