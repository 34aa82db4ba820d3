"""Names that a template defines and never reads.

# unused-import

Import that is never used.

Reports names that an `import` or `from … import` binds and that neither the file nor anything it
includes reads.

## Why is this bad?

The imported file is loaded for nothing, or the name is misspelled where it should be used.

## Example

```yaml
-- main.yml.j2 --
{% from "macros.yml.j2" import shout %}
                               ^^^^^ unused-import: nothing uses the import `shout`
- name: rules
  content: Be brief.
-- macros.yml.j2 --
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
```

Use instead:

```yaml
- name: rules
  content: Be brief.
```

# unused-macro

Macro that is never called.

Reports macros that neither the file nor anything it includes uses, and macros that only call themselves or one another.
A file without parts of its own, or one that another file imports, is treated as a library.

## Why is this bad?

The text of the macro is never printed.

## Example

```yaml
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
         ^^^^^ unused-macro: nothing calls `shout`
- name: rules
  content: Be brief.
```

Use instead:

```yaml
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
- name: rules
  content: "{{ shout('be brief') }}"
```

# unused-variable

Variable that is set but never read.

Reports names that `set` binds and that neither the file nor anything it includes reads, and attributes of a
namespace that are only set, as a hint if the namespace is created with them. Names that begin
with `_`, names that another file can import, and names for the result of a method such as `append` are
not reported. A name that is misspelled where it is read is reported there, by `undefined-variable`.

## Why is this bad?

Either the text that should read it misspells the name, or the variable can be removed.

## Example

```yaml
{% set tone = "kind" %}
       ^^^^ unused-variable: nothing reads `tone`
- name: rules
  content: Be brief.
```

Use instead:

```yaml
{% set tone = "kind" %}
- name: rules
  content: Be {{ tone }}.
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from promptls.lint.analysis.callees import chunk_calls
from promptls.lint.analysis.loop_names import singular_lists
from promptls.lint.analysis.namespaces import MIN_LENGTH, unmatched_attributes
from promptls.lint.analysis.typos import abbreviates, different_words
from promptls.lint.analysis.unmatched_names import (
    declared_names,
    is_read_once,
    may_be_read_in_broken_text,
    undeclared_references,
    unread,
)
from promptls.lint.analysis.unresolved_templates import lacking_imports, meant_alias, renamed_macros
from promptls.lint.fixes.tag_fixes import block_span, removed_tag
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, Severity, rule
from promptls.lint.rules.jinja.unknown_function import unknown_function
from promptls.semantic.names.scopes import Binding
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Name
from promptls.syntax.jinja.problems import has_tag_problem, tag_tree
from promptls.text.positions import Span
from promptls.text.suggest import is_typo
from promptls.workspace.contract import names_handed_on, needs_of


@rule(severity="warning", kinds=JINJA_KINDS)
def unused_import(file: File) -> Iterator[Finding]:
    """Yield the imported names that are never read."""
    unused = [*unread(file, "import")]
    lacking = {each.span for each in lacking_imports(file)} if unused else set()
    renamed = {each.binding.span for each in renamed_macros(file).values()} if unused else set()
    for binding in unused:
        if binding.span in lacking | renamed:
            continue  # `unresolved-import` and `unknown-function` report them
        message = f"nothing uses the import `{binding.name}`"
        meant = meant_alias(file, binding.name)
        if meant is not None:
            yield Finding.suggest(binding.span, message, meant, preferred=True)
        elif (imported := _imported_parts(file, binding)) is not None:
            yield imported
        else:
            yield Finding(binding.span, message, tuple(_fixes(file, binding)), unnecessary=True)


def _imported_parts(file: File, binding: Binding) -> Finding | None:
    """Return the finding for an import of a file that has parts and no macros."""
    located = file.template.source.located(binding.span.start)
    tag = located.chunk.tag_at(binding.span.start - located.start)
    statement = tag_tree(tag).statement if tag is not None else None
    if tag is None or statement is None or statement.keyword != "import" or statement.template is None:
        return None
    begin = located.start + tag.span.start
    name = statement.template.span.shifted(begin)
    references = (each for each in file.template.references if name.covers(each.span.start))
    targets = (file.snapshot.resolve(file.path, each) for each in references)
    templates = [file.snapshot.template(target) for target in targets if target is not None]
    if not any(
        each is not None and each.has_parts and not each.names.bound_names("macro") for each in templates
    ):
        return None
    edits = (
        Edit(statement.keyword_span.shifted(begin), "include"),
        Edit(Span(name.end, binding.span.end), ""),
    )
    message = "this file has parts, which an import does not print; did you mean `include`?"
    return Finding(binding.span, message, (Fix("Change to `include`", edits),))


def _fixes(file: File, binding: Binding) -> Iterator[Fix]:
    names = file.template.names
    if any(is_typo(name, binding.name) for name in names.called_names & names.input_names):
        return  # one of the two names is misspelled
    owners = {
        owner
        for located in file.chunks.placed()
        for _, owner, call in chunk_calls(located.chunk)
        if isinstance(call.function, Attribute) and call.function.name == binding.name
    }
    if not owners.isdisjoint(file.template.names.input_names):
        return  # calls still have the name of the whole file before it
    located = file.template.source.located(binding.span.start)
    offset = binding.span.start - located.start
    tag = located.chunk.tag_at(offset)
    if tag is None or has_tag_problem(located.chunk, tag.span):
        return
    spans = [
        Span(each.span.start, each.alias_span.end).shifted(located.start + tag.span.start)
        for each in tag_tree(tag).statement.imported
    ]
    removal = removed_tag(located, offset)
    if len(spans) > 1:
        index = next(n for n, span in enumerate(spans) if span.covers(binding.span.start))
        first = Span(spans[0].start, spans[1].start)
        removal = Edit(Span(spans[index - 1].end, spans[index].end) if index else first, "")
    if removal:
        yield Fix("Remove this import", (removal,), preferred=True)


@rule(severity="warning", kinds=JINJA_KINDS)
def unused_macro(file: File) -> Iterator[Finding]:
    """Yield the macros that are never used."""
    if not file.template.has_parts:
        return
    found = [*unread(file, "macro")]
    meant = (
        {fix.edits[0].text for each in unknown_function.check(file) for fix in each.fixes} if found else ()
    )
    for binding in found:
        if binding.name in meant:
            continue  # a misspelled call of it is reported instead
        yield _finding(file, binding, f"nothing calls `{binding.name}`")
    if file.snapshot.includers(file.path) or not needs_of(file.snapshot, file.path).is_whole:
        return
    names = file.template.names
    called = names.bound_names("macro") & names.read_names - names_handed_on(file.snapshot, file.path)
    bindings = {
        each.name: each
        for each in (names.bindings_of("macro") if called else ())
        if each.name in called and not each.name.startswith("_")
    }
    callers = _callers(file, bindings)
    unused = set(callers)
    while used := {name for name in unused if callers[name] - unused}:
        unused -= used
    for name in sorted(unused, key=lambda each: bindings[each].span):
        if callers[name] == {name}:
            yield _finding(file, bindings[name], f"nothing but `{name}` itself calls `{name}`")
        else:
            message = f"nothing but unused macros calls `{name}`"
            yield Finding(bindings[name].span, message, unnecessary=True)


def _callers(file: File, bindings: Mapping[str, Binding]) -> dict[str, set[str]]:
    """Return the macros in which each macro is read; the empty name means outside of macros."""
    spans = {}
    for name, binding in bindings.items():
        located = file.template.source.located(binding.span.start)
        own = block_span(located.chunk, binding.span.start - located.start)
        if own is not None:
            spans[name] = own.shifted(located.start)
    return {
        name: {
            next((owner for owner, around in spans.items() if around.covers(each.span.start)), "")
            for each in file.template.names.references_of(name)
        }
        | ({""} if may_be_read_in_broken_text(file, name, span) else set())
        for name, span in spans.items()
    }


def _finding(file: File, binding: Binding, message: str) -> Finding:
    located = file.template.source.located(binding.span.start)
    removal = removed_tag(located, binding.span.start - located.start)
    fixes = (Fix("Remove this macro", (removal,)),) if removal else ()
    return Finding(binding.span, message, fixes, unnecessary=True)


_CHANGING_METHODS: Final = frozenset(
    {
        "add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "reverse", "setdefault",
        "sort", "update",
    }
)  # fmt: skip
"""The methods of lists, sets and mappings that are called for their side effects."""


@rule(severity="warning", kinds=JINJA_KINDS)
def unused_variable(file: File) -> Iterator[Finding]:
    """Yield the variables, and the attributes of namespaces, that are never read."""
    yield from _variables(file)
    for each in unmatched_attributes(file):
        for use in each.unread:
            severity: Severity | None = "hint" if use.is_initial else None
            message = f"nothing reads `{use.owner}.{use.name}`"
            typo = next(
                (
                    name
                    for name in each.read
                    if min(len(name), len(use.name)) >= MIN_LENGTH and is_typo(use.name, name)
                ),
                None,
            )
            if typo is None:
                yield Finding(use.span, message, unnecessary=True, severity=severity)
            else:
                yield Finding.suggest(use.span, message, typo)


def _variables(file: File) -> Iterator[Finding]:
    found = [*unread(file, "set")]
    meant = {each.meant for each in undeclared_references(file)} if found else set()
    meant |= {each.plural for each in singular_lists(file)} if found else set()
    for binding in found:
        located = file.template.source.located(binding.span.start)
        tag = located.tag_at(binding.span.start)
        statement = tag_tree(tag).statement if tag is not None else None
        has_effect = statement is not None and any(map(_has_side_effect, statement.expressions))
        is_broken = tag is not None and has_tag_problem(located.chunk, tag.span)
        if binding.name in meant or is_broken:
            continue
        inputs = sorted(file.template.names.input_names)
        typo = next((name for name in inputs if is_typo(binding.name, name)), None)
        typo = typo or next((name for name in inputs if _is_abbreviated(file, binding.name, name)), None)
        if typo is not None and declared_names(file) is None:
            yield Finding.suggest(binding.span, f"nothing reads `{binding.name}`", typo)
            continue
        if has_effect:
            continue
        owner = _owner_of_attribute(file, binding.name)
        if owner is not None:
            attribute = f"{owner}.{binding.name}"
            yield Finding.suggest(binding.span, f"nothing reads `{binding.name}`", attribute)
            continue
        binds_more = statement is not None and not all(isinstance(each, Name) for each in statement.targets)
        removal = None if binds_more else removed_tag(located, binding.span.start - located.start)
        fixes = (Fix("Remove this variable", (removal,)),) if removal else ()
        yield Finding(binding.span, f"nothing reads `{binding.name}`", fixes, unnecessary=True)


def _owner_of_attribute(file: File, name: str) -> str | None:
    """Return the only variable whose attribute of this name a tag sets."""
    owners = {
        target.target.name
        for located in file.chunks.placed()
        for tag in located.chunk.tags
        for target in (tag_tree(tag).statement.targets if tag.kind == "statement" else ())
        if isinstance(target, Attribute) and target.name == name and isinstance(target.target, Name)
    }
    return owners.pop() if len(owners) == 1 else None


def _is_abbreviated(file: File, name: str, other: str) -> bool:
    """Return whether a name that is read once is the same with one word abbreviated: `user_msg`, `user_message`."""
    words = different_words(name, other) if "_" in name else None
    if words is None or len(words[0]) == 1 or not abbreviates(*words):
        return False
    return is_read_once(file, other)


def _has_side_effect(value: Expression) -> bool:
    """Return whether a value is a call with a side effect, so that its result need not be read."""
    return (
        isinstance(value, Call)
        and isinstance(value.function, Attribute)
        and value.function.name in _CHANGING_METHODS
    )
