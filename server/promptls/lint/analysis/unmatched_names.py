"""Names that a file reads but does not declare, also across includes, and names that it binds but never reads."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple

from promptls.lint.fixes.yaml_edits import added_input
from promptls.lint.rule import Edit, File, Finding, Fix, RelatedInformation
from promptls.semantic.names.file_names import FileNames
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.names.scopes import BINDING_KINDS, IMPLIED, INJECTED, Binding, NameReference
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.template import Template
from promptls.semantic.types.shape import UNKNOWN
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.expressions import CONSTANTS
from promptls.syntax.jinja.nodes import Attribute, Filter, Name, Operation, Statement, walk
from promptls.syntax.jinja.problems import expressions_in, tag_problems, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.jinja.tag_tokens import FOREIGN_CONSTANTS
from promptls.text.errors import UserError
from promptls.text.format import first_of
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest
from promptls.workspace.contract import (
    IncludeChain,
    NeededBy,
    calls_to,
    certain_place,
    function_names,
    include_chains,
    names_bound_at,
    names_handed_on,
    needed_shapes,
    needs_of,
)

if TYPE_CHECKING:
    from promptls.rendering.samples import Sample

_IN_OUTPUT: Final = re.compile(
    r"\bfor\s+([\w\s,]+?)\s+in\b|\b([fFrRbBuU]{1,2})(?=['\"])|\b(lambda|new|await)\b"
)
"""Python syntax in an output tag that could bind or be a name: comprehensions, string prefixes, keywords."""
_WORD: Final = re.compile(r"[^\W\d]\w*")
_BIND_NOTHING: Final = frozenset({"if", "elif", "include", "extends"})


def broken_names(file: File) -> frozenset[str]:
    """Return the words in the broken tags of the file that may be intended to bind names."""
    return _broken_tag_names(file.template.source.root)


def _names_in_broken_tags(chunk: Chunk) -> frozenset[str]:
    places = sorted(problem.span.start for problem in tag_problems(chunk))
    if not places:
        return frozenset()
    return frozenset(
        word
        for tag in chunk.tags
        if tag.kind in {"statement", "output"}
        and bisect_left(places, tag.span.start) < bisect_left(places, tag.span.end)
        for word in _possible_names(tag)
    )


def _possible_names(tag: Tag) -> Iterator[str]:
    if tag.kind == "output":
        for match in _IN_OUTPUT.finditer(tag.text):
            yield from _WORD.findall(match.group())
    elif tag_tree(tag).statement.keyword not in _BIND_NOTHING:
        yield from _WORD.findall(tag.text)


_broken_tag_names: Final = summary(_names_in_broken_tags, union)


class Undeclared(NamedTuple):
    """A use of an undeclared name.

    `meant` is the name in scope that it is probably a typo of; `elsewhere` is where the file binds the name,
    out of scope. At most one of the two is set.
    """

    reference: NameReference
    meant: str | None
    elsewhere: Binding | None


def undeclared_references(file: File) -> Iterator[Undeclared]:
    """Yield the uses of undeclared variables in a file that declares its inputs.

    Calls, `loop` and names that a broken tag may bind are left out. Yield nothing if the file declares no
    inputs.
    """
    declared = declared_names(file)
    if declared is None:
        return
    names = file.template.names
    functions = function_names(file.snapshot, file.path) or frozenset()
    for name in sorted(names.input_names - declared - functions - broken_names(file) - {"loop"}):
        elsewhere = binding_of(names, name)
        for reference in names.references_of(name):
            if reference.binding is not None or reference.how == "call":
                continue
            meant = None
            if elsewhere is not None and _sets_itself(file, name, elsewhere, reference):
                yield Undeclared(reference, None, None)
                continue
            if elsewhere is None:
                near = declared | names_in_scope(names, reference.span.start) | INJECTED
                meant = _of_element(file, reference) or nearest(
                    name, (each for each in near if _may_be_suggested(name, each))
                )
            yield Undeclared(reference, meant, elsewhere)


def _of_element(file: File, reference: NameReference) -> str | None:
    """Return the attribute of this name that the tags around a variable read of the loop's element."""
    located = file.template.source.located(reference.span.start)
    loops = (b.opening for b in file.template.branches.at(reference.span.start) if b.keyword == "for")
    openings = {reference.span.start, *loops}
    return next(
        (
            f"{node.target.name}.{node.name}"
            for _, node in expressions_in(located.chunk)
            if isinstance(node, Attribute)
            and node.name == reference.name
            and isinstance(node.target, Name)
            and any(node.target.name in _targets(file, opening) for opening in openings)
        ),
        None,
    )


