"""Macro that is never called.

## What it does

Reports macros that neither the file nor anything it includes uses, and macros that only call themselves.
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

from collections.abc import Iterator

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
    for binding in names.bindings_of("macro") if called else ():
        if binding.name in called and not binding.name.startswith("_") and _calls_only_itself(file, binding):
            yield _finding(file, binding, f"nothing but `{binding.name}` itself calls `{binding.name}`")


def _calls_only_itself(file: File, binding: Binding) -> bool:
    """Return whether a macro's name is certainly only read inside of the macro itself."""
    located = file.template.source.located(binding.span.start)
    own = block_span(located.chunk, binding.span.start - located.start)
    if own is None:
        return False
    span = own.shifted(located.start)
    names = file.template.names
    for reference in names.chunks_referencing(binding.name):
        if reference.start >= span.end or reference.start + reference.chunk.length <= span.start:
            return False
    if any(not span.contains(each.span.start) for each in names.references_of(binding.name)):
        return False
    return not may_be_read_in_broken_text(file, binding.name, span)


def _finding(file: File, binding: Binding, message: str) -> Finding:
    located = file.template.source.located(binding.span.start)
    removal = removed_tag(located, binding.span.start - located.start)
    fixes = (Fix("Remove this macro", (removal,)),) if removal else ()
    return Finding(binding.span, message, fixes, unnecessary=True)


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
