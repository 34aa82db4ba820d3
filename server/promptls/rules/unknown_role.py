"""A role that no model knows.

## What it does

Reports a `role` that is not among the setting `roles`: written out, as a text that a printed expression
certainly gives (`{{ "usr" if is_first else "system" }}`), in the branches of an `if`, and where a variable
that a role prints is set to a text, or goes through a list of texts that is written out. A role that is null,
a list or a mapping is reported too.

## Why is this bad?

Prompt Poet passes any role on; the provider then refuses the message.

## Example

```yaml
- name: instructions
  role: sytem
        ^^^^^ unknown-role: no model knows the role `sytem`; did you mean `system`?
  content: You are helpful.
```

Use instead:

```yaml
- name: instructions
  role: system
  content: You are helpful.
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from promptls.meaning.parts import Part, chunk_items
from promptls.rules.aspects import names
from promptls.rules.macro_calls import statement_at
from promptls.rules.mapping_edits import colon_end
from promptls.rules.misspelt import misspelt
from promptls.rules.rule import PARTS_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import union, united
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Conditional,
    Constant,
    Expression,
    Filter,
    Name,
    Operation,
    Statement,
)
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.yaml.nodes import Entry, Scalar, key_text
from promptls.text.lines import line_end
from promptls.text.span import Span

_Words: TypeAlias = frozenset[tuple[str, str]]

_MOST_OFFERS: Final = 3
"""How many roles are offered for an empty one."""


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The roles of the chunk's parts that are not among the known ones."""
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            if key_text(entry) == "role":
                yield from _of_entry(chunk, part, entry, project)


def check(context: FileContext) -> Iterator[Finding]:
    """The texts that the variables in roles are set to, or go through, that are no known roles."""
    template = context.template
    if _named(template.source.root).isdisjoint(name for name, _ in _words(template.source.root)):
        return
    seen: set[Span] = set()
    for located, resolver in template.names.scopes_where(_named):
        places = {span.start + located.start for _, span in _printed_names(located.chunk)}
        for reading in tuple(resolver.readings(located.chunk, located.start)):
            binding = reading.binding
            if reading.span.start not in places or binding is None or binding.span in seen:
                continue
            seen.add(binding.span)
            statement = statement_at(template, binding.span)
            if statement is None:
                continue
            start = binding.span.start - statement.targets[0].span.start if statement.targets else 0
            for word, span in _bound_words(statement):
                if word not in context.project.roles:
                    message = f"`{binding.name}` is a role, and no model knows the role `{word}`"
                    yield misspelt(span.shifted(start), message, word, context.project.roles)


