"""Import that is never used.

## What it does

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
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.analysis.unmatched_names import unread
from promptls.lint.analysis.unresolved_templates import lacking_imports, meant_alias
from promptls.lint.fixes.tag_fixes import removed_tag, tag_at
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, Rule
from promptls.semantic.names.scopes import Binding
from promptls.syntax.jinja.problems import has_tag_problem, tag_tree
from promptls.text.positions import Span
from promptls.text.suggest import is_typo


def check(file: File) -> Iterator[Finding]:
    """Yield the imported names that are never read."""
    unused = [*unread(file, "import")]
    lacking = {each.span for each in lacking_imports(file)} if unused else set()
    for binding in unused:
        if binding.span in lacking:
            continue  # `unresolved-import` reports it
        message = f"nothing uses the import `{binding.name}`"
        meant = meant_alias(file, binding.name)
        if meant is not None:
            yield Finding.suggest(binding.span, message, meant, preferred=True)
        else:
            yield Finding(binding.span, message, tuple(_fixes(file, binding)), unnecessary=True)


def _fixes(file: File, binding: Binding) -> Iterator[Fix]:
    names = file.template.names
    if any(is_typo(name, binding.name) for name in names.called_names & names.input_names):
        return  # one of the two names is misspelled
    located = file.template.source.located(binding.span.start)
    offset = binding.span.start - located.start
    tag = tag_at(located.chunk, offset)
    if tag is None or has_tag_problem(located.chunk, tag.span):
        return
    spans = [
        Span(each.span.start, each.alias_span.end).shifted(located.start + tag.span.start)
        for each in tag_tree(tag).statement.imported
    ]
    removal = removed_tag(located, offset)
    if len(spans) > 1:
        index = next(n for n, span in enumerate(spans) if span.start <= binding.span.start < span.end)
        first = Span(spans[0].start, spans[1].start)
        removal = Edit(Span(spans[index - 1].end, spans[index].end) if index else first, "")
    if removal:
        yield Fix("Remove this import", (removal,), preferred=True)


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
