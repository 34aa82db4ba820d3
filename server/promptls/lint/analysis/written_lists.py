"""Lists of mappings that a template writes itself, such as its examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.analysis.namespaces import uses_in
from promptls.lint.analysis.unmatched_names import names_in_scope
from promptls.lint.rule import Edit, File, Finding, Fix
from promptls.semantic.names.template_names import statement_at
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.nodes import Collection, Constant, Expression, Item, Name
from promptls.syntax.jinja.problems import expressions_in, loops_in
from promptls.text.positions import Span
from promptls.text.suggest import nearest, odd_keys


def mappings_in(node: Expression) -> tuple[Collection, ...]:
    """Return the mappings of a list that contains nothing else; nothing for other expressions."""
    if not isinstance(node, Collection) or node.kind not in {"list", "tuple"}:
        return ()
    mappings = [item for item in node.items if isinstance(item, Collection) and item.kind == "dict"]
    return tuple(mappings) if len(mappings) == len(node.items) else ()


has_lists_of_mappings: Final = summary(
    lambda chunk: any(mappings_in(node) for _, node in expressions_in(chunk)), any
)


class OddKey(NamedTuple):
    """A key that one mapping of a list has in place of a key that all others have; `span` is inside the quotes."""

    span: Span
    name: str
    meant: str


@chunk_fact
def written_odd_keys(chunk: Chunk) -> tuple[OddKey, ...]:
    """Return the keys in lists of mappings that are typos of the one that all other mappings have."""
    return tuple(each for start, node in expressions_in(chunk) for each in _odd_keys(chunk, start, node))


def _odd_keys(chunk: Chunk, start: int, node: Expression) -> Iterator[OddKey]:
    mappings = [_keys(mapping) for mapping in mappings_in(node)]
    for index, name, meant in odd_keys(mappings):
        span = mappings[index][name]
        inside = Span(span.start + 1, span.end - 1).shifted(start)
        if chunk.slice(inside) == name:
            yield OddKey(inside, name, meant)


@chunk_fact
def written_odd_values(chunk: Chunk) -> tuple[tuple[Span, str, str, str], ...]:
    """Return the values in lists of mappings whose kind is not that of all others: place, key, kind, usual kind."""
    found = []
    for start, node in expressions_in(chunk):
        values: dict[str, list[Expression]] = {}
        for mapping in mappings_in(node):
            for key, value in zip(mapping.items[::2], mapping.items[1::2], strict=True):
                if isinstance(key, Constant) and isinstance(key.value, str):
                    values.setdefault(key.value, []).append(value)
        for name, own in values.items():
            kinds = [_kind(value) for value in own]
            times = Counter(kinds)
            odd = [index for index, kind in enumerate(kinds) if times[kind] == 1]
            if len(times) == len(odd) + 1 == _KINDS_WITH_ODD and len(own) > _MIN_OTHERS and None not in times:
                usual = times.most_common(1)[0][0]
                found.append((own[odd[0]].span.shifted(start), name, kinds[odd[0]] or "", usual or ""))
    return tuple(found)


_MIN_OTHERS: Final = 3
"""The minimum number of values of one kind for a single value of another kind to be an exception."""
_KINDS_WITH_ODD: Final = 2


def _kind(value: Expression) -> str | None:
    match value:
        case Constant(value=str()):
            return "a text"
        case Collection(kind="list" | "dict" as kind):
            return "a list" if kind == "list" else "a mapping"
    return None


def _keys(mapping: Collection) -> dict[str, Span]:
    return {
        key.value: key.span
        for key in mapping.items[::2]
        if isinstance(key, Constant) and isinstance(key.value, str)
    }


def unwritten_keys(file: File) -> Iterator[Finding]:
    """Yield the keys that a mapping that the file writes does not have, and no mapping in a list of them."""
    yield from _of_mappings(file)
    names = file.template.names
    if not names.bound_names("for") or not has_lists_of_mappings(file.chunks):
        return
    yield from _unpacked(file)
    keys = _keys_of_elements(file)
    others = names.bound_otherwise("for")
    for owner, name, span, quote in _key_reads(file) if any(keys.values()) else ():
        known = keys.get(owner) if owner not in others else None
        if known is None or name in known or owner not in names_in_scope(names, span.start):
            continue
        yield _unwritten(span, f"no mapping of the list has the key `{name}`", name, known, quote)


def _unpacked(file: File) -> Iterator[Finding]:
    """Yield the loops that unpack the mappings of a written list, which gives their keys."""
    lists = _lists_of_mappings(file)
    for located in file.chunks.placed():
        for start, loop in loops_in(located.chunk):
            source = loop.expressions[0]
            elements = mappings_in(lists.get(source.name, source) if isinstance(source, Name) else source)
            if elements and isinstance(loop.targets[0], Collection):
                message = "the elements are mappings, and unpacking one gives its keys"
                yield Finding(source.span.shifted(located.start + start), message)


def _unwritten(span: Span, message: str, name: str, known: frozenset[str], quote: str) -> Finding:
    """Return the finding for a key that a mapping does not have, a hint if it resembles none that it has."""
    meant = nearest(name, known)
    if meant is None:
        return Finding(span, message, severity="hint")
    fix = Fix(f"Change to `{meant}`", (Edit(span, f"{quote}{meant}{quote}"),))
    return Finding(span, f"{message}; did you mean `{meant}`?", (fix,))


_writes_mappings: Final = summary(
    lambda chunk: any(
        isinstance(node, Collection) and node.kind == "dict" for _, node in expressions_in(chunk)
    ),
    any,
)
_CHANGING: Final = frozenset({"clear", "pop", "popitem", "setdefault", "update"})


def _of_mappings(file: File) -> Iterator[Finding]:
    """Yield the keys that a variable does not have that is set to a mapping once and not changed."""
    names = file.template.names
    if not names.bound_names("set") or not _writes_mappings(file.chunks):
        return
    changed = {each.owner for each in uses_in(file) if each.is_set or each.name in _CHANGING}
    known = {
        name: frozenset(keys)
        for name, value in _values_set_once(file).items()
        if name not in changed and isinstance(value, Collection) and value.kind == "dict"
        if (keys := _keys(value)) and len(keys) == len(value.items[::2])
    }
    for owner, name, span, quote in _key_reads(file) if known else ():
        if owner in known and name not in known[owner]:
            yield _unwritten(span, f"`{owner}` has no key `{name}`", name, known[owner], quote)


def _values_set_once(file: File) -> dict[str, Expression]:
    """Return the values of the variables that nothing but one `set` binds."""
    names = file.template.names
    others = names.bound_otherwise("set") | names.input_names
    bindings = list(names.bindings_of("set"))
    counts = Counter(each.name for each in bindings)
    found: dict[str, Expression] = {}
    for binding in bindings:
        if counts[binding.name] == 1 and binding.name not in others:
            statement = statement_at(file.template, binding.span.start)
            match (statement.targets, statement.expressions) if statement is not None else None:
                case (Name(),), (value,):
                    found[binding.name] = value
    return found


def _keys_of_elements(file: File) -> dict[str, frozenset[str] | None]:
    """Return the keys that the elements of written lists have, by the only loop variable; None if unknown."""
    lists = _lists_of_mappings(file)
    keys: dict[str, frozenset[str] | None] = {}
    for binding in file.template.names.bindings_of("for"):
        statement = statement_at(file.template, binding.span.start)
        source = statement.first if statement is not None else None
        is_single = statement is not None and isinstance(statement.targets[0], Name)
        if isinstance(source, Name):
            source = lists.get(source.name)
        own = _written_keys(source) if is_single and source is not None else None
        keys[binding.name] = own if binding.name not in keys else None
    return keys


def _key_reads(file: File) -> Iterator[tuple[str, str, Span, str]]:
    """Yield the reads of attributes and of literal keys of variables: owner, key, span, and quote of the key."""
    for use in uses_in(file):
        if not (use.is_set or use.is_tested or hasattr(dict, use.name)):
            yield use.owner, use.name, use.span, ""
    for located in file.chunks.placed():
        for start, node in expressions_in(located.chunk):
            match node:
                case Item(target=Name(name=owner), key=Constant(value=str(name)) as key):
                    yield owner, name, key.span.shifted(located.start + start), "'"


def _lists_of_mappings(file: File) -> dict[str, Expression]:
    """Return the lists of mappings that variables are set to once and that nothing changes, by variable."""
    used = {each.owner for each in uses_in(file)}
    values = _values_set_once(file)
    return {name: value for name, value in values.items() if name not in used and mappings_in(value)}


def _written_keys(source: Expression) -> frozenset[str] | None:
    """Return the keys of the mappings in a list; None if it is no list of mappings, or if a key is computed."""
    written = [key for mapping in mappings_in(source) for key in mapping.items[::2]]
    keys = [key.value for key in written if isinstance(key, Constant) and isinstance(key.value, str)]
    return frozenset(keys) if mappings_in(source) and len(keys) == len(written) else None
