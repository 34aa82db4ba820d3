"""Jinja's filters that keep the pieces of a text, where it is certain which character became which."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from markupsafe import Markup

from promptls.rendering.source_map.pieces import (
    Leaf,
    MappedText,
    between,
    concatenated,
    cut,
    in_place_of,
    inserted,
    joined_by,
    leaves_of,
    made_of,
    recased,
    replaced,
)

Filter = Callable[..., Any]


def mapping_filters(known: Mapping[str, Filter]) -> dict[str, Filter]:
    """The filters of `known`, with those that keep pieces in place of Jinja's own."""
    return {
        **known,
        **{name: _keeping(known[name], align) for name, align in _ALIGNED.items() if name in known},
    }


def _keeping(filter_: Filter, align: Callable[..., str | None]) -> Filter:
    """The filter, whose result is replaced by an equal text with pieces."""
    first = 1 if hasattr(filter_, "jinja_pass_arg") else 0

    @functools.wraps(filter_)
    def keep(*arguments: Any, **options: Any) -> Any:
        if isinstance(arguments[first], Iterator):
            # What an iterator gave cannot be looked at once more.
            arguments = (*arguments[:first], list(arguments[first]), *arguments[first + 1 :])
        result = filter_(*arguments, **options)
        if type(result) is not str:
            # Some keep their pieces by themselves, with the methods of the text.
            return result
        value = arguments[first]
        if not _has_pieces(value) and not any(map(_has_pieces, (*arguments, *options.values()))):
            return result
        try:
            bound = inspect.signature(filter_).bind(*arguments, **options)
            bound.apply_defaults()
            aligned = align(result, *list(bound.arguments.values())[first:])
        except (TypeError, ValueError):
            return result
        return aligned if aligned == result else result

    return keep


def _has_pieces(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(type(each) is MappedText for each in value)
    return type(value) is MappedText


def _cased(result: str, text: str) -> str:
    return recased(text, result)


def _trimmed(_result: str, text: str, chars: str | None = None) -> str:
    return MappedText.strip(text, chars) if type(text) is MappedText else text.strip(chars)


def _replaced(_result: str, text: str, old: str, new: str, count: int | None = None) -> str:
    return replaced(text, old, new, -1 if count is None else count)


def _joined(_result: str, value: Iterable[Any], separator: str = "", attribute: Any = None) -> str | None:
    if attribute is not None or isinstance(value, str):
        return None
    parts = [part if isinstance(part, str) else str(part) for part in value]
    return None if any(isinstance(part, Markup) for part in parts) else joined_by(separator, parts)


def _indented(
    _result: str,
    text: str,
    width: int | str = 4,
    first: bool = False,
    blank: bool = False,
) -> str:
    indention = inserted(width if isinstance(width, str) else " " * width)
    lines = [""] if not text else str(text + "\n").splitlines(keepends=True)
    bounds = [0]
    for line in lines:
        end = bounds[-1] + len(line.splitlines()[0] if line else "")
        bounds += (end, end + len(line) - (end - bounds[-1]))
    found: list[Leaf] = [indention] if first else []
    pieces = list(between(leaves_of(text + "\n"), bounds))
    for number, (words, newline) in enumerate(zip(pieces[::2], pieces[1::2], strict=True)):
        if number and (blank or words):
            found.append(indention)
        found += words
        if number < len(lines) - 1:
            found += in_place_of(newline, "\n")
    return made_of([leaf for leaf in found if leaf.text])


def _truncated(
    result: str, text: str, _length: int, _killwords: object, end: str, *_options: Any
) -> str | None:
    kept = len(result) - len(end)
    if result == text or not result.endswith(end) or not text.startswith(result[:kept]):
        return text
    return concatenated((cut(text, 0, kept), end))


def _whole(_result: str, text: str) -> str:
    return text


_ALIGNED: Final[Mapping[str, Callable[..., str | None]]] = {
    "capitalize": _cased,
    "indent": _indented,
    "join": _joined,
    "lower": _cased,
    "replace": _replaced,
    "string": _whole,
    "title": _cased,
    "trim": _trimmed,
    "truncate": _truncated,
    "upper": _cased,
}
