"""Name that is probably a typo of another name in the file.

In a file that declares no inputs, reports

- a variable that is read once and differs by one letter from one that the file uses more often, also in a
  prompt object;
- as a hint, one of two variables that are each read once and differ by swapped or missing letters, and a name or key
  that is written once and differs in that way from a word of the text beside it;
- as a hint, a variable that is looped over once, if the file reads its plural, and one that is read once, under a
  condition on its plural or singular that is read nowhere else;
- a key or attribute that is used once and differs by one letter from one that the same value has elsewhere,
  or is a misspelling of a common one such as `content`;
- as a hint, a loop over one item of a list that is read nowhere else, as in `documents[3]` in place of `documents[:3]`;
- a name with a hyphen, such as `user-name`, and a name with a dot or a comma where the file has it with `_`.

In every file, reports a name of Latin letters with a Cyrillic or Greek one that looks like them, and a name in quotes that a tag prints alone, as a hint if the file has it nowhere else. As a hint,
reports the name of an input that is declared as a text, in quotes that make it a text to compare with.
In every file with samples, reports a key that no sample has and, as an information, a text that a value is
compared with, if it is a typo of one that the samples have. In every file, reports a key of one mapping of a
list that the file writes, if it is a typo of a key that all other mappings of the list have, and, as a hint, a value of
another kind than in all others, such as a text among lists.

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
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from promptls.lint.analysis.loop_names import looped_names, typos_of_loop_variables
from promptls.lint.analysis.namespaces import uses_in
from promptls.lint.analysis.sampled_values import unsampled_names
from promptls.lint.analysis.typos import (
    MIN_COMMON,
    is_camel_case_of,
    is_like,
    is_obvious_typo,
    name_parts,
    typos_of_attributes,
    typos_of_bound_keys,
    typos_of_keys,
    typos_of_labels,
)
from promptls.lint.analysis.unmatched_names import (
    binding_of,
    declared_names,
    given_names,
    is_read_once,
    names_in_includers,
    names_in_scope,
)
from promptls.lint.analysis.written_lists import has_lists_of_mappings, written_odd_keys, written_odd_values
from promptls.lint.rule import JINJA_KINDS, OBJECT_KINDS, Edit, File, Finding, Fix, Severity, each_chunk, rule
from promptls.semantic.names.scopes import NameReference
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Constant, Item, Name, Operation
from promptls.syntax.jinja.problems import expressions_in, loops_in, tag_tree
from promptls.text.positions import Span
from promptls.text.suggest import typos_among
from promptls.workspace.contract import function_names, names_handed_on

_MIN_LENGTH: Final = 5
_MIN_LENGTH_IN_OTHER_CASE: Final = 3
"""The minimum length of names that only differ in case."""
_MIN_LIMIT: Final = 2
"""The minimum number in brackets that may be meant as that of all items."""
_MIN_USES: Final = 2
"""The minimum number of uses of a name for another name to be considered a typo of it."""


@rule(severity="warning", kinds=JINJA_KINDS | OBJECT_KINDS)
def probable_typo(file: File) -> Iterator[Finding]:
    """Yield the names, keys and texts that are probably typos, once at each place."""
    seen: set[Span] = set()
    for finding in _typos(file):
        if finding.span not in seen:
            seen.add(finding.span)
            yield finding


def _typos(file: File) -> Iterator[Finding]:
    if file.template.has_broken_tags:
        return
    yield from typos_of_attributes(file)
    yield from _lookalikes(file)
    yield from _unsampled(file)
    for located in file.chunks.where(has_lists_of_mappings):
        for each in written_odd_keys(located.chunk):
            message = f"every other mapping of the list has `{each.meant}`"
            fix = Fix.change_to(each.span, each.meant)
            yield Finding(each.span, message, (fix,)).shifted(located.start)
        for span, name, kind, usual in written_odd_values(located.chunk):
            message = f"`{name}` is {kind} here, and {usual} in all other mappings of the list"
            yield Finding(span.shifted(located.start), message, severity="hint")
    yield from _quoted(file)
    if declared_names(file) is None:
        yield from _names(file)
        yield from _singulars(file)
        yield from _guarded(file)
        yield from typos_of_keys(file)
        yield from typos_of_bound_keys(file)
        yield from typos_of_labels(file)
        yield from _hyphenated(file)
        yield from _dotted(file)
        yield from _pairs_in_place_of_attributes(file)
        yield from _lost_colons(file)
    elif file.kind in OBJECT_KINDS:  # its inputs are fields, and none of Jinja's variables
        yield from _names(file)


_LOOKALIKES: Final = str.maketrans("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u03bf", "aeopcyxio")
"""Small letters of the Cyrillic and Greek alphabets that look like Latin ones."""


@chunk_fact
def _looped_items(chunk: Chunk) -> tuple[tuple[str, Span, Span], ...]:
    """Return the lists whose single item a loop iterates over, with the places of name and number."""
    return tuple(
        (item.target.name, item.target.span.shifted(start), item.key.span.shifted(start))
        for start, loop in loops_in(chunk)
        if isinstance(item := loop.expressions[0], Item)
        and isinstance(item.target, Name)
        and isinstance(item.key, Constant)
        and isinstance(item.key.value, int)
        and item.key.value >= _MIN_LIMIT
    )


def _lost_colons(file: File) -> Iterator[Finding]:
    """Yield the number of an item that a loop iterates over, if nothing else reads the list of these items."""
    for located, (name, place, number) in items_in(file.chunks, _looped_items):
        references = [*file.template.names.references_of(name)]
        if len(references) == 1 and references[0].binding is None and name not in _passed(file):
            span = place.shifted(located.start)
            written = located.chunk.slice(number)
            message = f"this loops over one item of `{name}`; its first items are `{name}[:{written}]`"
            edit = Edit.insert(number.start + located.start, ":")
            fixes = (Fix("Insert `:`", (edit,)),)
            yield Finding(Span(span.end + 1, number.end + located.start), message, fixes, severity="hint")


@each_chunk
def _lookalikes(chunk: Chunk) -> Iterator[Finding]:
    """Yield the names of Latin letters with one of another alphabet among them."""
    for start, node in () if chunk.text.isascii() else expressions_in(chunk):
        if isinstance(node, Name | Attribute) and not node.name.isascii():
            meant = node.name.translate(_LOOKALIKES)
            if meant.isascii() and any(each.isascii() and each.isalpha() for each in node.name):
                span = node.name_span if isinstance(node, Attribute) else node.span
                message = "a letter of this name only looks like a Latin one"
                yield Finding.suggest(span.shifted(start), message, meant)


def _unsampled(file: File) -> Iterator[Finding]:
    """Yield the typos of what the samples have: keys, and texts that a value is compared with."""
    if file.kind in OBJECT_KINDS:
        return
    for each in unsampled_names(file):
        finding = Finding.suggest(each.span, each.message, each.meant)
        yield finding if each.is_key else replace(finding, severity="information")


_NAME: Final = re.compile(r"[a-z]\w*")


@chunk_fact
def _quoted_names(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the texts that a tag prints alone and that may be names."""
    found = []
    for tag in chunk.tags:
        expressions = tag_tree(tag).statement.expressions if tag.kind == "output" else ()
        match expressions:
            case (Constant(value=str() as text, span=span),) if _NAME.fullmatch(text):
                found.append((text, span.shifted(tag.span.start)))
    return tuple(found)


