"""Wrong names in and around loops: of the variable, the list, `loop` and the counters of other languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.analysis.namespaces import uses_in
from promptls.lint.analysis.typos import abbreviates, different_words
from promptls.lint.analysis.unmatched_names import (
    binding_of,
    declared_names,
    given_names,
    is_read_once,
    names_in_scope,
    unread,
    without_source,
)
from promptls.lint.rule import Edit, File, Finding, Fix, Severity
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.names.scopes import Binding, NameReference
from promptls.semantic.names.template_names import statement_at
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import Attribute, Conditional, Name, Operation, Test, walk
from promptls.syntax.jinja.problems import expressions_in, loops_in, statement_of
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo, typos_among
from promptls.workspace.contract import names_handed_on, needs_of

_MIN_LENGTH: Final = 4
"""The minimum length of a name for another name to be considered a typo of it."""
_MIN_UNREAD: Final = 3
"""The same for the variable of a loop that nothing reads."""


def _looped(chunk: Chunk) -> frozenset[str]:
    """Return the names that loops of the chunk iterate over."""
    sources = (loop.expressions[0] for _, loop in loops_in(chunk))
    return frozenset(source.name for source in sources if isinstance(source, Name))


looped_names: Final = summary(_looped, union)
listed_names: Final = summary(
    lambda chunk: frozenset(
        loop.expressions[0].name
        for _, loop in loops_in(chunk)
        if isinstance(loop.expressions[0], Name) and len(loop.targets) == len(loop.target_names) == 1
    ),
    union,
)
"""The names that loops with one variable iterate over."""


def _paths(chunk: Chunk) -> frozenset[str]:
    """Return the attributes of variables that loops with one variable iterate over, as they are written."""
    loops = [(start, loop.targets, loop.expressions[0]) for start, loop in loops_in(chunk)]
    return frozenset(
        chunk.text[start + source.span.start : start + source.span.end]
        for start, targets, source in loops
        if len(targets) == 1 and isinstance(targets[0], Name) and isinstance(source, Attribute)
    )


looped_paths: Final = summary(_paths, union)
"""The attributes that such loops iterate over, as they are written."""


class LoopTypo(NamedTuple):
    """A name in a loop that is probably meant to be the loop's variable, and whether that is almost certain."""

    reference: NameReference
    binding: Binding
    is_certain: bool = True


def typos_of_loop_variables(file: File) -> Iterator[LoopTypo]:
    """Yield typos of loop variables.

    Any name that is not declared may be an input. It is a typo if it is only read inside of the loop, and if it is
    similar to an unread variable of the loop or an abbreviation of it. If the variable is read too, the name
    must differ from it in case only, or have a letter more or less and be read once, with an attribute. The plural of a variable, the only name in
    the loop whose attributes are read, the singular of the list, and the abbreviation of a variable that is read
    too, are less certain.
    """
    names = file.template.names
    if not names.bound_names("for"):
        return
    unknown = without_source(file, names.input_names)
    if not unknown:
        return
    unread_variables = set(unread(file, "for"))
    read = {each.binding for each in names.references if each.binding is not None}
    read_elsewhere = _names_read_elsewhere(file)
    singulars = _singulars(file, unknown)
    like = typos_among(unknown)
    for binding in names.bindings_of("for"):
        is_private = binding.name.startswith("_") or binding.name in read_elsewhere
        is_unread = binding in unread_variables or (binding not in read and not is_private)
        shortest = _MIN_UNREAD if is_unread else _MIN_LENGTH
        similar = {name for name in like(binding.name) if _is_like(name, binding.name, shortest)}
        if binding in read:
            certain, possible = _typos_of_read(file, binding, unknown, similar)
            certain |= {name for name in like(binding.name) if name.casefold() == binding.name.casefold()}
        else:
            certain, possible = similar, _plurals_of_element(binding, unknown) - looped_names(file.chunks)
        if is_unread:
            only = _only_mapping(file, binding) & unknown
            certain |= _abbreviations(file, binding, unknown) | (only & names.bound_names("for"))
            possible |= only
        possible |= singulars.get(_looped_input(file, binding), set()) if singulars else set()
        for name in sorted(certain | possible):
            references = names.free_references_of(name)
            if all(_is_inside(file, reference, binding) for reference in references):
                yield from (LoopTypo(each, binding, name in certain) for each in references)


