"""Variable that is not defined where it is read.

In a file that declares its inputs, reports an undeclared name that is similar to a name in scope, and a
name that the file binds elsewhere: a loop variable after the loop, a variable that is set in a loop and
read after it, or a macro's parameter outside of the macro.

In a file that declares no inputs, reports a variable of a loop or `with` after it too, in the same part. In another part,
if it is read more than twice after the loop, or if several loops have a variable of that name, it is a hint:
an input may have the same name. A variable that only a branch sets is a hint where its use fails without a value.

A name that is only read in a loop, and is similar to an unused variable of the loop, is reported in a file
that declares no inputs, too, although any name may be an input there.

In every file, reports names that no caller can provide:

- `forloop`, which Jinja calls `loop`, and `null`, `nil`, `TRUE` and `FALSE`, which it calls `none`, `true` and
  `false`;
- the variable of a loop in what the loop iterates over, as in `for x in xs and x.active`;
- a name in a macro that is a typo of a parameter which the macro does not read, or the variable of a loop elsewhere;
- `loop` outside of a loop, also in a file that is included from within a loop;
- attributes of a namespace that nothing sets, and attributes that no mapping has in a list that the file
  writes itself, or several variables of a loop over such a list;
- in a file that is only imported without context, variables that a macro takes from the data;
- an include `without context` of a file that reads variables from outside.

## Why is this bad?

Jinja prints nothing for an undefined variable, so the prompt is shorter without any error; reading an
attribute of it, or calling it, fails.

## Example

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ txt }}
       ^^^ undefined-variable: nothing is named `txt`; did you mean `text`?
    {{ text }}
```

Use instead:

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from promptls.lint.analysis.loop_names import (
    LoopTypo,
    bare_counters,
    django_counters,
    loops_outside_of_loops,
    singular_lists,
    typos_of_loop_variables,
)
from promptls.lint.analysis.namespaces import unmatched_attributes, unset_around
from promptls.lint.analysis.unmatched_names import (
    declared_names,
    describe_entries,
    foreign_constants,
    given_names,
    include_places,
    names_in_scope,
    out_of_scope,
    undeclared_references,
    unprovided_references,
    without_source,
)
from promptls.lint.analysis.written_lists import unwritten_keys
from promptls.lint.fixes.yaml_edits import added_input
from promptls.lint.rule import (
    JINJA_KINDS,
    OBJECT_KINDS,
    Edit,
    File,
    Finding,
    Fix,
    RelatedInformation,
    Severity,
    each_chunk,
    rule,
)
from promptls.semantic.branches import OpenBlock
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import BINDING_KINDS, GLOBALS, Binding, NameReference
from promptls.semantic.names.template_names import placed_statement_at, statement_at
from promptls.semantic.types.shape import UNKNOWN
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Expression,
    Item,
    Name,
    Operation,
    conditional_ids,
    walk,
)
from promptls.syntax.jinja.problems import expressions_in, loops_in
from promptls.syntax.jinja.tag_tokens import FOREIGN_CONSTANTS
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo, typos_among
from promptls.workspace.contract import needed_shapes, needs_of


@rule(severity="warning", kinds=JINJA_KINDS | OBJECT_KINDS)
def undefined_variable(file: File) -> Iterator[Finding]:
    """Yield the uses of variables that are certainly undefined."""
    if file.kind is Kind.OBJECT:
        # Its inputs need not be the data that Jinja gets, so that only typos of them are certain.
        for reference, meant, _ in undeclared_references(file):
            if meant is not None and is_typo(reference.name, meant):
                yield _misspelled(file, reference, meant)
        return
    in_blocks = [*_in_isolated_blocks(file)]
    known = {each.span for each in in_blocks}
    yield from in_blocks
    yield from (each for each in loops_outside_of_loops(file) if each.span not in known)
    yield from _callers(file)
    yield from _unset_attributes(file)
    yield from bare_counters(file)
    yield from django_counters(file)
    yield from unwritten_keys(file)
    yield from foreign_constants(file)
    yield from _includes_without_context(file)
    importer = _importer_without_context(file)
    if importer is not None:
        yield from _without_data(file, importer)
        return
    misspelled = [*typos_of_loop_variables(file)]
    known |= {each.reference.span for each in misspelled}
    for reference, meant, elsewhere in undeclared_references(file):
        name = reference.name
        if reference.span in known:
            continue
        if elsewhere is not None:
            message = out_of_scope(file, elsewhere, reference.span)
            related = RelatedInformation(file.path, elsewhere.span, f"`{name}` is bound here")
            yield Finding(reference.span, message, related=(related,))
        elif meant is not None:
            yield _misspelled(file, reference, meant)
    yield from (
        each
        for each in _after_blocks(file, frozenset(each.reference.name for each in misspelled))
        if each.span not in known
    )
    yield from _before_set(file)
    yield from _set_in_one_branch(file)
    yield from _before_import(file)
    yield from _loop_variables(file, misspelled)
    yield from _in_own_sources(file)
    yield from _misspelled_parameters(file)
    yield from _singular_lists(file)
    yield from _unprovided(file)


def _in_isolated_blocks(file: File) -> Iterator[Finding]:
    """Yield the names in a block without `scoped` that are bound around the block, which does not see them."""
    names, branches = file.template.names, file.template.branches
    bound = union([names.bound_names(kind) for kind in ("set", "for", "with", "parameter")])
    suspicious = without_source(file, (bound | {"loop"}) & names.input_names)
    for reference in (each for name in sorted(suspicious) for each in names.free_references_of(name)):
        around = [each for each in branches.at(reference.span.start) if each.keyword == "block"]
        if around and reference.name in names_in_scope(names, around[-1].opening):
            placed = placed_statement_at(file.template, around[-1].opening)
            assert placed is not None
            block, start = placed
            edit = Edit.insert(start + block.name_span.end, " scoped")
            fix = Fix("Insert `scoped`", (edit,), preferred=True)
            message = (
                f"the block does not see `{reference.name}`, which is bound around it; `scoped` changes that"
            )
            yield Finding(reference.span, message, (fix,))


def _unprovided(file: File) -> Iterator[Finding]:
    """Yield the typos of inputs of the templates that include the file."""
    for found in unprovided_references(file):
        if found.meant is not None:
            name = found.reference.name
            message = (
                f"nothing is named `{name}` in {describe_entries(found)}, which this file is included from"
            )
            yield Finding.suggest(
                found.reference.span,
                message,
                found.meant,
                preferred=is_close(name, found.meant),
                related=include_places(found),
            )


def _misspelled(file: File, reference: NameReference, meant: str) -> Finding:
    name = reference.name
    # If nothing reads the declared name, the typo may be in the declaration.
    is_sure = meant in file.template.names.input_names
    fix = Fix.change_to(reference.span, meant, preferred=is_sure and is_close(name, meant))
    message = f"nothing is named `{name}`; did you mean `{meant}`?"
    added = () if is_close(name, meant) else added_input(file, name)
    renamed = () if is_sure else _renamed_input(file, meant, name)
    return Finding(reference.span, message, (*renamed, fix, *added))


def _renamed_input(file: File, name: str, new: str) -> Iterator[Fix]:
    """Yield the fix that renames an input key to a name that is read several times or that samples have.

    An example that has the key shows that its name is right.
    """
    declarations = file.template.declarations
    is_known = len([*file.template.names.references_of(new)]) > 1 or new in given_names(file)
    if is_known and not any(name in example.data for example in declarations.examples):
        for declared in declarations.inputs:
            if declared.name == name:
                yield Fix(f"Rename `{name}` in `input_keys` to `{new}`", (Edit(declared.span, new),))


def _gets_other_names(file: File) -> bool:
    """Return whether the file declares its inputs, or may get variables of a file that includes it."""
    return file.template.declarations.declares_inputs or bool(file.snapshot.includers(file.path))


_ONLY_IN: Final = {
    "set": "is set in a loop and lost after it; use a `namespace`",
    "for": "exists only in its loop, and nothing else gives it a value",
    "with": "exists only in its `with`, and nothing else gives it a value",
}
"""What is wrong with the use of a variable of each kind after its block."""


def _after_blocks(file: File, misspelled: frozenset[str]) -> Iterator[Finding]:
    """Yield the uses of variables after the loop that sets them, or after their own loop or `with`.

    Uses in other parts than that of their own block are hints. Yield nothing in a file that declares inputs, and for
    names that are `misspelled` variables of other loops.
    """
    names = file.template.names
    kinds = {
        kind: names.bound_names(kind) & names.input_names - misspelled for kind in ("set", "for", "with")
    }
    if not any(kinds.values()) or _gets_other_names(file):
        return
    given = given_names(file)
    for kind, bound in kinds.items():
        others = names.bound_otherwise(kind)
        for name in sorted(bound - others - given):
            bindings = [each for each in names.bindings_of(kind) if each.name == name]
            references = names.free_references_of(name)
            first = min(each.span.start for each in bindings)
            around = [file.template.branches.at(each.span.start) for each in bindings]
            is_in_loops = all(any(block.keyword == "for" for block in blocks) for blocks in around)
            is_own = any(_in_one_tag(file, each.span, its.span) for each in references for its in bindings)
            if any(each.span.start <= first or each.how == "call" for each in references):
                continue
            if is_own if kind != "set" else not is_in_loops:
                continue
            chunks = {file.template.source.located(each.span.start).start for each in bindings}
            is_near = all(
                file.template.source.located(each.span.start).start in chunks for each in references
            )
            is_often = len(references) > _MAX_AFTER_LOOP or len(bindings) > 1
            message = f"`{name}` {_ONLY_IN[kind]}"
            severity: Severity | None = None
            if kind != "set" and (not is_near or is_often):
                block, severity = "loop" if kind == "for" else "`with`", "hint"
                message = f"this is not the `{name}` of the {block}, but an input of the same name"
            for reference in references:
                where = f"`{name}` is {'set' if kind == 'set' else 'bound'} here"
                related = RelatedInformation(file.path, bindings[0].span, where)
                yield Finding(reference.span, message, related=(related,), severity=severity)


def _before_set(file: File) -> Iterator[Finding]:
    """Yield the uses of variables that are only set later, in the same blocks.

    Yield nothing in a file that declares inputs, and for variables whose own value is read to set them.
    """
    names = file.template.names
    suspicious = names.bound_names("set") & names.input_names
    if not suspicious or _gets_other_names(file):
        return
    suspicious -= given_names(file)
    for name in sorted(suspicious):
        bindings = _bindings(file, name)
        blocks = {file.template.branches.at(each.span.start) for each in bindings}
        references = list(names.references_of(name))
        free = [each for each in references if each.binding is None]
        if not all(each.certain for each in references):
            continue  # where the value is not set, the caller gives it
        is_repeated = any(block.keyword == "for" for around in blocks for block in around)
        is_optional = used_shapes(file.template).get(name, UNKNOWN).optional
        if len(blocks) > 1 or (is_optional and not is_repeated):
            continue
        if not all(
            each.span.end <= bindings[0].span.start
            and each.how != "call"
            and not any(_in_one_tag(file, each.span, binding.span) for binding in bindings)
            and all(_is_in_body(file, each.span, block) for block in next(iter(blocks)))
            for each in free
        ):
            continue
        for reference in free:
            yield _bound_later(file, reference, bindings[0], "set")


@chunk_fact
def _needed(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names whose value an expression needs: rendering fails if it is undefined."""
    found: list[tuple[str, Span]] = []
    guarded = conditional_ids(node for _, node in expressions_in(chunk))
    for start, node in expressions_in(chunk):
        if id(node) in guarded:
            continue
        values: tuple[Expression, ...]
        match node:
            case Attribute(target=target) | Item(target=target):
                values = (target,)
            case Operation(operators=operators) if _ARITHMETIC.issuperset(operators):
                values = node.operands
            case Call(function=Name(name="escape_special_characters")):
                values = node.arguments
            case _:
                continue
        found += ((each.name, each.span.shifted(start)) for each in values if isinstance(each, Name))
    return tuple(found)


