"""What the value of a part's key can be where Jinja prints it: the texts that are written out in its tags.

They stand in a condition (`{{ "user" if a else "system" }}`), in the branches of an `if` around words, as a
default, or in a variable that the file sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from promptls.meaning.parts import chunk_items
from promptls.meaning.statement_places import statement_at
from promptls.rules.facts.value_flow import choices
from promptls.rules.rule import FileContext
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import union, united
from promptls.syntax.jinja.nodes import Collection, Conditional, Constant, Expression, Name, Statement
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.yaml.nodes import Scalar, key_text
from promptls.text.lines import line_end
from promptls.text.span import Span

_Words: TypeAlias = frozenset[tuple[str, str]]
_PLAIN: Final = re.compile(r"[\w.+-]*")
"""A word without quotes, comments or whatever else YAML would read in its own way."""


class Printed(NamedTuple):
    """A text that a value can be, at the place where it is written out, without its quotes.

    Where nothing is printed because a condition is false, `text` is empty, and `condition` is that one.
    """

    text: str
    span: Span
    condition: str = ""


def printed_values(chunk: Chunk, key: Span, value: Scalar) -> Iterator[Printed]:
    """The texts that the value of a key with Jinja in it, or around it, can be as far as they are written out."""
    span = place_of_value(chunk, key, value)
    tags = [tag for tag in chunk.tags if span.start <= tag.span.start < span.end]
    if not tags:
        return
    if len(tags) == 1 and tags[0].kind == "output":
        if tags[0].span == span:
            for expression in tag_tree(tags[0]).statement.expressions:
                yield from _literals(expression, tags[0])
        return
    branching = [tag for tag in tags if tag.kind == "statement"]
    keywords = [tag_tree(tag).statement.keyword for tag in branching]
    is_one_block = keywords[:1] == ["if"] and keywords[-1] == "endif" and keywords.count("if") == 1
    is_whole = branching and span == Span(branching[0].span.start, branching[-1].span.end)
    if not is_one_block or not is_whole or not set(keywords) <= {"if", "elif", "else", "endif"}:
        return
    for before, behind in pairwise(branching):
        yield from _in_branch(chunk, before, behind, tags)
    if len(branching) == len(["if", "endif"]):
        test = tag_tree(branching[0]).statement.expressions[0].span.shifted(branching[0].span.start)
        yield Printed("", span, chunk.text[test.start : test.end])


class BoundValues:
    """The texts that the variables under one key of parts are set to, or go through in a loop."""

    def __init__(self, key: str) -> None:
        self._key: Final = key
        self._named: Final = united(lambda chunk: frozenset(name for name, _ in self._names_in(chunk)), union)

    def aspect(self, context: FileContext) -> object:
        """The variables under the key, and the texts that variables get, as an aspect of the file."""
        root = context.template.source.root
        return (self._named(root), _each_word(root))

    def values(self, context: FileContext) -> Iterator[tuple[str, Printed]]:
        """The texts that those variables get, each once, with the variable's name; spans count from the file's start."""
        template = context.template
        if self._named(template.source.root).isdisjoint(name for name, _ in _words(template.source.root)):
            return
        seen: set[Span] = set()
        for located, resolver in template.names.scopes_where(self._named):
            places = {span.start + located.start for _, span in self._names_in(located.chunk)}
            for reading in tuple(resolver.readings(located.chunk, located.start)):
                binding = reading.binding
                if reading.span.start not in places or binding is None or binding.span in seen:
                    continue
                seen.add(binding.span)
                statement = statement_at(template, binding.span.start)
                if statement is None:
                    continue
                start = binding.span.start - statement.targets[0].span.start if statement.targets else 0
                for printed in _bound_words(statement):
                    yield binding.name, printed._replace(span=printed.span.shifted(start))

    def _names_in(self, chunk: Chunk) -> tuple[tuple[str, Span], ...]:
        """The variables that the values in a chunk are, with their places."""
        known = chunk.kept.get(self)
        if known is None:
            known = chunk.kept[self] = tuple(self._find_names(chunk))
        return known  # type: ignore[return-value]  # put there above

    def _find_names(self, chunk: Chunk) -> Iterator[tuple[str, Span]]:
        for part in chunk_items(chunk).parts:
            for entry in part.entries:
                value = entry.value
                if key_text(entry) != self._key or not isinstance(value, Scalar) or not value.dynamic:
                    continue
                span = place_of_value(chunk, entry.key.span, value)
                tag = next((tag for tag in chunk.tags if tag.span == span and tag.kind == "output"), None)
                for each in tag_tree(tag).statement.expressions if tag else ():
                    if isinstance(each, Name):
                        yield each.name, each.span.shifted(span.start)


def place_of_value(chunk: Chunk, key: Span, value: Scalar) -> Span:
    """Where a value stands with the tags around it, without its quotes: one tag, or the rest of the key's line."""
    if any(tag.span == value.span for tag in chunk.tags):
        return value.span
    colon = chunk.text.find(":", key.end) + 1
    text = chunk.text[colon : line_end(chunk.text, colon)]
    start = colon + len(text) - len(text.lstrip())
    end = max(start, colon + len(text.rstrip()))
    is_quoted = end - start > 1 and chunk.text[start] in "'\"" and chunk.text[end - 1] == chunk.text[start]
    return Span(start + 1, end - 1) if is_quoted else Span(start, end)


