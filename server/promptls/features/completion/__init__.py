"""What may be written at a place of a prompt file. One source of items a file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from promptls.features.completion import (
    filters,
    imports,
    keys,
    members,
    parts,
    paths,
    suppressions,
    tags,
    texts,
    values,
    variables,
)
from promptls.features.completion.item import Completion, Item
from promptls.features.completion.place import TagPlace, YamlPosition, place_in
from promptls.features.completion.request import Request
from promptls.meaning.header import OPENING
from promptls.meaning.kind import Kind
from promptls.rendering.file_rendering import FileRendering
from promptls.syntax.jinja.expected import Expected, expected_in_tag
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.expected import ITEM, YamlPlace
from promptls.systems.prompt_poet.vocabulary import PART_KEYS
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

__all__ = ["Completion", "Item", "complete"]

_MOST_UNDECIDED: Final = 400
"""How many characters a file may have whose first part is being written."""
_KEY_LINE: Final = re.compile(r"^(?:- |  )([A-Za-z_]\w*)[ \t]*:", re.MULTILINE)
_MEANT_BY: Final = {
    ".": ("attribute",),
    "|": ("filter",),
    "%": ("tag",),
    "/": ("path",),
    '"': ("key", "path", "value"),
    "'": ("key", "path", "value"),
}
"""What a typed character can ask for inside a tag."""
_QUIET: Final = frozenset({"operator", "words"})


def complete(
    snapshot: Snapshot,
    path: str,
    offset: int,
    newest: FileRendering | None = None,
    trigger: str = "",
) -> Completion | None:
    """What may stand at `offset` in the file at `path`; None where nothing can be named.

    `trigger` is the character that was typed to ask, or empty where the user asked or wrote a word:
    what a character cannot have meant is not answered.
    """
    template = snapshot.template(path)
    if template is None:
        return None
    kind = snapshot.kind(path)
    if kind is Kind.OTHER:
        if not _may_become_prompt(snapshot, path):
            return None
        kind = Kind.PARTS
    request = Request(snapshot, path, template, kind, min(max(offset, 0), len(template.source)), newest)
    place = place_in(template, request.offset)
    if isinstance(place, TagPlace):
        return _in_tag(request, place, trigger)
    return _in_yaml(request, place, trigger) if isinstance(place, YamlPosition) else None


def _may_become_prompt(snapshot: Snapshot, path: str) -> bool:
    """Whether the file is so short that it may be the beginning of a prompt."""
    template = snapshot.template(path)
    if template is None or snapshot.project(path).excludes(path):
        return False
    source = template.source
    if source.first_chunk.text.removeprefix("\ufeff").startswith(OPENING):
        return True  # a header that is not closed yet
    if len(source) > _MOST_UNDECIDED:
        return False
    if not any(chunk.has_content for chunk in source.chunks):
        return True
    keys_there = set(_KEY_LINE.findall(source.text))
    return source.at_items and keys_there <= set(PART_KEYS)


# -- tags --------------------------------------------------------------------------------------


def _in_tag(request: Request, at: TagPlace, trigger: str) -> Completion | None:
    if at.tag.kind == "comment":
        return _in_comment(request, at)
    expected = expected_in_tag(at.tag.text, at.tag.inner_start, at.tag.inner_end, at.place)
    if expected is None or not _is_meant(expected, trigger, at.tag.text[: at.place]):
        return None
    word = expected.word.shifted(at.start)
    insert = Span(word.start, request.offset)
    typed = at.tag.text[expected.word.start : expected.word.end]
    request = replace(request, typed=typed)
    items = _spaced(_tag_items(request, expected, at), expected, at)
    return _completion(items, insert, word, expected.what, (expected.keyword, expected.template))


def _spaced(items: Iterable[Item], expected: Expected, at: TagPlace) -> Iterable[Item]:
    """The items, with spaces where they would stand right beside the tag's delimiters."""
    before = " " if expected.word.start == at.tag.inner_start else ""
    is_last = expected.word.end == at.tag.inner_end and not at.tag.unclosed
    if not before and not is_last:
        return items
    return [_with_spaces(item, before, " " if is_last else "") for item in items]


def _with_spaces(item: Item, before: str, behind: str) -> Item:
    text = f"{before}{item.plain_text}"
    snippet = f"{before}{item.snippet}{behind}" if item.snippet else ""
    return replace(item, text=text if text.endswith(" ") else f"{text}{behind}", snippet=snippet)


def _is_meant(expected: Expected, trigger: str, before: str) -> bool:
    """Whether the typed character can have asked for this; spaces ask only where something must follow."""
    if trigger == " ":
        return expected.what not in _QUIET and not before.endswith("  ")
    if trigger == "{":
        return before == "{{"
    return not trigger or expected.what in _MEANT_BY.get(trigger, ())


def _tag_items(request: Request, expected: Expected, at: TagPlace) -> Iterable[Item]:
    match expected.what:
        case "tag":
            return tags.tag_items(request, at.tag, at.start)
        case "expression":
            return variables.expression_items(request, expected, at.tag, at.start)
        case "operator" | "words":
            return filters.word_items(expected.words)
        case "attribute":
            return members.attribute_items(request, expected.target)
        case "key":
            return members.key_items(request, expected.target)
        case "value":
            return members.value_items(request, expected.target)
        case "filter":
            return filters.filter_items()
        case "test":
            return filters.test_items(expected.words)
        case "path":
            return paths.template_paths(request)
        case "template":
            return _template_names(request, expected, at)
        case "imported":
            statement = tag_tree(at.tag).statement
            taken = frozenset(each.name for each in statement.imported if each.name != request.typed)
            return imports.imported_items(request, expected.template, taken)