def _targets(file: File, opening: int) -> frozenset[str]:
    """Return the variables of the loop whose tag is at a place."""
    statement = statement_at(file.template, opening)
    targets = statement.targets if statement is not None and statement.keyword == "for" else ()
    return frozenset(node.name for each in targets for node in walk(each) if isinstance(node, Name))


def _sets_itself(file: File, name: str, binding: Binding, reference: NameReference) -> bool:
    """Return whether a `set` reads the name that it sets, for example to give an input a default."""
    if name in file.template.names.bound_names("for") or binding.kind != "set" or _is_sum(file, binding):
        return False
    located = file.template.source.located(reference.span.start)
    tag = located.tag_at(reference.span.start)
    return tag is not None and tag.span.start <= binding.span.start - located.start < tag.span.end


def _is_sum(file: File, binding: Binding) -> bool:
    """Return whether a `set` in a loop adds something to its own variable, whose value the loop does not keep."""
    statement = statement_at(file.template, binding.span.start)
    value = statement.first if statement is not None else None
    is_added = isinstance(value, Operation) and {*value.operators} <= {"+", "~"}
    return is_added and any(b.keyword == "for" for b in file.template.branches.at(binding.span.start))


def _may_be_suggested(name: str, known: str) -> bool:
    """Return whether a known name may be suggested; implied names are only suggested for obvious typos."""
    return known.isidentifier() and (known not in IMPLIED or is_typo(name, known))


def declared_names(file: File) -> frozenset[str] | None:
    """Return the inputs that the file declares; None if it declares none."""
    declarations = file.template.declarations
    return frozenset(declarations.schemas) if declarations.declares_inputs else None


def given_names(file: File) -> frozenset[str]:
    """Return the names to which calls of the file in programs, or its samples, give values."""
    passed = (call.keys for call in calls_to(file.snapshot, file.path))
    return frozenset[str]().union(*passed, *(map(str, sample.data) for sample in samples_of(file)))


def without_source(file: File, names: frozenset[str]) -> frozenset[str]:
    """Return those of the names to which no declaration, includer, program or sample gives a value."""
    if not names:
        return names
    return names - (declared_names(file) or frozenset()) - names_in_includers(file) - given_names(file)


def is_read_once(file: File, name: str) -> bool:
    """Return whether the file reads a name at one place only."""
    return len(list(file.template.names.references_of(name))) == 1


def samples_of(file: File) -> Sequence[Sample]:
    """Return the samples that the header names; `invalid-sample` reports why they cannot be read."""
    if not file.template.declarations.settings.samples:
        return ()
    from promptls.rendering.samples import file_samples

    try:
        return file_samples(file.template, file.path)
    except UserError:
        return ()


def binding_of(names: FileNames, name: str) -> Binding | None:
    """Return the first place in the file that binds the name, or None."""
    found = (each for kind in BINDING_KINDS for each in names.bindings_of(kind) if each.name == name)
    return min(found, key=lambda each: each.span, default=None)


def names_in_scope(names: FileNames, offset: int) -> frozenset[str]:
    """Return the names that the file has bound before a place and that are in scope there."""
    return frozenset(name for scope in names.scopes_before(offset).visible_scopes() for name in scope.bound)


