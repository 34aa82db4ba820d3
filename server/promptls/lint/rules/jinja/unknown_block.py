"""Unknown block.

## What it does

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
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.unresolved_templates import ancestors, block_tags_of, blocks_of, family
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import JINJA_KINDS, PARTS_KINDS, File, Finding, Rule
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


def check(file: File) -> Iterator[Finding]:
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
            is_of_self = isinstance(node, Attribute) and isinstance(node.target, Name)
            if not is_of_self or not isinstance(node, Attribute) or not isinstance(node.target, Name):
                continue
            if node.target.name == "self" and node.name and node.name not in known:
                span = node.name_span.shifted(located.start + start)
                yield misspelled(span, f"no template has a block `{node.name}`", node.name, known)


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
            if (
                not isinstance(node, Call)
                or not isinstance(node.function, Name)
                or node.function.name != "super"
            ):
                continue
            span: Span = node.function.span.shifted(located.start + start)
            around = [each for each in blocks if each.body.start <= span.start < each.body.end]
            if around and not around[-1].depth and is_dropped:
                continue  # the block is never printed, which is reported elsewhere
            if around and around[-1].name and around[-1].name not in known:
                message = f"no extended template has a block `{around[-1].name}`"
                yield Finding(span, message)


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
