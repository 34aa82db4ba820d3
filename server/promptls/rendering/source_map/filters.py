"""Jinja's filters, with versions that retain pieces if the origin of each character is certain."""

from __future__ import annotations

import functools
import html
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from jinja2.filters import FILTERS
from jinja2.utils import htmlsafe_json_dumps, url_quote
from markupsafe import Markup, escape

from promptls.rendering.source_map.mapped_text import (
    MappedMarkup,
    MappedText,
    as_markup,
    as_text,
    by_letter,
    concatenated,
    cut,
    made_of,
    padded,
    percent_leaves,
    recased,
    replaced,
    substituted,
)
from promptls.rendering.source_map.pieces import Leaf, between, in_place_of, inserted_leaf, leaves_of

Filter = Callable[..., Any]
Align = Callable[..., "str | None"]

_RUNS: Final = re.compile(r"\s+|\S+")
_ENTITY: Final = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")
_MAX_JOINED: Final = 20_000
"""Longer lists are joined to a text whose origin is the list as a whole."""


def _keeping(filter_: Filter, align: Align) -> Filter:
    """Return the filter, with its result replaced by an equal text with pieces."""
    first = 1 if hasattr(filter_, "jinja_pass_arg") else 0
    try:
        parameters = list(inspect.signature(filter_).parameters.values())[first:]
    except ValueError:  # The filter is written in C.
        parameters = []
    names = [each.name for each in parameters]
    defaults = [each.default for each in parameters]

    @functools.wraps(filter_)
    def keep(*arguments: Any, **options: Any) -> Any:
        if align is _join and isinstance(arguments[first], Iterator):
            # An iterator cannot be read twice.
            arguments = (*arguments[:first], list(arguments[first]), *arguments[first + 1 :])
        result = filter_(*arguments, **options)
        if type(result) is MappedText and align is not _indent:
            # Some filters retain pieces already, because they use methods of the text.
            return result
        may_align = isinstance(arguments[first], str) or align is _join
        given = (*arguments[first:], *options.values())
        if not isinstance(result, str) or not may_align or not any(map(_has_pieces, given)):
            return result
        text = str(result)
        aligned: str | None = None
        try:
            if align is _format:
                aligned = percent_leaves(text, _as_pieces(arguments[0]), options or arguments[1:])
            else:
                rest = [options.get(*each) for each in zip(names, defaults, strict=True)]
                given = (*arguments[first:], *rest[len(arguments) - first :])
                aligned = align(text, *map(_as_pieces, given))
        except (AttributeError, TypeError, ValueError):
            return text if type(result) is MappedText else result
        if aligned != text or type(aligned) is not MappedText:
            return text if type(result) is MappedText else result
        return as_markup(aligned) if isinstance(result, Markup) else aligned

    return keep


def _has_pieces(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(each, str) for each in value)
    return type(value) is MappedText or type(value) is MappedMarkup


def _as_pieces(value: Any) -> Any:
    return as_text(value) if type(value) is MappedMarkup else value


def _change_case(result: str, text: str) -> str:
    return recased(text, result)


def _upper(result: str, text: str) -> str:
    return recased(text, result, str.upper)


def _lower(result: str, text: str) -> str:
    return recased(text, result, str.lower)


def _trim(_result: str, text: str, chars: str | None = None) -> str:
    return MappedText.strip(text, chars) if type(text) is MappedText else text.strip(chars)


def _replace(_result: str, text: str, old: str, new: str, count: int | None = None) -> str:
    return replaced(text, old, new, -1 if count is None else count)


def _join(_result: str, value: Iterable[Any], separator: str = "", attribute: Any = None) -> str | None:
    if attribute is not None or isinstance(value, str):
        return None
    parts = list(value)
    if len(parts) > _MAX_JOINED:
        return None
    found: list[Any] = []
    for index, part in enumerate(parts):
        if index and separator:
            found.append(separator if type(separator) is MappedText else inserted_leaf(separator))
        if type(part) is MappedText or type(part) is MappedMarkup:
            found.append(as_text(part))
        elif text := str(part):
            found.append(Leaf(text, None, 0, 0, value=part))
    return MappedText("".join([each if isinstance(each, str) else each.text for each in found]), found)


