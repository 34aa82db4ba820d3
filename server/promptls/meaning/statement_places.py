"""The statement whose tag holds a place of a file."""

from __future__ import annotations

from promptls.meaning.template import Template
from promptls.syntax.jinja.nodes import Statement
from promptls.syntax.jinja.problems import tag_tree


def placed_statement_at(template: Template, offset: int) -> tuple[Statement, int] | None:
    """The statement of the tag around `offset`, and where the tag begins."""
    located = template.source.located(offset)
    for tag in located.chunk.tags:
        begin = located.start + tag.span.start
        if tag.kind == "statement" and begin <= offset < begin + len(tag.text):
            return tag_tree(tag).statement, begin
    return None


def statement_at(template: Template, offset: int) -> Statement | None:
    """The statement of the tag around `offset`."""
    found = placed_statement_at(template, offset)
    return found[0] if found is not None else None