def _typos_of_read(
    file: File, binding: Binding, unknown: frozenset[str], similar: set[str]
) -> tuple[set[str], set[str]]:
    """Return the certain and the possible typos of a variable that the loop reads under its name, too."""
    looped = looped_names(file.chunks)
    plurals_of_it = _plurals_of_element(binding, unknown)
    possible = {name for name in unknown if _is_abbreviation(name, binding.name)} | (plurals_of_it - looped)
    certain, possible = (
        {name for name in names if _is_misspelled_once(file, name, binding.name)}
        for names in (similar, possible)
    )
    return certain, possible | {name for name in plurals_of_it & looped if _is_read_once(file, name)}


def _plurals_of_element(binding: Binding, unknown: frozenset[str]) -> set[str]:
    return {f"{binding.name}s", f"{binding.name}es"} & unknown


def _abbreviations(file: File, binding: Binding, unknown: frozenset[str]) -> set[str]:
    """Return the names that abbreviate a variable that nothing reads, or that it abbreviates."""
    return {
        name
        for name in unknown
        if _is_short_for(file, name, binding.name)
        or (_is_abbreviation(name, binding.name) and not _is_plural(name, binding.name))
    }


def _names_read_elsewhere(file: File) -> frozenset[str]:
    """Return the loop variables that other files or broken tags may read."""
    names = file.template.names
    if file.template.has_broken_tags or not needs_of(file.snapshot, file.path).is_whole:
        return names.bound_names("for")
    return names_handed_on(file.snapshot, file.path)


def _is_abbreviation(name: str, known: str) -> bool:
    """Return whether one name is the other with a word abbreviated to its beginning or consonants: `doc`, `msg`."""
    words = different_words(name, known) if name[:1] == known[:1] else None
    if words is None or len(words[0]) < _MIN_UNREAD:
        return False
    short, long = words
    consonants = long[:1] + re.sub(r"[aeiou]", "", long[1:])
    return long.startswith(short) or short == re.sub(r"(.)\1", r"\1", consonants)


def _is_read_once(file: File, name: str) -> bool:
    return name not in given_names(file) and is_read_once(file, name)


def _only_mapping(file: File, binding: Binding) -> set[str]:
    """Return the only input whose attributes are read in the loop of a binding, if they are read only there.

    The loop must be one over an input, with one variable.
    """
    looped = _looped_input(file, binding)
    if looped is None:
        return set()
    found = {
        name
        for name, shape in used_shapes(file.template).items()
        if shape.kind == "mapping"
        and name != looped
        and any(_is_inside(file, each, binding) for each in file.template.names.references_of(name))
    }
    return found if len(found) == 1 else set()


def _singulars(file: File, unknown: frozenset[str]) -> dict[str | None, set[str]]:
    """Return the unknown names whose attributes are read, by the plurals that loops may iterate over."""
    found: dict[str | None, set[str]] = {}
    for name, shape in used_shapes(file.template).items():
        if shape.kind == "mapping" and name in unknown:
            for plural in plurals(name):
                found.setdefault(plural, set()).add(name)
    return found


def _looped_input(file: File, binding: Binding) -> str | None:
    """Return the name that the loop of a binding iterates over, if it has one variable."""
    statement = statement_at(file.template, binding.span.start)
    if statement is None or len(statement.targets) != 1 or not isinstance(statement.expressions[0], Name):
        return None
    return statement.expressions[0].name


