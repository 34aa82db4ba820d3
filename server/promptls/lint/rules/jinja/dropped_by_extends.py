"""Part or block that is never printed because the template extends another template.

## What it does

Reports parts after an `extends` that are outside of a block, and blocks that no parent template has. If neither
the template nor a parent has blocks, only the `extends` is reported.

## Why is this bad?

From a template that extends another one, Jinja prints only the blocks that the parent has: the rest is
dropped silently, and the prompt is shorter.

## Example

```yaml
-- main.yml.j2 --
{% extends "base.yml.j2" %}
{% block rule %}
         ^^^^ dropped-by-extends: no extended template has a block `rule`, so it is never printed; did you mean `rules`?
- name: rules
  role: system
  content: Be brief.
{% endblock %}
- name: ticket
  ^^^^ dropped-by-extends: the template extends another template, so a part outside of its blocks is never printed
  content: Hello.
-- base.yml.j2 --
{% block rules %}
- name: rules
  role: system
  content: Be kind.
{% endblock %}
```

Use instead:

```yaml
-- main.yml.j2 --
{% extends "base.yml.j2" %}
{% block rules %}
- name: rules
  role: system
  content: Be brief.
- name: ticket
  content: Hello.
{% endblock %}
-- base.yml.j2 --
{% block rules %}
- name: rules
  role: system
  content: Be kind.
{% endblock %}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.unresolved_templates import ancestors, block_tags_of, blocks_of
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import PARTS_KINDS, File, Finding, Fix, Rule
from promptls.semantic.names.mentions import TemplateReference
from promptls.text.positions import Span


def check(file: File) -> Iterator[Finding]:
    """Yield the parts and blocks of the file that are never printed."""
    template = file.template
    extends = next((each for each in template.references if each.keyword == "extends"), None)
    if extends is None or not template.branches.is_unconditional(extends.span.start):
        return
    if template.has_broken_tags:
        return
    blocks = block_tags_of(template)
    above = ancestors(file.snapshot, file.path)
    if above and not blocks and not any(blocks_of(file.snapshot, path) for path in above):
        others = [each.span.start for each in template.references if each.keyword not in {"import", "from"}]
        if max([*others, *(placed.span.start for placed in template.parts)]) > extends.span.end:
            yield _without_blocks(file, extends)
            return
    if above is not None and extends.name is not None:
        known = frozenset(name for path in above for name in blocks_of(file.snapshot, path))
        for block in blocks:
            if not block.depth and block.name not in known:
                message = f"no extended template has a block `{block.name}`, so it is never printed"
                yield misspelled(block.span, message, block.name, known)
    message = "the template extends another template, so a part outside of its blocks is never printed"
    for placed in template.parts:
        start = placed.span.start
        is_inside = any(block.body.start <= start < block.body.end for block in blocks)
        if start > extends.span.end and not is_inside and placed.part.entries:
            yield Finding(placed.part.entries[0].key.span.shifted(placed.start), message)


def _without_blocks(file: File, extends: TemplateReference) -> Finding:
    """Return the finding for a template that extends one without blocks, so that it changes nothing there."""
    tag = file.template.source.slice(Span(max(extends.span.start - _MAX_TAG, 0), extends.span.start))
    start = extends.span.start - len(tag) + tag.rfind("extends")
    keyword = Span(start, start + len("extends"))
    fix = Fix.change_to(keyword, "include")
    message = f"`{extends.name}` has no blocks that this template could fill; did you mean `include`?"
    return Finding(extends.span, message, (fix,))


_MAX_TAG: Final = 40
"""How many characters of a tag can precede the name of its template."""

RULE = Rule(check, severity="warning", kinds=PARTS_KINDS)
