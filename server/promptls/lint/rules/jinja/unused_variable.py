"""Variable that is set but never read.

## What it does

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

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.loop_names import singular_lists
from promptls.lint.analysis.namespaces import MIN_LENGTH, unmatched_attributes
from promptls.lint.analysis.similar_names import abbreviates, different_words
from promptls.lint.analysis.unmatched_names import declared_names, undeclared_references, unread
from promptls.lint.fixes.tag_fixes import removed_tag, tag_at
from promptls.lint.rule import JINJA_KINDS, File, Finding, Fix, Rule, Severity
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Name
from promptls.syntax.jinja.problems import has_tag_problem, tag_tree
from promptls.text.suggest import is_typo

_CHANGING_METHODS: Final = frozenset(
    {
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    }
)
"""The methods of lists, sets and mappings that are called for their side effects."""


def check(file: File) -> Iterator[Finding]:
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
        tag = tag_at(located.chunk, binding.span.start - located.start)
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
    """Return the only variable of which a tag sets an attribute with this name."""
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
    return len(list(file.template.names.references_of(other))) == 1


def _has_side_effect(value: Expression) -> bool:
    """Return whether a value is a call with a side effect, so that its result need not be read."""
    return (
        isinstance(value, Call)
        and isinstance(value.function, Attribute)
        and value.function.name in _CHANGING_METHODS
    )


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