def _is_misspelled_once(file: File, name: str, known: str) -> bool:
    """Return whether a name that differs in its length or order is read once, with an attribute."""
    if len(name) == len(known) and sorted(name) != sorted(known):
        return False  # often another word
    shape = used_shapes(file.template).get(name)
    is_mapping = shape is not None and shape.kind == "mapping"
    return is_mapping and _is_read_once(file, name)


def _is_plural(name: str, other: str) -> bool:
    return name in {f"{other}s", f"{other}es"} or other in {f"{name}s", f"{name}es"}


def _is_like(name: str, known: str, shortest: int) -> bool:
    return (
        len(known) >= shortest
        and not _is_plural(name, known)
        and is_typo(name, known)
        and is_close(name, known)
    )


def _is_short_for(file: File, name: str, known: str) -> bool:
    """Return whether one name abbreviates the other, if attributes of `name` are read."""
    shorter, longer = sorted((name.casefold(), known.casefold()), key=len)
    if not abbreviates(shorter, longer):
        return False
    shape = used_shapes(file.template).get(name)
    return shape is not None and shape.kind == "mapping"


def _is_inside(file: File, reference: NameReference, binding: Binding) -> bool:
    if reference.binding is not None or reference.how == "call":
        return False
    return binding.name in names_in_scope(file.template.names, reference.span.start)


class SingularList(NamedTuple):
    """A name that loops iterate over although it is the singular of a list, which is meant."""

    reference: NameReference
    plural: str
    binding: Binding | None


def singular_lists(file: File) -> Iterator[SingularList]:
    """Yield the names that loops iterate over although the file only has their plural.

    The name may be an input, as may any in a file that declares none. It is not one if it is only read by
    loops, and if the file sets the plural, or asks for it in a condition around each of the loops.
    """
    names = file.template.names
    if declared_names(file) is not None:
        return
    suspicious = without_source(file, looped_names(file.chunks) & names.input_names)
    suspicious -= names_handed_on(file.snapshot, file.path)
    for name in sorted(suspicious):
        plural = next(
            (each for each in plurals(name) if each in names.bound_names("set") | names.input_names), None
        )
        references = names.free_references_of(name)
        if plural is None or not all(_is_looped(file, each) for each in references):
            continue
        binding = next((each for each in names.bindings_of("set") if each.name == plural), None)
        for each in references:
            is_known = plural in names_in_scope(names, each.span.start)
            if is_known or (binding is None and _is_only_tested(file, plural, each)):
                yield SingularList(each, plural, binding)


def plurals(name: str) -> tuple[str, ...]:
    """Return the possible plurals of a name."""
    regular = (f"{name}s", f"{name}es", f"{name}_list", f"all_{name}s")
    return (*regular, f"{name[:-1]}ies") if name.endswith("y") else regular


def _is_looped(file: File, reference: NameReference) -> bool:
    """Return whether a reference is the whole value that a loop iterates over."""
    statement = statement_at(file.template, reference.span.start)
    if statement is None or statement.keyword != "for" or not statement.expressions:
        return False
    source = statement.expressions[0]
    read = [node for node in walk(source) if isinstance(node, Name) and node.name == reference.name]
    return isinstance(source, Name) and len(read) == 1


def _is_only_tested(file: File, plural: str, reference: NameReference) -> bool:
    """Return whether a list is only read by the conditions of `if` tags around a loop."""
    openings = [
        block.opening for block in file.template.branches.at(reference.span.start) if block.keyword == "if"
    ]
    references = list(file.template.names.references_of(plural))
    return bool(references) and all(
        any(
            opening < each.span.start and "%}" not in file.template.source.slice(Span(opening, each.span.end))
            for opening in openings
        )
        for each in references
    )


_COUNTERS: Final = frozenset({"index", "index0"})
_EDGES: Final = frozenset({"first", "last"})
_DJANGO: Final = "forloop"
_DJANGO_COUNTERS: Final = {
    "counter": "index",
    "counter0": "index0",
    "first": "first",
    "index": "index",
    "index0": "index0",
    "last": "last",
    "length": "length",
    "revcounter": "revindex",
    "revcounter0": "revindex0",
}
"""The attributes of a loop in Django and Liquid, with their names in Jinja."""


