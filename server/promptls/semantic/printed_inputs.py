"""Find inputs that are printed into a content unescaped, so that their text becomes text of the YAML."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from promptls.semantic.flow.analysis import FlowAnalysis
from promptls.semantic.flow.paths import SAME_LIST, Each, Path, Step
from promptls.semantic.flow.read_keys import key_path_of
from promptls.semantic.flow.shapes import resolved_uses
from promptls.semantic.names.scopes import GLOBALS, INJECTED, Binding, Resolver
from promptls.semantic.parts import block_indent, chunk_contents, chunk_items, tags_in
from promptls.semantic.template import Template
from promptls.semantic.types.shape import Shape, element_of
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Conditional,
    Constant,
    Expression,
    Filter,
    Item,
    Keyword,
    Name,
    Operation,
    Slice,
    Statement,
)
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.nodes import Scalar
from promptls.text.positions import Span, leading_spaces, stripped_span

_PASSING: Final = frozenset(
    {
        *("capitalize", "center", "d", "default", "e", "escape", "first", "forceescape", "last"),
        *("lower", "max", "min", "random", "replace", "reverse", "safe", "string", "title"),
        *("trim", "truncate", "upper", "wordwrap"),
    }
)
"""Filters whose result has the line breaks of their argument."""
_LIST_FILTERS: Final = SAME_LIST | {"batch", "groupby", "map", "slice"}
"""Filters that return a list with elements of another list."""
_PASSING_METHODS: Final = frozenset(
    {"capitalize", "get", "lower", "lstrip", "pop", "replace", "rstrip", "strip", "title", "upper"}
)
_DEFAULT_WIDTH: Final = 4
"""The width of Jinja's filter `indent` without an argument."""
_LINE_BREAKS: Final = frozenset({"\n", "\\n", "\r\n"})


def _unescaped_values(
    node: Expression, indent: int | None, *, adds_breaks: bool = False
) -> Iterator[tuple[Expression, bool]]:
    """Yield the values in an expression whose line breaks are printed unchanged.

    With each, whether the expression itself adds line breaks.
    """
    if _is_value(node):
        yield node, adds_breaks
        return
    adds_breaks = adds_breaks or _adds_breaks(node, indent or 0)
    if adds_breaks and isinstance(node, Filter) and node.name in _LIST_FILTERS and node.target is not None:
        yield from _unescaped_values(node.target, indent, adds_breaks=True)
        return
    for inner in _passed_on(node, indent):
        yield from _unescaped_values(inner, indent, adds_breaks=adds_breaks)


def _adds_breaks(node: Expression, indent: int) -> bool:
    """Return whether an expression makes lines of its values with less indentation than the block."""
    match node:
        case Filter(name="indent"):
            return _is_too_shallow(node, indent)
        case Filter(name="wordwrap", arguments=arguments):
            return len(arguments) <= 1 and not any(isinstance(each, Keyword) for each in arguments)
        case Filter(name="tojson", arguments=arguments):
            return bool(arguments)
        case Filter(name="join", arguments=(Constant(value=str() as between), *_)):
            pass
        case Operation(operators=("~" | "+",), operands=(Constant(value=str() as between), _)):
            pass
        case Operation(
            operators=("~" | "+",), operands=(Operation(operands=(_, Constant(value=str() as between))), _)
        ):
            pass
        case _:
            return False
    _, found, last = between.rpartition("\n")
    return bool(found) and leading_spaces(last) < max(indent, 1)


def _is_value(node: Expression) -> bool:
    match node:
        case Name() | Attribute():
            return True
        case Item(key=key):
            return not isinstance(key, Slice)
        case Call(function=Attribute(name="get"), arguments=(Constant(), *_)):
            return True
        case _:
            return False


def _passed_on(node: Expression, indent: int | None) -> tuple[Expression, ...]:
    """Return the nested expressions whose line breaks are printed by an expression."""
    match node:
        case Item(target=target):
            return (target,)
        case Filter(target=target) if target is not None:
            return _from_filter(node, target, indent)
        case Call(function=Attribute(target=target, name=name), arguments=arguments):
            breaks = name == "replace" and _replaces_breaks(arguments)
            return (target,) if name in _PASSING_METHODS and not breaks else ()
        case Conditional(then=then, otherwise=otherwise):
            return (then,) if otherwise is None else (then, otherwise)
        case Operation(operators=operators, operands=operands) if set(operators) <= {"~", "+", "and", "or"}:
            return operands
        case _:
            return ()