_needed_names: Final = summary(lambda chunk: frozenset(name for name, _ in _needed(chunk)), union)
_ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "//", "%", "**"})


def _set_in_one_branch(file: File) -> Iterator[Finding]:
    """Yield the uses that fail of variables that only a branch before them sets, outside of all other branches.

    Yield nothing in a file that declares inputs.
    """
    names, branches = file.template.names, file.template.branches
    suspicious = names.bound_names("set") & names.input_names & _needed_names(file.chunks)
    if not suspicious or _gets_other_names(file):
        return
    suspicious -= given_names(file)
    for name in sorted(suspicious):
        references = [*names.references_of(name)]
        if any(each.binding is None for each in references):
            continue  # an input
        for each in references:
            located = file.template.source.located(each.span.start)
            around = {block for block in branches.at(each.span.start) if block.keyword == "if"}
            binding = each.binding
            if (
                each.certain
                or binding is None
                or (name, each.span.shifted(-located.start)) not in _needed(located.chunk)
            ):
                continue
            if around <= {*branches.at(binding.span.start)}:
                related = RelatedInformation(file.path, binding.span, f"`{name}` is set here")
                message = f"`{name}` is set only in a branch: otherwise, it is undefined, and this fails"
                yield Finding(each.span, message, related=(related,), severity="hint")


