"""Find the names and open blocks at a position in a file."""

from __future__ import annotations

from typing import NamedTuple

from promptls.semantic.names.scopes import Binding, place_binding
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import loose_tags, pass_tag
from promptls.syntax.jinja.nodes import Statement, names_in
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag


class Visible(NamedTuple):
    """The names that the file binds at a position, and the enclosing blocks, outermost first.

    `due` is the keyword of the innermost block that is never closed, or empty; `scopes` is how
    many scopes further out each name is bound, 0 for the innermost.
    """

    bindings: dict[str, Binding]
    scopes: dict[str, int]
    blocks: tuple[str, ...]
    due: str


def visible_at(template: Template, offset: int) -> Visible:
    """Return what the file binds at `offset`, by the tags before the one that contains `offset`."""
    located = template.source.located(offset)
    inside = offset - located.start
    for tag in located.chunk.tags:
        if tag.span.start < inside and (inside <= tag.span.end or _is_continued(located.chunk, tag, inside)):
            inside = tag.span.start
            break
    resolver = template.names.scopes_before(located.start + inside)
    bindings: dict[str, Binding] = {}
    depths: dict[str, int] = {}
    for depth, scope in enumerate(resolver.visible_scopes()):
        for name, binding in scope.bound.items():
            if name not in bindings:
                bindings[name], depths[name] = place_binding(binding), depth
    return Visible(
        bindings, depths, tuple(resolver.blocks), _unclosed_keyword(template, located.start + inside)
    )


def _is_continued(chunk: Chunk, tag: Tag, inside: int) -> bool:
    """Return whether the position is separated from an unclosed tag only by white space."""
    return bool(tag.unclosed) and not chunk.text[tag.span.end : inside].strip(" \t")


def _unclosed_keyword(template: Template, offset: int) -> str:
    """Return the keyword of the innermost block before `offset` that is never closed."""
    stack: list[str] = []
    for tag in loose_tags(template.source.root):
        if tag.span.start >= offset:
            break
        pass_tag(stack, tag)
    return stack[-1] if stack else ""


def own_names(tag: Tag, start: int, place: int) -> dict[str, Binding]:
    """Return the names that a tag binds at a position inside itself; `start` is the tag's offset in the file.

    A loop's condition sees the loop's variables, and a default sees the preceding parameters.
    """
    if tag.kind != "statement":
        return {}
    statement = tag_tree(tag).statement
    found: dict[str, Binding] = {}
    if statement.keyword == "for" and _is_in_condition(statement, place):
        for name in names_in(statement.targets):
            found[name.name] = Binding(name.name, name.span.shifted(start), "for")
    for parameter in statement.parameters:
        if parameter.span.end < place and (parameter.default is None or parameter.default.span.end < place):
            found[parameter.name] = Binding(parameter.name, parameter.span.shifted(start), "parameter")
    return found


def _is_in_condition(statement: Statement, place: int) -> bool:
    return (
        bool(statement.expressions)
        and place > statement.expressions[0].span.end + 2
        and (statement.loop_test is not None)
    )
