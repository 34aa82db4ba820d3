"""What may be written inside a tag or a comment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from promptls.ide.completion import keys as parts
from promptls.ide.completion import members, tags, variables
from promptls.ide.completion import tags as filters
from promptls.ide.completion import tags as imports
from promptls.ide.completion import tags as names
from promptls.ide.completion import tags as suppressions
from promptls.ide.completion import values as paths
from promptls.ide.completion.items import Completion, Item, Request
from promptls.ide.completion.lists import made, placed
from promptls.ide.completion.place import TagPlace
from promptls.semantic.header import OPENING
from promptls.syntax.jinja.expected import Expected, expected_in_tag
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.positions import Span

_MEANT_BY: Final = {
    ".": ("attribute",),
    "|": ("filter",),
    "%": ("tag",),
    "/": ("path",),
    '"': ("key", "path", "value", "element"),
    "'": ("key", "path", "value", "element"),
}
"""What a typed character can ask for inside a tag."""
_QUOTED_VALUE: Final = re.compile(r"(?::|-)[ \t]+([\"'])")
_QUIET: Final = frozenset({"operator", "words"})


def in_tag(request: Request, at: TagPlace, trigger: str) -> Completion | None:
    """Return what may be written at a place of a tag.

    None if the typed character cannot have asked for it.
    """
    if at.tag.kind == "comment":
        return _in_comment(request, at)
    expected = expected_in_tag(at.tag.text, at.tag.inner_start, at.tag.inner_end, at.place)
    if expected is None or not _is_meant(expected, trigger, at.tag.text[: at.place]):
        return None
    word = expected.word.shifted(at.start)
    insert = Span(word.start, request.offset)
    typed = at.tag.text[expected.word.start : expected.word.end]
    request = replace(request, typed=typed)
    behind = at.tag.text[expected.word.end :].lstrip(" \t")
    items = _spaced(_continued(_tag_items(request, expected, at), behind), expected, at)
    return made(items, insert, word, expected.what, (expected.keyword, expected.template))


def _spaced(items: Iterable[Item], expected: Expected, at: TagPlace) -> Iterable[Item]:
    """Return the items, with spaces where they would stand right beside the tag's delimiters."""
    before = " " if expected.word.start == at.tag.inner_start else ""
    is_last = expected.word.end == at.tag.inner_end and not at.tag.unclosed
    if not before and not is_last:
        return items
    return [_with_spaces(item, before, " " if is_last else "") for item in items]


def _continued(items: Iterable[Item], behind: str) -> Iterable[Item]:
    """Return the items without the parentheses, or the `=`, that stand behind the word already."""
    if behind.startswith("("):
        called = ("()", "($1)$0")
        return [
            replace(item, text="", snippet="")
            if item.text.endswith(called) or item.snippet.endswith(called)
            else item
            for item in items
        ]
    if behind.startswith("=") and not behind.startswith("=="):
        return [replace(item, text=item.label[:-1]) if item.label.endswith("=") else item for item in items]
    return items


def _with_spaces(item: Item, before: str, behind: str) -> Item:
    text = f"{before}{item.plain_text}"
    snippet = f"{before}{item.snippet}{behind}" if item.snippet else ""
    return replace(item, text=text if text.endswith(" ") else f"{text}{behind}", snippet=snippet)


def _is_meant(expected: Expected, trigger: str, before: str) -> bool:
    """Return whether the typed character can have asked for this.

    Spaces ask only where something must follow.
    """
    if trigger == " ":
        return expected.what not in _QUIET and not before.endswith("  ")
    if trigger == "{":
        return before == "{{"
    return not trigger or expected.what in _MEANT_BY.get(trigger, ())


def _tag_items(request: Request, expected: Expected, at: TagPlace) -> Iterable[Item]:
    return _SOURCES[expected.what](request, expected, at)


def _imported(request: Request, expected: Expected, at: TagPlace) -> Iterable[Item]:
    statement = tag_tree(at.tag).statement
    taken = frozenset(each.name for each in statement.imported if each.name != request.typed)
    return imports.imported_items(request, expected.template, taken)


def _template_names(request: Request, expected: Expected, at: TagPlace) -> Iterable[Item]:
    """Templates by name, each in quotes; and what else may give a name."""
    for item in paths.template_paths(request, expected.keyword):
        quote = _quote(request, at)
        yield replace(item, text=f"{quote}{item.label}{quote}", filter_text=item.label)
    if expected.keyword != "from":
        for item in variables.expression_items(request, expected, at.tag, at.start):
            if item.kind == "variable":
                yield replace(item, rank=item.rank + 40)


def _quote(request: Request, at: TagPlace) -> str:
    """Return the quote that may stand in the tag: not that of the YAML value around it."""
    source = request.template.source
    before = source.slice(Span(source.line_span(source.place(at.start).line).start, at.start))
    value = _QUOTED_VALUE.search(before)
    return "'" if value is not None and value[1] == '"' else '"'


def _expressions(request: Request, expected: Expected, at: TagPlace) -> Iterable[Item]:
    """Yield variables and functions, behind the values that what they are compared with may have."""
    yield from members.compared_items(request, expected.target, _quote(request, at))
    yield from variables.expression_items(request, expected, at.tag, at.start)


_Source = Callable[[Request, Expected, TagPlace], Iterable[Item]]
_SOURCES: Final[dict[str, _Source]] = {
    "tag": lambda request, _, at: tags.tag_items(request, at.tag, at.start),
    "expression": _expressions,
    "operator": lambda _, expected, _at: filters.word_items(expected.words),
    "words": lambda _, expected, _at: filters.word_items(expected.words),
    "attribute": lambda request, expected, _: members.attribute_items(request, expected.target),
    "key": lambda request, expected, _: members.key_items(request, expected.target),
    "element": lambda request, expected, _: members.element_items(request, expected.target),
    "value": lambda request, expected, _: members.value_items(request, expected.target),
    "filter": lambda *_: filters.filter_items(),
    "test": lambda _, expected, _at: filters.test_items(expected.words),
    "path": lambda request, expected, _: paths.template_paths(request, expected.keyword),
    "template": _template_names,
    "imported": _imported,
    "block": lambda request, expected, _: names.block_items(request, expected.keyword),
    "target": lambda request, _, at: names.target_items(request, at.tag, at.start),
}
"""What each kind of place is filled from."""


def _in_comment(request: Request, at: TagPlace) -> Completion | None:
    word = suppressions.suppression_word(at.text, at.place)
    if word is not None:
        items: Iterable[Item] = suppressions.rule_items(at.text, at.place)
        return placed(request, items, word, at.start, "rule")
    inside = at.text[2 : at.place]
    if (word := suppressions.comment_word(inside, len(inside))) is not None:
        return placed(request, suppressions.comment_items(), word, at.start + 2, "comment")
    begins = OPENING.startswith(at.text[: at.place]) and at.tag.unclosed
    if begins and at.start == 0 and request.template.header is None:
        return placed(request, [parts.header_item()], Span(0, at.place), at.start, "piece")
    return None
