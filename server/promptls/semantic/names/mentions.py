"""Names in tags that are not variables: other templates, attributes, keywords, blocks and imports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from promptls.semantic.types.shape import Need
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja import nodes
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.source import Source
from promptls.text.positions import NOWHERE, Span

MentionKind = Literal["attribute", "argument", "imported", "module", "block"]


class Mention(NamedTuple):
    """A name at `span`, counted from the chunk's start.

    `owner` is the span of the name that the mention belongs to: the variable of an attribute, the
    callee of a keyword argument, the template that a name is imported from or that a `module` is an
    alias of.
    """

    kind: MentionKind
    name: str
    span: Span
    owner: Span = NOWHERE

    def shifted(self, by: int) -> Mention:
        """Return the same mention in a text that begins `by` characters earlier."""
        return self._replace(span=self.span.shifted(by), owner=self.owner.shifted(by))


@chunk_fact
def chunk_mentions(chunk: Chunk) -> tuple[Mention, ...]:
    """Return the mentions in the chunk's tags, in order."""
    found = [
        mention.shifted(tag.span.start)
        for tag in chunk.tags
        if tag.kind in {"output", "statement"}
        for mention in _in_statement(tag_tree(tag).statement)
    ]
    return tuple(sorted(found, key=lambda mention: mention.span))


_mentioned: Final = summary(lambda chunk: frozenset(mention.name for mention in chunk_mentions(chunk)), union)


def mentions_of(source: Source, name: str) -> Iterator[Mention]:
    """Yield the mentions of a name in a file, in order; spans count from the file's start."""
    for located in source.root.where(lambda piece: name in _mentioned(piece)):
        for mention in chunk_mentions(located.chunk):
            if mention.name == name:
                yield mention.shifted(located.start)


def mention_at(source: Source, offset: int) -> Mention | None:
    """Return the mention that contains `offset` or ends there."""
    located = source.located(offset)
    for mention in chunk_mentions(located.chunk):
        if mention.span.touches(offset - located.start):
            return mention.shifted(located.start)
    return None


def _in_statement(statement: nodes.Statement) -> Iterator[Mention]:
    if statement.keyword in {"block", "endblock"} and statement.name:
        yield Mention("block", statement.name, statement.name_span)
    if statement.template is not None:
        for imported in statement.imported:
            yield Mention("imported", imported.name, imported.span, statement.template.span)
        if statement.keyword == "import" and statement.name:
            yield Mention("module", statement.name, statement.name_span, statement.template.span)
    for target in statement.targets:
        if isinstance(target, nodes.Attribute):
            yield from _in_node(target)
    for expression in statement.read:
        for node in nodes.walk(expression):
            yield from _in_node(node)


def _in_node(node: nodes.Expression) -> Iterator[Mention]:
    if isinstance(node, nodes.Attribute) and isinstance(node.target, nodes.Name) and node.name:
        if node.target.name == "self":
            yield Mention("block", node.name, node.name_span)
        else:
            yield Mention("attribute", node.name, node.name_span, node.target.span)
    elif isinstance(node, nodes.Call):
        called = _called(node.function)
        for argument in node.arguments:
            if (
                called is not None
                and isinstance(argument, nodes.Keyword)
                and not argument.name.startswith("*")
            ):
                start = argument.span.start
                yield Mention("argument", argument.name, Span(start, start + len(argument.name)), called)


def _called(function: nodes.Expression) -> Span | None:
    if isinstance(function, nodes.Name):
        return function.span
    return function.name_span if isinstance(function, nodes.Attribute) else None


class TemplateReference(NamedTuple):
    """A name of a different template; `name` is None if it is an expression.

    `alternatives` are the names of a list, the first of which that exists is used. The span
    counts from the chunk's start and includes the quotes.
    """

    keyword: str
    name: str | None
    span: Span
    alternatives: tuple[str, ...] = ()
    ignore_missing: bool = False
    with_context: bool = False
    is_unfinished: bool = False
    """Whether the tag is incomplete, so that its template is not known yet."""
    is_choice: bool = False
    """Whether the name is one of several that a condition in the tag chooses from: `"a" if b else "c"`."""
    where: frozenset[Need] = frozenset()
    """The known conditions for a name that the tag concatenates."""


@chunk_fact
def template_references(chunk: Chunk) -> tuple[TemplateReference, ...]:
    """Return the templates that the chunk's tags name, in order.

    A conditional expression yields a reference for each name.
    """
    return tuple(reference for tag in chunk.tags if tag.kind == "statement" for reference in _references(tag))


def _references(tag: Tag) -> Iterator[TemplateReference]:
    statement = tag_tree(tag).statement
    template = statement.template
    if template is None:
        return
    for named in sorted(choices(template), key=lambda each: each.span):
        name: str | None = None
        alternatives: tuple[str, ...] = ()
        if isinstance(named, nodes.Constant) and isinstance(named.value, str):
            name = named.value
        elif isinstance(named, nodes.Collection):
            texts = [item.value for item in named.items if isinstance(item, nodes.Constant)]
            if len(texts) == len(named.items) and all(isinstance(text, str) for text in texts):
                alternatives = tuple(texts)
                name = texts[0] if texts else None
        yield TemplateReference(
            statement.keyword,
            name,
            named.span.shifted(tag.span.start),
            alternatives,
            statement.ignore_missing,
            statement.with_context,
            is_unfinished=bool(tag.unclosed) or isinstance(named, nodes.Missing),
            is_choice=named is not template,
        )


def choices(expression: nodes.Expression) -> Iterator[nodes.Expression]:
    """Yield the possible values of an expression, by its conditions and defaults.

    For any other expression, the expression itself.
    """
    match expression:
        case nodes.Conditional(then=then, otherwise=otherwise):
            yield from choices(then)
            if otherwise is not None:
                yield from choices(otherwise)
        case nodes.Filter(name="default" | "d", target=target, arguments=(nodes.Constant() as given, *_)) if (
            target
        ):
            yield from choices(target)
            yield given
        case nodes.Operation(operators=("or", *_), operands=operands):
            for operand in operands:
                yield from choices(operand)
        case _:
            yield expression
