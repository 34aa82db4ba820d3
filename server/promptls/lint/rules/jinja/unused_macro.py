"""Macro that is never called.

## What it does

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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from promptls.lint.analysis.unmatched_names import may_be_read_in_broken_text, unread
from promptls.lint.fixes.tag_fixes import block_span, removed_tag
from promptls.lint.rule import JINJA_KINDS, File, Finding, Fix, Rule
from promptls.lint.rules.jinja import unknown_function
from promptls.semantic.names.scopes import Binding
from promptls.workspace.contract import contract_of, names_handed_on


def check(file: File) -> Iterator[Finding]:
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
    if file.snapshot.includers(file.path) or not contract_of(file.snapshot, file.path).is_whole:
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
            next((owner for owner, around in spans.items() if around.contains(each.span.start)), "")
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


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
