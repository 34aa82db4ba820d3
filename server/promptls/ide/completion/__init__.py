"""Completion in prompt files: find the context of the cursor, and query the matching sources of items."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.ide.completion import members, tags, yaml_keys, yaml_values
from promptls.ide.completion.in_json import in_json
from promptls.ide.completion.items import (
    CompletionItem,
    CompletionList,
    Request,
    TagPlace,
    YamlPosition,
    made,
    place_in,
    placed,
)
from promptls.ide.completion.yaml_keys import declared_items, is_one_word
from promptls.rendering.file_rendering import FileRendering
from promptls.semantic.header import OPENING
from promptls.semantic.kind import KEY_LINE, Kind
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag_context import Expected, expected_in_tag
from promptls.syntax.source import Layout
from promptls.syntax.yaml.expected import ITEM, YamlPlace
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

__all__ = ["CompletionItem", "CompletionList", "complete"]

_MAX_UNDECIDED: Final = 400
"""The maximum length of a file whose first part may still be incomplete, in characters."""


def complete(
    snapshot: Snapshot,
    path: str,
    offset: int,
    latest: FileRendering | None = None,
    trigger: str = "",
) -> CompletionList | None:
    """Return the completions at `offset` of the file at `path`; None if nothing can be completed.

    `trigger` is the typed trigger character, or empty if completion was invoked explicitly or by typing a
    word. A trigger character that is meaningless at the place gives None.
    """
    template = snapshot.template(path)
    if template is None:
        return None
    inside = min(max(offset, 0), len(template.source))
    if not template.source.language.has_tags:
        return in_json(Request(snapshot, path, template, Kind.OTHER, inside, latest), trigger)
    kind = snapshot.kind(path)
    if kind is Kind.OTHER:
        if not _may_become_prompt(snapshot, path):
            return None
        kind = Kind.PARTS
    request = Request(snapshot, path, template, kind, inside, latest)
    place = place_in(template, request.offset)
    if isinstance(place, TagPlace):
        return in_tag(request, place, trigger)
    return in_yaml(request, place, trigger) if isinstance(place, YamlPosition) else None


def _may_become_prompt(snapshot: Snapshot, path: str) -> bool:
    """Return whether the file may be the beginning of a prompt: an unclosed header, or a short text."""
    template = snapshot.template(path)
    if template is None or snapshot.project(path).excludes(path):
        return False
    source = template.source
    if source.first_chunk.text.removeprefix("\ufeff").startswith(OPENING):
        return True  # an unclosed header
    if len(source) > _MAX_UNDECIDED:
        return False
    if not any(chunk.has_content for chunk in source.chunks) or is_one_word(source.text):
        return True
    keys_there = set(KEY_LINE.findall(source.text))
    return source.layout is Layout.LIST and keys_there <= set(PART_KEYS)


_TRIGGERED_BY: Final = {
    ".": ("attribute",),
    "|": ("filter",),
    "%": ("tag",),
    "/": ("path",),
    '"': ("key", "path", "value", "element"),
    "'": ("key", "path", "value", "element"),
}
"""The trigger characters inside a tag."""
_QUOTED_VALUE: Final = re.compile(r"(?::|-)[ \t]+([\"'])")
_SPACE_BEFORE_DOT: Final = re.compile(r"(?<=\S)[ \t]+(?=\.$)")
"""The space in front of the dot that follows a completed name, which was padded."""
_NOT_AFTER_SPACE: Final = frozenset({"operator", "words"})


def in_tag(request: Request, at: TagPlace, trigger: str) -> CompletionList | None:
    """Return the completions at a place of a tag; None if the trigger character does not apply there."""
    if at.tag.kind == "comment":
        return _in_comment(request, at)
    expected = expected_in_tag(at.tag.text, at.tag.inner_start, at.tag.inner_end, at.place)
    if expected is None or not _is_triggered(expected, trigger, at.tag.text[: at.place]):
        return None
    word = expected.word.shifted(at.start)
    insert = Span(word.start, request.offset)
    typed = at.tag.text[expected.word.start : expected.word.end]
    request = replace(request, typed=typed)
    after = at.tag.text[expected.word.end :].lstrip(" \t")
    items = _add_spaces(_continued(_SOURCES[expected.what](request, expected, at), after), expected, at)
    space = _SPACE_BEFORE_DOT.search(at.tag.text, 0, expected.word.start)
    if expected.what == "attribute" and space is not None:
        start = at.start + space.start()
        insert, word = Span(start, insert.end), Span(start, word.end)
        items = [_with_dot(item, space[0]) for item in items]
    return made(items, insert, word, expected.what, (expected.keyword, expected.template))


def _with_dot(item: CompletionItem, space: str) -> CompletionItem:
    """Return a member that replaces also the space and the dot in front of it."""
    snippet = f".{item.snippet}" if item.snippet else ""
    return replace(item, text=f".{item.plain_text}", snippet=snippet, filter_text=f"{space}.{item.label}")


def _add_spaces(
    items: Iterable[CompletionItem], expected: Expected, at: TagPlace
) -> Iterable[CompletionItem]:
    """Return the items, padded with a space where they would touch the tag's delimiters."""
    before = " " if expected.word.start == at.tag.inner_start else ""
    is_last = expected.word.end == at.tag.inner_end and not at.tag.unclosed
    if not before and not is_last:
        return items
    return [_with_spaces(item, before, " " if is_last else "") for item in items]


