"""The attributes of namespaces: where a file sets and reads them, if all of these places are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from promptls.lint.rule import File
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, ChunkList, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Constant,
    Expression,
    Filter,
    Keyword,
    Name,
    Test,
    walk,
)
from promptls.syntax.jinja.problems import expressions_in, statement_of, tag_tree
from promptls.text.positions import Span
from promptls.text.suggest import is_typo
from promptls.workspace.contract import names_handed_on, needs_of, targets

MIN_LENGTH: Final = 3
"""The minimum length of a name for it to be considered a typo."""
_ABOUT_PRESENCE: Final = frozenset({"default", "d", "defined", "undefined"})


class AttributeUse(NamedTuple):
    """A place where an attribute of a variable is read or set; `span` is that of the attribute's name.

    `target` is the attribute that the same tag sets, if it sets one. `is_tested` is whether the tag only reads the
    attribute if there is one, and `is_initial` whether a namespace is made with it.
    """

    owner: str
    name: str
    span: Span
    is_set: bool
    target: str = ""
    is_tested: bool = False
    is_initial: bool = False


@chunk_fact
def attribute_uses(chunk: Chunk) -> tuple[AttributeUse, ...]:
    """Return the uses of attributes of variables in the chunk's tags."""
    found = []
    targets: dict[int, str] = {}
    for tag in chunk.tags:
        targets_of_tag = tag_tree(tag).statement.targets if tag.kind == "statement" else ()
        for target in (node for each in targets_of_tag for node in walk(each)):
            if isinstance(target, Attribute) and isinstance(target.target, Name):
                span = target.name_span.shifted(tag.span.start)
                found.append(AttributeUse(target.target.name, target.name, span, is_set=True))
                targets[tag.span.start] = f"{target.target.name}.{target.name}"
    tested = set()
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter | Test) and node.name in _ABOUT_PRESENCE:
            tested.add(id(node.target))
        elif isinstance(node, Attribute) and isinstance(node.target, Name):
            span = node.name_span.shifted(start)
            target_name = targets.get(start, "")
            is_tested = id(node) in tested
            found.append(
                AttributeUse(
                    node.target.name, node.name, span, is_set=False, target=target_name, is_tested=is_tested
                )
            )
    return tuple(found)


has_attribute_uses: Final = summary(lambda chunk: bool(attribute_uses(chunk)), any)
sets_attributes: Final = summary(lambda chunk: any(each.is_set for each in attribute_uses(chunk)), any)


def _namespaces(chunk: Chunk) -> frozenset[str]:
    """Return the variables that the chunk sets to a namespace, or whose attributes it sets."""
    found = {each.owner for each in attribute_uses(chunk) if each.is_set}
    for tag in chunk.tags if "namespace" in chunk.text else ():
        statement = statement_of(tag)
        match statement.expressions[:1] if statement is not None and statement.keyword == "set" else ():
            case (Call(function=Name(name="namespace")),) if statement is not None:
                found |= {*statement.target_names}
    return frozenset(found)


namespace_names: Final = summary(_namespaces, union)
"""The variables that are certainly namespaces somewhere in the file."""


_owners: Final = summary(lambda chunk: frozenset(each.owner for each in attribute_uses(chunk)), union)
_written: Final = summary(
    lambda chunk: _full_names(each for each in attribute_uses(chunk) if each.is_set), union
)
_read: Final = summary(
    lambda chunk: _full_names(each for each in attribute_uses(chunk) if not each.is_set), union
)
_needed: Final = summary(
    lambda chunk: _full_names(
        each
        for each in attribute_uses(chunk)
        if not each.is_set and each.target != f"{each.owner}.{each.name}"
    ),
    union,
)
"""The attributes that tags read for something else than to set them."""


def gets_namespace(file: File) -> bool:
    """Return whether the file reads attributes, which it never sets, of an input that is a namespace."""
    given = namespace_names(file.chunks) & file.template.names.input_names
    return any(name.partition(".")[0] in given for name in _read(file.chunks) - _written(file.chunks))


def _full_names(uses: Iterable[AttributeUse]) -> frozenset[str]:
    return frozenset(f"{each.owner}.{each.name}" for each in uses)


def uses_in(file: File) -> Iterator[AttributeUse]:
    """Yield the uses of attributes of variables in a file, with spans that count from its start."""
    for located in file.chunks.where(has_attribute_uses):
        for each in attribute_uses(located.chunk):
            yield each._replace(span=each.span.shifted(located.start))


