"""Parse and validate what a prompt file declares about itself, in its header or at its top level."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import yaml
from typing_extensions import TypeVarTuple, Unpack

from promptls.semantic.object_data import holds_printed
from promptls.semantic.setting_names import (
    first_without_name,
    is_of_project,
    names_at,
    unknown_key_message,
    wrong_value_message,
)
from promptls.settings.header import Header
from promptls.settings.valid_part import MAX_PROBLEMS, Invalid, valid_part
from promptls.syntax.chunk import Chunk
from promptls.syntax.source import Source
from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.error_recovery import TOP_KEY, corrected_key, may_be_left_out
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text, node_at, scalar_text
from promptls.text.format import plural
from promptls.text.positions import NOWHERE, Span, line_end
from promptls.text.suggest import nearest

OPENING: Final = "{#---"
CLOSING: Final = "---#}"
_KEY: Final = re.compile(r"^[ \t{]*['\"]?([A-Za-z_]\w*)['\"]?[ \t]*:", re.MULTILINE)
_FIRST_WORD: Final = re.compile(r"[A-Za-z_]*:?")
_COMMON_KEYS: Final = frozenset({"name", "description"})
"""Keys that are also common in comments of other programs, in various spellings."""


def begins_header(text: str) -> bool:
    """Return whether a text begins with the opening of a header, but not with a line of more dashes."""
    return text.startswith(OPENING) and not text.startswith(f"{OPENING}-")


@lru_cache(maxsize=64)
def mentions_prompt(comment: str) -> bool:
    """Return whether a header-like comment has a key of prompts, or a typo of one.

    Also True if it is empty or has one word, because it may be incomplete.
    """
    inside = comment.removeprefix(OPENING).removesuffix("#}").rstrip("-").strip()
    keys = set(Header.model_fields)
    names = {*_KEY.findall(inside)}
    if names & keys or _FIRST_WORD.fullmatch(inside):
        return True
    return any(nearest(word, keys - _COMMON_KEYS) for word in names)


_LISTS: Final[dict[tuple[Any, ...], frozenset[str]]] = {
    (): frozenset({"input_keys"}),
    ("experiments",): frozenset({"models", "metrics"}),
}
"""The keys whose values are lists of texts, by their path without user-defined names."""


@dataclass(frozen=True, slots=True)
class HeaderProblem:
    """A problem of a header: `kind` is `syntax`, `unknown-key`, `invalid-value` or `ignored`.

    `meant` is the key that an unknown one can be changed to, if it is similar to one that is not used yet.
    `listed` is the span of a single value that must be in a list.
    """

    kind: str
    span: Span
    message: str
    meant: str | None = None
    listed: Span | None = None


def unreadable(error: Exception, text: str, whole: Span, base: int) -> HeaderProblem:
    """Return the problem of valid YAML that cannot be loaded as data; its text begins at `base`."""
    message = (str(error).splitlines() or ["not readable"])[0]
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if mark is None:
        return HeaderProblem("invalid-value", whole, message)
    start = text.rfind("{{", 0, mark.index + 2)
    if start < 0 or "\n" in text[start : mark.index]:
        start = mark.index
        return HeaderProblem(
            "invalid-value",
            Span(base + start, base + max(line_end(text, start), start + 1)),
            str(getattr(error, "problem", None) or message),
        )
    closing = text.find("}}", start)
    place = Span(base + start, base + (closing + 2 if closing >= 0 else line_end(text, start)))
    return HeaderProblem("invalid-value", place, "Jinja does not run in the header: write the value itself")


def _problem_of(tree: Mapping, found: Invalid, said: str | None) -> HeaderProblem:
    """Return the problem of an invalid value in a header, with its span; `said` replaces its message."""
    if found.is_unknown_key:
        return _unknown_key(tree, found)
    path = shown = found.path
    while (node := node_at(tree, shown)) is None and shown:
        shown = shown[:-1]
    key = ".".join(map(str, path))
    message = said or wrong_value_message(found, key, f"`{key}`")
    is_value = isinstance(node, Scalar) and not node.span.is_empty() and said is None
    if node is None or not shown or is_value:
        span = node.span if node else tree.span
        is_listed = node is not None and shown == path and found.kind == "text_for_list"
        return HeaderProblem("invalid-value", span, message, listed=span if is_listed else None)
    owner = node_at(tree, shown[:-1])
    entry = owner.entry(str(shown[-1])) if isinstance(owner, Mapping) else None
    return HeaderProblem("invalid-value", entry.key.span if entry else node.span, message)


def _unknown_key(tree: Mapping, found: Invalid) -> HeaderProblem:
    *above, key = found.path
    owner = node_at(tree, tuple(above))
    entry = owner.entry(str(key)) if isinstance(owner, Mapping) else None
    message = f"unknown header key `{'.'.join(map(str, found.path))}`{unknown_key_message(found, Header)}"
    meant = nearest(str(key), names_at(Header, tuple(above))) if not is_of_project(str(key), Header) else None
    is_there = isinstance(owner, Mapping) and meant is not None and owner.entry(meant) is not None
    value = entry.value if entry else None
    is_single = isinstance(value, Scalar) and value.text and meant in _LISTS.get(tuple(above[::2]), ())
    listed = value.span if value is not None and is_single else None
    span = entry.key.span if entry else tree.span
    return HeaderProblem("unknown-key", span, message, None if is_there else meant, listed)


Given = TypeVarTuple("Given")
Fact = TypeVar("Fact")


class Example(NamedTuple):
    """An example: its one-based index in the list, its keys with their spans, and its data.

    Only examples that are mappings count. `chunk` contains the beginning of an example that is not in a
    header, and `place` is its offset there.
    """

    number: int
    node: Mapping
    data: dict[str, Any]
    chunk: Chunk | None = None
    place: int = 0

    @property
    def span(self) -> Span:
        """The example's span."""
        return self.node.span

    @property
    def first_key(self) -> Span:
        """The span of its first key, or of the example itself if it has no keys."""
        return self.entries[0].key.span if self.entries else self.span

    @property
    def has_printed_keys(self) -> bool:
        """Whether Jinja prints one of its keys, so that no key can be reported as missing."""
        return any(key_text(entry) is None for entry in self.entries)

    def is_printed(self, key: str) -> bool:
        """Return whether Jinja prints anything into the value of a key."""
        values = (entry.value for entry in self.entries if key_text(entry) == key)
        return any(map(holds_printed, values))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Its keys with their values."""
        return self.node.entries


def example_fact(
    find: Callable[[Example, Unpack[Given]], Fact],
) -> Callable[[Example, Unpack[Given]], Fact]:
    """Make a function of an example's keys and data, and of other objects, a fact of the example's chunk.

    It must not use the example's index and position. Only the value for the last arguments is cached.
    """

    def fact(example: Example, *arguments: Unpack[Given]) -> Fact:
        if example.chunk is None:
            return find(example, *arguments)
        facts = example.chunk.facts
        key = (find, example.place)
        known: Any = facts.get(key)
        if known is None or known[0] != arguments:
            known = facts[key] = (arguments, find(example, *arguments))
        return known[1]  # type: ignore[no-any-return]  # stored above

    return fact


_BUT_LINE_BREAK: Final = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True)
class DeclaredInput:
    """A declared input of the file: its name, the span of the name, and its JSON Schema."""

    name: str
    span: Span
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Declarations:
    """Everything that a file declares; spans count from the start of the file.

    `span` is empty if nothing is declared. `data` contains the keys as loaded from YAML, and
    `settings` the same, validated and without invalid keys.
    """

    span: Span = NOWHERE
    tree: Mapping | None = None
    data: dict[str, Any] = field(default_factory=dict)
    settings: Header = field(default_factory=Header)
    problems: tuple[HeaderProblem, ...] = ()
    inputs: tuple[DeclaredInput, ...] = ()
    examples: tuple[Example, ...] = ()

    @property
    def declares_inputs(self) -> bool:
        """Whether the file says which inputs it has, even if it has none."""
        return self.tree is not None and isinstance(self.tree.merged("input_keys"), Sequence | Mapping)

    @property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """The JSON Schemas of the declared inputs, by name."""
        return {key.name: key.schema for key in self.inputs}

    def key_span(self, key: str) -> Span | None:
        """Return the span of a top-level key."""
        entry = self.tree.entry(key) if self.tree else None
        return entry.key.span if entry else None

    def value_span(self, *path: str | int) -> Span | None:
        """Return the span of the value under a path of keys and list indexes."""
        node = node_at(self.tree, path)
        return node.span if node else None


def header_of(source: Source) -> Declarations | None:
    """Return the declarations in the header, the comment `{#--- … ---#}` at the beginning of the file.

    None if the file has no such comment; a comment that begins with a line of more dashes is not a header.
    Invalid values are reported as problems in the result.
    """
    chunk = source.first_chunk
    after = 0
    for tag in chunk.tags:
        if chunk.text[after : tag.span.start].strip("\ufeff \t\r\n"):
            return None
        after = tag.span.end
        if tag.kind == "comment" and not tag.unclosed and begins_header(tag.text):
            closing = len(CLOSING) if tag.text.endswith(CLOSING) else 2
            inside = tag.text[len(OPENING) : len(tag.text) - closing]
            return _read(inside, tag.span.start, tag.span.start + len(OPENING), tag.span.end, _NOT_GROWN)
        if tag.kind != "comment":
            return None
    return None


def ignored_header(header: Declarations, kind: str) -> HeaderProblem:
    """Return the problem of a header in a file of a kind that has its keys at the top level."""
    opening = Span(header.span.start, header.span.start + len(OPENING))
    message = f"this header is ignored: {kind}s have the keys of a header at the top level"
    return HeaderProblem("ignored", opening, message)


class _Growth(NamedTuple):
    """Where a header was fixed: the offset after the inserted characters, and their number."""

    offset: int
    number: int

    def written(self, offset: int) -> int:
        """Return the offset in the original header for an offset in the fixed one."""
        if offset >= self.offset:
            return offset - self.number
        return min(offset, self.offset - self.number)


_NOT_GROWN: Final = _Growth(0, 0)


@lru_cache(maxsize=64)
def _read(text: str, begin: int, base: int, end: int, growth: _Growth) -> Declarations:
    def span(first: int, last: int) -> Span:
        last = first + len(text[first:last].rstrip())
        return Span(base + growth.written(first), base + growth.written(last))

    composed = compose(text, span, lambda _span: False)
    if composed.error:
        offset = composed.error.offset
        written = len(text.rstrip())
        if offset >= written:  # libyaml reports missing text after the end
            offset = text.rfind("\n", 0, written) + 1
        place = Span(base + offset, base + max(line_end(text, offset), offset + 1))
        problem = HeaderProblem("syntax", place, composed.error.message)
        fixed = _without_broken_keys(text)
        if fixed is None:
            return Declarations(Span(begin, end), problems=(problem,))
        declared = _read(fixed[0], begin, base, end, fixed[1])
        return replace(declared, problems=(problem, *declared.problems))
    if composed.root is None:
        return Declarations(Span(begin, end))
    if not isinstance(composed.root, Mapping):
        problem = HeaderProblem(
            "invalid-value", composed.root.span, "a header is a mapping of keys to values"
        )
        return Declarations(Span(begin, end), problems=(problem,))
    try:
        data = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = unreadable(error, text, composed.root.span, base)
        return Declarations(Span(begin, end), composed.root, problems=(problem,))
    if _is_inside_itself(data, ()):
        problem = HeaderProblem("invalid-value", composed.root.span, "an alias is inside its own anchor")
        return Declarations(Span(begin, end), composed.root, problems=(problem,))
    return declarations_of(composed.root, data, Span(begin, end), frozenset())


def _without_broken_keys(text: str) -> tuple[str, _Growth] | None:
    """Return the header with spaces in place of broken keys, so that all others keep their positions.

    A key that determines the meaning of names in the file is fixed instead, in at most one place of the
    header. None if that is not possible, or does not fix the header.
    """
    rest, above = "", ""
    growth = _NOT_GROWN
    for block in TOP_KEY.split(text):
        if _is_mapping(block):
            rest += block
        elif growth is _NOT_GROWN and (fixed := corrected_key(block)) is not None:
            number = len(fixed) - len(block)
            if number:
                growth = _Growth(len(rest) + len(fixed.rstrip()), number)
            rest += fixed
        elif may_be_left_out(block, above):
            rest += _BUT_LINE_BREAK.sub(" ", block)
        else:
            return None
        above = block
    return (rest, growth) if rest != text and _is_mapping(rest) else None


def _is_mapping(text: str) -> bool:
    composed = compose(text, Span, lambda _span: False)
    return composed.error is None and (composed.root is None or isinstance(composed.root, Mapping))


def _is_inside_itself(value: Any, around: tuple[int, ...]) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return id(value) in around or any(_is_inside_itself(item, (*around, id(value))) for item in inside)


def declarations_of(
    tree: Mapping,
    data: dict[str, Any],
    span: Span,
    own_keys: frozenset[str],
    source: Source | None = None,
) -> Declarations:
    """Return the declarations in a mapping; `own_keys` are its other keys, which belong to a prompt object.

    The mapping is in a header, or is all of `source`.
    """
    settings, problems = _validate(tree, data, own_keys)
    return Declarations(
        span=span,
        tree=tree,
        data=data,
        settings=settings,
        problems=problems,
        inputs=_inputs(tree.merged("input_keys"), data.get("input_keys")),
        examples=_examples(tree.merged("examples"), data.get("examples"), source),
    )


def _validate(
    tree: Mapping, data: dict[str, Any], own_keys: frozenset[str]
) -> tuple[Header, tuple[HeaderProblem, ...]]:
    known = {key: value for key, value in data.items() if isinstance(key, str)}
    if own_keys:
        known = {key: value for key, value in known.items() if key in Header.model_fields}
    examples = known.get("examples")
    if isinstance(examples, list) and _have_names(examples):
        # They cannot be invalid, and there may be very many.
        rest, invalid = valid_part(Header, {key: value for key, value in known.items() if key != "examples"})
        settings = rest.model_copy(update={"examples": examples})
    else:
        settings, invalid = valid_part(Header, known)
    invalid, rest_of_invalid = invalid[:MAX_PROBLEMS], invalid[MAX_PROBLEMS:]
    misspelled = {
        (*found.path[:-1], nearest(str(found.path[-1]), names_at(Header, found.path[:-1])))
        for found in invalid
        if found.is_unknown_key
    }
    nameless = first_without_name(invalid, Header)
    problems = [
        _problem_of(tree, found, nameless.get(found.path))
        for found in invalid
        if nameless.get(found.path) != ""
        and (found.path not in misspelled or node_at(tree, found.path) is not None)
    ]
    if rest_of_invalid:
        first = _problem_of(tree, rest_of_invalid[0], None)
        message = f"{plural(len(rest_of_invalid), 'more problem')} from here on"
        problems.append(HeaderProblem("invalid-value", first.span, message))
    return settings, tuple(problems)


def _have_names(examples: list[Any]) -> bool:
    """Return whether all examples are mappings whose keys are text."""
    return set(map(type, examples)) <= {dict} and set(map(type, chain.from_iterable(examples))) <= {str}


def _inputs(node: Node | None, data: Any) -> tuple[DeclaredInput, ...]:
    if isinstance(node, Sequence):
        return tuple(
            DeclaredInput(text, item.span, {})
            for item in node.items
            if (text := scalar_text(item)) is not None
        )
    if isinstance(node, Mapping):
        found = []
        for entry in node.entries:
            name = key_text(entry)
            if name is not None:
                schema = data.get(name) if isinstance(data, dict) else None
                found.append(DeclaredInput(name, entry.key.span, schema if isinstance(schema, dict) else {}))
        return tuple(found)
    return ()


def _examples(node: Node | None, data: Any, source: Source | None) -> tuple[Example, ...]:
    if not isinstance(node, Sequence) or not isinstance(data, list):
        return ()
    pairs = [
        (item, value)
        for item, value in zip(node.items, data, strict=False)
        if isinstance(item, Mapping) and isinstance(value, dict)
    ]
    if source is None:
        return tuple([Example(number, item, value) for number, (item, value) in enumerate(pairs, start=1)])
    found = []
    index = source.located(node.span.start).index
    starts, chunks = source.starts, source.chunks
    for number, (item, value) in enumerate(pairs, start=1):
        start = item.span.start
        while starts[index + 1] <= start:
            index += 1
        found.append(Example(number, item, value, chunks[index], start - starts[index]))
    return tuple(found)
