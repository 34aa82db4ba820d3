"""What Python's formats make of values, made of the pieces of these: `%s` and `{}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import Any, Final

from promptls.rendering.source_map.mapped_text import (
    MappedText,
    concatenated,
    cut,
    joined_by,
    padded,
)
from promptls.rendering.source_map.pieces import unsure

_DIRECTIVE: Final = re.compile(r"%(?:\((?P<key>[^()]*)\))?[#0\- +]*\d*(?:\.\d*)?[hlL]?(?P<kind>[a-zA-Z%])")
_SIMPLE_FIELD: Final = re.compile(r"[A-Za-z0-9_]*")


def percent_leaves(result: str, text: str, values: Any) -> str:
    """`result`, which `text % values` gave, with pieces; as it is where it is made of none."""
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
    """`result`, which a `method` of `text` gave, with pieces where the method puts in its arguments."""
    if method == "join" and positional and isinstance(positional[0], list | tuple):
        return joined_by(text, list(positional[0])) if _have_pieces(text, positional[0]) else result
    if method != "format" or not _have_pieces(text, (*positional, *named.values())):
        return result
    try:
        found = concatenated(_braces(text, positional, named))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        found = MappedText()
    return found if found == result else MappedText(result, [unsure(result)])


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
    """What one value became."""
    if type(value) is not MappedText or not is_text:
        return MappedText(made, [unsure(made)]) if made else made
    if made == value:
        return value
    kept = padded(value, made)
    if type(kept) is MappedText:
        return kept
    if value.startswith(made):
        return cut(value, 0, len(made))
    return MappedText(made, [unsure(made)])
