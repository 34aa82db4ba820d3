"""What Jinja refuses in a tag that its grammar lets pass, or refuses without saying where.

Some of it is refused only by its compiler, or by Python when it compiles what Jinja has made of the template.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Constant,
    Expression,
    Filter,
    Keyword,
    Name,
    Problem,
    Statement,
    Test,
    walk,
)
from promptls.syntax.jinja.statements import parse_tag

CONSTANTS: Final = frozenset({"true", "false", "none", "True", "False", "None"})


@lru_cache(maxsize=4096)
def refusal(text: str, inner_start: int, inner_end: int) -> Problem | None:
    """The first such error of a tag, with a span that counts from the tag's start, or None."""
    return next(_refusals(parse_tag(text, inner_start, inner_end).statement), None)


def _refusals(statement: Statement) -> Iterator[Problem]:
    yield from _in_parameters(statement)
    yield from _in_targets(statement)
    for each in statement.imported:
        if each.name.startswith("_"):
            yield Problem(each.span, f"`{each.name}` begins with `_`, and Jinja imports no such names")
    called = statement.expressions[-1:] if statement.keyword == "call" else ()
    for node in called:
        if isinstance(node, (Name, Attribute, Constant, Filter)):
            yield Problem(node.span, "a `call` block calls a macro: expected its `()`")
    tests = () if statement.loop_test is None else (statement.loop_test,)
    for expression in (*statement.expressions, *tests):
        for node in walk(expression):
            if isinstance(node, (Call, Filter, Test)):
                yield from refused_arguments(node.arguments)


def _in_targets(statement: Statement) -> Iterator[Problem]:
    for target in statement.targets:
        for node in walk(target):
            if isinstance(node, Attribute) and statement.keyword in {"for", "with"}:
                yield Problem(node.span, f"only a name can stand here: `{node.name}` is an attribute")
            if not isinstance(node, Name):
                continue
            if node.name in CONSTANTS:
                yield Problem(node.span, f"`{node.name}` is a constant: nothing can be assigned to it")
            elif node.name == "loop" and statement.keyword == "for":
                yield Problem(node.span, "`loop` is Jinja's own variable in a loop: choose another name")


def _in_parameters(statement: Statement) -> Iterator[Problem]:
    seen: set[str] = set()
    has_default = False
    for each in statement.parameters:
        if each.name in seen:
            yield Problem(each.span, f"the parameter `{each.name}` stands twice")
        if has_default and each.default is None:
            yield Problem(
                each.span, f"`{each.name}` needs a default, because it stands behind one that has one"
            )
        seen.add(each.name)
        has_default = has_default or each.default is not None


def refused_arguments(arguments: tuple[Expression, ...]) -> Iterator[Problem]:
    """The arguments that stand where none of their kind can, or are given twice by name."""
    seen: set[str] = set()
    for each in arguments:
        if not isinstance(each, Keyword):
            if seen:
                yield Problem(each.span, "an argument without a name cannot stand behind one with a name")
            continue
        if each.name in seen and each.name not in {"*", "**"}:
            yield Problem(each.span, f"the argument `{each.name}` is given twice")
        seen.add(each.name)
