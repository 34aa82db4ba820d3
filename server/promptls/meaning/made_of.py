"""Which names of a file are made of its inputs, because they are set from them."""

from __future__ import annotations

from promptls.meaning.template import Template
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.nodes import Call, Expression, Filter, Name, walk
from promptls.syntax.jinja.problems import tag_tree


def names_made_of(template: Template, inputs: frozenset[str]) -> dict[str, str]:
    """The names whose values are made of inputs, each with its input: also what is set from them."""
    found = dict(zip(sorted(inputs), sorted(inputs), strict=True))
    steps = [step for chunk in template.source.chunks for step in _set_from(chunk)]
    for _ in range(len(steps)):
        new = {target: found[name] for target, name in steps if name in found and target not in found}
        if not new:
            break
        found.update(new)
    return found


@kept
def _set_from(chunk: Chunk) -> tuple[tuple[str, str], ...]:
    """The names that the chunk sets, each with a name that its value is made of."""
    found = []
    for tag in chunk.tags:
        statement = tag_tree(tag).statement if tag.kind == "statement" else None
        if statement is None or statement.keyword != "set":
            continue
        names = named_in(statement.expressions)
        found += [
            (target.name, name) for target in statement.targets if isinstance(target, Name) for name in names
        ]
    return tuple(found)


def named_in(expressions: tuple[Expression, ...]) -> tuple[str, ...]:
    """The names in expressions, without those that are only called and those that are only counted."""
    found: list[str] = []
    for expression in expressions:
        called = {id(node.function) for node in walk(expression) if isinstance(node, Call)}
        if any(isinstance(node, Filter) and node.name in {"length", "count"} for node in walk(expression)):
            continue
        found += [node.name for node in walk(expression) if isinstance(node, Name) and id(node) not in called]
    return tuple(found)