def _continued(items: Iterable[CompletionItem], after: str) -> Iterable[CompletionItem]:
    """Return the items without parentheses or `=` that already follow the word."""
    if after.startswith("("):
        called = ("()", "($1)$0")
        return [
            replace(item, text="", snippet="")
            if item.text.endswith(called) or item.snippet.endswith(called)
            else item
            for item in items
        ]
    if after.startswith("=") and not after.startswith("=="):
        return [replace(item, text=item.label[:-1]) if item.label.endswith("=") else item for item in items]
    return items


def _with_spaces(item: CompletionItem, before: str, after: str) -> CompletionItem:
    text = f"{before}{item.plain_text}"
    snippet = f"{before}{item.snippet}{after}" if item.snippet else ""
    return replace(item, text=text if text.endswith(" ") else f"{text}{after}", snippet=snippet)


def _is_triggered(expected: Expected, trigger: str, before: str) -> bool:
    """Return whether the trigger character applies to what is expected here.

    A space triggers completion only where an operand must follow.
    """
    if trigger == " ":
        return expected.what not in _NOT_AFTER_SPACE and not before.endswith("  ")
    if trigger == "{":
        return before == "{{"
    return not trigger or expected.what in _TRIGGERED_BY.get(trigger, ())


def _imported(request: Request, expected: Expected, at: TagPlace) -> Iterable[CompletionItem]:
    statement = tag_tree(at.tag).statement
    taken = frozenset(each.name for each in statement.imported if each.name != request.typed)
    return tags.imported_items(request, expected.template, taken)


def _template_names(request: Request, expected: Expected, at: TagPlace) -> Iterable[CompletionItem]:
    """Yield template names in quotes, and expressions that may evaluate to a name."""
    for item in yaml_values.template_paths(request, expected.keyword):
        quote = _quote(request, at)
        yield replace(item, text=f"{quote}{item.label}{quote}", filter_text=item.label)
    if expected.keyword != "from":
        for item in members.expression_items(request, expected, at.tag, at.start):
            if item.kind == "variable":
                yield replace(item, rank=item.rank + 40)


def _quote(request: Request, at: TagPlace) -> str:
    """Return the quote to use in the tag, which must differ from that of the enclosing YAML value."""
    source = request.template.source
    before = source.slice(Span(source.line_span(source.line_column(at.start).line).start, at.start))
    value = _QUOTED_VALUE.search(before)
    return "'" if value is not None and value[1] == '"' else '"'


def _expressions(request: Request, expected: Expected, at: TagPlace) -> Iterable[CompletionItem]:
    """Yield variables and functions, after the values allowed by the schema of the compared expression."""
    yield from members.compared_items(request, expected.target, _quote(request, at))
    yield from members.expression_items(request, expected, at.tag, at.start)


_Source = Callable[[Request, Expected, TagPlace], Iterable[CompletionItem]]
_SOURCES: Final[dict[str, _Source]] = {
    "tag": lambda request, _, at: tags.tag_items(request, at.tag, at.start),
    "expression": _expressions,
    "operator": lambda _, expected, _at: tags.word_items(expected.words),
    "words": lambda _, expected, _at: tags.word_items(expected.words),
    "attribute": lambda request, expected, _: members.attribute_items(request, expected.target),
    "key": lambda request, expected, _: members.key_items(request, expected.target),
    "element": lambda request, expected, _: members.element_items(request, expected.target),
    "value": lambda request, expected, _: members.value_items(request, expected.target),
    "filter": lambda *_: tags.filter_items(),
    "test": lambda _, expected, _at: tags.test_items(expected.words),
    "path": lambda request, expected, _: yaml_values.template_paths(request, expected.keyword),
    "template": _template_names,
    "imported": _imported,
    "block": lambda request, expected, _: tags.block_items(request, expected.keyword),
    "target": lambda request, _, at: tags.target_items(request, at.tag, at.start),
}
"""The source of items for each kind of place."""


