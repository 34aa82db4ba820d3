"""Name that is probably a typo of another name in the file.

## What it does

In a file that declares no inputs, reports

- a variable that is read once and differs by one letter from one that the file uses more often, also in a
  prompt object;
- as a hint, one of two variables that are each read once and differ by swapped or missing letters, and a name or key
  that is written once and differs in that way from a word of the text beside it;
- as a hint, a variable that is looped over once, if the file reads its plural;
- a key or attribute that is used once and differs by one letter from one that the same value has elsewhere,
  or is a misspelling of a common one such as `content`;
- a name with a hyphen, such as `user-name`, and a name with a dot or a comma where the file has it with `_`.

In every file with samples, reports a key that no sample has and, as an information, a text that a value is
compared with, if it is a typo of one that the samples have. In every file, reports a key of one mapping of a
list that the file writes, if it is a typo of a key that all other mappings of the list have.

Names that differ in a digit, in a plural ending or in a part of one or two letters are not reported, and
neither are names that a Python call, a sample or another template passes.

## Why is this bad?

Jinja prints nothing for an undefined name, so the prompt silently loses text.

## Example

```yaml
- name: instructions
  role: system
  content: You help {{ customer }}. Be polite to {{ customer }}.
- name: question
  role: user
  content: "{{ custmer }} asks for help."
               ^^^^^^^ probable-typo: nothing else is named `custmer`; did you mean `customer`?
```

Use instead:

```yaml
- name: instructions
  role: system
  content: You help {{ customer }}. Be polite to {{ customer }}.
- name: question
  role: user
  content: "{{ customer }} asks for help."
```
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Final, NamedTuple

from promptls.lint.analysis.loop_names import looped_names, typos_of_loop_variables
from promptls.lint.analysis.namespaces import (
    MIN_LENGTH,
    AttributeUse,
    attributes_around,
    has_attribute_uses,
    sets_attributes,
    unmatched_attributes,
    uses_in,
)
from promptls.lint.analysis.sampled_values import unsampled_names
from promptls.lint.analysis.unmatched_names import (
    binding_of,
    declared_names,
    given_names,
    names_in_includers,
    names_in_scope,
)
from promptls.lint.analysis.written_lists import has_lists_of_mappings, odd_keys
from promptls.lint.rule import JINJA_KINDS, OBJECT_KINDS, File, Finding, Fix, Rule
from promptls.semantic.flow.shapes import resolved_uses, used_shapes
from promptls.semantic.types.shape import Shape
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Name, Operation, walk
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo, typos_among
from promptls.workspace.contract import function_names, names_handed_on

_MIN_NAME_LENGTH: Final = 5
_MIN_KEY_LENGTH: Final = 4
_SHORT_PART: Final = 2
_MIN_COMMON: Final = 6
"""The minimum length of a common key for a misspelling of it to be certain."""
_MIN_USES: Final = 2
"""The minimum number of uses of a name for another name to be considered a typo of it."""
_COMMON_KEYS: Final = frozenset(
    {"answer", "author", "content", "message", "name", "question", "role", "sender", "text", "title"}
)
"""Common keys of chats and documents."""
_WORD: Final = re.compile(r"[A-Za-z]{5,}")
_TAG: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")
_NEAR: Final = 80
"""How many characters around a tag are searched for words."""
_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def check(file: File) -> Iterator[Finding]:
    """Yield the names, keys and texts that are probably typos, once at each place."""
    seen: set[Span] = set()
    for finding in _found(file):
        if finding.span not in seen:
            seen.add(finding.span)
            yield finding


def _found(file: File) -> Iterator[Finding]:
    """Yield the names, and the keys of values, that are one letter away from a more frequent one."""
    if file.template.has_broken_tags:
        return
    yield from _namespaces(file)
    yield from _unsampled(file)
    yield from _odd(file)
    if declared_names(file) is not None:
        if file.kind in OBJECT_KINDS:  # its inputs are fields, and none of Jinja's variables
            yield from _names(file)
        return
    yield from _names(file)
    yield from _singulars(file)
    yield from _keys(file)
    yield from _keys_of_bound(file)
    yield from _unlike_label(file)
    yield from _hyphenated(file)
    yield from _dotted(file)


def _unsampled(file: File) -> Iterator[Finding]:
    """Yield the typos of what the samples have: keys, and texts that a value is compared with."""
    if file.kind in OBJECT_KINDS:
        return
    for each in unsampled_names(file):
        finding = _finding(each.span, each.name, each.meant, each.message)
        yield finding if each.is_key else replace(finding, severity="information")


def _odd(file: File) -> Iterator[Finding]:
    """Yield the keys of one mapping of a written list that are typos of a key of all the others."""
    for located in file.chunks.where(has_lists_of_mappings):
        for each in odd_keys(located.chunk):
            message = f"every other mapping of the list has `{each.meant}`"
            fix = Fix.change_to(each.span, each.meant)
            yield Finding(each.span, message, (fix,)).shifted(located.start)


def _names(file: File) -> Iterator[Finding]:
    names = file.template.names
    like = typos_among(names.read_names | names.all_bound_names)
    suspicious = {
        name: [other for other in like(name) if _is_like(name, other, _MIN_NAME_LENGTH)]
        for name in names.input_names
        if len(name) >= _MIN_NAME_LENGTH
    }
    if not any(suspicious.values()):
        return
    passed = _passed(file)
    of_loops = {each.reference.span for each in typos_of_loop_variables(file) if each.is_certain}
    for name in sorted(suspicious.keys() - passed):
        references = list(names.references_of(name)) if suspicious[name] else []
        if len(references) != 1 or binding_of(names, name) is not None:
            continue
        span = references[0].span
        if span in of_loops:
            continue  # `undefined-variable` reports it
        is_called = references[0].how == "call"
        in_scope = names_in_scope(names, span.start)
        meant = [
            other
            for other in suspicious[name]
            if len(list(names.references_of(other))) + (other in names.bound_names("set"))
            >= (1 if _is_joined(name, other) else _MIN_USES)
            and (other in in_scope or other in names.input_names)
            and (not is_called or other in names.called_names)
        ]
        if len(meant) == 1:
            yield _finding(span, name, meant[0], f"nothing else is named `{name}`")
        elif not meant and not is_called:
            yield from _once_each(file, name, span, [each for each in suspicious[name] if each not in passed])


def _once_each(file: File, name: str, span: Span, similar: list[str]) -> Iterator[Finding]:
    """Yield a hint for one of two inputs that are each read once and differ by swapped, missing or doubled letters.

    It is the one with the word that the text and the file's name do not have elsewhere, or else the later one.
    """
    names = file.template.names
    twins = [each for each in similar if each in names.input_names and _is_obvious_typo(name, each)]
    if len(twins) != 1 or len(name) < _MIN_COMMON:
        return
    (other,) = twins
    references = list(names.references_of(other))
    if len(references) != 1 or references[0].how == "call" or binding_of(names, other) is not None:
        return
    words, others = _PART.findall(name), _PART.findall(other)
    own = [word for word in words if word not in others]
    its = [word for word in others if word not in words]
    text = f"{file.template.source.text}\n{PurePath(file.path).name}".casefold()
    is_own, is_its = (
        all(len(re.findall(rf"(?<![^\W_]){re.escape(word.casefold())}(?![^\W_])", text)) > 1 for word in each)
        for each in (own, its)
    )
    if (is_its and not is_own) or (is_its == is_own and references[0].span.start < span.start):
        yield replace(
            _finding(span, name, other, f"`{name}` and `{other}` are each read once"), severity="hint"
        )


def _is_obvious_typo(name: str, other: str) -> bool:
    """Return whether two names differ by swapped letters, or by a missing or doubled one inside of a word."""
    return name.casefold().replace("_", "") != other.casefold().replace("_", "") and (
        len(name) != len(other) or sorted(name) == sorted(other)
    )


def _is_joined(name: str, other: str) -> bool:
    """Return whether `name` is `other` in camel case."""
    return name.casefold() == other.replace("_", "").casefold()


def _passed(file: File) -> frozenset[str]:
    """Return the names that a caller, an includer or the functions of the file may provide."""
    found = names_handed_on(file.snapshot, file.path) | names_in_includers(file)
    found |= function_names(file.snapshot, file.path) or frozenset()
    return found | given_names(file)


def _singulars(file: File) -> Iterator[Finding]:
    """Yield the names that are read once, if the file sets their plural, or a loop takes their singular.

    It does not read the plural that it sets, or reads attributes of both.
    """
    names = file.template.names
    unread = names.bound_names("set") - names.read_names
    owners = {each.owner for each in uses_in(file)}
    namespaces = owners & names.bound_names("set")
    suspicious = {
        name
        for name in names.input_names
        if f"{name}s" in unread or (f"{name}s" in namespaces and name in owners)
    }
    looped = looped_names(file.chunks)
    suspicious |= {name for name in names.input_names & looped if f"{name}s" in names.input_names - looped}
    for name in sorted(suspicious - _passed(file)) if suspicious else ():
        references = list(names.references_of(name))
        span = references[0].span
        if (
            len(references) == 1
            and references[0].how != "call"
            and (f"{name}s" in names.input_names or f"{name}s" in names_in_scope(names, span.start))
        ):
            finding = _finding(span, name, f"{name}s", f"nothing else is named `{name}`")
            yield replace(finding, severity="hint")


def _keys(file: File) -> Iterator[Finding]:
    if not any(map(_has_similar_keys, used_shapes(file.template).values())):
        return
    uses: dict[tuple[object, ...], dict[str, set[Span]]] = {}
    exact: dict[tuple[object, ...], Span] = {}
    for use in resolved_uses(file.template):
        path_keys = tuple(step.key for step in use.path)
        exact[path_keys] = use.span
        for length in range(2, len(path_keys) + 1):
            key = path_keys[length - 1]
            if isinstance(key, str):
                uses.setdefault(path_keys[: length - 1], {}).setdefault(key, set()).add(use.span)
    elsewhere = Counter(key for keys in uses.values() for key in keys)
    for above, keys in uses.items():
        like = typos_among(frozenset(keys))
        for key, spans in keys.items():
            similar = [other for other in like(key) if _is_like(key, other, _MIN_KEY_LENGTH)]
            meant = [
                other
                for other in similar
                if len(keys[other]) >= _MIN_USES or elsewhere[other] >= _MIN_USES or other in _COMMON_KEYS
            ]
            is_guess = not meant and len(key) >= _MIN_COMMON
            if is_guess:  # of two keys that are each read once, the later one
                meant = [other for other in similar if min(keys[other]) < min(spans)]
            place = exact.get((*above, key))
            has_meant = bool(meant)
            if len(keys) > 1 and not meant:
                meant = [
                    common for common in sorted(_COMMON_KEYS - keys.keys()) if _is_misspelled(key, common)
                ]
            if (
                len(meant) != 1
                or len(spans) != 1
                or elsewhere[key] > 1
                or key in _COMMON_KEYS
                or place is None
            ):
                continue
            if file.template.source.slice(place).endswith(f".{key}"):
                message = f"`{key}` is not used anywhere else"
                if has_meant:
                    message += f", and the same value has `{meant[0]}`"
                finding = _finding(Span(place.end - len(key), place.end), key, meant[0], message)
                yield replace(finding, severity="hint") if is_guess and has_meant else finding


def _keys_of_bound(file: File) -> Iterator[Finding]:
    """Yield the attributes of variables that the file binds, each read once and a typo of another."""
    owners: dict[str, dict[str, set[Span]]] = {}
    bound = file.template.names.all_bound_names
    for use in uses_in(file) if has_attribute_uses(file.chunks) and bound else ():
        if use.owner in bound and not use.is_set and not use.is_initial:
            owners.setdefault(use.owner, {}).setdefault(use.name, set()).add(use.span)
    for keys in owners.values():
        like = typos_among(frozenset(keys))
        for key, spans in keys.items():
            similar = [other for other in like(key) if _is_like(key, other, _MIN_KEY_LENGTH)]
            common = [each for each in sorted(_COMMON_KEYS - keys.keys()) if _is_misspelled(key, each)]
            if not similar and len(common) == len(spans) == 1 and len(keys) > 1:
                message = f"`{key}` is not used anywhere else"
                yield _finding(min(spans), key, common[0], message)
            if len(similar) != 1 or len(spans) != 1 or key in _COMMON_KEYS:
                continue
            (meant,) = similar
            is_known = len(keys[meant]) >= _MIN_USES or meant in _COMMON_KEYS
            is_later = len(key) >= _MIN_COMMON and min(keys[meant]) < min(spans)
            if is_known or is_later:
                message = f"`{key}` is not used anywhere else, and the same variable has `{meant}`"
                finding = _finding(min(spans), key, meant, message)
                yield finding if is_known else replace(finding, severity="hint")


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


_has_beside: Final = summary(lambda chunk: bool(_beside(chunk)), any)


def _with_word(name: str, words: set[str]) -> str | None:
    """Return a name with the word that one of its parts is a typo of, if the words have all its other parts."""
    parts = name.split("_")
    strange = [index for index, part in enumerate(parts) if part.casefold() not in words]
    if len(strange) != 1 or len(parts[strange[0]]) < _MIN_NAME_LENGTH:
        return None
    part = parts[strange[0]]
    similar = [
        word for word in words if _is_like(part, word, _MIN_NAME_LENGTH) and _is_obvious_typo(part, word)
    ]
    if len(similar) != 1 or _american(part) == _american(similar[0]):
        return None
    return "_".join([*parts[: strange[0]], similar[0], *parts[strange[0] + 1 :]])


def _american(word: str) -> str:
    return word.replace("our", "or").replace("ise", "ize").replace("isa", "iza")


def _unlike_label(file: File) -> Iterator[Finding]:
    """Yield a hint for each name that the file has once, and that is a typo of a word beside it."""
    if not _has_beside(file.chunks):
        return
    text = file.template.source.text
    given = given_names(file) | file.template.names.called_names
    for located in file.chunks.where(_has_beside):
        for name, place, meant in _beside(located.chunk):
            is_once = len(re.findall(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text)) == 1
            if is_once and name not in given:
                message = "a word beside this is spelled differently"
                yield replace(_finding(place.shifted(located.start), name, meant, message), severity="hint")


def _namespaces(file: File) -> Iterator[Finding]:
    """Yield the attributes of a variable that are not set, and are a typo of one that is."""
    if not has_attribute_uses(file.chunks):
        return
    private = set()
    for each in unmatched_attributes(file):
        private.add(each.owner)
        for use, meant in each.misspelled:
            yield _finding(use.span, use.name, meant, f"nothing sets `{use.owner}.{use.name}`")
    is_alone = not file.template.references and not file.snapshot.includers(file.path)
    if is_alone and not sets_attributes(file.chunks):
        return
    uses = [*uses_in(file)]
    yield from _misspelled_owners(file, uses)
    times = Counter((each.owner, each.name) for each in uses)
    assigned = {(each.owner, each.name) for each in uses if each.is_set}
    names = file.template.names
    no_namespaces = names.all_bound_names - names.bound_names("set")
    around = {
        (owner, name)
        for owner in {each.owner for each in uses} - private - no_namespaces
        for name in attributes_around(file, owner)
    }
    for use in uses:
        own = (use.owner, use.name)
        if use.is_set or use.owner in private or own in assigned or times[own] != 1:
            continue
        known = [
            other
            for owner, other in sorted(assigned - around if own in around else assigned | around)
            if owner == use.owner and len(other) >= MIN_LENGTH and is_typo(use.name, other)
        ]
        set_here = [each for each in uses if each.is_set and each.owner == use.owner and [each.name] == known]
        is_set_around = {(use.owner, name) for name in known} <= around
        if (
            len(known) == 1
            and not is_set_around
            and use.owner not in names.all_bound_names
            and len(set_here) == 1
        ):
            # Another file makes the namespace, and may set what is read here.
            message = f"nothing reads `{use.owner}.{known[0]}`"
            yield _finding(set_here[0].span, known[0], use.name, message)
        elif len(known) == 1 and own not in around:
            yield _finding(use.span, use.name, known[0], f"nothing sets `{use.owner}.{use.name}`")


def _misspelled_owners(file: File, uses: list[AttributeUse]) -> Iterator[Finding]:
    """Yield the unbound names of which an attribute is set, and that are a typo of a variable."""
    names = file.template.names
    times = Counter(each.owner for each in uses)
    known = names.all_bound_names | names_in_includers(file)
    for use in uses:
        name, span = use.owner, use.span
        if not use.is_set or name in known or times[name] > 1:
            continue
        meant = [
            other
            for other in sorted(names.bound_names("set") | names.bound_names("parameter"))
            if is_typo(name, other) and times[other]
        ]
        if len(meant) == 1 and file.template.source.slice(Span(span.start - 1, span.end)) == f".{use.name}":
            place = Span(span.start - 1 - len(name), span.start - 1)
            if file.template.source.slice(place) == name:
                yield _finding(place, name, meant[0], f"nothing else is named `{name}`")


@chunk_fact
def _differences(chunk: Chunk) -> tuple[tuple[str, str, Span], ...]:
    """Return the names around a `-` without white space, and the span of all three."""
    found = []
    for start, node in expressions_in(chunk):
        if isinstance(node, Operation) and node.operators == ("-",) and len(node.operands) > 1:
            first, second = node.operands
            span = node.span.shifted(start)
            if isinstance(second, Call):
                second = second.function
                span = Span(first.span.start, second.span.end).shifted(start)
            if (
                isinstance(first, Name)
                and isinstance(second, Name)
                and chunk.text[span.start : span.end] == f"{first.name}-{second.name}"
            ):
                found.append((first.name, second.name, span))
    return tuple(found)


_has_differences: Final = summary(lambda chunk: bool(_differences(chunk)), any)


def _hyphenated(file: File) -> Iterator[Finding]:
    """Yield the names with a hyphen, which are differences of two names that the file does not use otherwise."""
    names = file.template.names
    for located in file.chunks.where(_has_differences) if _has_differences(file.chunks) else ():
        for first, second, span in _differences(located.chunk):
            once = all(
                name in names.input_names and len(list(names.references_of(name))) == 1
                for name in (first, second)
            )
            meant = f"{first}_{second}"
            is_called = located.chunk.text[span.end : span.end + 1] == "("
            if (once and not is_called) or meant in names.read_names | names.all_bound_names:
                message = f"this subtracts `{second}` from `{first}`, and a name has no `-`"
                yield Finding.suggest(span, message, meant).shifted(located.start)


def _dotted(file: File) -> Iterator[Finding]:
    """Yield the attributes where a name with `_` is meant, and printed pairs where an attribute is meant."""
    names = file.template.names
    suspicious = {
        each
        for each in uses_in(file)
        if each.owner in names.input_names
        and f"{each.owner}_{each.name}" in names.input_names - names.all_bound_names
    }
    passed = _passed(file) if suspicious or _has_pairs(file.chunks) else frozenset()
    for each in sorted(suspicious, key=lambda use: use.span):
        if each.owner in passed or len(list(names.references_of(each.owner))) != 1:
            continue
        place = Span(each.span.start - 1 - len(each.owner), each.span.end)
        if file.template.source.slice(place) == f"{each.owner}.{each.name}":
            meant = f"{each.owner}_{each.name}"
            finding = _finding(place, each.owner, meant, f"nothing else is named `{each.owner}`")
            is_sure = len(list(names.references_of(meant))) >= _MIN_USES
            yield finding if is_sure else replace(finding, severity="hint")
    for located in file.chunks.where(_has_pairs):
        for first, second, place in _pairs(located.chunk):
            is_once = second in names.input_names - passed and len(list(names.references_of(second))) == 1
            if is_once and second not in names.all_bound_names:
                meant = f"{first}.{second}"
                yield Finding.suggest(
                    place.shifted(located.start), "this prints a pair in parentheses", meant
                )


@chunk_fact
def _pairs(chunk: Chunk) -> tuple[tuple[str, str, Span], ...]:
    """Return the pairs of names that tags print, with a comma in the place of a dot: `{{ user,name }}`."""
    found = []
    for tag in chunk.tags:
        expressions = tag_tree(tag).statement.expressions if tag.kind == "output" else ()
        node = expressions[0] if len(expressions) == 1 else None
        match node:
            case Collection(kind="tuple", items=[Name() as first, Name() as second]):
                place = Span(first.span.start, second.span.end).shifted(tag.span.start)
                if re.fullmatch(r"\w+,\w+", chunk.text[place.start : place.end]):
                    found.append((first.name, second.name, place))
    return tuple(found)


_has_pairs: Final = summary(lambda chunk: bool(_pairs(chunk)), any)


def _is_misspelled(key: str, common: str) -> bool:
    """Return whether a key is a common one with two letters swapped, or one missing or doubled inside."""
    if key == common or key[:1] != common[:1] or key[-1:] != common[-1:]:
        return False
    if len(common) < _MIN_COMMON and sorted(key) != sorted(common):
        return False
    return is_typo(key, common) and (len(key) != len(common) or sorted(key) == sorted(common))


def _has_similar_keys(shape: Shape) -> bool:
    names = frozenset(name for name, _ in shape.keys)
    like = typos_among(names)
    if any(_is_like(one, other, _MIN_KEY_LENGTH) for one in names for other in like(one)):
        return True
    if len(names) > 1 and any(_is_misspelled(one, common) for one in names for common in _COMMON_KEYS):
        return True
    inside = [below for _, below in shape.keys] + [*shape.alternatives, *filter(None, [shape.element])]
    return any(map(_has_similar_keys, inside))


def _is_like(name: str, other: str, shortest: int) -> bool:
    """Return whether two names are one letter apart and unlikely to be both intended."""
    if min(len(name), len(other)) < shortest or not is_typo(name, other) or not is_close(name, other):
        return False
    shorter, longer = sorted((name.casefold(), other.casefold()), key=len)
    if shorter == longer:
        return True
    if longer.startswith(shorter) or longer.endswith(shorter):
        return False
    own_parts, other_parts = _PART.findall(name), _PART.findall(other)
    if len(own_parts) != len(other_parts):
        return True
    different = [pair for pair in zip(own_parts, other_parts, strict=True) if pair[0] != pair[1]]
    return all(_may_be_typo(*pair) for pair in different)


def _may_be_typo(part: str, other: str) -> bool:
    """Return whether two parts of names are not both words: short ones often are, such as `bos` and `eos`."""
    shortest = min(len(part), len(other))
    is_other_letter = len(part) == len(other) and sorted(part) != sorted(other)
    return shortest > _SHORT_PART + is_other_letter


def _finding(span: Span, name: str, meant: str, message: str) -> Finding:
    return Finding.suggest(span, message, meant)


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS | OBJECT_KINDS)
