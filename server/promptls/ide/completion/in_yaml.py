"""What may be written in the YAML around the tags, in the header, and in the text of a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from promptls.ide.completion import keys, values
from promptls.ide.completion import keys as parts
from promptls.ide.completion import keys as texts
from promptls.ide.completion.items import Completion, Item, Request
from promptls.ide.completion.keys import declared_items, is_one_word
from promptls.ide.completion.lists import made, placed
from promptls.ide.completion.place import YamlPosition
from promptls.semantic.kind import Kind
from promptls.syntax.yaml.expected import ITEM, YamlPlace
from promptls.text.positions import Span


def in_yaml(request: Request, at: YamlPosition, trigger: str) -> Completion | None:
    """Return what may be written at a place of the YAML.

    None if the typed character cannot have asked for it.
    """
    place = at.yaml
    word = place.word
    request = replace(request, typed=request.template.source.slice(word.shifted(at.base)))
    if place.what == "text" or (place.what == "value" and _is_text(at)):
        return _in_text(request)
    if trigger in {".", "|", "{", "%", "'", '"'} and not (trigger in {"'", '"'} and place.quote):
        return None
    list_item = _list_item(request, at)
    if list_item is not None:
        items: Iterable[Item] = values.value_items(request, list_item.path, in_header=at.in_header)
        return placed(request, items, list_item.word, at.base, "listed", list_item.path, at.in_header)
    if place.what == "value":
        items = values.value_items(request, place.path, in_header=at.in_header)
        if place.needs_space:
            if trigger not in {"", ":"}:
                return None
            items = [replace(item, text=f" {item.plain_text}", filter_text=item.label) for item in items]
        return placed(request, items, word, at.base, "value", place.path, at.in_header)
    if trigger:
        return None
    found = [*keys.key_items(request, place, in_header=at.in_header), *_pieces(request, at)]
    return placed(request, found, word, at.base, "key", place.path, at.in_header)


def _list_item(request: Request, at: YamlPosition) -> YamlPlace | None:
    """Return the place as an item of a list of single values: `local:` at its beginning looks like a key."""
    place = at.yaml
    if place.what == "key" and values.is_list_of_values(request, place.path, in_header=at.in_header):
        return None if place.path[-1:] != (ITEM,) else place
    above = place.path[:-1]
    is_begun = place.what == "value" and place.needs_space and above[-1:] == (ITEM,)
    if not is_begun or not values.is_list_of_values(request, above, in_header=at.in_header):
        return None
    length = len(place.path[-1]) + 1
    return place._replace(path=above, word=Span(place.word.start - length, place.word.end))


def _is_text(at: YamlPosition) -> bool:
    """Return whether the value is text for the model."""
    return not at.in_header and at.yaml.path[-1:] in {
        ("content",),
        ("instruction",),
        ("prompt",),
        ("template",),
        ("ice_template",),
        ("prompt_template",),
    }


def _in_text(request: Request) -> Completion | None:
    source = request.template.source
    line = source.line_span(source.place(request.offset).line)
    head = source.slice(Span(line.start, request.offset))
    length = texts.marker_word(head)
    if length is not None and request.kind in {Kind.PARTS, Kind.SECTION}:
        behind = source.slice(Span(request.offset, line.end))
        insert, replaced = texts.marker_span(request.offset, length, behind)
        return made(texts.marker_items(), insert, replaced, "text", ())
    length = texts.field_word(request, head)
    if length is not None:
        rest = re.match(r"\w*", source.slice(Span(request.offset, line.end)))
        insert = Span(request.offset - length, request.offset)
        end = request.offset + (rest.end() if rest else 0)
        return made(texts.field_items(request), insert, Span(insert.start, end), "text", ())
    return None


def _pieces(request: Request, at: YamlPosition) -> Iterable[Item]:
    """Whole parts at the beginning of a line, whole files in an empty one, and examples and experiments."""
    place = at.yaml
    if place.quote or place.in_flow or place.has_colon:
        return []
    if at.in_header or request.kind in {Kind.OBJECT, Kind.EVALUATION}:
        return list(declared_items(request, place))
    if place.path == (ITEM,) and not place.siblings and request.kind in {Kind.PARTS, Kind.SECTION}:
        return parts.part_items(behind_dash=True)
    if place.path or place.column:
        return []
    source = request.template.source
    if is_one_word(source.text) or not any(chunk.has_content for chunk in source.chunks):
        has_header = request.template.header is not None
        return [item for item in parts.file_items() if not (has_header and item.label == "header")]
    if request.kind in {Kind.PARTS, Kind.SECTION}:
        found = list(parts.part_items(behind_dash=False))
        if request.template.header is None and request.offset == len(request.typed):
            found.insert(0, parts.header_item())
        return found
    return []