def out_of_scope(file: File, binding: Binding, read: Span) -> str:
    """Return a message explaining why a name that the file binds is out of scope where it is read."""
    line = file.template.source.line_column(binding.span.start).line + 1
    match binding.kind:
        case "for":
            where = f"is the variable of the loop in line {line}, and nothing outside of it"
        case "parameter":
            where = f"is a parameter of the block in line {line}, and nothing outside of it"
        case "with":
            where = f"is bound by the `with` in line {line}, and nothing outside of it"
        case "set" if _is_sum(file, binding):
            where = "is set in a loop and lost after each iteration; use a `namespace`"
        case _ if binding.span.start > read.start:
            where = f"is bound only further down, in line {line}"
        case _:
            where = f"is only bound inside a block in line {line}"
    return f"`{binding.name}` {where}"


def foreign_constants(file: File) -> Iterator[Finding]:
    """Yield a finding for each constant of another language that is not bound or declared."""
    names = file.template.names
    for name in sorted(FOREIGN_CONSTANTS.keys() & names.read_names):
        if name in (declared_names(file) or ()) or binding_of(names, name) is not None:
            continue
        meant = FOREIGN_CONSTANTS[name]
        for reference in names.references_of(name):
            if reference.how or reference.binding is not None:
                continue
            message = f"nothing is named `{name}`: Jinja writes `{meant}`"
            # A missing default prints nothing, but `none` would print the word.
            is_default = name not in {"TRUE", "FALSE"} and _is_filter_argument(file, reference)
            fix = Fix.change_to(reference.span, meant, preferred=not is_default)
            yield Finding(reference.span, message, (fix,))


def _is_filter_argument(file: File, reference: NameReference) -> bool:
    located = file.template.source.located(reference.span.start)
    return any(
        isinstance(argument, Name) and argument.span.shifted(located.start + start) == reference.span
        for start, node in expressions_in(located.chunk)
        if isinstance(node, Filter)
        for argument in node.arguments
    )


_MAX_NAMED = 3


class Unprovided(NamedTuple):
    """A use of a name that some include paths to the file do not provide.

    `meant` is a name that all of those paths provide and that it is probably a typo of.
    """

    reference: NameReference
    lacking: tuple[IncludeChain, ...]
    is_provided_elsewhere: bool
    meant: str | None


def unprovided_references(file: File) -> Iterator[Unprovided]:
    """Yield the uses of names that are not among the declared inputs of an entry template of this file.

    Calls and `loop` are left out. Yield nothing if the file declares inputs itself.
    """
    if declared_names(file) is not None:
        return
    chains = [chain for chain in include_chains(file.snapshot, file.path) if chain.reference is not None]
    if not any(chain.declares for chain in chains):
        return
    names = file.template.names
    for name in sorted(names.input_names - {"loop"}):
        lacking = tuple(chain for chain in chains if chain.declares and name not in chain.provided)
        if not lacking or binding_of(names, name) is not None:
            continue
        provided = frozenset.intersection(*(chain.provided for chain in lacking))
        for reference in names.references_of(name):
            if reference.binding is None and reference.how != "call":
                in_scope = provided | names_in_scope(names, reference.span.start) | INJECTED
                meant = nearest(name, in_scope) if len(lacking) == len(chains) else None
                yield Unprovided(reference, lacking, len(lacking) < len(chains), meant)


def describe_entries(found: Unprovided) -> str:
    """Return the names of the entry templates that lack the name, for a message."""
    files = list(dict.fromkeys(f"`{PurePath(chain.entry).name}`" for chain in found.lacking))
    return first_of(files, _MAX_NAMED)


def include_places(found: Unprovided) -> tuple[RelatedInformation, ...]:
    """Return the includes that lead from the entry templates to the file."""
    places = dict.fromkeys(
        (chain.includer, chain.reference.span)
        for chain in found.lacking[:_MAX_NAMED]
        if chain.includer is not None and chain.reference is not None
    )
    return tuple(RelatedInformation(path, span, "the file is included here") for path, span in places)