def _template_names(request: Request, expected: Expected, at: TagPlace) -> Iterable[Item]:
    """Templates by name, each in quotes; and what else may give a name."""
    for item in paths.template_paths(request):
        yield replace(item, text=f'"{item.label}"', filter_text=item.label)
    if expected.keyword != "from":
        for item in variables.expression_items(request, expected, at.tag, at.start):
            if item.kind == "variable":
                yield replace(item, rank=item.rank + 40)


def _in_comment(request: Request, at: TagPlace) -> Completion | None:
    word = suppressions.suppression_word(at.text, at.place)
    if word is not None:
        items: Iterable[Item] = suppressions.rule_items(at.text, at.place)
        return _placed(request, items, word, at.start, "rule")
    inside = at.text[2 : at.place]
    if (word := suppressions.comment_word(inside, len(inside))) is not None:
        return _placed(request, suppressions.comment_items(), word, at.start + 2, "comment")
    begins = OPENING.startswith(at.text[: at.place]) and at.tag.unclosed
    if begins and at.start == 0 and request.template.header is None:
        return _placed(request, [parts.header_item()], Span(0, at.place), at.start, "piece")
    return None


# -- YAML --------------------------------------------------------------------------------------


def _in_yaml(request: Request, at: YamlPosition, trigger: str) -> Completion | None:
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
        return _placed(request, items, list_item.word, at.base, "listed", list_item.path, at.in_header)
    if place.what == "value":
        items = values.value_items(request, place.path, in_header=at.in_header)
        if place.needs_space:
            if trigger not in {"", ":"}:
                return None
            items = [replace(item, text=f" {item.plain_text}", filter_text=item.label) for item in items]
        return _placed(request, items, word, at.base, "value", place.path, at.in_header)
    if trigger:
        return None
    found = [*keys.key_items(request, place, in_header=at.in_header), *_pieces(request, at)]
    return _placed(request, found, word, at.base, "key", place.path, at.in_header)


def _list_item(request: Request, at: YamlPosition) -> YamlPlace | None:
    """The place as an item of a list of single values: `local:` at its beginning looks like a key."""
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
    """Whether the value is text for the model."""
    return not at.in_header and at.yaml.path[-1:] in {
        ("content",),
        ("instruction",),
        ("prompt",),
        ("template",),
    }


def _in_text(request: Request) -> Completion | None:
    source = request.template.source
    line = source.line_span(source.place(request.offset).line)
    head = source.slice(Span(line.start, request.offset))
    length = texts.marker_word(head)
    if length is not None and request.kind in {Kind.PARTS, Kind.SECTION}:
        behind = source.slice(Span(request.offset, line.end))
        insert, replaced = texts.marker_span(request.offset, length, behind)
        return _completion(texts.marker_items(), insert, replaced, "text", ())
    length = texts.field_word(request, head)
    if length is not None:
        rest = re.match(r"\w*", source.slice(Span(request.offset, line.end)))
        insert = Span(request.offset - length, request.offset)
        end = request.offset + (rest.end() if rest else 0)
        return _completion(texts.field_items(request), insert, Span(insert.start, end), "text", ())
    return None


def _pieces(request: Request, at: YamlPosition) -> Iterable[Item]:
    """Whole parts at the beginning of a line, and whole files in an empty one."""
    place = at.yaml
    if at.in_header or place.quote or place.in_flow or place.has_colon:
        return []
    if place.path == (ITEM,) and not place.siblings and request.kind in {Kind.PARTS, Kind.SECTION}:
        return parts.part_items(behind_dash=True)
    if place.path or place.column:
        return []
    if not any(chunk.has_content for chunk in request.template.source.chunks):
        has_header = request.template.header is not None
        return [item for item in parts.file_items() if not (has_header and item.label == "header")]
    if request.kind in {Kind.PARTS, Kind.SECTION}:
        found = list(parts.part_items(behind_dash=False))
        if request.template.header is None and request.offset == len(request.typed):
            found.insert(0, parts.header_item())
        return found
    return []


def _placed(
    request: Request,
    items: Iterable[Item],
    word: Span,
    base: int,
    source: str,
    path: tuple[str, ...] = (),
    in_header: bool = False,
) -> Completion | None:
    word = word.shifted(base)
    insert = Span(word.start, max(request.offset, word.start))
    replaced = Span(word.start, max(word.end, insert.end))
    return _completion(items, insert, replaced, source, ("header" if in_header else "", *path))


def _completion(
    items: Iterable[Item], insert: Span, replaced: Span, source: str, path: tuple[str, ...]
) -> Completion | None:
    by_label: dict[str, Item] = {}
    for item in items:
        known = by_label.get(item.label)
        if known is None or item.rank < known.rank:
            by_label[item.label] = item
    ordered = sorted(by_label.values(), key=lambda item: (item.rank, item.label.casefold()))
    is_cut = sum(item.kind == "file" for item in ordered) >= paths.MOST_FILES
    found = Completion(tuple(ordered), insert, replaced, source, path, is_incomplete=is_cut)
    return found if ordered else None
