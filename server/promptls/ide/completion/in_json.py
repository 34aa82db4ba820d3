"""Completion in prompts saved as JSON: prompts and metrics of Ragas, evaluation prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from promptls.dialects import KeyFact
from promptls.dialects.ragas.prompt_object import PROMPT_KEYS
from promptls.dialects.ragas.saved_prompt import SIMPLE_TYPES, form_of
from promptls.dialects.ragas.saved_prompt_checks import METRIC_TYPES
from promptls.dialects.ragas.saved_prompt_keys import saved_keys
from promptls.ide.completion.items import CompletionItem, CompletionList, ItemKind, Request, made
from promptls.ide.completion.yaml_values import value_items
from promptls.ide.hover.markdown import fact_text
from promptls.ide.key_facts import keys_at
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.syntax.language import JSON_FIELDS
from promptls.syntax.source import Source
from promptls.syntax.yaml.expected import ITEM
from promptls.text.positions import Span

_PIECE: Final = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*"?|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_REST: Final = re.compile(r'(?:[^"\\\r\n]|\\[^\r\n])*"')
_WORD: Final = re.compile(r'[^\s{}\[\]:,"]*')
_COLON: Final = re.compile(r"\s*:")
_NEXT: Final = re.compile(r"\s*(\S?)")


class JsonPlace(NamedTuple):
    """A position in a JSON text.

    `path` leads to the object of a key, or to a value; `-` is an item of a list. `word` is the text
    that is already there, left and right of the position, including quotes. `keys` are the object's keys.
    """

    is_key: bool
    path: tuple[str, ...]
    word: Span
    is_quoted: bool = False
    has_colon: bool = False
    needs_comma: bool = False
    keys: tuple[str, ...] = ()


class _Open(NamedTuple):
    """An object or list that is open at the position, with the keys that it has so far."""

    opening: str
    keys: list[str]
    is_after_key: bool


def json_place(text: str, offset: int) -> JsonPlace | None:
    """Return what can be written at `offset`.

    None outside of objects and lists, and after a complete value.
    """
    open_: list[_Open] = []
    word = Span(offset, offset)
    last = ""
    for match in _PIECE.finditer(text, 0, offset):
        piece = match.group()
        if match.end() == offset and (_is_open(piece) or piece[0] not in '{}[]:,"'):
            word = Span(match.start(), offset)
            break
        if piece in {"{", "["}:
            open_.append(_Open(piece, [], is_after_key=False))
        elif piece in {"}", "]"}:
            if open_:
                open_.pop()
        elif open_ and piece == ":" and last[:1] == '"':
            open_[-1].keys.append(last[1:-1])
            open_[-1] = open_[-1]._replace(is_after_key=True)
        elif open_ and piece == ",":
            open_[-1] = open_[-1]._replace(is_after_key=False)
        last = piece
    if not open_ or last[-1:] not in {"{", "[", ",", ":"}:
        return None
    return _place(text, offset, open_, word)


def _is_open(piece: str) -> bool:
    return piece[0] == '"' and (len(piece) == 1 or not piece.endswith('"'))


def _place(text: str, offset: int, open_: list[_Open], word: Span) -> JsonPlace:
    is_quoted = text[word.start : word.start + 1] == '"' and word.start < offset
    rest = (_REST if is_quoted else _WORD).match(text, offset)
    whole = Span(word.start, rest.end() if rest else offset)
    path = tuple(step for each in open_ for step in ((ITEM,) if each.opening == "[" else each.keys[-1:]))
    inner = open_[-1]
    following = _NEXT.match(text, whole.end)
    needs_comma = following is not None and following[1] in {'"', "{", "["}
    if inner.opening == "[" or inner.is_after_key:
        return JsonPlace(is_key=False, path=path, word=whole, is_quoted=is_quoted, needs_comma=needs_comma)
    return JsonPlace(
        is_key=True,
        path=path[: len(path) - bool(inner.keys)],
        word=whole,
        is_quoted=is_quoted,
        has_colon=_COLON.match(text, whole.end) is not None,
        needs_comma=needs_comma,
        keys=(*inner.keys, *_keys_after(text, whole.end)),
    )


def _keys_after(text: str, start: int) -> list[str]:
    """Return the keys of the same object after a position."""
    depth = 0
    found = []
    last = ""
    for match in _PIECE.finditer(text, start):
        piece = match.group()
        if piece in {"{", "["}:
            depth += 1
        elif piece in {"}", "]"}:
            depth -= 1
            if depth < 0:
                break
        elif piece == ":" and not depth and last[:1] == '"':
            found.append(last[1:-1])
        last = piece
    return found


_MARKS: Final = ('"instruction"', '"metric_type"', '"infer_cfg"', '"ice_template"', '"prompt_template"')
"""Keys that occur in every prompt in JSON; other texts are not parsed."""
_KNOWN_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "type": SIMPLE_TYPES,
    "metric_type": tuple(METRIC_TYPES),
}
_SOURCE: Final = "json"


def in_json(request: Request, trigger: str) -> CompletionList | None:
    """Return the completions in a JSON text; None if the text is not a prompt, or too long for one."""
    if request.template.source.refusal is not None:
        return None
    if trigger not in {"", '"', ":"} or not any(mark in request.template.source.text for mark in _MARKS):
        return None
    place = json_place(request.template.source.text, request.offset)
    if place is None or (trigger == ":" and place.is_key):
        return None
    request = _without_word(request, place)
    if request.kind is Kind.OTHER:
        return None
    items = _keys(request, place) if place.is_key else _values(request, place)
    # An opening quote that was already typed is part of the replaced word, because items include quotes.
    insert = Span(place.word.start, request.offset)
    return made(items, insert, place.word, _SOURCE, place.path)


def json_documentation(request: Request, label: str, path: tuple[str, ...]) -> str:
    """Return the description of a key, in Markdown."""
    place = json_place(request.template.source.text, request.offset)
    fact = _facts(_without_word(request, place) if place is not None else request, path).get(label)
    return fact_text(fact) if fact is not None else ""


def _without_word(request: Request, place: JsonPlace) -> Request:
    """Return the request without the word being typed, which may make the text invalid."""
    text = request.template.source.text
    whole = request.template
    if place.is_key or whole.kind is Kind.OTHER:
        blank = '"",' if place.needs_comma and not place.has_colon else '""'
        whole = Template(Source.of(text[: place.word.start] + blank + text[place.word.end :], JSON_FIELDS))
    return replace(request, template=whole, kind=whole.kind)


def _facts(request: Request, path: tuple[str, ...]) -> Mapping[str, KeyFact]:
    if request.kind is not Kind.OBJECT:
        return keys_at(request.kind, path, in_header=False)
    form = form_of(request.declarations.data)
    if form is not None:
        return saved_keys(form, path)
    return PROMPT_KEYS if not path else {}


def _keys(request: Request, place: JsonPlace) -> Iterator[CompletionItem]:
    for index, fact in enumerate(_facts(request, place.path).values()):
        if fact.name not in place.keys:
            detail = f"{fact.describe_type}, required" if fact.required else fact.describe_type
            rank = (10 if fact.required else 30) + index
            yield key_item(place, fact.name, rank, detail, "property", _value_form(fact.describe_type))
    for index, (name, detail) in enumerate(_own_keys(request, place.path).items()):
        if name not in place.keys:
            yield key_item(place, name, 10 + index, detail, "field")


def key_item(
    place: JsonPlace, name: str, rank: int, detail: str, kind: ItemKind, value: str = "$0"
) -> CompletionItem:
    """Return the item of a key, with the form of its value unless the key has one."""
    text, snippet = f'"{name}"', ""
    if not place.has_colon:
        text += ": "
        snippet = f"{text}{value}{',' if place.needs_comma else ''}"
    return CompletionItem(
        name, kind, rank, text=text, snippet=snippet, detail=detail, filter_text=f'"{name}"'
    )


def _value_form(describe_type: str) -> str:
    """Return the brackets or quotes of a value, with a placeholder inside."""
    if describe_type.startswith("list of mappings"):
        return "[{$0}]"
    if describe_type.startswith("list of"):
        return '["$0"]'
    if describe_type.startswith("list"):
        return "[$0]"
    if describe_type == "mapping":
        return "{$0}"
    return '"$0"' if describe_type.startswith(("text", "`")) else "$0"


def _own_keys(request: Request, path: tuple[str, ...]) -> dict[str, str]:
    """Return the keys that the file itself defines for an example and its values."""
    if "examples" not in path or not path[-1:] or path[-1:] == ("examples",):
        return {}
    data = request.declarations.data
    found: dict[str, str] = {}
    if path == ("examples", ITEM) and form_of(data) is None and isinstance(data, Mapping):
        inputs, output = data.get("input_keys"), data.get("output_key")
        found.update({str(key): "input" for key in (inputs if isinstance(inputs, list) else ())})
        found.update({output: "output"} if isinstance(output, str) and output else {})
    if path == ("examples", ITEM):
        return found
    for value in _along(data, path):
        found.update(
            {str(key): "in another example" for key in (value if isinstance(value, Mapping) else ())}
        )
    return found


def _along(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    if not path:
        yield value
    elif path[0] == ITEM and isinstance(value, list):
        for item in value:
            yield from _along(item, path[1:])
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _along(value[path[0]], path[1:])


def _values(request: Request, place: JsonPlace) -> Iterator[CompletionItem]:
    is_saved = request.kind is Kind.OBJECT and form_of(request.declarations.data) is not None
    if is_saved:
        known = _KNOWN_VALUES.get(place.path[-1], ()) if len(place.path) == 1 else ()
        items: Iterator[CompletionItem] = (
            CompletionItem(name, "enum", 10 + rank) for rank, name in enumerate(known)
        )
    else:
        items = value_items(request, place.path, in_header=False)
    return (value_item(place, item) for item in items)


def value_item(place: JsonPlace, item: CompletionItem) -> CompletionItem:
    """Return the item of a value as a text in quotes."""
    text = f'"{item.label}"'
    return replace(item, text=text, snippet="", filter_text=text if place.is_quoted else "")