def undeclared_in_includes(file: File) -> Iterator[Finding]:
    """Yield a finding at each include whose file reads an input that this file does not declare."""
    declared = declared_names(file)
    if declared is None or not file.template.references:
        return
    needs = needs_of(file.snapshot, file.path).by_name
    chains = include_chains(file.snapshot, file.path)
    for name, readers in needs.items():
        if name in declared or any(not chain.declares or name in chain.provided for chain in chains):
            continue
        seen: set[TemplateReference] = set()
        for need in readers:
            reference = need.reference
            if reference is None or reference in seen or not need.is_free:
                continue
            if name in names_bound_at(file.template, reference):
                continue
            place = _first_reference(file, need, name)
            if place is not None:
                seen.add(reference)
                message = f"`{PurePath(need.path).name}` reads `{name}`, which is not in `input_keys`"
                fixes = () if nearest(name, declared) else added_input(file, name)
                yield Finding(reference.span, message, fixes, related=(place,))


def _is_unfinished(template: Template, span: Span) -> bool:
    """Return whether a name is in an unclosed tag, and may still change."""
    located = template.source.located(span.start)
    tag = located.tag_at(span.start)
    return tag is not None and bool(tag.unclosed)


def _first_reference(file: File, need: NeededBy, name: str) -> RelatedInformation | None:
    template = file.snapshot.template(need.path)
    if template is None:
        return None
    for reference in template.names.references_of(name):
        if (
            reference.binding is None
            and reference.how != "call"
            and not _is_unfinished(template, reference.span)
        ):
            return RelatedInformation(need.path, reference.span, f"`{name}` is read here")
    return None


def needed_inputs(file: File, given: frozenset[str]) -> list[str]:
    """Return the names of the inputs that are missing from `given`.

    If inputs are declared, these are the declared ones without a `default`, in order; otherwise the sorted
    names that the file and its includes read and that are not optional. Functions are left out.
    """
    declarations = file.template.declarations
    if declarations.declares_inputs:
        return [
            key.name for key in declarations.inputs if key.name not in given and "default" not in key.schema
        ]
    needs = needs_of(file.snapshot, file.path).by_name
    # A name that the file may bind before reading it, even in a branch, need not come from the data.
    names = {
        name
        for name, each in needs.items()
        if name not in given and certain_place(file.snapshot, name, each) is not None
    }
    names -= (function_names(file.snapshot, file.path) or frozenset()) if names else frozenset()
    if not names:
        return []
    shapes = needed_shapes(file.snapshot, file.path)
    found = ((name, shapes.get(name, UNKNOWN)) for name in sorted(names))
    return [name for name, shape in found if not shape.optional and shape.kind != "callable"]


_STRING: Final = re.compile(r"'[^'\r\n]*(?:'|$)|\"[^\"\r\n]*(?:\"|$)", re.MULTILINE)
"""A string, which contains no names; an unclosed one ends at the end of the line."""
_MAX_PROBLEMS: Final = 50
"""In a file with more errors than this, any name may be read in one of them."""
_MAX_SEARCHED: Final = 2_000
"""The maximum number of characters after a broken tag that are searched for a name."""


def unread(file: File, kind: str) -> Iterator[Binding]:
    """Yield the bindings of a kind whose names are not read in the file or anything it includes.

    Yield nothing if an include cannot be resolved, and nothing outside of loops if another file includes this
    one, which may import its names. In a file with syntax errors, a name counts as read if it appears near an error.
    """
    names = file.template.names
    unread_here = names.bound_names(kind) - names.read_names
    if not unread_here:
        return
    may_be_imported = kind != "for" and bool(file.snapshot.includers(file.path))
    if not needs_of(file.snapshot, file.path).is_whole:
        return
    read = names_handed_on(file.snapshot, file.path)
    if unread_here <= read:
        return
    for binding in names.bindings_of(kind):
        if binding.name not in unread_here or binding.name in read or binding.name.startswith("_"):
            continue
        if binding.name in CONSTANTS:
            continue  # assignments to constants are reported elsewhere
        around = file.template.branches.at(binding.span.start) if may_be_imported else ()
        if may_be_imported and not any(block.keyword == "for" for block in around):
            continue
        if not may_be_read_in_broken_text(file, binding.name, binding.span):
            yield binding