def _in_comment(request: Request, at: TagPlace) -> CompletionList | None:
    word = tags.suppression_word(at.text, at.place)
    if word is not None:
        items: Iterable[CompletionItem] = tags.rule_items(at.text, at.place)
        return placed(request, items, word, at.start, "rule")
    inside = at.text[2 : at.place]
    if (word := tags.comment_word(inside, len(inside))) is not None:
        return placed(request, tags.comment_items(), word, at.start + 2, "comment")
    begins = OPENING.startswith(at.text[: at.place]) and at.tag.unclosed
    if begins and at.start == 0 and request.template.header is None:
        return placed(request, [yaml_keys.header_item()], Span(0, at.place), at.start, "piece")
    return None


def in_yaml(request: Request, at: YamlPosition, trigger: str) -> CompletionList | None:
    """Return the completions at a place of the YAML; None if the trigger character does not apply there."""
    place = at.yaml
    word = place.word
    request = replace(request, typed=request.template.source.slice(word.shifted(at.base)))
    if place.what == "text" or (place.what == "value" and _is_text(at)):
        return _in_text(request)
    if trigger in {".", "|", "{", "%", "'", '"'} and not (trigger in {"'", '"'} and place.quote):
        return None
    list_item = _list_item(request, at)
    if list_item is not None:
        items: Iterable[CompletionItem] = yaml_values.value_items(
            request, list_item.path, in_header=at.in_header
        )
        return placed(request, items, list_item.word, at.base, "listed", list_item.path, at.in_header)
    if place.what == "value":
        items = yaml_values.value_items(request, place.path, in_header=at.in_header)
        if place.needs_space:
            if trigger not in {"", ":"}:
                return None
            items = [replace(item, text=f" {item.plain_text}", filter_text=item.label) for item in items]
        return placed(request, items, word, at.base, "value", place.path, at.in_header)
    source = request.template.source
    if trigger and source.slice(Span(max(request.offset - 2, 0), request.offset)) != "- ":
        return None
    found = [*yaml_keys.key_items(request, place, in_header=at.in_header), *_pieces(request, at)]
    return placed(request, found, word, at.base, "key", place.path, at.in_header)


def _list_item(request: Request, at: YamlPosition) -> YamlPlace | None:
    """Return the place as an item of a list of scalars: an incomplete `local:` item is parsed as a key."""
    place = at.yaml
    if place.what == "key" and yaml_values.is_list_of_values(request, place.path, in_header=at.in_header):
        return None if place.path[-1:] != (ITEM,) else place
    above = place.path[:-1]
    is_begun = place.what == "value" and place.needs_space and above[-1:] == (ITEM,)
    if not is_begun or not yaml_values.is_list_of_values(request, above, in_header=at.in_header):
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


def _in_text(request: Request) -> CompletionList | None:
    source = request.template.source
    line = source.line_span(source.line_column(request.offset).line)
    head = source.slice(Span(line.start, request.offset))
    length = yaml_keys.marker_word(head)
    if length is not None and request.kind in {Kind.PARTS, Kind.SECTION}:
        after = source.slice(Span(request.offset, line.end))
        insert, replaced = yaml_keys.marker_span(request.offset, length, after)
        return made(yaml_keys.marker_items(), insert, replaced, "text", ())
    length = yaml_keys.field_word(request, head)
    if length is not None:
        rest = re.match(r"\w*", source.slice(Span(request.offset, line.end)))
        insert = Span(request.offset - length, request.offset)
        end = request.offset + (rest.end() if rest else 0)
        return made(yaml_keys.field_items(request), insert, Span(insert.start, end), "text", ())
    return None


def _pieces(request: Request, at: YamlPosition) -> Iterable[CompletionItem]:
    """Yield whole parts at the start of a line, whole files in an empty file, examples, and experiments."""
    place = at.yaml
    if place.quote or place.in_flow or place.has_colon:
        return []
    if at.in_header or request.kind in {Kind.OBJECT, Kind.EVALUATION}:
        return list(declared_items(request, place))
    if place.path == (ITEM,) and not place.siblings and request.kind in {Kind.PARTS, Kind.SECTION}:
        return yaml_keys.part_items(after_dash=True)
    if place.path or place.column:
        return []
    source = request.template.source
    if is_one_word(source.text) or not any(chunk.has_content for chunk in source.chunks):
        has_header = request.template.header is not None
        return [item for item in yaml_keys.file_items() if not (has_header and item.label == "header")]
    if request.kind in {Kind.PARTS, Kind.SECTION}:
        found = list(yaml_keys.part_items(after_dash=False))
        if request.template.header is None and request.offset == len(request.typed):
            found.insert(0, yaml_keys.header_item())
        return found
    return []
