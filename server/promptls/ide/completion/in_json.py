"""Completion in prompts saved as JSON: prompts and metrics of Ragas, evaluation prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from promptls.dialects.key_fact import KeyFact
from promptls.dialects.ragas.prompt_object import PROMPT_KEYS
from promptls.dialects.ragas.saved_prompt import METRIC_TYPES, SIMPLE_TYPES, form_of, saved_keys
from promptls.ide.completion.items import CompletionList, Item, Request, made
from promptls.ide.completion.values import value_items
from promptls.ide.key_facts import keys_at
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.syntax.json_place import JsonPlace, json_place
from promptls.syntax.language import JSON_FIELDS
from promptls.syntax.source import Source
from promptls.syntax.yaml.expected import ITEM
from promptls.text.positions import Span

_MARKS: Final = ('"instruction"', '"metric_type"', '"infer_cfg"', '"ice_template"', '"prompt_template"')
"""Keys that occur in every prompt in JSON; other texts are not parsed."""
_KNOWN_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "type": SIMPLE_TYPES,
    "metric_type": tuple(METRIC_TYPES),
}
_SOURCE: Final = "json"


def in_json(request: Request, trigger: str) -> CompletionList | None:
    """Return the completions in a JSON text; None if the text is not a prompt."""
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
    from promptls.ide.hover.markdown import fact_text

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


def _keys(request: Request, place: JsonPlace) -> Iterator[Item]:
    for index, fact in enumerate(_facts(request, place.path).values()):
        if fact.name not in place.keys:
            detail = f"{fact.type_words}, required" if fact.required else fact.type_words
            rank = (10 if fact.required else 30) + index
            yield _key(place, fact.name, rank, detail, "property", _value_form(fact.type_words))
    for index, (name, detail) in enumerate(_own_keys(request, place.path).items()):
        if name not in place.keys:
            yield _key(place, name, 10 + index, detail, "field", "$0")


def _key(place: JsonPlace, name: str, rank: int, detail: str, kind: Any, value: str) -> Item:
    text, snippet = f'"{name}"', ""
    if not place.has_colon:
        text += ": "
        snippet = f"{text}{value}{',' if place.needs_comma else ''}"
    return Item(name, kind, rank, text=text, snippet=snippet, detail=detail, filter_text=f'"{name}"')


def _value_form(type_words: str) -> str:
    """Return the brackets or quotes of a value, with a placeholder inside."""
    if type_words.startswith("list of mappings"):
        return "[{$0}]"
    if type_words.startswith("list of"):
        return '["$0"]'
    if type_words.startswith("list"):
        return "[$0]"
    if type_words == "mapping":
        return "{$0}"
    return '"$0"' if type_words.startswith(("text", "`")) else "$0"


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
    """Yield the values at a path."""
    if not path:
        yield value
    elif path[0] == ITEM and isinstance(value, list):
        for item in value:
            yield from _along(item, path[1:])
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _along(value[path[0]], path[1:])


def _values(request: Request, place: JsonPlace) -> Iterator[Item]:
    is_saved = request.kind is Kind.OBJECT and form_of(request.declarations.data) is not None
    if is_saved:
        known = _KNOWN_VALUES.get(place.path[-1], ()) if len(place.path) == 1 else ()
        items: Iterator[Item] = (Item(name, "enum", 10 + rank) for rank, name in enumerate(known))
    else:
        items = value_items(request, place.path, in_header=False)
    for item in items:
        text = f'"{item.label}"'
        yield replace(item, text=text, snippet="", filter_text=text if place.is_quoted else "")