def _from_filter(node: Filter, target: Expression, indent: int | None) -> tuple[Expression, ...]:
    if node.name == "replace" and _replaces_breaks(node.arguments):
        return ()
    if node.name == "indent":
        return (target,) if _is_too_shallow(node, indent) else ()
    if node.name in {"default", "d"}:
        return (target, *(each for each in node.arguments if not isinstance(each, Keyword)))
    is_being_typed = not node.name  # results for the value must not change while its filter is typed
    is_passing = node.name in _PASSING or node.name == "join" or (node.name == "tojson" and node.arguments)
    return (target,) if is_being_typed or is_passing else ()


def _replaces_breaks(arguments: tuple[Expression, ...]) -> bool:
    old = arguments[0] if arguments else None
    return isinstance(old, Constant) and old.value in _LINE_BREAKS


def _is_too_shallow(node: Filter, indent: int | None) -> bool:
    """Return whether `indent(n)` certainly indents later lines of the value less than the block."""
    if indent is None:
        return False
    for argument in node.arguments:
        if isinstance(argument, Keyword) and argument.name == "width":
            argument = argument.value  # noqa: PLW2901 - the argument itself, whether positional or keyword
        elif isinstance(argument, Keyword):
            continue
        width = argument.value if isinstance(argument, Constant) else None
        return isinstance(width, int) and not isinstance(width, bool) and width < indent
    return indent > _DEFAULT_WIDTH


@dataclass(frozen=True, slots=True)
class PrintedInput:
    """An input, or a value inside one, that is printed without being escaped.

    `name` is the input's name and `text` is the value as written. `expression` is the span of everything
    that the tag prints, and `content` that of the content's value. Spans count from the start of the chunk.
    `style` is the content's YAML style, `key` the span of its key, and `indent` the indentation of its lines
    if it is a block. `keys` are the attributes and keys that lead to the value. `adds_breaks` is
    True if the tag itself adds line breaks to the value, as a `join` can.
    """

    name: str
    text: str
    span: Span
    expression: Span
    content: Span
    style: str
    key: Span
    indent: int | None
    keys: tuple[str, ...] = ()
    adds_breaks: bool = False

    @property
    def is_in_block(self) -> bool:
        """Whether the content is a block scalar."""
        return self.style in {"|", ">"}


@chunk_fact
def printed_inputs(chunk: Chunk) -> tuple[PrintedInput, ...]:
    """Return the inputs that the chunk's contents print unchanged, one per printed value, in order.

    A name counts as an input if the chunk itself does not bind it, or if a loop of the chunk binds it to the
    elements of one.
    """
    return tuple(_printed(chunk))


def no_inputs(template: Template) -> frozenset[str]:
    """Return the read names that are not inputs: bound in the file, or excluded by its declarations."""
    names = template.names
    made = names.bound_otherwise("for", "parameter")
    if not template.declarations.declares_inputs:
        return made
    declared = {key.name for key in template.declarations.inputs}
    return made | (names.read_names - declared - names.bound_names("for"))


def origin_of(value: PrintedInput, analysis: FlowAnalysis) -> tuple[str, tuple[str, ...]]:
    """Return the input that a value comes from, with the keys that lead to the value.

    Follows loops and variables that are set outside of the chunk: `analysis` are the blocks around the value.
    The name is empty if the value does not come from an input.
    """
    path = (Step(value.name), *(Step(key or Each.ELEMENT) for key in value.keys))
    root, *keys = key_path_of(analysis.resolved(path)) or ("",)
    return str(root), tuple("" if isinstance(key, Each) else key for key in keys)