class UnmatchedAttributes(NamedTuple):
    """The attributes of a namespace that are read but never set, or set but never read.

    Of those that are read, `misspelled` are the ones that probably mean one that is set, each with that name. What
    is meant by another name is not `unread`.
    """

    owner: str
    misspelled: tuple[tuple[AttributeUse, str], ...]
    unset: tuple[AttributeUse, ...]
    unread: tuple[AttributeUse, ...]
    read: tuple[str, ...]
    """The attributes that are set and read."""


def unmatched_attributes(file: File) -> Iterator[UnmatchedAttributes]:
    """Yield the unmatched attributes of each namespace whose uses are all known.

    These are the namespaces that the file does not pass on as a whole, and that no other file can see.
    """
    names = file.template.names
    owners = names.bound_names("set") - names.bound_otherwise("set")
    if not owners or not has_attribute_uses(file.chunks) or file.template.has_broken_tags:
        return
    for owner in sorted(owners & _owners(file.chunks)):
        initial = initial_attributes(file.template, owner)
        if initial is None or _all_match(file.chunks, owner, initial):
            continue
        own = [each for each in uses_in(file) if each.owner == owner]
        if _is_private(file, owner, own):
            yield _unmatched(owner, [*initial, *(each for each in own if each.is_set)], own)


def _all_match(chunks: ChunkList, owner: str, initial: Iterable[AttributeUse]) -> bool:
    """Return whether all read attributes are set and all set ones read, without a search for the places."""
    prefix = f"{owner}."
    known = _full_names(initial) | {each for each in _written(chunks) if each.startswith(prefix)}
    read = {each for each in _read(chunks) if each.startswith(prefix)}
    return read <= known <= _needed(chunks)


def _unmatched(owner: str, written: list[AttributeUse], own: list[AttributeUse]) -> UnmatchedAttributes:
    """Compare the attributes `written` with those that the uses of the namespace in the file read."""
    known = frozenset(each.name for each in written)
    read = [each for each in own if not each.is_set]
    needed = {each.name for each in read if each.target != f"{owner}.{each.name}"}
    unset = [each for each in read if each.name not in known and not each.is_tested]
    unread = known - needed
    meant = {each: _meant(each.name, known, unread, unset) for each in unset}
    unread -= set(meant.values())
    return UnmatchedAttributes(
        owner,
        misspelled=tuple((each, name) for each, name in meant.items() if name is not None),
        unset=tuple(each for each, name in meant.items() if name is None),
        unread=tuple(each for each in written if each.name in unread and not _is_set_later(each, own)),
        read=tuple(sorted(known & needed)),
    )


def _meant(name: str, known: frozenset[str], unread: frozenset[str], unset: list[AttributeUse]) -> str | None:
    """Return the attribute that is meant by one that nothing sets: one like it, or the only one nothing reads."""
    similar = [other for other in sorted(known) if len(name) >= MIN_LENGTH and is_typo(name, other)]
    if not similar and len({each.name for each in unset}) == 1:
        similar = sorted(unread)
    return similar[0] if len(similar) == 1 else None


def _is_set_later(use: AttributeUse, own: list[AttributeUse]) -> bool:
    """Return whether an attribute is an initial one that a tag sets as well, where it is reported."""
    return use.is_initial and any(each.is_set and each.name == use.name for each in own)


def attributes_around(file: File, owner: str) -> frozenset[str]:
    """Return the attributes with which a namespace is made, and those that the files around this one set.

    These are the files that include it, and those that it and they name. An attribute that a macro sets of a
    parameter may be one of any namespace. Return nothing if a file is missing, or for other values.
    """
    snapshot = file.snapshot
    outer = (file.path, *snapshot.includers(file.path))
    paths = {*outer, *(target for path in outer for _, target in targets(snapshot, path))}
    found: set[str] = set()
    is_namespace = False
    for path in paths:
        template = snapshot.template(path) if path is not None else None
        initial = initial_attributes(template, owner) if template is not None else None
        if template is None or initial is None:
            return frozenset()
        is_namespace |= owner in template.names.bound_names("set")
        found |= {each.name for each in initial}
        parameters = template.names.bound_names("parameter")
        for located in template.source.root.where(sets_attributes):
            found |= {
                each.name
                for each in attribute_uses(located.chunk)
                if each.is_set and (each.owner in parameters or (each.owner == owner and path != file.path))
            }
    return frozenset(found) if is_namespace else frozenset()