def _bound_words(statement: Statement) -> tuple[Printed, ...]:
    """The texts that a tag gives its one variable, where they are written out."""
    if len(statement.targets) != 1 or len(statement.expressions) != 1:
        return ()
    value = statement.expressions[0]
    if statement.keyword == "set":
        return tuple(_literals(value))
    if statement.keyword == "for" and isinstance(value, Collection) and value.kind != "dict":
        return tuple(word for item in value.items for word in _literals(item))
    return ()


@kept
def _words_in(chunk: Chunk) -> tuple[tuple[str, str], ...]:
    statements = [tag_tree(tag).statement for tag in chunk.tags if tag.kind == "statement"]
    return tuple(
        (target.name, printed.text)
        for statement in statements
        for target in statement.targets
        if isinstance(target, Name)
        for printed in _bound_words(statement)
    )


_each_word: Final = united(_words_in, tuple[object, ...], of_tags=True)
"""The texts that the tags of a piece give variables, each as often as they do, with the variable's name."""
_words: Final = united(
    lambda chunk: _Words(_words_in(chunk)), lambda pieces: _Words().union(*pieces), of_tags=True
)
"""The same, each once."""


def _in_branch(chunk: Chunk, before: Tag, behind: Tag, tags: list[Tag]) -> Iterator[Printed]:
    """The word between two tags, where there is one and nothing else."""
    inside = [tag for tag in tags if before.span.end <= tag.span.start < behind.span.start]
    text = chunk.text[before.span.end : behind.span.start]
    word = text.strip()
    start = before.span.end + len(text) - len(text.lstrip())
    span = Span(start, start + len(word))
    if not inside:
        if _PLAIN.fullmatch(word):
            yield Printed(word, span)
    elif len(inside) == 1 and inside[0].kind == "output" and inside[0].span == span:
        for expression in tag_tree(inside[0]).statement.expressions:
            yield from _literals(expression, inside[0])


def _literals(node: Expression, tag: Tag | None = None) -> Iterator[Printed]:
    """The texts that an expression can give where they are written out; of a tag, placed in its chunk.

    Only in a tag is it told where nothing is printed.
    """
    start = tag.span.start if tag is not None else 0
    match node:
        case Constant(value=str() as text):
            yield Printed(text, Span(node.span.start + 1, node.span.end - 1).shifted(start))
        case Constant(value=value):
            yield Printed(str(value), node.span.shifted(start))
        case _:
            for choice in choices(node):
                yield from _literals(choice, tag)
    if tag is not None and isinstance(node, Conditional) and node.otherwise is None:
        yield Printed("", node.span.shifted(start), tag.text[node.test.span.start : node.test.span.end])