def _before_import(file: File) -> Iterator[Finding]:
    """Yield the uses of macros and modules before the `import` outside of all blocks that binds them.

    Yield nothing in a file that declares inputs.
    """
    names = file.template.names
    if declared_names(file) is not None:
        return
    for name in sorted(without_source(file, names.bound_names("import") & names.input_names)):
        bindings = _bindings(file, name)
        free = names.free_references_of(name)
        is_outside = not file.template.branches.at(bindings[0].span.start)
        if is_outside and len(bindings) == 1:
            for reference in free:
                if reference.span.end <= bindings[0].span.start and reference.how:
                    yield _bound_later(file, reference, bindings[0], "imported")


def _is_in_body(file: File, span: Span, block: OpenBlock) -> bool:
    """Return whether a place is in a branch of a block, but not in the tag that opens the block or branch."""
    is_inside = block in file.template.branches.at(span.start)
    statement = statement_at(file.template, span.start)
    is_condition = statement is not None and statement.keyword == "elif"
    return is_inside and not is_condition and not _in_one_tag(file, span, Span(block.opening, block.opening))


def _bindings(file: File, name: str) -> list[Binding]:
    found = [
        each for kind in BINDING_KINDS for each in file.template.names.bindings_of(kind) if each.name == name
    ]
    return sorted(found, key=lambda each: each.span)