@chunk_fact
def _compared_names(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the texts of several words that a variable is compared with and that may be names."""
    return tuple(
        (text, span.shifted(start))
        for start, node in expressions_in(chunk)
        if isinstance(node, Operation) and node.operators in {("==",), ("!=",)}
        for own, other in (node.operands, node.operands[::-1])
        if isinstance(own, Constant) and isinstance(other, Name | Attribute)
        for text, span in ((own.value, own.span),)
        if isinstance(text, str) and "_" in text and _NAME.fullmatch(text)
    )


def _quoted(file: File) -> Iterator[Finding]:
    """Yield the names in quotes that a tag prints, or compares, as a hint if nothing else has that name."""
    compared = list(items_in(file.chunks, _compared_names))
    texts = {
        key.name
        for key in file.template.declarations.inputs
        if compared and key.schema.get("type") == "string"
    }
    for located, (name, span) in compared:
        if name in texts:
            message = "the quotes make this a text, and there is an input of this name"
            yield Finding.suggest(span.shifted(located.start), message, name, severity="hint")
    quoted = [(located.start, each) for located, each in items_in(file.chunks, _quoted_names)]
    names = file.template.names
    known = names.read_names | names.all_bound_names | given_names(file) if quoted else frozenset()
    known |= declared_names(file) or frozenset() if quoted else frozenset()
    for start, (name, span) in quoted:
        if name in known or "_" in name:
            severity: Severity | None = None if name in known else "hint"
            message = "the quotes make this a text: the model gets the name"
            yield Finding.suggest(span.shifted(start), message, name, severity=severity)


def _names(file: File) -> Iterator[Finding]:
    """Yield the inputs that are read once, and are typos of a name that is used more often or looks right."""
    names = file.template.names
    like = typos_among(names.read_names | names.all_bound_names)
    similar = {
        name: others
        for name in names.input_names
        if (others := [other for other in like(name) if _is_similar(name, other)])
    }
    if not similar:
        return
    passed = _passed(file)
    of_loops = {each.reference.span for each in typos_of_loop_variables(file) if each.is_certain}
    for name in sorted(similar.keys() - passed):
        reference = _only_reference(file, name)
        if reference is None or reference.span in of_loops:  # `undefined-variable` reports those
            continue
        meant = [other for other in similar[name] if _is_established(file, other, reference)]
        if len(meant) == 1:
            yield _unknown_name(reference, meant[0])
        elif not meant:
            yield from _misspelled_twin(
                file, reference, [each for each in similar[name] if each not in passed]
            )


def _is_similar(name: str, other: str) -> bool:
    if len(name) >= _MIN_LENGTH_IN_OTHER_CASE and name != other and name.casefold() == other.casefold():
        return not name.isupper()  # a constant, such as the default of the other
    return is_like(name, other, _MIN_LENGTH)


def _unknown_name(reference: NameReference, meant: str, severity: Severity | None = None) -> Finding:
    message = f"nothing else is named `{reference.name}`"
    return Finding.suggest(reference.span, message, meant, severity=severity)


def _only_reference(file: File, name: str) -> NameReference | None:
    """Return the only reference to a name that the file does not bind."""
    references = list(file.template.names.references_of(name))
    is_only = len(references) == 1 and binding_of(file.template.names, name) is None
    return references[0] if is_only else None


def _is_established(file: File, name: str, typo: NameReference) -> bool:
    """Return whether a name is used often enough for another to be a typo of it, and could be used there."""
    names = file.template.names
    uses = len(list(names.references_of(name))) + (name in names.bound_names("set"))
    is_usual_form = is_camel_case_of(typo.name, name) and name == name.lower()
    if uses < (1 if is_usual_form else _MIN_USES):
        return False
    if typo.how == "call" and name not in names.called_names:
        return False
    return name in names.input_names or name in names_in_scope(names, typo.span.start)


def _misspelled_twin(file: File, reference: NameReference, similar: list[str]) -> Iterator[Finding]:
    """Yield a hint for one of two inputs that are each read once and differ by swapped, missing or doubled letters.

    It is the one with the word that the text and the file's name do not have elsewhere, or else the later one.
    """
    name = reference.name
    twins = [
        each for each in similar if each in file.template.names.input_names and is_obvious_typo(name, each)
    ]
    other = _only_reference(file, twins[0]) if len(twins) == 1 and len(name) >= MIN_COMMON else None
    if other is None or (other.how == "call") != (reference.how == "call"):
        return
    words, others = set(name_parts(name)), set(name_parts(other.name))
    is_known = _occur_elsewhere(file, words - others)
    is_other_known = _occur_elsewhere(file, others - words)
    is_later = other.span.start < reference.span.start
    if is_other_known > is_known or (is_other_known == is_known and is_later):
        message = f"`{name}` and `{other.name}` are each read once"
        yield Finding.suggest(reference.span, message, other.name, severity="hint")


def _occur_elsewhere(file: File, words: set[str]) -> bool:
    """Return whether each of the words occurs more than once in the text and name of the file."""
    text = f"{file.template.source.text}\n{PurePath(file.path).name}".casefold()
    return all(
        len(re.findall(rf"(?<![^\W_]){re.escape(word.casefold())}(?![^\W_])", text)) > 1 for word in words
    )


def _passed(file: File) -> frozenset[str]:
    """Return the names that a caller, an includer or the functions of the file may provide."""
    found = names_handed_on(file.snapshot, file.path) | names_in_includers(file)
    found |= function_names(file.snapshot, file.path) or frozenset()
    return found | given_names(file)


def _singulars(file: File) -> Iterator[Finding]:
    """Yield a hint for each name that is read once, if the file sets its plural, or a loop takes it for its plural.

    The file does not read the plural that it sets, or reads attributes of both.
    """
    names = file.template.names
    uses = [*uses_in(file)]
    unread = names.bound_names("set") - names.read_names
    owners = {each.owner for each in uses}
    variables = names.bound_names("set") | {each.owner for each in uses if each.is_set}
    looped = looped_names(file.chunks)
    suspicious = {
        name
        for name in names.input_names
        if (plural := f"{name}s") in unread
        or (name in owners and plural in owners & variables)
        or (name in looped and plural in names.input_names - looped)
    }
    for name in sorted(suspicious - _passed(file)) if suspicious else ():
        plural = f"{name}s"
        references = list(names.references_of(name))
        reference = references[0]
        if len(references) > 1 or reference.how == "call":
            continue
        if plural in names.input_names or plural in names_in_scope(names, reference.span.start):
            yield _unknown_name(reference, plural, "hint")


def _guarded(file: File) -> Iterator[Finding]:
    """Yield a hint for a name that is read once, under a condition on its plural or singular, which is read nowhere else."""
    inputs = file.template.names.input_names
    pairs = {(name, name[:-1]) for name in inputs if name.endswith("s") and name[:-1] in inputs}
    passed = _passed(file) if pairs else frozenset()
    for name, meant in sorted(pairs | {(singular, plural) for plural, singular in pairs}):
        reference, test = _only_reference(file, name), _only_reference(file, meant)
        if reference is None or test is None or reference.how == "call" or name in passed:
            continue
        for block in file.template.branches.at(reference.span.start):
            is_tested = block.keyword == "if" and block.opening < test.span.start < reference.span.start
            if is_tested and "%}" not in file.template.source.slice(Span(block.opening, test.span.start)):
                yield _unknown_name(reference, meant, "hint")


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
                and chunk.slice(span) == f"{first.name}-{second.name}"
            ):
                found.append((first.name, second.name, span))
    return tuple(found)


def _hyphenated(file: File) -> Iterator[Finding]:
    """Yield the names with a hyphen, which are differences of two names that the file does not use otherwise."""
    names = file.template.names
    for located, (first, second, span) in items_in(file.chunks, _differences):
        are_inputs = {first, second} <= names.input_names
        is_once = are_inputs and is_read_once(file, first) and is_read_once(file, second)
        is_called = located.chunk.text.startswith("(", span.end)
        meant = f"{first}_{second}"
        if (is_once and not is_called) or meant in names.read_names | names.all_bound_names:
            message = f"this subtracts `{second}` from `{first}`, and a name has no `-`"
            yield Finding.suggest(span, message, meant).shifted(located.start)


def _dotted(file: File) -> Iterator[Finding]:
    """Yield the attributes where a name with `_` is meant: `{{ user.name }}` for `{{ user_name }}`."""
    names = file.template.names
    inputs = names.input_names - names.all_bound_names
    suspicious = {
        each
        for each in uses_in(file)
        if each.owner in names.input_names and f"{each.owner}_{each.name}" in inputs
    }
    passed = _passed(file) if suspicious else frozenset()
    for each in sorted(suspicious, key=lambda use: use.span):
        place = Span(each.span.start - 1 - len(each.owner), each.span.end)
        is_whole = file.template.source.slice(place) == f"{each.owner}.{each.name}"
        if is_whole and each.owner not in passed and is_read_once(file, each.owner):
            meant = f"{each.owner}_{each.name}"
            severity: Severity | None = "hint" if is_read_once(file, meant) else None
            message = f"nothing else is named `{each.owner}`"
            yield Finding.suggest(place, message, meant, severity=severity)


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
                if re.fullmatch(r"\w+,\w+", chunk.slice(place)):
                    found.append((first.name, second.name, place))
    return tuple(found)


def _pairs_in_place_of_attributes(file: File) -> Iterator[Finding]:
    """Yield the printed pairs where an attribute is meant."""
    pairs = [*items_in(file.chunks, _pairs)]
    if not pairs:
        return
    names = file.template.names
    inputs = names.input_names - names.all_bound_names - _passed(file)
    for located, (first, second, place) in pairs:
        if second in inputs and is_read_once(file, second):
            message = "this prints a pair in parentheses"
            yield Finding.suggest(place, message, f"{first}.{second}").shifted(located.start)
