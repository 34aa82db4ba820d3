"""Blocks of templates that extend one another.

# unknown-block

Unknown block.

Reports `self.name()` if no block has that name in this template, its parents or its children, and
`super()` in a block that no parent template has.

## Why is this bad?

Rendering fails, with "has no attribute" or "there is no parent block".

## Example

```yaml
{% block rules %}
- name: rules
  role: system
  content: Be kind.
{% endblock %}
- name: again
  content: "{{ self.rule() }}"
                    ^^^^ unknown-block: no template has a block `rule`; did you mean `rules`?
```

Use instead:

```yaml
{% block rules %}
- name: rules
  role: system
  content: Be kind.
{% endblock %}
- name: again
  content: "{{ self.rules() }}"
```

# dropped-by-extends

Part or block that is never printed because the template extends another template.

Reports parts after an `extends` that are outside of a block, and blocks that no parent template has. If neither
the template nor a parent has blocks, only the `extends` is reported.

## Why is this bad?

In a template that extends another, Jinja prints only the blocks that the parent has: the rest is
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

from promptls.lint.analysis.unresolved_templates import ancestors, block_tags_of, blocks_of, family
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import JINJA_KINDS, PARTS_KINDS, File, Finding, Fix, rule
from promptls.semantic.names.mentions import TemplateReference
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import Attribute, Call, Name
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.positions import Span


@chunk_fact
def _block_names(chunk: Chunk) -> tuple[str, ...]:
    return tuple(
        node.name
        for _, node in expressions_in(chunk)
        if isinstance(node, Attribute) and isinstance(node.target, Name) and node.target.name == "self"
    )


_used_blocks: Final = summary(lambda chunk: frozenset(_block_names(chunk)), union)
"""The blocks that a piece uses through `self`."""


@rule(severity="error", kinds=JINJA_KINDS)
def unknown_block(file: File) -> Iterator[Finding]:
    """Yield the uses of blocks that do not exist."""
    root = file.template.source.root
    if _used_blocks(root) and "self" not in file.template.names.all_bound_names:
        yield from _of_self(file)
    if "super" in file.template.names.read_names:
        yield from _of_super(file)


def _of_self(file: File) -> Iterator[Finding]:
    related = family(file.snapshot, file.path)
    if related is None:
        return
    known = frozenset(name for path in related for name in blocks_of(file.snapshot, path))
    for located in file.template.source.root.where(_used_blocks):
        for start, node in expressions_in(located.chunk):
            match node:
                case Attribute(target=Name(name="self"), name=name, name_span=span) if (
                    name and name not in known
                ):
                    place = span.shifted(located.start + start)
                    yield misspelled(place, f"no template has a block `{name}`", name, known)


def _of_super(file: File) -> Iterator[Finding]:
    above = ancestors(file.snapshot, file.path)
    if above is None:
        return
    known = frozenset(name for path in above for name in blocks_of(file.snapshot, path))
    blocks = block_tags_of(file.template)
    is_dropped = file.kind in PARTS_KINDS and any(
        each.keyword == "extends" and file.template.branches.is_unconditional(each.span.start)
        for each in file.template.references
    )
    for located in file.template.names.chunks_referencing("super"):
        for start, node in expressions_in(located.chunk):
            match node:
                case Call(function=Name(name="super", span=place)):
                    span = place.shifted(located.start + start)
                case _:
                    continue
            around = [each for each in blocks if each.body.covers(span.start)]
            if around and not around[-1].depth and is_dropped:
                continue  # the block is never printed, which is reported elsewhere
            if around and around[-1].name and around[-1].name not in known:
                message = f"no extended template has a block `{around[-1].name}`"
                yield Finding(span, message)


@rule(severity="warning", kinds=PARTS_KINDS)
def dropped_by_extends(file: File) -> Iterator[Finding]:
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
        is_inside = any(block.body.covers(start) for block in blocks)
        if start > extends.span.end and not is_inside and placed.part.entries:
            yield Finding(placed.part.entries[0].key.span.shifted(placed.start), message)


def _without_blocks(file: File, extends: TemplateReference) -> Finding:
    """Return the finding for a template that extends one without blocks, so that it changes nothing there."""
    tag = file.template.source.slice(Span(max(extends.span.start - _MAX_TAG, 0), extends.span.start))
    start = extends.span.start - len(tag) + tag.rfind("extends")
    fix = Fix.change_to(Span(start, start + len("extends")), "include")
    message = f"`{extends.name}` has no blocks that this template could fill; did you mean `include`?"
    return Finding(extends.span, message, (fix,))


_MAX_TAG: Final = 40
"""How many characters of a tag can precede the name of its template."""