def _indent(
    _result: str,
    text: str,
    width: int | str = 4,
    first: bool = False,
    blank: bool = False,
) -> str:
    indention = inserted_leaf(width if isinstance(width, str) else " " * width)
    lines = [""] if not text else str(text + "\n").splitlines(keepends=True)
    bounds = [0]
    for line in lines:
        end = bounds[-1] + len(line.splitlines()[0] if line else "")
        bounds += (end, end + len(line) - (end - bounds[-1]))
    found: list[Leaf] = [indention] if first else []
    pieces = list(between(leaves_of(text + "\n"), bounds))
    for index, (words, newline) in enumerate(zip(pieces[::2], pieces[1::2], strict=True)):
        if index and (blank or words):
            found.append(indention)
        found += words
        if index < len(lines) - 1:
            found += in_place_of(newline, "\n")
    return made_of([leaf for leaf in found if leaf.text])


def _truncate(
    result: str, text: str, _length: int, _killwords: object, end: str, *_options: Any
) -> str | None:
    length = len(result) - len(end)
    if result == text or not result.endswith(end) or not text.startswith(result[:length]):
        return text
    return concatenated((cut(text, 0, length), end))


def _center(result: str, text: str, *_options: Any) -> str | None:
    return padded(text, result)


def _wrap(result: str, text: str, *_options: Any) -> str | None:
    """Return the text with changed white space between its words."""
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
            found += in_place_of(leaves, change) if leaves else [inserted_leaf(change)]
    return made_of(found)


def _word_from(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _format(result: str, text: str, *values: Any) -> str:
    return percent_leaves(result, text, values)


def _whole(_result: str, text: str) -> str:
    return text


def _escape(result: str, text: str) -> str:
    return text if text == result else by_letter(text, lambda letter: str(escape(letter)))


def _as_json(_result: str, text: str, *_options: Any) -> str:
    letters = by_letter(text, lambda letter: str(htmlsafe_json_dumps(letter, json.dumps))[1:-1])
    return concatenated(('"', letters, '"'))


def _url_quoted(_result: str, text: str) -> str:
    return by_letter(text, url_quote)


def _first(_result: str, text: str) -> str:
    return cut(text, 0, 1)


def _last(_result: str, text: str) -> str:
    return cut(text, len(text) - 1, len(text))


def _without_tags(_result: str, text: str) -> str:
    """Strip tags like Markup: comments, then tags, then white space, and finally entities."""
    for begin, end in (("<!--", "-->"), ("<", ">")):
        start = text.find(begin)
        while start >= 0:
            stop = text.find(end, start)
            if stop < 0:
                break
            text = concatenated((cut(text, 0, start), cut(text, stop + len(end), len(text))))
            start = text.find(begin)
    spaced = concatenated(
        part for index, word in enumerate(text.split()) for part in ((" ",) if index else ()) + (word,)
    )
    bounds = [0]
    instead: list[str] = []
    for match in _ENTITY.finditer(spaced):
        bounds += match.span()
        instead.append(html.unescape(match[0]))
    return substituted(spaced, bounds, instead)


_ALIGNED: Final[Mapping[str, Align]] = {
    "capitalize": _change_case,
    "center": _center,
    "e": _escape,
    "escape": _escape,
    "first": _first,
    "forceescape": _escape,
    "format": _format,
    "indent": _indent,
    "join": _join,
    "last": _last,
    "lower": _lower,
    "replace": _replace,
    "safe": _whole,
    "string": _whole,
    "striptags": _without_tags,
    "title": _change_case,
    "tojson": _as_json,
    "trim": _trim,
    "truncate": _truncate,
    "upper": _upper,
    "urlencode": _url_quoted,
    "wordwrap": _wrap,
}
MAPPING_FILTERS: Final[Mapping[str, Filter]] = {
    name: _keeping(FILTERS[name], align) for name, align in _ALIGNED.items()
}
"""The filters that retain pieces, in place of those of Jinja."""