def unset_around(file: File) -> Iterator[AttributeUse]:
    """Yield the first use of each attribute of a namespace that neither this nor another file sets.

    Every template that reaches this file makes the namespace, and all files that may set an attribute are known.
    """
    names, snapshot = file.template.names, file.snapshot
    owners = (_owners(file.chunks) & names.input_names) - names.all_bound_names
    if not owners or not snapshot.includers(file.path) or file.template.has_broken_tags:
        return
    paths = _connected(file)
    if paths is None:
        return
    entries = [snapshot.template(path) for path in snapshot.entries(file.path)]
    templates = [snapshot.template(path) for path in sorted(paths)]
    for owner in sorted(owners):
        if not all(each is not None and owner in each.names.bound_names("set") for each in entries):
            continue
        known = _set_attributes(templates, owner)
        seen = set(known)
        for use in uses_in(file) if known else ():
            if use.owner != owner or use.name in seen or use.is_set or use.is_tested:
                continue
            seen.add(use.name)
            similar = [each for each in known if len(each) >= MIN_LENGTH and is_typo(use.name, each)]
            if len(similar) != 1:  # `probable-typo` reports those
                yield use


def _set_attributes(templates: Iterable[Template | None], owner: str) -> frozenset[str]:
    """Return the attributes with which files make a namespace, and those that they set; none if one is unknown."""
    found: set[str] = set()
    for template in templates:
        initial = initial_attributes(template, owner) if template is not None else None
        if template is None or initial is None:
            return frozenset()
        found |= {each.name for each in initial}
        found |= {each.partition(".")[2] for each in _written(template.source.root)}
    return frozenset(found)


def _connected(file: File) -> frozenset[str] | None:
    """Return the files that include this one, and those that they and it name; None if one is unknown."""
    found: set[str] = set()
    waiting = [file.path]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        waiting += file.snapshot.includers(path)
        for _, target in targets(file.snapshot, path):
            if target is None:
                return None
            waiting.append(target)
    return frozenset(found)


def initial_attributes(template: Template, owner: str) -> list[AttributeUse] | None:
    """Return the attributes with which a namespace is made; None if it may be anything else."""
    found: list[AttributeUse] = []
    for binding in template.names.bindings_of("set"):
        if binding.name != owner:
            continue
        statement = statement_at(template, binding.span.start)
        if statement is None or len(statement.targets) != 1 or len(statement.expressions) != 1:
            return None
        arguments = _arguments(statement.expressions[0])
        start = binding.span.start - statement.targets[0].span.start
        for argument in arguments if arguments is not None else ():
            attributes = _attributes(argument)
            if attributes is None:
                return None
            found += [
                AttributeUse(owner, name, span.shifted(start), is_set=True, is_initial=True)
                for name, span in attributes
            ]
        if arguments is None:
            return None
    return found


def _arguments(value: Expression) -> tuple[Expression, ...] | None:
    """Return the arguments of a call of `namespace`, or None if a value is something else."""
    if isinstance(value, Call) and isinstance(value.function, Name) and value.function.name == "namespace":
        return value.arguments
    return None


def _attributes(argument: Expression) -> Iterable[tuple[str, Span]] | None:
    """Return the attributes that an argument of `namespace` sets, or None if they are unknown."""
    if isinstance(argument, Keyword) and not argument.name.startswith("*"):
        start = argument.span.start
        return [(argument.name, Span(start, start + len(argument.name)))]
    if isinstance(argument, Collection) and argument.kind == "dict":
        keys = argument.items[::2]
        if all(isinstance(key, Constant) and isinstance(key.value, str) for key in keys):
            return [(str(key.value), key.span) for key in keys if isinstance(key, Constant)]
    return None


def _is_private(file: File, owner: str, uses: list[AttributeUse]) -> bool:
    """Return whether the uses of a variable are all that there are, in this file and others."""
    attributes = {each.span.start for each in uses}
    for reference in file.template.names.references_of(owner):
        after = file.template.source.slice(Span(reference.span.end, reference.span.end + 1))
        if after != "." or reference.span.end + 1 not in attributes:
            return False
    if any(each.keyword == "extends" for each in file.template.references):
        return False
    if owner in names_handed_on(file.snapshot, file.path):
        return False
    if not needs_of(file.snapshot, file.path).is_whole:
        return False
    return all(_only_includes(file, path) for path in file.snapshot.includers(file.path))


def _only_includes(file: File, path: str) -> bool:
    """Return whether the file at `path` includes this one, and does not import or extend it."""
    template = file.snapshot.template(path)
    return template is not None and all(
        reference.keyword == "include"
        for reference in template.references
        if file.snapshot.resolve(path, reference) == file.path
    )