def _bound_later(file: File, reference: NameReference, binding: Binding, how: str) -> Finding:
    line = file.template.source.line_column(binding.span.start).line + 1
    related = RelatedInformation(file.path, binding.span, f"`{binding.name}` is {how} here")
    message = f"`{binding.name}` is {how} only later, on line {line}"
    return Finding(reference.span, message, related=(related,))


def _in_one_tag(file: File, one: Span, other: Span) -> bool:
    """Return whether two names are in the same tag, as in `for node in node`."""
    between = file.template.source.slice(Span(min(one.start, other.start), max(one.end, other.end)))
    return "%}" not in between and "}}" not in between


def _loop_variables(file: File, misspelled: list[LoopTypo]) -> Iterator[Finding]:
    """Yield the typos of loop variables; if the name is read several times, the variable is the typo.

    The name of another loop's variable is a remnant of that loop instead.
    """
    found: dict[tuple[str, Binding, bool], list[NameReference]] = {}
    for each in misspelled:
        found.setdefault((each.reference.name, each.binding, each.is_certain), []).append(each.reference)
    for (name, binding, is_certain), references in found.items():
        if len(references) > 1 and name not in file.template.names.bound_names("for"):
            fix = Fix.change_to(binding.span, name)
            related = RelatedInformation(file.path, references[0].span, f"`{name}` is read here")
            message = f"the loop reads `{name}`, but its variable is `{binding.name}`"
            yield Finding(binding.span, message, (fix,), (related,), severity=None if is_certain else "hint")
        else:
            yield from (_typo(file, each, binding, is_certain=is_certain) for each in references)


@each_chunk
def _in_own_sources(chunk: Chunk) -> Iterator[Finding]:
    """Yield the variables of loops in a condition after `and` in what the loop iterates over."""
    for start, loop in loops_in(chunk):
        source = loop.expressions[0]
        if not isinstance(source, Operation) or source.operators[0] != "and":
            continue
        bound = {node.name for target in loop.targets for node in walk(target) if isinstance(node, Name)}
        first, *conditions = source.operands
        read = (node for condition in conditions for node in walk(condition))
        own = [node for node in read if isinstance(node, Name) and node.name in bound]
        if own and not any(isinstance(node, Name) and node.name in bound for node in walk(first)):
            sign = chunk.text.find("and", start + first.span.end)
            message = f"`{own[0].name}` exists only inside of the loop; a condition of the loop is after `if`"
            yield Finding(
                own[0].span.shifted(start), message, (Fix.change_to(Span(sign, sign + len("and")), "if"),)
            )


def _misspelled_parameters(file: File) -> Iterator[Finding]:
    """Yield the names in macros that should be that of a parameter which the macro does not read.

    They differ from it by one letter, or are those of a loop elsewhere, which a macro does not see.
    """
    names = file.template.names
    if not names.bound_names("parameter") or not names.input_names:
        return
    unknown = without_source(file, names.input_names)
    read = {each.binding for each in names.references if each.binding is not None}
    like = typos_among(unknown)
    unread = [each for each in names.bindings_of("parameter") if each not in read]
    of_loops = unknown & names.bound_names("for") if len(unread) == 1 else frozenset()
    for binding in unread:
        for name in sorted({*like(binding.name)} | of_loops):
            references = names.free_references_of(name)
            is_misspelled = len(name) >= _MIN_PARAMETER and is_close(name, binding.name)
            if (is_misspelled or name in of_loops) and all(
                binding.name in names_in_scope(names, each.span.start) for each in references
            ):
                for each in references:
                    related = RelatedInformation(file.path, binding.span, "this parameter is not read")
                    message = f"nothing is named `{name}`"
                    if name in of_loops:
                        message = f"a macro does not see the `{name}` of a loop"
                    yield Finding.suggest(each.span, message, binding.name, related=(related,))


