"""What is wrong with a header, at its place in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import yaml

from promptls.meaning.setting_words import is_of_project, names_at, unknown_words, wrong_words
from promptls.settings.header import Header
from promptls.settings.valid_part import Invalid
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.text.lines import line_end
from promptls.text.nearest import nearest
from promptls.text.span import Span

_NEEDS_LIST: Final = "Input should be a list: `["
_LISTS: Final[dict[tuple[Any, ...], frozenset[str]]] = {
    (): frozenset({"input_keys"}),
    ("experiments",): frozenset({"models", "metrics"}),
}
"""The keys whose values are lists of texts, by every other key of the way to them."""


@dataclass(frozen=True, slots=True)
class HeaderProblem:
    """What is wrong with a header: `kind` is `syntax`, `unknown-key` or `invalid-value`.

    `meant` is the key that an unknown one can be changed to, if it is like one that is not there yet.
    `listed` is the place of a single value that has to stand in a list.
    """

    kind: str
    span: Span
    message: str
    meant: str | None = None
    listed: Span | None = None


def unreadable(error: Exception, text: str, whole: Span, base: int) -> HeaderProblem:
    """The problem of a header whose YAML is right, and makes no data; its text begins at `base`."""
    said = (str(error).splitlines() or ["not readable"])[0]
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if mark is None:
        return HeaderProblem("invalid-value", whole, said)
    start = text.rfind("{{", 0, mark.index + 2)
    if start < 0 or "\n" in text[start : mark.index]:
        start = mark.index
        return HeaderProblem(
            "invalid-value",
            Span(base + start, base + max(line_end(text, start), start + 1)),
            str(getattr(error, "problem", None) or said),
        )
    closing = text.find("}}", start)
    place = Span(base + start, base + (closing + 2 if closing >= 0 else line_end(text, start)))
    return HeaderProblem("invalid-value", place, "Jinja does not run in the header: write the value itself")


def problem_of(tree: Mapping, found: Invalid, said: str | None) -> HeaderProblem:
    """The problem of what is not valid in a header, at its place; `said` tells it in other words."""
    path = found.path
    if found.is_unknown_key:
        key = str(path[-1])
        owner = way_to(tree, path[:-1])
        entry = owner.entry(key) if isinstance(owner, Mapping) else None
        shown_key = ".".join(map(str, path))
        message = f"unknown header key `{shown_key}`{unknown_words(found, Header)}"
        meant = nearest(key, names_at(Header, path[:-1]))
        if is_of_project(key, Header):
            meant = None
        is_there = isinstance(owner, Mapping) and meant is not None and owner.entry(meant) is not None
        span = entry.key.span if entry else tree.span
        value = entry.value if entry else None
        is_single = isinstance(value, Scalar) and bool(value.text) and meant in _LISTS.get(path[:-1][::2], ())
        listed = value.span if value is not None and is_single else None
        return HeaderProblem("unknown-key", span, message, None if is_there else meant, listed)
    node, shown = way_to(tree, path), path
    while node is None and shown:
        shown = shown[:-1]
        node = way_to(tree, shown)
    key = ".".join(map(str, path))
    message = said or wrong_words(found, key, f"`{key}`")
    is_value = isinstance(node, Scalar) and not node.span.is_empty() and said is None
    if node is None or not shown or is_value:
        span = node.span if node else tree.span
        is_listed = node is not None and shown == path and found.message.startswith(_NEEDS_LIST)
        return HeaderProblem("invalid-value", span, message, listed=span if is_listed else None)
    owner = way_to(tree, shown[:-1])
    entry = owner.entry(str(shown[-1])) if isinstance(owner, Mapping) else None
    return HeaderProblem("invalid-value", entry.key.span if entry else node.span, message)


def way_to(node: Node | None, path: tuple[Any, ...]) -> Node | None:
    """The node that keys and numbers of items lead to; None where they lead to none."""
    for part in path:
        if isinstance(node, Mapping):
            node = node.merged(str(part))
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            return None
    return node
