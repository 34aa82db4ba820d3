"""Typos: the similarity of names, and names, keys and attributes that are typos of others beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from promptls.lint.analysis.namespaces import (
    MIN_LENGTH,
    AttributeUse,
    attributes_around,
    has_attribute_uses,
    sets_attributes,
    unmatched_attributes,
    uses_in,
)
from promptls.lint.analysis.unmatched_names import given_names, names_in_includers
from promptls.lint.rule import File, Finding, Severity
from promptls.semantic.flow.shapes import resolved_uses, used_shapes
from promptls.semantic.types.shape import Shape
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in
from promptls.syntax.jinja.nodes import Attribute, Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo, typos_among

MIN_COMMON: Final = 6
"""The minimum length of a common key for a misspelling of it to be certain."""
COMMON_KEYS: Final = frozenset(
    {"answer", "author", "content", "message", "name", "question", "role", "sender", "text", "title"}
)
"""Common keys of chats and documents."""
_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_SHORT_PART: Final = 2


def is_like(name: str, other: str, shortest: int) -> bool:
    """Return whether two names are one letter apart and unlikely to be both intended."""
    if min(len(name), len(other)) < shortest or not is_typo(name, other) or not is_close(name, other):
        return False
    shorter, longer = sorted((name.casefold(), other.casefold()), key=len)
    if shorter == longer:
        return True
    if longer.startswith(shorter) or longer.endswith(shorter):
        return False
    own_parts, other_parts = name_parts(name), name_parts(other)
    if len(own_parts) != len(other_parts):
        return True
    pairs = zip(own_parts, other_parts, strict=True)
    return all(own == its or _may_be_typo(own, its) for own, its in pairs)


def name_parts(name: str) -> list[str]:
    """Return the words and numbers of a name in snake case or camel case."""
    return _PART.findall(name)


def _may_be_typo(part: str, other: str) -> bool:
    """Return whether two parts of names are not both words: short ones often are, such as `bos` and `eos`."""
    shortest = min(len(part), len(other))
    is_other_letter = len(part) == len(other) and sorted(part) != sorted(other)
    return shortest > _SHORT_PART + is_other_letter


def is_obvious_typo(name: str, other: str) -> bool:
    """Return whether two names differ by swapped letters, or by a missing or doubled one inside of a word."""
    return name.casefold().replace("_", "") != other.casefold().replace("_", "") and (
        len(name) != len(other) or sorted(name) == sorted(other)
    )


def is_camel_case_of(name: str, other: str) -> bool:
    """Return whether `name` is `other` in camel case."""
    return name.casefold() == other.replace("_", "").casefold()


def misspells_common_key(key: str, common: str) -> bool:
    """Return whether a key is a common one with two letters swapped, or one missing or doubled inside."""
    if key == common or key[:1] != common[:1] or key[-1:] != common[-1:]:
        return False
    if len(common) < MIN_COMMON and sorted(key) != sorted(common):
        return False
    return is_typo(key, common) and (len(key) != len(common) or sorted(key) == sorted(common))


def different_words(name: str, other: str) -> tuple[str, str] | None:
    """Return the only words that differ in two names with `_`, the shorter one first; None if it is not one."""
    words, others = name.split("_"), other.split("_")
    different = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    if len(words) != len(others) or len(different) != 1:
        return None
    short, long = sorted(different[0], key=len)
    return short, long


def abbreviates(short: str, long: str) -> bool:
    """Return whether a word has the first letter of another, and then some of its letters in their order."""
    letters = iter(long)
    return short[:1] == long[:1] and all(letter in letters for letter in short)


_MIN_WORD: Final = 5
_WORD: Final = re.compile(r"[A-Za-z]{5,}")
_RUN: Final = re.compile(r"\w+")
_TAG: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")
_NEAR: Final = 80
"""How many characters around a tag are searched for words."""


class _Beside(NamedTuple):
    """A printed name or key that is a typo of a word of the text on its line, and the name with that word."""

    name: str
    span: Span
    meant: str


@chunk_fact
def _beside(chunk: Chunk) -> tuple[_Beside, ...]:
    """Return the printed names and keys with a part that is a typo of a word on their line."""
    return tuple(found for tag in chunk.tags if tag.kind == "output" for found in _beside_tag(chunk, tag))


def _beside_tag(chunk: Chunk, tag: Tag) -> Iterator[_Beside]:
    first = chunk.text.rfind("\n", 0, tag.span.start) + 1
    last = (chunk.text.find("\n", tag.span.end) + 1 or chunk.length + 1) - 1
    before = chunk.text[max(first, tag.span.start - _NEAR) : tag.span.start]
    after = chunk.text[tag.span.end : min(last, tag.span.end + _NEAR)]
    words = {word.casefold() for word in _WORD.findall(_TAG.sub(" ", f"{before} {after}"))}
    for expression in tag_tree(tag).statement.expressions if words else ():
        for node in walk(expression):
            if isinstance(node, Name | Attribute):
                place = node.name_span if isinstance(node, Attribute) else node.span
                meant = _with_word(node.name, words)
                if meant is not None:
                    yield _Beside(node.name, place.shifted(tag.span.start), meant)


def _with_word(name: str, words: set[str]) -> str | None:
    """Return a name with the word that one of its parts is a typo of, if the words have all its other parts."""
    parts = name.split("_")
    strange = [index for index, part in enumerate(parts) if part.casefold() not in words]
    if len(strange) != 1 or len(parts[strange[0]]) < _MIN_WORD:
        return None
    part = parts[strange[0]]
    similar = [word for word in words if is_like(part, word, _MIN_WORD) and is_obvious_typo(part, word)]
    if len(similar) != 1 or _american(part) == _american(similar[0]):
        return None
    return "_".join([*parts[: strange[0]], similar[0], *parts[strange[0] + 1 :]])


def _american(word: str) -> str:
    return word.replace("our", "or").replace("ise", "ize").replace("isa", "iza")


def typos_of_labels(file: File) -> Iterator[Finding]:
    """Yield a hint for each name that the file has once, and that is a typo of a word beside it."""
    beside = [(each, located.start) for located, each in items_in(file.chunks, _beside)]
    given = given_names(file) | file.template.names.called_names if beside else frozenset[str]()
    found = [(each, start) for each, start in beside if each.name not in given]
    times = _times({each.name for each, _ in found}, file.template.source.text) if found else Counter[str]()
    for each, start in found:
        if times[each.name] == 1:
            message = "a word beside this is spelled differently"
            yield Finding.suggest(each.span.shifted(start), message, each.meant, severity="hint")


def _times(names: set[str], text: str) -> Counter[str]:
    """Return how often each of the names is in a text, alone or as words of a longer name."""
    lengths = {name.count("_") + 1 for name in names}
    return Counter(
        name
        for words in (run.split("_") for run in _RUN.findall(text))
        for length in lengths
        for start in range(len(words) - length + 1)
        if (name := "_".join(words[start : start + length])) in names
    )


_MIN_LENGTH: Final = 4
_MIN_USES: Final = 2
"""The minimum number of uses of a key for another key to be considered a typo of it."""


def typos_of_keys(file: File) -> Iterator[Finding]:
    """Yield the keys of inputs that are read once and are typos of others of the same value."""
    if not any(map(_has_similar_keys, used_shapes(file.template).values())):
        return
    values: dict[tuple[object, ...], dict[str, set[Span]]] = {}
    for use in resolved_uses(file.template):
        path = use.keys
        for index, key in enumerate(path):
            if index and isinstance(key, str):
                values.setdefault(path[:index], {}).setdefault(key, set()).add(use.span)
    for typo in _typos(list(values.values())):
        written = file.template.source.slice(typo.span)
        if written.endswith((f".{typo.key}", f"'{typo.key}'", f'"{typo.key}"')):
            end = typo.span.end - (written[-1] in "'\"")
            yield typo.finding("value", Span(end - len(typo.key), end))


def typos_of_bound_keys(file: File) -> Iterator[Finding]:
    """Yield the attributes of variables that the file binds, each read once and a typo of another."""
    bound = file.template.names.all_bound_names
    if not bound or not has_attribute_uses(file.chunks):
        return
    values: dict[str, dict[str, set[Span]]] = {}
    for use in uses_in(file):
        if use.owner in bound and not use.is_set and not use.is_initial:
            values.setdefault(use.owner, {}).setdefault(use.name, set()).add(use.span)
    for typo in _typos(list(values.values())):
        yield typo.finding("variable", typo.span)


class _KeyTypo(NamedTuple):
    """A key that is read once, and the key that is meant, which the same value may have."""

    key: str
    span: Span
    meant: str
    is_of_value: bool
    severity: Severity | None

    def finding(self, owner: str, place: Span) -> Finding:
        """Return the finding at the place of the key; `owner` is what has the key that is meant."""
        same = f", and the same {owner} has `{self.meant}`" if self.is_of_value else ""
        message = f"`{self.key}` is not used anywhere else{same}"
        return Finding.suggest(place, message, self.meant, severity=self.severity)


def _typos(values: list[dict[str, set[Span]]]) -> Iterator[_KeyTypo]:
    """Yield the typos among the keys of each value, given with the places where they are read."""
    times = Counter(key for keys in values for key in keys)
    for keys in values:
        like = typos_among(frozenset(keys))
        for key, spans in keys.items():
            if len(spans) > 1 or times[key] > 1 or key in COMMON_KEYS:
                continue
            (span,) = spans
            similar = [other for other in like(key) if is_like(key, other, _MIN_LENGTH)]
            established = [
                other
                for other in similar
                if len(keys[other]) >= _MIN_USES or times[other] >= _MIN_USES or other in COMMON_KEYS
            ]
            earlier = [other for other in similar if len(key) >= MIN_COMMON and min(keys[other]) < span]
            meant = established or earlier or _common_keys_like(key, keys)
            if len(meant) == 1:
                severity: Severity | None = "hint" if earlier and not established else None
                yield _KeyTypo(key, span, meant[0], bool(established or earlier), severity)


def _common_keys_like(key: str, keys: Mapping[str, object]) -> list[str]:
    """Return the common keys that a key misspells, if its value has other keys, but not these."""
    if len(keys) == 1:
        return []
    return [common for common in sorted(COMMON_KEYS - keys.keys()) if misspells_common_key(key, common)]


def _has_similar_keys(shape: Shape) -> bool:
    names = frozenset(name for name, _ in shape.keys)
    like = typos_among(names)
    if any(is_like(one, other, _MIN_LENGTH) for one in names for other in like(one)):
        return True
    if len(names) > 1 and any(misspells_common_key(one, common) for one in names for common in COMMON_KEYS):
        return True
    inside = [below for _, below in shape.keys] + [*shape.alternatives, *filter(None, [shape.element])]
    return any(map(_has_similar_keys, inside))


def typos_of_attributes(file: File) -> Iterator[Finding]:
    """Yield the attributes of variables that are not set, and are a typo of one that is."""
    if not has_attribute_uses(file.chunks):
        return
    private = set()
    for each in unmatched_attributes(file):
        private.add(each.owner)
        for use, meant in each.misspelled:
            yield _unset(use, meant)
    is_alone = not file.template.references and not file.snapshot.includers(file.path)
    if is_alone and not sets_attributes(file.chunks):
        return
    uses = [*uses_in(file)]
    yield from _misspelled_owners(file, uses)
    yield from _misspelled_attributes(file, uses, private)


def _unset(use: AttributeUse, meant: str) -> Finding:
    return Finding.suggest(use.span, f"nothing sets `{use.owner}.{use.name}`", meant)


def _misspelled_attributes(file: File, uses: list[AttributeUse], private: set[str]) -> Iterator[Finding]:
    """Yield the attributes that are read once, if this file or one around it sets a similar attribute.

    The attributes of `private` variables are left out. If a file around this one sets the attribute that is read, the
    similar one is the typo.
    """
    names = file.template.names
    times = Counter((each.owner, each.name) for each in uses)
    assigned = {(each.owner, each.name) for each in uses if each.is_set}
    no_namespaces = names.all_bound_names - names.bound_names("set")
    around = {
        (owner, name)
        for owner in {each.owner for each in uses} - private - no_namespaces
        for name in attributes_around(file, owner)
    }
    for use in uses:
        own = (use.owner, use.name)
        if use.owner in private or own in assigned or times[own] != 1:
            continue
        known = assigned - around if own in around else assigned | around
        similar = [
            name
            for owner, name in sorted(known)
            if owner == use.owner and len(name) >= MIN_LENGTH and is_typo(use.name, name)
        ]
        if len(similar) != 1:
            continue
        (meant,) = similar
        setters = [each for each in uses if each.is_set and (each.owner, each.name) == (use.owner, meant)]
        is_set_here_only = len(setters) == 1 and (use.owner, meant) not in around
        if is_set_here_only and use.owner not in names.all_bound_names:
            # Another file makes the namespace, and may set what is read here.
            yield Finding.suggest(setters[0].span, f"nothing reads `{use.owner}.{meant}`", use.name)
        elif (
            len(use.name) == len(meant)
            and sorted(use.name) != sorted(meant)
            and any(not each.is_set and (each.owner, each.name) == (use.owner, meant) for each in uses)
        ):
            yield Finding(use.span, f"nothing sets `{use.owner}.{use.name}`")  # as `eom`, beside `bom`
        elif own not in around:
            yield _unset(use, meant)


def _misspelled_owners(file: File, uses: list[AttributeUse]) -> Iterator[Finding]:
    """Yield the unbound names that are typos of a variable, where an attribute of them is set."""
    names = file.template.names
    times = Counter(each.owner for each in uses)
    around = names_in_includers(file)
    known = names.all_bound_names | around
    for use in uses:
        name, span = use.owner, use.span
        if not use.is_set or name in known or times[name] > 1:
            continue
        meant = [
            other
            for other in sorted(names.bound_names("set") | names.bound_names("parameter") | around)
            if is_typo(name, other) and times[other]
        ]
        if len(meant) == 1 and file.template.source.slice(Span(span.start - 1, span.end)) == f".{use.name}":
            place = Span(span.start - 1 - len(name), span.start - 1)
            if file.template.source.slice(place) == name:
                yield Finding.suggest(place, f"nothing else is named `{name}`", meant[0])