_MIN_PARAMETER: Final = 4
"""The minimum length of a name for it to be considered a typo of a parameter."""


def _singular_lists(file: File) -> Iterator[Finding]:
    """Yield the singular names where a list is meant."""
    for reference, plural, binding in singular_lists(file):
        related = (RelatedInformation(file.path, binding.span, f"`{plural}` is set here"),) if binding else ()
        message = f"nothing is named `{reference.name}`"
        yield Finding.suggest(reference.span, message, plural, related=related)


def _typo(file: File, reference: NameReference, meant: Binding, *, is_certain: bool) -> Finding:
    """Return the finding for a typo of a variable of the enclosing loop; a hint if it may be an input."""
    span, name = reference.span, reference.name
    related = RelatedInformation(file.path, meant.span, f"the loop's variable is `{meant.name}`")
    message = f"nothing is named `{name}`"
    if not is_certain or name in file.template.names.bound_names("for"):
        message = f"`{name}` is not the variable of this loop"
    return Finding.suggest(
        span,
        message,
        meant.name,
        preferred=is_certain and is_close(name, meant.name),
        related=(related,),
        severity=None if is_certain else "hint",
    )


def _callers(file: File) -> Iterator[Finding]:
    """Yield the calls of `caller` outside of macros."""
    names = file.template.names
    if "caller" not in names.called_names or file.snapshot.includers(file.path):
        return
    if "caller" in names.all_bound_names or "caller" in (declared_names(file) or ()):
        return
    for reference in names.references_of("caller"):
        if reference.binding is None and reference.how == "call":
            yield Finding(reference.span, "`caller` exists only in a macro that a `call` block calls")


def _unset_attributes(file: File) -> Iterator[Finding]:
    """Yield the attributes of namespaces that nothing sets; `probable-typo` reports typos."""
    for each in unmatched_attributes(file):
        for use in each.unset:
            yield Finding(use.span, f"nothing sets `{use.owner}.{use.name}`")
    for use in unset_around(file):
        yield Finding(use.span, f"nothing sets `{use.owner}.{use.name}`, here or in a file around this one")


_MAX_AFTER_LOOP: Final = 2
"""A name that is read more often after its loop is probably an input of the same name."""


def _importer_without_context(file: File) -> str | None:
    """Return a file that imports this one, if all files that name it import it without context."""
    found = None
    for path in sorted(file.snapshot.includers(file.path)):
        template = file.snapshot.template(path)
        for reference in template.references if template else ():
            if file.snapshot.resolve(path, reference) != file.path:
                continue
            if reference.keyword not in {"import", "from"} or reference.with_context:
                return None
            found = found or path
    return found


def _includes_without_context(file: File) -> Iterator[Finding]:
    """Yield the includes `without context` of files that read variables from outside."""
    for reference in file.template.references:
        if reference.keyword != "include" or reference.with_context or reference.name is None:
            continue
        target = file.snapshot.resolve(file.path, reference)
        if target is None:
            continue
        shapes = needed_shapes(file.snapshot, target)
        needed = needs_of(file.snapshot, target).by_name.keys() - GLOBALS - FOREIGN_CONSTANTS.keys()
        names = [name for name in needed if not shapes.get(name, UNKNOWN).optional]
        if names:
            listed = in_code(sorted(names)[:_MAX_NAMES])
            yield Finding(
                reference.span, f"`without context`, this file does not get {listed}, which it reads"
            )


_MAX_NAMES: Final = 3
"""The maximum number of names in a message."""


def _without_data(file: File, importer: str) -> Iterator[Finding]:
    """Yield the uses of variables from the data in a file that is imported without context."""
    names = file.template.names
    file_name = PurePath(importer).name
    read = {each.binding for each in names.references if each.binding is not None}
    unread = [each for each in names.bindings_of("parameter") if each not in read]
    for name in sorted(names.read_names - GLOBALS - FOREIGN_CONSTANTS.keys() - {"loop"}):
        for reference in names.references_of(name):
            if reference.binding is None:
                message = (
                    f"`{name}` does not exist here: `{file_name}` imports this file without `with context`"
                )
                bound = names_in_scope(names, reference.span.start)
                near = [each for each in unread if each.name in bound]
                meant = near[0].name if len(near) == 1 else None
                yield Finding.suggest(reference.span, message, meant)