def loops_outside_of_loops(file: File) -> Iterator[Finding]:
    """Yield the uses of `loop` outside of a loop."""
    names = file.template.names
    if "loop" not in names.input_names:
        return
    # A broken tag may be intended to open or close a loop.
    if file.template.has_broken_tags:
        return
    declared = {key.name for key in file.template.declarations.inputs}
    includers = file.snapshot.includers(file.path)
    if "loop" in declared or _tests_loop(file) or any(_binds_loop(file, path) for path in includers):
        return
    message = "`loop` exists only in a loop"
    if includers:
        message = (
            "an included file does not see `loop`; where it is included, pass on what it needs with `set`"
        )
    for reference in names.references_of("loop"):
        if reference.binding is None:
            yield Finding(reference.span, message)


def _tests_loop(file: File) -> bool:
    return any(
        isinstance(node, Test)
        and node.name in {"defined", "undefined"}
        and isinstance(node.target, Name)
        and node.target.name == "loop"
        for located in file.template.names.chunks_referencing("loop")
        for _, node in expressions_in(located.chunk)
    )


def _binds_loop(file: File, path: str) -> bool:
    template = file.snapshot.template(path)
    return template is None or binding_of(template.names, "loop") is not None


def _tested(chunk: Chunk) -> frozenset[str]:
    """Return the names that are conditions, or the whole of what `not` negates in one."""
    tests = [node.test for _, node in expressions_in(chunk) if isinstance(node, Conditional)]
    for tag in chunk.tags:
        statement = statement_of(tag)
        if statement is not None and statement.keyword in {"if", "elif"}:
            tests += statement.expressions[:1]
    plain = [
        test.operands[0] if isinstance(test, Operation) and test.operators == ("not",) else test
        for test in tests
    ]
    return frozenset(node.name for node in plain if isinstance(node, Name))


_tested_names: Final = summary(_tested, union)


def bare_counters(file: File) -> Iterator[Finding]:
    """Yield `index`, and `first` and `last` in conditions, in loops of a file that reads `loop` elsewhere."""
    names = file.template.names
    unbound = names.input_names - names.all_bound_names - (declared_names(file) or frozenset())
    suspicious = (_COUNTERS | _EDGES) & unbound
    if not suspicious or file.snapshot.includers(file.path):
        return
    suspicious -= given_names(file)
    read = {each.name for each in uses_in(file) if each.owner == "loop"} if suspicious else set()
    edges = _EDGES & _tested_names(file.chunks) if read else frozenset[str]()
    suspicious &= read | edges
    for name in sorted(suspicious):
        references = list(names.references_of(name))
        if all("loop" in names_in_scope(names, each.span.start) and not each.how for each in references):
            for each in references:
                severity: Severity | None = "hint" if name in _EDGES else None
                yield Finding.suggest(
                    each.span, f"nothing is named `{name}`", f"loop.{name}", severity=severity
                )


def django_counters(file: File) -> Iterator[Finding]:
    """Yield the uses of `forloop`, which Jinja calls `loop`."""
    names = file.template.names
    if _DJANGO not in names.input_names or _DJANGO in names.all_bound_names | (declared_names(file) or set()):
        return
    if _DJANGO in given_names(file):
        return
    attributes = {each.span.start: each for each in uses_in(file) if each.owner == _DJANGO}
    for reference in names.references_of(_DJANGO):
        use = attributes.get(reference.span.end + 1)
        meant = _DJANGO_COUNTERS.get(use.name) if use is not None else None
        message = "nothing is named `forloop`; Jinja calls it `loop`"
        if use is None or meant is None or "loop" not in names_in_scope(names, reference.span.start):
            yield Finding(reference.span, message)
        else:
            edit = Edit(Span(reference.span.start, use.span.end), f"loop.{meant}")
            yield Finding(reference.span, message, (Fix(f"Change to `loop.{meant}`", (edit,)),))