def may_be_read_in_broken_text(file: File, name: str, known: Span) -> bool:
    """Return whether a name may be read in a broken tag, or after it on the same line.

    The span `known`, where the name is bound, is excluded. After an unclosed raw block, the rest of the
    chunk is searched.
    """
    source = file.template.source
    found = False
    problems = file.template.syntax_problems
    if len(problems) > _MAX_PROBLEMS:
        return True
    for problem in problems:
        if found or problem.language != "jinja":
            continue
        located = source.located(problem.span.start)
        tag = located.tag_at(problem.span.start)
        if tag is None:
            continue
        start = located.start + tag.span.start
        end = source.line_span(source.line_column(located.start + tag.span.end).line).end
        end = min(end, located.start + tag.span.end + _MAX_SEARCHED)
        if tag.kind == "raw":
            end = min(located.start + located.chunk.length, located.start + tag.span.end + _MAX_SEARCHED)
        text = source.slice(Span(start, end))
        if tag.kind != "raw":
            text = _STRING.sub(lambda match: " " * len(match.group()), text)
        matches = re.compile(rf"\b{re.escape(name)}\b").finditer(text)
        found = any(not known.start <= start + word.start() < known.end for word in matches)
    return found


def names_in_includers(file: File) -> frozenset[str]:
    """Return the names in the files that include this one, directly or not, which it may get from there."""
    found: set[str] = set()
    waiting, seen = [file.path], {file.path}
    while waiting:
        for path in file.snapshot.includers(waiting.pop()) - seen:
            seen.add(path)
            waiting.append(path)
            template = file.snapshot.template(path)
            if template is not None:
                found |= template.names.read_names | template.names.all_bound_names
    return frozenset(found)


def adds_up(template: Template, name: str, outer: Binding, inner: Span) -> bool:
    """Return whether a `set` at `inner` adds to its own variable while the outer one is read later."""
    statement = statement_at(template, inner.start)
    if statement is None or len(statement.expressions) != 1:
        return False
    value = statement.expressions[0]
    if not isinstance(value, Operation) or not set(value.operators) <= {"+", "~"}:
        return False
    if not any(isinstance(operand, Name) and operand.name == name for operand in value.operands):
        return False
    after = inner.end - statement.targets[0].span.end + value.span.end
    return any(
        reference.span.start >= after
        and reference.binding is not None
        and reference.binding.span == outer.span
        for reference in template.names.references_of(name)
    )


def is_lost(template: Template, name: str, outer: Binding, inner: Span) -> bool:
    """Return whether the value that a `set` at `inner` sets is never read, but the outer variable is."""
    is_outer_read = False
    for reference in template.names.references_of(name):
        if reference.binding is None or reference.binding.span == inner:
            return False
        is_outer_read |= reference.span.start > inner.end and reference.binding.span == outer.span
    return is_outer_read


def in_namespace(template: Template, name: str, outer: Binding) -> Iterator[Fix]:
    """Yield the fix that stores the variable in a namespace, wherever it is set or read.

    Yield nothing if another file may read it, or if the name is also bound in another way.
    """
    names = template.names
    if template.references or name in names.bound_otherwise("set"):
        return
    edits = []
    for binding in names.bindings_of("set"):
        if binding.name != name:
            continue
        statement = statement_at(template, binding.span.start)
        if statement is None or not _is_plain(statement):
            return
        if binding.span == outer.span:
            start = binding.span.start - statement.targets[0].span.start
            value = statement.expressions[0].span.shifted(start)
            text = template.source.slice(value)
            edits.append(Edit(value, f"namespace(value={text})"))
        else:
            edits.append(Edit(binding.span, f"{name}.value"))
    if sum(edit.text.startswith("namespace(") for edit in edits) != 1:
        return
    for reference in names.references_of(name):
        if reference.binding is None or reference.how == "call":
            return
        edits.append(Edit(reference.span, f"{name}.value"))
    yield Fix("Keep it in a namespace", tuple(sorted(edits, key=lambda edit: edit.span)))


def _is_plain(statement: Statement) -> bool:
    """Return whether a tag sets one name to one value."""
    is_single = len(statement.targets) == 1 and len(statement.expressions) == 1
    return is_single and isinstance(statement.targets[0], Name) and not statement.opens_block
