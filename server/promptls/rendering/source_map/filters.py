"""Jinja's filters that keep the pieces of a text, where it is certain which character became which."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from markupsafe import Markup

from promptls.rendering.source_map.mapped_text import (
    MappedText,
    between,
    concatenated,
    cut,
    in_place_of,
    joined_by,
    leaves_of,
    made_of,
    padded,
    recased,
    replaced,
)
from promptls.rendering.source_map.pieces import Leaf, inserted

Filter = Callable[..., Any]

_RUNS: Final = re.compile(r"\s+|\S+")


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
        if align is _indented:
            # It puts lines together with methods that know nothing of pieces.
            result = str(result) if type(result) is MappedText else result
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


def _centered(result: str, text: str, *_options: Any) -> str | None:
    return padded(text, result)


def _wrapped(result: str, text: str, *_options: Any) -> str | None:
    """The text with other white space between its words."""
    changes: list[str | None] = []
    bounds = [0]
    for match in _RUNS.finditer(result):
        at, run = bounds[-1], match[0]
        word = _word_from(text, at)
        if run.isspace():
            bounds.append(word)
            changes.append(None if text[at:word] == run else run)
            continue
        if word > at:
            bounds.append(word)
            changes.append("")
        if not text.startswith(run, word):
            return None
        bounds.append(word + len(run))
        changes.append(None)
    if text[bounds[-1] :].strip():
        return None
    found: list[Leaf] = []
    for leaves, change in zip(between(leaves_of(text), bounds), changes, strict=True):
        if change is None:
            found += leaves
        elif change:
            found += in_place_of(leaves, change) if leaves else [inserted(change)]
    return made_of(found)


def _word_from(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _formatted(_result: str, text: str, values: tuple[Any, ...] = (), *_options: Any) -> str | None:
    """The values in place of each `%s`; nothing is certain of other formats."""
    around = text.split("%s")
    if len(around) != len(values) + 1 or any("%" in each for each in around):
        return None
    texts = [around[0]]
    for value, behind in zip(values, around[1:], strict=True):
        texts += (value if isinstance(value, str) else str(value), behind)
    return concatenated(texts)


def _whole(_result: str, text: str) -> str:
    return text


_ALIGNED: Final[Mapping[str, Callable[..., str | None]]] = {
    "capitalize": _cased,
    "center": _centered,
    "format": _formatted,
    "indent": _indented,
    "join": _joined,
    "lower": _cased,
    "replace": _replaced,
    "string": _whole,
    "title": _cased,
    "trim": _trimmed,
    "truncate": _truncated,
    "upper": _cased,
    "wordwrap": _wrapped,
}
