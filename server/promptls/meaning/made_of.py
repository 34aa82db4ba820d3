"""Which names of a file are made of its inputs, because they are set from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from promptls.meaning.template import Template
from promptls.syntax.jinja.nodes import Call, Expression, Filter, Name, Statement, walk
from promptls.syntax.jinja.problems import tag_tree


def names_made_of(template: Template, inputs: frozenset[str]) -> dict[str, str]:
    """The names whose values are made of inputs, each with its input: also what is set from them."""
    found = dict(zip(sorted(inputs), sorted(inputs), strict=True))
    steps = list(_steps(template))
    for _ in range(len(steps)):
        new = {target: found[name] for target, name in steps if name in found and target not in found}
        if not new:
            break
        found.update(new)
    return found


def _steps(template: Template) -> Iterator[tuple[str, str]]:
    """The names that are set, and the macros as `name()`, each with a name that it is made of."""
    around: list[_Holder | None] = []
    for tag in (tag for chunk in template.source.chunks for tag in chunk.tags):
        if tag.kind not in {"statement", "output"}:
            continue
        statement = tag_tree(tag).statement
        names = (*named_in(statement.expressions), *called_in(statement.expressions))
        holder = next((each for each in reversed(around) if each is not None), None)
        if statement.keyword in {"set", "with"}:
            yield from _set_by(statement)
        elif statement.keyword != "macro" and holder is not None:
            yield from ((target, name) for target in holder.names for name in names if name not in holder.own)
        if statement.keyword.startswith("end"):
            del around[-1:]
        elif statement.opens_block:
            around.append(_holder(statement))


class _Holder(NamedTuple):
    """A macro, or a block whose text is set: the names that stand for its text, and its own parameters."""

    names: tuple[str, ...]
    own: frozenset[str] = frozenset()


def _holder(statement: Statement) -> _Holder | None:
    if statement.keyword == "macro":
        return _Holder((f"{statement.name}()",), frozenset(each.name for each in statement.parameters))
    if statement.keyword == "set":
        return _Holder(tuple(target.name for target in statement.targets if isinstance(target, Name)))
    return None


def _set_by(statement: Statement) -> Iterator[tuple[str, str]]:
    targets, expressions = statement.targets, statement.expressions
    is_paired = statement.keyword == "with" and len(targets) == len(expressions)
    for index, target in enumerate(targets):
        values = expressions[index : index + 1] if is_paired else expressions
        if isinstance(target, Name):
            yield from ((target.name, name) for name in (*named_in(values), *called_in(values)))


def called_in(expressions: tuple[Expression, ...]) -> tuple[str, ...]:
    """The functions and macros that expressions call by their names, as `name()`."""
    return tuple(
        f"{node.function.name}()"
        for expression in expressions
        for node in walk(expression)
        if isinstance(node, Call) and isinstance(node.function, Name)
    )


def named_in(expressions: tuple[Expression, ...]) -> tuple[str, ...]:
    """The names in expressions, without those that are only called and those that are only counted."""
    found: list[str] = []
    for expression in expressions:
        called = {id(node.function) for node in walk(expression) if isinstance(node, Call)}
        if any(isinstance(node, Filter) and node.name in {"length", "count"} for node in walk(expression)):
            continue
        found += [node.name for node in walk(expression) if isinstance(node, Name) and id(node) not in called]
    return tuple(found)