@kept
def _printed_names(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """The variables that the roles of a chunk are, with their places."""
    found = []
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            if key_text(entry) != "role" or not isinstance(entry.value, Scalar) or not entry.value.dynamic:
                continue
            span = _line_behind(chunk, entry.key.span.end)
            tag = next((tag for tag in chunk.tags if tag.span == span and tag.kind == "output"), None)
            expressions = tag_tree(tag).statement.expressions if tag else ()
            found += [
                (each.name, each.span.shifted(span.start)) for each in expressions if isinstance(each, Name)
            ]
    return tuple(found)


def _bound_words(statement: Statement) -> tuple[tuple[str, Span], ...]:
    """The texts that a tag gives its one variable, where they are written out."""
    if len(statement.targets) != 1 or len(statement.expressions) != 1:
        return ()
    value = statement.expressions[0]
    if statement.keyword == "set":
        return tuple(_literals(value, 0))
    if statement.keyword == "for" and isinstance(value, Collection) and value.kind != "dict":
        return tuple(word for item in value.items for word in _literals(item, 0))
    return ()


def _words_in(chunk: Chunk) -> _Words:
    statements = [tag_tree(tag).statement for tag in chunk.tags if tag.kind == "statement"]
    return frozenset(
        (target.name, word)
        for statement in statements
        for target in statement.targets
        if isinstance(target, Name)
        for word, _ in _bound_words(statement)
    )


def _all_words(pieces: list[_Words]) -> _Words:
    return _Words().union(*pieces)


_named: Final = united(lambda chunk: frozenset(name for name, _ in _printed_names(chunk)), union)
"""The variables that the roles of a piece are."""
_words: Final = united(_words_in, _all_words, of_tags=True)
"""The texts that the tags of a piece give variables, each with the variable's name."""


def _roles_by_name(context: FileContext) -> object:
    root = context.template.source.root
    return (_named(root), _words(root))


def _of_entry(chunk: Chunk, part: Part, entry: Entry, project: Project) -> Iterator[Finding]:
    value = entry.value
    if not isinstance(value, Scalar):
        yield Finding(value.span, "a role is a word, such as `user`; no model knows this one")
    elif value.dynamic:
        for word, span in _certain(chunk, _line_behind(chunk, entry.key.span.end)):
            if word not in project.roles:
                yield misspelt(span, f"no model knows the role `{word}`", word, project.roles)
    elif value.span.is_empty():
        if part.is_whole:
            place = Span(entry.key.span.end, colon_end(chunk.text, entry))
            fixes = tuple(
                Fix(f"Write `{role}`", (Edit(place, f": {role}"),)) for role in project.roles[:_MOST_OFFERS]
            )
            yield Finding(entry.key.span, "this role is empty: the model gets `null` for it", fixes)
    elif value.tag == "null" or value.text not in project.roles:
        shown = value.text.replace("\n", "\\n")
        yield misspelt(value.span, f"no model knows the role `{shown}`", value.text, project.roles)


def _line_behind(chunk: Chunk, key_end: int) -> Span:
    """What stands on a key's line behind its colon: a value with the tags around it, without its quotes."""
    colon = chunk.text.find(":", key_end) + 1
    text = chunk.text[colon : line_end(chunk.text, colon)]
    start = colon + len(text) - len(text.lstrip())
    end = max(start, colon + len(text.rstrip()))
    is_quoted = end - start > 1 and chunk.text[start] in "'\"" and chunk.text[end - 1] == chunk.text[start]
    return Span(start + 1, end - 1) if is_quoted else Span(start, end)


def _certain(chunk: Chunk, span: Span) -> Iterator[tuple[str, Span]]:
    """The words that a value with Jinja in it can be, as far as they are written out, with their places."""
    tags = [tag for tag in chunk.tags if span.start <= tag.span.start < span.end]
    if not tags:
        return
    if len(tags) == 1 and tags[0].kind == "output":
        if tags[0].span == span:
            for expression in tag_tree(tags[0]).statement.expressions:
                yield from _literals(expression, tags[0].span.start)
        return
    branching = [tag for tag in tags if tag.kind == "statement"]
    keywords = [tag_tree(tag).statement.keyword for tag in branching]
    is_one_block = keywords[:1] == ["if"] and keywords[-1] == "endif" and keywords.count("if") == 1
    is_whole = branching and span == Span(branching[0].span.start, branching[-1].span.end)
    if not is_one_block or not is_whole or not set(keywords) <= {"if", "elif", "else", "endif"}:
        return
    for before, behind in pairwise(branching):
        yield from _in_branch(chunk, before, behind, tags)


def _in_branch(chunk: Chunk, before: Tag, behind: Tag, tags: list[Tag]) -> Iterator[tuple[str, Span]]:
    """The word between two tags, where there is one and nothing else."""
    if any(before.span.end <= tag.span.start < behind.span.start for tag in tags):
        return
    text = chunk.text[before.span.end : behind.span.start]
    word = text.strip()
    if word.isidentifier():
        start = before.span.end + len(text) - len(text.lstrip())
        yield word, Span(start, start + len(word))


def _literals(node: Expression, start: int) -> Iterator[tuple[str, Span]]:
    """The texts that an expression can give where they are written out, without their quotes."""
    if isinstance(node, Conditional):
        yield from _literals(node.then, start)
        if node.otherwise is not None:
            yield from _literals(node.otherwise, start)
    elif isinstance(node, Operation) and set(node.operators) == {"or"}:
        yield from _literals(node.operands[-1], start)
    elif isinstance(node, Filter) and node.name in {"default", "d"}:
        for argument in node.arguments[:1]:
            yield from _literals(argument, start)
    elif isinstance(node, Call) and _is_cycle(node.function):
        for argument in node.arguments:
            yield from _literals(argument, start)
    elif isinstance(node, Constant) and isinstance(node.value, str):
        yield node.value, Span(node.span.start + 1, node.span.end - 1).shifted(start)


def _is_cycle(function: Expression) -> bool:
    """Whether a call is `loop.cycle(…)`, which gives its arguments in turn."""
    return (
        isinstance(function, Attribute)
        and function.name == "cycle"
        and isinstance(function.target, Name)
        and function.target.name == "loop"
    )


RULE = Rule(
    name="unknown-role",
    summary="a role that no model knows",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
    looks_at=(_roles_by_name, names),
    check_chunk=check_chunk,
    reads_prose=False,
)