def schema_at(schema: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a value inside an input; empty if there is none."""
    for key in keys:
        properties = schema.get("properties")
        inside = properties.get(key) if isinstance(properties, dict) else None
        below = inside if key else schema.get("items")
        if not isinstance(below, dict):
            return {}
        schema = below
    return schema


def shape_kind(shape: Shape | None, keys: tuple[str, ...]) -> str:
    """Return the kind of a value inside an input, by the input's shape, or `unknown`."""
    for key in keys:
        if shape is None:
            break
        shape = shape.key(key) if key else element_of(shape)
    return shape.kind if shape is not None else "unknown"


@chunk_fact
def _roles(chunk: Chunk) -> tuple[Span, ...]:
    """Return the places of the roles that contain Jinja."""
    values = (part.value("role") for part in chunk_items(chunk).parts)
    return tuple(value.span for value in values if isinstance(value, Scalar) and value.dynamic)


def printed_roles(template: Template) -> Iterator[tuple[Span, Path]]:
    """Yield the paths to the values that the role of a part reads, each with the span of the role."""
    spans = [span.shifted(located.start) for located, span in items_in(template.source.root, _roles)]
    if not spans:
        return
    starts = [span.start for span in spans]
    for use in resolved_uses(template):
        index = bisect_right(starts, use.span.start) - 1
        if index >= 0 and use.span.end <= spans[index].end:
            yield spans[index], use.path


def values_at(data: Any, path: Path) -> Iterator[Any]:
    """Yield the values in a sample's data at a path from a variable."""
    if not path:
        yield data
        return
    key = path[0].key
    if key in {Each.ELEMENT, Each.INDEX}:
        for element in data if isinstance(data, list) else ():
            yield from values_at(element, path[1:])
    elif isinstance(data, dict) and key in data:
        yield from values_at(data[key], path[1:])


def _printed(chunk: Chunk) -> Iterator[PrintedInput]:
    sources: _Sources | None = None
    for content in chunk_contents(chunk):
        indent = block_indent(chunk, content) if content.is_block else None
        for tag in tags_in(chunk, content):
            if tag.kind != "output" or tag.unclosed:
                continue
            statement = tag_tree(tag).statement
            if len(statement.expressions) != 1:
                continue
            whole = statement.expressions[0]
            if whole.span.end <= whole.span.start:
                continue
            expression = _outer_span(tag, whole).shifted(tag.span.start)
            seen: set[str] = set()
            for value, adds_breaks in _unescaped_values(whole, indent):
                sources = sources or _Sources(chunk)
                found = sources.input_of(value, tag)
                if found is None:
                    continue
                span = value.span.shifted(tag.span.start)
                text = chunk.slice(span)
                if text not in seen:
                    seen.add(text)
                    name, keys = found
                    yield PrintedInput(
                        name=name,
                        text=text,
                        span=span,
                        expression=expression,
                        content=content.value.span,
                        style=content.value.style,
                        key=content.key,
                        indent=indent,
                        keys=keys,
                        adds_breaks=adds_breaks,
                    )


def _outer_span(tag: Tag, expression: Expression) -> Span:
    """Return the span of what a tag prints, including parentheses around it."""
    start, end = stripped_span(tag.text[tag.inner_start : tag.inner_end], tag.inner_start)
    return Span(min(start, expression.span.start), end)


class _Sources:
    """The origins of a chunk's names."""

    def __init__(self, chunk: Chunk) -> None:
        references = Resolver().references(chunk, 0)
        self._bindings = {reference.span.start: reference.binding for reference in references}
        self._loops: dict[int, tuple[Statement, Tag]] = {}
        for tag in chunk.tags:
            if tag.kind == "statement":
                statement = tag_tree(tag).statement
                if statement.keyword == "for" and statement.expressions:
                    for target in statement.targets:
                        self._loops[tag.span.start + target.span.start] = (statement, tag)

    def input_of(self, node: Expression, tag: Tag) -> tuple[str, tuple[str, ...]] | None:
        """Return the input that a value comes from, and the keys in between."""
        keys: list[str] = []
        for _ in range(_MAX_STEPS):
            match node:
                case Attribute(target=target, name=name):
                    keys.append(name)
                    node = target
                case Item(target=target, key=key):
                    keys.append(str(key.value) if isinstance(key, Constant) else "")
                    node = target
                case Call(function=Attribute(target=target, name="get"), arguments=(Constant() as key, *_)):
                    keys.append(str(key.value))
                    node = target
                case Name(span=span, name=name):
                    binding = self._bindings.get(tag.span.start + span.start)
                    if binding is None:
                        if name in GLOBALS | INJECTED or name == "loop":
                            return None
                        return name, tuple(reversed(keys))
                    loop = self._loop(binding)
                    if loop is None:
                        return None
                    statement, tag = loop
                    node = statement.expressions[0]
                    keys.append("")
                case _:
                    return None
        return None

    def _loop(self, binding: Binding) -> tuple[Statement, Tag] | None:
        """Return the loop that binds the name, if the name is the loop's whole target."""
        return self._loops.get(binding.span.start) if binding.kind == "for" else None


_MAX_STEPS: Final = 50
"""The maximum number of attributes and loops between a printed value and its input."""
